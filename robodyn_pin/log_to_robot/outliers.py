"""Torques that lie far off the model count less: Huber's or Student's t, by modified residuals.

Weights of rows do not pass filters; torques do. Huber's modified residuals leave the rows as they are and move the torques
instead: least squares with tau = model + psi(r) / mean psi'(r), over and over, ends where the weighted estimate does, and its
residuals have the variance that its standard deviations need. Huber & Ronchetti, Robust Statistics (2009), sections 7.8 and 7.6.
Many far ones in a row and to one side would still pull, a little each: once the estimate has come near, what is farther off than noise
ever is does not count at all (a redescending third part, as Hampel's; section 4.8).
Held-out torques count in full up to there: they judge the model, so their own scale says what is far, and only few may be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

import numpy as np

from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.fit_data import Fitted, all_rows
from robodyn_pin.log_to_robot.held_out import Selected
from robodyn_pin.log_to_robot.rows import observe
from robodyn_pin.logs.clock import BLOCK
from robodyn_pin.logs.differentiation import Preparation, share_rates
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.recent import Recent
from robodyn_pin.logs.stored_log import AnyLog, StoredLog
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot

Robust = Literal["huber", "student"]
HUBER = 1.345  # standard deviations from which residuals count no more than this: 95 % efficient with normal noise
FREEDOM = 4.0  # of Student's t: 93 % efficient
NEARLY, FAR = 4.0, 8.0  # standard deviations from which residuals fade, and from which they count for nothing
ROUNDS, FIRST = 30, 2  # of them, those in which the scale is found and all residuals count
SETTLED = 0.03  # standard deviations of the estimate: a change after which another round is useless
LOOKED_AT = 20_000  # samples of a log from which the scale of the residuals is found
SHARE = 0.25  # of its residual that counts: samples of less are told: four standard deviations off and more
SPORADIC = 0.05  # of the held-out samples: more are no outliers
BRIEF = 0.1  # of a log: far samples within less have one cause, as a collision
MOST = 0.5  # of the squared error, from which far samples are worth a word

_blocks = Recent(4 * BLOCK)  # of moved torques


@dataclass(frozen=True)
class Fair:
    """What moves torques: a model, and how far off it they may be."""

    robot: Robot
    preparation: Preparation
    x: np.ndarray  # (p,) the model's parameters
    scale: np.ndarray  # (n_motors,) standard deviation of each motor's residuals
    slope: float  # mean derivative of what counts
    robust: Robust | None  # None: all that is not far counts in full
    fading: bool  # far residuals count for nothing

    def moved(self, log: AnyLog, begin: int, end: int) -> np.ndarray:
        """Torques (n, n_motors) of samples begin..end: the model's, and what counts of the residuals."""
        left = _residuals(self.robot, self.preparation, log, self.x, begin, end)
        given = log.section(begin, end).efforts
        return given + left * (_share(self.robust, left / self.scale, self.fading) / self.slope - 1)


def tempered(
    fitted: Fitted, logs: Sequence[AnyLog], robust: Robust, progress: Callable[[str], None]
) -> tuple[list[AnyLog], str]:
    """The fit logs with robust residuals about the least-squares estimate of `fitted`'s settings, and what was done, in a line.

    The scale of each motor's noise is the median of its residuals' sizes over 0.6745. Logs that stay in their files do so: their
    torques are moved whenever a section is read.
    """
    robot, preparation = fitted.settings.robot, fitted.settings.run.preparation
    now, (x, sigma), scale = list(logs), _estimate(fitted, logs), np.zeros(0)

    def looked_at(log: AnyLog) -> np.ndarray:
        return _residuals(robot, preparation, log, x, 0, min(LOOKED_AT, log.size))

    for k in range(ROUNDS):
        progress(f"robust residuals, round {k + 1}")
        some = [looked_at(log) for log in logs]
        fading = k >= FIRST
        scale = scale if fading else _scale(some)  # then fixed, lest the rounds chase it
        slope = float(np.mean([_slope(robust, left / scale, fading) for left in some]))
        fair = Fair(robot, preparation, x, scale, slope, robust, fading)
        now = [_moved(log, fair) for log in logs]
        before, (x, sigma) = x, _estimate(fitted, now)
        if fading and _change(fitted, sigma, x - before) < SETTLED:
            break
    few = [looked_at(log) / scale for log in logs]
    low = sum(int((_share(robust, r, True) < SHARE).any(axis=1).sum()) for r in few)
    many = sum(len(r) for r in few)
    return (
        now,
        f"robust: {robust}: {low} of {many} samples looked at ({100 * low / many:.2g} %) count less than a quarter",
    )


def without_far(fitted: Fitted, x: np.ndarray, held_out: Sequence[Selected]) -> tuple[list[Selected], str]:
    """Held-out samples whose torques, where they are farther off parameters x (p,) than noise ever is, are the model's; and a line on it.

    A model that is wrong on these samples makes their own scale large, and none of them far; where more are far than outliers are, all count.
    """
    robot, preparation = fitted.settings.robot, fitted.settings.run.preparation
    some = [_residuals(robot, preparation, s.log, x, s.begin, min(s.end, s.begin + LOOKED_AT)) for s in held_out]
    scale = _scale(some)
    far = np.concatenate([(np.abs(left) > FAR * scale).any(axis=1) for left in some])
    if not far.any():
        return list(held_out), ""
    text = f"robust: {_far_off(far)}"
    if far.mean() > SPORADIC:
        return list(held_out), f"{text}: too many for outliers, so all count in the error on held-out data"
    fair = Fair(robot, preparation, x, scale, 1.0, None, True)
    moved = {id(log): _moved(log, fair) for log in {id(s.log): s.log for s in held_out}.values()}
    without = [replace(s, log=moved[id(s.log)]) for s in held_out]
    return without, f"{text} and are left out of the error on held-out data"


def outliers_seen(
    left: np.ndarray, which: str = "held-out samples", log: AnyLog | None = None, index: np.ndarray | None = None
) -> str:
    """What few far residuals (n, d) of samples `index` (n,) of a log are worth saying; empty: nothing."""
    if not len(left):
        return ""
    sizes = np.abs(left) / _scale([left])
    far = (sizes > FAR).any(axis=1)
    made, whole = (sizes[far] ** 2).sum(axis=0), (sizes**2).sum(axis=0)
    if not 0 < far.mean() <= SPORADIC or not (made > MOST * whole).any():
        return ""
    said = _far_off(far, which) + ("" if log is None or index is None else _most_of_them(log, index, far))
    return f"{said} and make most of its error: are they outliers? With 'robust: student' they do not count"


def _far_off(far: np.ndarray, which: str = "held-out samples") -> str:
    return f"{far.sum()} of {len(far)} {which} looked at ({100 * far.mean():.2g} %) lie more than {FAR:g} standard deviations off the model"


def _most_of_them(log: AnyLog, index: np.ndarray, far: np.ndarray) -> str:
    begin, end = np.percentile(index[far], [5, 95], method="nearest")
    if end - begin >= BRIEF * (index[-1] - index[0]):
        return ""
    times = (log.section(i, i + 1).t[0] for i in (int(begin), int(end)))
    return ", most of them from t = {:.4g} to {:.4g} s,".format(*times)


def _estimate(fitted: Fitted, logs: Sequence[AnyLog]) -> tuple[np.ndarray, np.ndarray]:
    """Least squares (p,) over the rows as they are fitted, and the deviations (d,) of these."""
    settings = fitted.settings
    found = fitted.weigh(all_rows(settings.robot, settings.run, logs), None, 1.0)
    return found.full(settings.layout.size), found.sigma


def _change(fitted: Fitted, sigma: np.ndarray, step: np.ndarray) -> float:
    """How far a step (p,) is in standard deviations of the estimate, all parameters together."""
    off = [np.sum((g.R[:, :-1] @ step) ** 2) / s**2 for g, s in zip(pooled(fitted.rows), sigma, strict=True)]
    return float(np.sqrt(np.sum(off) * fitted.independent))


def _residuals(robot: Robot, preparation: Preparation, log: AnyLog, x: np.ndarray, begin: int, end: int) -> np.ndarray:
    """What the model leaves of each motor's torque (n, n_motors), of least norm where there are more motors than coordinates."""
    found = []
    for block in observe(robot, log, preparation, [None], begin, end):
        left = (block.measured - block.known - block.W @ x)[block.keep]
        found.append(np.einsum("nmd,nd->nm", np.linalg.pinv(block.B[block.keep].swapaxes(1, 2)), left))
    return np.concatenate(found)


def _scale(residuals: Sequence[np.ndarray]) -> np.ndarray:
    """Standard deviation (n_motors,) of residuals (n, n_motors), from their medians."""
    sizes = np.abs(np.concatenate(residuals))
    return np.maximum(np.median(sizes, axis=0) / 0.6745, 1e-12)


def _share(robust: Robust | None, r: np.ndarray, fading: bool) -> np.ndarray:
    """The share of residuals r, in standard deviations, that counts."""
    share = np.ones_like(r)
    if robust is not None:
        share = np.minimum(1, HUBER / np.maximum(np.abs(r), 1e-300)) if robust == "huber" else 1 / (1 + r**2 / FREEDOM)
    if not fading:
        return np.asarray(share)
    far = np.clip((np.abs(r) - NEARLY) / (FAR - NEARLY), 0, 1)
    return np.asarray(share * (1 - far**2 * (3 - 2 * far)))


def _slope(robust: Robust, r: np.ndarray, fading: bool) -> float:
    """Mean derivative of what counts, by differences."""
    step = 1e-4
    ends = [(r + each) * _share(robust, r + each, fading) for each in (step, -step)]
    return float(np.mean(ends[0] - ends[1]) / (2 * step))


def _moved(log: AnyLog, fair: Fair) -> AnyLog:
    """The log with torques at the model and what counts of the residuals."""
    if isinstance(log, Log):
        found: AnyLog = replace(log, tau=fair.moved(log, 0, log.size))
    else:
        said = (
            numbers_hash(fair.robot),
            fair.preparation,
            fair.x.tobytes(),
            fair.scale.tobytes(),
            fair.slope,
            fair.robust,
            fair.fading,
        )
        found = replace(
            log, read=_Moved(log, fair), source=f"{log.source}, moved by {sha256(repr(said).encode()).hexdigest()}"
        )
    share_rates(log, found)
    return found


@dataclass(frozen=True, eq=False)
class _Moved:
    """A log in its file with moved torques."""

    log: StoredLog
    fair: Fair

    def __call__(self, begin: int, end: int) -> Log:
        first = begin - self.log.begin
        last = first + end - begin
        start = first - first % BLOCK
        tau = np.concatenate([self._block(b) for b in range(start, last, BLOCK)])
        return replace(self.log.read(begin, end), tau=tau[first - start : last - start])

    def _block(self, begin: int) -> np.ndarray:
        end = min(begin + BLOCK, self.log.size)
        return _blocks.get((self, begin), BLOCK, lambda: self.fair.moved(self.log, begin, end))
