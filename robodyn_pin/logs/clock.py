"""The times at which a log's rows were really sampled, and the log on a uniform clock.

Controllers sample regularly; what writes the log stamps a row when it arrives, or writes at its own pace what has arrived last.
Stamps then spread although the samples do not, or the values of all motors together are early or late, and rows come twice. A
value that is d seconds late is off by d times the speed, in all motors alike: with positions q(t) = s(t + d) + noise, smooth s
and the same d for all motors of a row, d is found row by row by weighted least squares, alternating with s (Gauss-Newton on the
times). Stamps that are true stay as they are. All is worked out in blocks of a fixed partition of the uniform clock, so that a
log that stays in its file gives the same bits.
"""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.logs.curve import ORDER, SLOWEST, SmoothCurve
from robodyn_pin.logs.jumps import jump_at_start
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.repeats import CONTEXT, encoder_steps, equal_rows, repeated_rows

HEAD = 8192  # rows from which a clock is judged
FEWEST = 64  # rows below which a log tells nothing of its clock
CUTOFFS = np.geomspace(0.05, 1.6, 9)  # [rad per sample] of the smooth motion that are tried
CLEARLY = 1.05  # times less noise in a motor, of their mean, by the lateness of the others: then all are late together
STEPS = 5  # of Gauss and Newton: the first leaves a tenth of the lateness, the last a thousandth
SLOW = 0.1  # share of the samples, the slowest, that show a motor's noise alone
BLOCK = 8192  # samples of the uniform clock that are worked out at once
SETTLED = 1e-7  # share of a block's end that is left in its middle
NEAR = 1.6  # sample from the uniform clock's: torques further away are interpolated
COPY = 1e-9  # share of the steps from row to row
FURTHEST = 2.0  # steps by which a value is taken to be early or late at most, times its deviation


@dataclass(frozen=True)
class Clock:
    """What is known of a log's clock; numbers of motors are of (n,)."""

    rate: float  # [Hz] of the uniform clock
    cutoff: float  # [rad per sample] of the smooth motion
    noise: np.ndarray  # [rad or m] of the positions, apart from time
    steps: np.ndarray  # [rad or m] of the encoders
    late: float  # [s] rms by which values are early or late against their stamps; zero: stamps are true
    begin: float  # [s] time of the first row behind a jump at the log's begin

    @property
    def margin(self) -> int:
        """Samples on both sides of a block."""
        return int(np.ceil(-STEPS * np.log(SETTLED) / (SLOWEST * self.cutoff) / 2)) + CONTEXT


def find_clock(head: Log, rate: float) -> Clock:
    """The clock of a log of this mean rate [Hz] from its first HEAD rows."""
    head = head.section(jump_at_start(head.q, rate), head.size)
    begin = float(head.t[0])
    steps = encoder_steps(head.q)
    moves = (np.ptp(head.q, axis=0) > 4 * steps) & ~_copies(head.q)
    if head.stamps or head.size < FEWEST or not moves.any():
        return Clock(rate, float(CUTOFFS[-1]), np.full(len(steps), np.inf), steps, 0.0, begin)
    kept = ~repeated_rows(equal_rows([head.q, head.dq, head.ddq]), head.q, steps)
    x, q = (head.t[kept] - head.t[0]) * rate, head.q[kept]
    found = [_judged(x, q[:, moves], float(c)) for c in CUTOFFS]
    best = min(found, key=lambda each: each.score)
    if best.spread:
        floor = np.min([each.left for each in found], axis=0)
        best = min((each for each in found if each.spread), key=lambda each: each.time_error(floor))
    noise = np.full(len(steps), np.inf)
    noise[moves] = best.noise
    return Clock(rate, best.cutoff, noise, steps, best.spread / rate, begin)


def _copies(q: np.ndarray) -> np.ndarray:
    """Motors (n,) that turn exactly as one before, or against it, as in a symmetric simulation: what a smooth curve leaves of
    them is the same whatever the time."""
    steps = np.diff(q, axis=0).T

    def alike(a: np.ndarray, b: np.ndarray) -> bool:
        return bool(min(np.median(abs(a - b)), np.median(abs(a + b))) <= COPY * np.ptp(a))

    return np.array([any(alike(a, b) for b in steps[:k]) for k, a in enumerate(steps)])


@dataclass(frozen=True)
class Judged:
    """How well a smooth motion of some cut-off, and lateness, explain the positions of (n,) motors."""

    cutoff: float  # [rad per sample]
    free: float  # share of white noise that the motion leaves
    left: np.ndarray  # (n,) what is left in the faster half of the samples, as of noise at all frequencies
    speed: np.ndarray  # (n,) rms, per sample
    noise: np.ndarray  # (n,) where lateness does not count
    spread: float  # rms of the lateness in samples; zero where it does not explain the noise clearly better

    @property
    def score(self) -> float:
        """Generalised cross-validation, logarithm."""
        return float(np.log(self.left + 1e-300).mean())

    def time_error(self, floor: np.ndarray) -> float:
        """Expected error of the lateness: what the motion takes up of it, and what it lacks of the true motion, beyond (n,)."""
        lacks = np.maximum(self.left**2 - floor**2, 0) / self.speed**2
        return self.spread**2 * (1 - self.free) + float(lacks.mean()) / len(floor)


def _judged(x: np.ndarray, q: np.ndarray, cutoff: float) -> Judged:
    """Of positions (N, n) at times x (N,) in samples."""
    left, speed = _left(x, q, cutoff)
    free = 1 - float(np.mean(1 / (1 + (np.linspace(0, np.pi, 500) / cutoff) ** (2 * ORDER))))
    noise, spread, many = _slow_noise(left, speed), 0.0, q.shape[1]
    late, known = _lateness(left, speed, noise)
    fast = known >= np.median(known)
    rest = _size(left[fast])
    if many > 1:
        # The median of chi-square with one degree of freedom is 0.455.
        variance = float(np.median(late[fast] ** 2) / 0.455 - np.median(1 / known[fast]))
        by_others = _size(_less_late(left, speed, noise, variance)[fast]) if variance > 0 else rest
        if np.log(rest / by_others).mean() > np.log(CLEARLY):
            rest, spread = by_others, float(np.sqrt(variance / free))
    return Judged(cutoff, free, rest / free, np.sqrt(np.mean(speed**2, axis=0)), noise, spread)


def _size(x: np.ndarray) -> np.ndarray:
    """Standard deviation of columns, from their medians: a sudden stop is no lateness."""
    return np.asarray(np.median(np.abs(x), axis=0) / 0.6745 + 1e-300)


def _left(x: np.ndarray, q: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """What a smooth curve leaves of positions, and its speeds per sample (N, n)."""
    curve = SmoothCurve(x, q, cutoff)
    return q - curve.at(x), curve.at(x, 1)


def _slow_noise(left: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Noise (n,) of positions in the slowest samples, where lateness does not count."""
    few = max(8, int(SLOW * len(left)))
    order = np.argsort(np.abs(speed), axis=0, kind="stable")[:few]
    found = np.median(np.abs(np.take_along_axis(left, order, axis=0)), axis=0) / 0.6745
    return np.maximum(found, 1e-12 * (1 + np.abs(left).max()))


def _lateness(left: np.ndarray, speed: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how many samples each row (N,) is off, and how well that is known (one over its variance)."""
    known = ((speed / noise) ** 2).sum(axis=1) + 1e-300
    return (left * speed / noise**2).sum(axis=1) / known, known


def _less_late(left: np.ndarray, speed: np.ndarray, noise: np.ndarray, variance: float) -> np.ndarray:
    """What is left (N, n) of each motor without the lateness that the others show: its own would explain its noise always.

    Args:
        variance: of the lateness.
    """
    found = left.copy()
    for k in range(left.shape[1]):
        late, known = _lateness(*(np.delete(x, k, axis=-1) for x in (left, speed, noise)))
        found[:, k] -= speed[:, k] * late * known / (known + 1 / variance)
    return found


def repeats(log: Log, clock: Clock) -> np.ndarray:
    """Rows (N,) whose motion is that of the row before although the robot moves; none where the stamps count."""
    if log.stamps:
        return np.zeros(log.size, bool)
    return repeated_rows(equal_rows([log.q, log.dq, log.ddq]), log.q, clock.steps) & (log.t > clock.begin)


def rows_around(t: np.ndarray, clock: Clock, start: float, begin: int, end: int) -> tuple[int, int]:
    """First and last of the rows with stamps t (N,) that samples begin..end of the uniform clock depend on."""
    first, last = start + np.array([begin - clock.margin, end + clock.margin]) / clock.rate
    low, high = np.searchsorted(t, [first, last])
    return int(low), int(high)


def sampled(log: Log, clock: Clock, start: float) -> np.ndarray:
    """Times (N,) in samples after `start` [s] at which rows were sampled; NaN for those that repeat the row before."""
    x = (log.t - start) * clock.rate
    x[repeats(log, clock)] = np.nan
    own = np.isfinite(x) & (log.t >= clock.begin)
    if clock.late and own.sum() > FEWEST:
        stamped, spread = x[own], clock.late * clock.rate
        late = np.zeros(len(stamped))
        for _ in range(STEPS):
            left, speed = _left(stamped + late, log.q[own], clock.cutoff)
            step, known = _lateness(left, speed, clock.noise)
            furthest = FURTHEST * (1 + spread)
            late = np.clip(late + step * known / (known + 1 / spread**2), -furthest, furthest)
        x[own] = stamped + late
    return x


def row_times(log: Log, x: np.ndarray) -> np.ndarray:
    """Times (N,) at which the torques of all rows were sampled, from those of motion; a row that repeats all has the time of the
    row before. A torque may be new in a row whose motion is not."""
    own = np.flatnonzero(np.isfinite(x))
    new = np.isfinite(x) if log.tau is None else np.isfinite(x) | ~equal_rows([log.tau])
    when = np.interp(np.arange(len(x)), own, x[own])
    return np.asarray(when[np.maximum.accumulate(np.where(new, np.arange(len(x)), 0))])


def evened(log: Log, clock: Clock, start: float, begin: int, end: int, first: int) -> Log:
    """Samples begin..end of the uniform clock.

    Positions and rates are taken from their true times to those of the clock: a smooth curve as it is, what is left of them by
    straight lines. Torques jump where friction changes its sign, so those of the nearest row stay as they are, with the time
    `after` the sample at which they were measured; in gaps they are interpolated.

    Args:
        log: the rows of these samples and `margin` more on both sides. start: time of sample 0 [s]. first: its row of the file.
    """
    at, x = np.arange(begin, end, dtype=float), sampled(log, clock, start)
    own = np.flatnonzero(np.isfinite(x))
    first = int(np.searchsorted(log.t, clock.begin))
    order = own[own >= first][np.argsort(x[own[own >= first]], kind="stable")]
    early = at < (clock.begin - start) * clock.rate

    def moved(values: np.ndarray | None) -> np.ndarray | None:
        if values is None:
            return None
        curve = SmoothCurve(x[order], values[order], clock.cutoff)
        even = curve.at(at) + between(at, x[order], values[order] - curve.at(x[order]))
        even[early] = between(at[early], (log.t - start) * clock.rate, values)
        return even

    tau = after = None
    if log.tau is not None:
        when = row_times(log, x)
        sort = np.argsort(when, kind="stable")
        sort = sort[np.concatenate([[True], np.diff(when[sort]) > 0])]
        when, tau = when[sort], log.tau[sort]
        right = np.clip(np.searchsorted(when, at), 1, len(when) - 1)
        near = np.where(at - when[right - 1] <= when[right] - at, right - 1, right)
        after = when[near] - at
        far = np.abs(after) > NEAR
        tau = np.where(far[:, None], between(at, when, tau), tau[near])
        after = np.where(far, 0.0, after) / clock.rate
    q = moved(log.q)
    assert q is not None
    return replace(
        log, t=start + np.arange(begin, end) / clock.rate, q=q, tau=tau, dq=moved(log.dq), ddq=moved(log.ddq),
        begin=first + begin, after=after, further={key: between(at, x[order], v[order, None])[:, 0] for key, v in log.further.items()},
    )  # fmt: skip


def between(at: np.ndarray, x: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Columns (N, k) at times x (N,), taken to other times by straight lines."""
    return np.stack([np.interp(at, x, column) for column in columns.T], axis=1)
