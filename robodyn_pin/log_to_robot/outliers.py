"""Torques that lie far off the model count less: Huber's or Student's t, by modified residuals.

Weights of rows do not pass filters; torques do. Huber's modified residuals leave the rows as they are and move the torques
instead: least squares with tau = model + psi(r) / mean psi'(r), over and over, ends where the weighted estimate does, and its
residuals have the variance that its standard deviations need. Huber & Ronchetti, Robust Statistics (2009), sections 7.8 and 7.6.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal

import numpy as np

from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.fit_data import Fitted, all_rows
from robodyn_pin.log_to_robot.rows import observe
from robodyn_pin.logs.clock import BLOCK
from robodyn_pin.logs.differentiation import Preparation, share_rates
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import KEPT, AnyLog, StoredLog
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot

Robust = Literal["huber", "student"]
HUBER = 1.345  # standard deviations from which residuals count no more than this: 95 % efficient with normal noise
FREEDOM = 4.0  # of Student's t: 93 % efficient
ROUNDS = 12
SETTLED = 1e-3  # of the predicted torques: a change of the estimate after which another round is useless
LOOKED_AT = 20_000  # samples of a log from which the scale of the residuals is found
SHARE = 0.25  # of its residual that counts: samples of less are told: four standard deviations off and more


@dataclass(frozen=True)
class Fair:
    """What moves torques: a model, and how far off it they may be."""

    robot: Robot
    preparation: Preparation
    x: np.ndarray  # (p,) the model's parameters
    scale: np.ndarray  # (n_motors,) standard deviation of each motor's residuals
    slope: float  # mean derivative of what counts
    robust: Robust

    def moved(self, log: AnyLog, begin: int, end: int) -> np.ndarray:
        """Torques (n, n_motors) of samples begin..end: the model's, and what counts of the residuals."""
        left = _residuals(self.robot, self.preparation, log, self.x, begin, end)
        given = log.section(begin, end).efforts
        return given + left * (_share(self.robust, left / self.scale) / self.slope - 1)


def tempered(
    fitted: Fitted, logs: Sequence[AnyLog], robust: Robust, progress: Callable[[str], None]
) -> tuple[list[AnyLog], str]:
    """The fit logs with robust residuals about the least-squares estimate of `fitted`'s settings, and what was done, in a line.

    The scale of each motor's noise is the median of its residuals' sizes over 0.6745. Logs that stay in their files do so: their
    torques are moved whenever a section is read.
    """
    robot, preparation = fitted.settings.robot, fitted.settings.run.preparation
    now, x, scale = list(logs), _estimate(fitted, logs), np.zeros(0)

    def looked_at(log: AnyLog) -> np.ndarray:
        return _residuals(robot, preparation, log, x, 0, min(LOOKED_AT, log.size))

    for k in range(ROUNDS):
        progress(f"robust residuals, round {k + 1}")
        some = [looked_at(log) for log in logs]
        scale = _scale(some) if k < 2 else scale  # then fixed, lest the rounds chase it
        slope = float(np.mean([_slope(robust, left / scale) for left in some]))
        fair = Fair(robot, preparation, x, scale, slope, robust)
        now = [_moved(log, fair) for log in logs]
        before, x = x, _estimate(fitted, now)
        if k > 1 and _change(fitted, before, x) < SETTLED:
            break
    few = [looked_at(log) / scale for log in logs]
    low = sum(int((_share(robust, r) < SHARE).any(axis=1).sum()) for r in few)
    many = sum(len(r) for r in few)
    return (
        now,
        f"robust: {robust}: {low} of {many} samples looked at ({100 * low / many:.2g} %) count less than a quarter",
    )


def _estimate(fitted: Fitted, logs: Sequence[AnyLog]) -> np.ndarray:
    """Least squares (p,) over the rows as they are fitted."""
    settings = fitted.settings
    return fitted.weigh(all_rows(settings.robot, settings.run, logs), None, 1.0).full(settings.layout.size)


def _change(fitted: Fitted, before: np.ndarray, after: np.ndarray) -> float:
    """Rms change of the fitted torques over their rms."""
    off = sum(float(np.sum((g.R[:, :-1] @ (after - before)) ** 2)) for g in pooled(fitted.rows))
    size = sum(float(np.sum((g.R[:, :-1] @ after) ** 2)) for g in pooled(fitted.rows))
    return float(np.sqrt(off / size))


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


def _share(robust: Robust, r: np.ndarray) -> np.ndarray:
    """The share of residuals r, in standard deviations, that counts."""
    return np.minimum(1, HUBER / np.maximum(np.abs(r), 1e-300)) if robust == "huber" else 1 / (1 + r**2 / FREEDOM)


def _slope(robust: Robust, r: np.ndarray) -> float:
    """Mean derivative of what counts."""
    return float(np.mean(np.abs(r) < HUBER if robust == "huber" else (1 - r**2 / FREEDOM) / (1 + r**2 / FREEDOM) ** 2))


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
        )
        found = replace(
            log, read=_Moved(log, fair), source=f"{log.source}, moved by {sha256(repr(said).encode()).hexdigest()}"
        )
    share_rates(log, found)
    return found


@dataclass(frozen=True, eq=False)
class _Moved:
    """A log in its file with moved torques; a few blocks of these are remembered."""

    log: StoredLog
    fair: Fair
    _blocks: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[type["_Moved"], tuple[object, ...]]:
        return _Moved, (self.log, self.fair)

    def __call__(self, begin: int, end: int) -> Log:
        first = begin - self.log.begin
        last = first + end - begin
        start = first - first % BLOCK
        tau = np.concatenate([self._block(b) for b in range(start, last, BLOCK)])
        return replace(self.log.read(begin, end), tau=tau[first - start : last - start])

    def _block(self, begin: int) -> np.ndarray:
        found = self._blocks.pop(begin, None)
        if found is None:
            found = self.fair.moved(self.log, begin, min(begin + BLOCK, self.log.size))
        while len(self._blocks) >= KEPT:
            self._blocks.pop(next(iter(self._blocks)))
        self._blocks[begin] = found  # the latest one stands last
        return found
