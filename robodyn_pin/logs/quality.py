"""What is odd about a log, counted piece by piece: its clock, repeated rows, motors that stand, wrong rates, flat tops."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

IRREGULAR = 0.01  # a step further than this from the mean step, relative, makes a clock irregular
GAP = 1.5  # steps longer than this times the mean step are gaps
SPAN = 0.05  # [s] over which measured rates are compared with positions, so that encoder steps do not count
LITTLE = 1e-3  # [rad or m] a motor that moves less tells nothing of its friction and inertia
WRONG = 1.1  # factor between measured rates and the derivative of the positions that filters do not explain
GRAVE = 1.5  # the same from which they are no rates of these positions at all
UNLIKE = 0.5  # correlation of measured rates with that derivative, below which they have little to do with each other
FLAT = 5  # times as many repetitions of the greatest torque as of the next: a rounded peak has 2.4 at most
FEWEST = 2  # repetitions of the next one that chance may have hidden
FINE = 0.01  # of the torques' range: where they are read more coarsely, a flat top may be a rounded one
REACHED = 0.999  # share of a torque limit that counts as the limit
MANY = 0.3  # share of repeated rows from which a log is faster than what it logs
SHOWN = 12  # columns that are named


@dataclass(frozen=True)
class Quality:
    """What is odd about a log; what is said of motors, by name."""

    rows: int
    rate: float  # [Hz]
    irregular: float  # largest deviation of a step from the mean step, relative
    gaps: int  # steps longer than 1.5 of the mean step
    repeated: int  # rows whose positions and rates repeat those of the row before although the robot moves
    jitter: float = 0.0  # [s] rms deviation of the steps from the mean step, gaps aside
    late: float = 0.0  # [s] rms by which the values of all motors together are early or late against their stamps
    still: dict[str, float] = field(default_factory=dict)  # how little a motor moves [rad or m]
    constant: dict[str, float] = field(default_factory=dict)  # measured rates that never change
    factors: dict[str, tuple[float, float]] = field(default_factory=dict)  # between measured rates and derivatives
    unlike: dict[str, float] = field(default_factory=dict)  # their correlation, where it is low
    saturated: dict[str, int] = field(default_factory=dict)  # samples on a flat top or at the torque limit
    ends: dict[str, tuple[float | None, float | None]] = field(
        default_factory=dict
    )  # torques at and beyond which they lie
    unused: tuple[str, ...] = ()  # columns of the file that are not read

    @property
    def regular(self) -> bool:
        """Whether rows are as far apart as they seem: nothing is to be undone."""
        return self.irregular <= IRREGULAR and not self.repeated and not self.late

    @property
    def clock(self) -> str:
        """What is odd about the clock, and what becomes of it; nothing where nothing is."""
        found = []
        if self.irregular > IRREGULAR:
            found.append(
                f"time stamps deviate by {1e3 * self.jitter:.2g} ms (rms) from regular steps of {1e3 / self.rate:.3g} ms"
            )
        if self.gaps and self.irregular > IRREGULAR:
            found.append(f"samples are missing (gaps: {self.gaps}, the longest {self.irregular / self.rate:.2g} s)")
        if self.late:
            found.append(
                f"values are early or late against their stamps by {1e3 * self.late:.2g} ms (rms), all motors alike"
            )
        if self.repeated:
            share = f"{self.repeated} of {self.rows} rows ({100 * self.repeated / self.rows:.2g} %)"
            found.append(f"{share} repeat the row before although the robot moves")
        if not found:
            return ""
        undone = [*(["true times are found from the motion of all motors"] if self.late else []),
                  *(["repeated rows are left out"] if self.repeated else []), "the log is put on a uniform clock"]  # fmt: skip
        return f"{'; '.join(found)}: {', '.join(undone)}"

    @property
    def not_used(self) -> str:
        """Which columns of the file are not read; nothing where all are."""
        shown, more = self.unused[:SHOWN], len(self.unused) - SHOWN
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")

    @property
    def remarks(self) -> list[str]:
        """Irregularities of motors and their consequences, one sentence each."""
        remarks = []
        if self.repeated > MANY * self.rows:
            remarks.append(
                f"{self.repeated} of {self.rows} rows repeat the row before although the robot moves, expected is a new sample in each: "
                f"log at the rate at which the robot samples, about {self.rate * (1 - self.repeated / self.rows):.3g} Hz"
            )
        remarks += [
            f"motor {m} moves by {x:.2g} rad (or m) only: its own friction and inertia cannot be identified"
            for m, x in self.still.items()
        ]
        remarks += self.of_rates([*self.constant, *self.factors, *self.unlike])
        for m, count in self.saturated.items():
            level = " or ".join(f"{x:.4g}" for x in self.ends[m] if x is not None)
            remarks.append(
                f"tau_{m} is saturated: {count} of {self.rows} samples lie at {level}, its limit or a constant maximum; if the "
                "motor gave another torque than the log says, leave them out with 'rows: {saturated: drop}'"
            )
        return remarks

    @property
    def contrary(self) -> list[str]:
        """Motors whose measured rates are no rates of their positions at all."""
        grave = [m for m, (low, high) in self.factors.items() if low < 0 or low > GRAVE or high < 1 / GRAVE]
        return [*self.constant, *grave, *self.unlike]

    def of_rates(self, wrong: Sequence[str]) -> list[str]:
        """What is wrong with the measured rates of these motors, one sentence for all alike."""
        alike: dict[tuple[str, str], list[str]] = {}
        for m in wrong:
            alike.setdefault(self._rate(m), []).append(m)
        found = []
        for (size, meant), motors in alike.items():
            rates, positions = (", ".join(f"{x}_{m}" for m in motors) for x in ("dq", "q"))
            verb, many = ("is", "") if len(motors) == 1 else ("are", "s")
            said = {
                "constant": f"{verb} {size} in all rows although the motor{many} move{'' if many else 's'}",
                "factor": f"{verb} {size} times the derivative{many} of {positions}: a wrong unit, sign or filter",
                "unlike": f"hardly correlate{'' if many else 's'} with the derivative{many} of {positions} (correlation {size}): is it another column?",
            }
            found.append(f"{rates} {said[meant]}")
        return found

    def _rate(self, m: str) -> tuple[str, str]:
        """The size of what is wrong with a motor's rates, and its kind."""
        if m in self.constant:
            return f"{self.constant[m] + 0.0:.3g}", "constant"
        if m in self.unlike:
            return f"{self.unlike[m]:.2f}", "unlike"
        low, high = (f"{x:.3g}" for x in self.factors[m])
        return low if low == high else f"{low} to {high}", "factor"


UNSEEN = Quality(0, 0.0, 0.0, 0, 0)  # of a log whose samples nobody has counted

Top = dict[
    float, tuple[int, int]
]  # the two greatest values: how many samples, how many repeat the one before in motion


@dataclass(frozen=True)
class Counts:
    """What is counted in a part of a log of n motors; parts share their border samples."""

    rows: int
    irregular: float
    gaps: int
    squares: float  # [s^2] sum of squared deviations of steps that are no gaps from the mean step
    repeated: int
    lowest: np.ndarray  # (2, n) positions, measured rates; NaN where there are none
    highest: np.ndarray
    products: np.ndarray  # (3, n) steps x of the position, integrals y of the measured rate: sums of x x, x y, y y
    tops: tuple[Top, ...]  # of the motors' torques, then of these with the opposite sign
    limited: np.ndarray  # (2 n,) samples at the torque limit, likewise


def span_of(rate: float) -> int:
    """Samples from one comparison of rates and positions to the next; parts begin at multiples of it."""
    return max(1, round(SPAN * rate))


def counted(
    t: np.ndarray, q: np.ndarray, dq: np.ndarray | None, tau: np.ndarray | None, step: float, limits: np.ndarray,
    repeated: int, begin: int = 0,
) -> Counts:  # fmt: skip
    """Count in samples begin.. (N, n) of a log whose mean step is `step` [s]; torque limits (n,), infinite where unknown; rows
    that repeat in motion."""
    steps, n = np.diff(t), q.shape[1]
    moved = (np.diff(q, axis=0) != 0).any(axis=1)
    rates = np.full((1, n), np.nan) if dq is None else dq
    products = np.zeros((3, n))
    if dq is not None:
        every = span_of(1 / step)
        turned = np.zeros_like(q)
        np.cumsum((dq[1:] + dq[:-1]) / 2 * steps[:, None], axis=0, out=turned[1:])
        x, y = (np.diff(z[::every], axis=0) for z in (q, turned))
        products = np.array([(x * x).sum(axis=0), (x * y).sum(axis=0), (y * y).sum(axis=0)])
    efforts = np.zeros((len(t), 0)) if tau is None else np.concatenate([tau, -tau], axis=1)
    new = slice(1 if begin else 0, None)  # samples that the part before has not counted
    return Counts(
        len(t), float(np.abs(steps / step - 1).max(initial=0.0)), int((steps > GAP * step).sum()),
        float(np.square(steps - step)[steps <= GAP * step].sum()), repeated,
        np.array([q.min(axis=0), rates.min(axis=0)]), np.array([q.max(axis=0), rates.max(axis=0)]), products,
        tuple(_top(x, moved, new) for x in efforts.T),
        (efforts[new] >= REACHED * np.resize(limits, efforts.shape[1])).sum(axis=0),
    )  # fmt: skip


def _top(x: np.ndarray, moved: np.ndarray, new: slice) -> Top:
    """Of x (N,); moved (N - 1,): whether the robot moved since the sample before."""
    greatest = x.max()
    below = x[x < greatest]
    again = moved & (x[1:] == x[:-1])
    values = [greatest, below.max()] if len(below) else [greatest]
    return {float(v): (int((x[new] == v).sum()), int((again & (x[1:] == v)).sum())) for v in values}


def merged(
    parts: Sequence[Counts], motors: Sequence[str], rate: float, limits: np.ndarray, late: float = 0.0
) -> Quality:
    """Oddities of the whole log from those of its parts, and how late its values come [s]."""
    rows = sum(p.rows for p in parts) - (len(parts) - 1)
    travel, spread = np.max([p.highest for p in parts], axis=0) - np.min([p.lowest for p in parts], axis=0)
    moves = travel > LITTLE
    fixed = moves & (spread == 0)
    factors, unlike = _rates(np.sum([p.products for p in parts], axis=0), moves & ~fixed, motors)
    saturated, ends = {}, {}
    for k, m in enumerate(motors if parts[0].tops else ()):
        sides = [_end(parts, k + side, limits[k]) for side in (0, len(motors))]
        if count := sum(samples for _, samples in sides):
            saturated[m], (high, low) = count, (level if samples else None for level, samples in sides)
            ends[m] = (None if low is None else -low, high)
    return Quality(
        rows=rows,
        rate=rate,
        irregular=max(p.irregular for p in parts),
        gaps=sum(p.gaps for p in parts),
        repeated=sum(p.repeated for p in parts),
        jitter=float(np.sqrt(sum(p.squares for p in parts) / max(rows - 1, 1))), late=late,
        still={m: float(travel[k]) for k, m in enumerate(motors) if not moves[k]},
        constant={m: float(parts[0].lowest[1, k]) for k, m in enumerate(motors) if fixed[k]},
        factors=factors, unlike=unlike, saturated=saturated, ends=ends,
    )  # fmt: skip


def _rates(
    products: np.ndarray, judged: np.ndarray, motors: Sequence[str]
) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Factors between measured rates and derivatives that are not one, and correlations that are low."""
    factors, unlike = {}, {}
    for k in np.flatnonzero(judged & (products[0] > 0) & (products[2] > 0)).tolist():
        xx, xy, yy = (float(s) for s in products[:, k])
        if abs(xy) < UNLIKE * np.sqrt(xx * yy):
            unlike[motors[k]] = xy / np.sqrt(xx * yy)
            continue
        # Noise in positions makes the first too small, noise in rates the second too large: it lies between (Frisch).
        low, high = xy / xx, yy / xy
        if low < 0 or low > WRONG or high < 1 / WRONG:
            factors[motors[k]] = (low, high)
    return factors, unlike


def _end(parts: Sequence[Counts], k: int, limit: float) -> tuple[float, int]:
    """The torque from which motor k is saturated upwards (k of tops), and how many samples are."""
    if limited := sum(int(p.limited[k]) for p in parts):
        return float(REACHED * limit), limited
    levels = sorted({v for p in parts for v in p.tops[k]}, reverse=True)[:2]
    least = -max(v for p in parts for v in p.tops[k - len(parts[0].tops) // 2])  # the other side of the same motor
    if len(levels) < 2 or levels[0] - levels[1] > FINE * (levels[0] - least):
        return levels[0], 0
    samples, again = np.sum([[p.tops[k].get(v, (0, 0)) for v in levels] for p in parts], axis=0).T
    if again[0] >= FLAT * (FEWEST + again[1]):
        return levels[0], int(samples[0])
    return levels[0], 0
