"""Torques that lie far off the model count less: Huber's or Student's t, by modified residuals.

Weights of rows do not pass filters; torques do. Huber's modified residuals leave the rows as they are and move the torques
instead: least squares with tau = model + psi(r) / mean psi'(r), over and over, ends where the weighted estimate does, and its
residuals have the variance that its standard deviations need. Huber & Ronchetti, Robust Statistics (2009), sections 7.8 and 7.6.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.fit_data import Fitted, all_rows
from robodyn_pin.log_to_robot.rows import observe
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import AnyLog

Robust = Literal["huber", "student"]
HUBER = 1.345  # standard deviations from which residuals count no more than this: 95 % efficient with normal noise
FREEDOM = 4.0  # of Student's t: 93 % efficient
ROUNDS = 12
SETTLED = 1e-3  # of the predicted torques: a change of the estimate after which another round is useless
LOOKED_AT = 20_000  # samples of a log from which the scale of the residuals is found
SHARE = 0.25  # of its residual that counts: samples of less are told: four standard deviations off and more


def tempered(
    fitted: Fitted, logs: Sequence[AnyLog], robust: Robust, progress: Callable[[str], None]
) -> tuple[list[AnyLog], str]:
    """The fit logs with robust residuals about the least-squares estimate of `fitted`'s settings, and what was done, in a line.

    The scale of each motor's noise is the median of its residuals' sizes over 0.6745.

    Raises:
        BadLog: a log that is too long for memory.
    """
    given = [log for log in logs if isinstance(log, Log)]
    if long := [log.name for log in logs if not isinstance(log, Log)]:
        raise BadLog(
            f"'robust' needs logs in memory, {long[0]} has {logs[0].size} rows; name parts of it, 'rows: [BEGIN, END]'"
        )
    now, x, scale = given, _estimate(fitted, given), np.zeros(0)
    for k in range(ROUNDS):
        progress(f"robust residuals, round {k + 1}")
        scale = _scale(fitted, given, x) if k < 2 else scale  # then fixed, lest the rounds chase it
        slope = float(np.mean([_slope(robust, _residuals(fitted, log, x, LOOKED_AT) / scale) for log in given]))
        now = [_moved(fitted, log, x, scale, slope, robust) for log in given]
        before, x = x, _estimate(fitted, now)
        if k > 1 and _change(fitted, before, x) < SETTLED:
            break
    few = [_residuals(fitted, log, x, LOOKED_AT) / scale for log in given]
    low = sum(int((_share(robust, r) < SHARE).any(axis=1).sum()) for r in few)
    many = sum(len(r) for r in few)
    return [
        *now
    ], f"robust: {robust}: {low} of {many} samples looked at ({100 * low / many:.2g} %) count less than a quarter"


def _estimate(fitted: Fitted, logs: Sequence[AnyLog]) -> np.ndarray:
    """Least squares (p,) over the rows as they are fitted."""
    settings = fitted.settings
    return fitted.weigh(all_rows(settings.robot, settings.run, logs), None, 1.0).full(settings.layout.size)


def _change(fitted: Fitted, before: np.ndarray, after: np.ndarray) -> float:
    """Rms change of the fitted torques over their rms."""
    off = sum(float(np.sum((g.R[:, :-1] @ (after - before)) ** 2)) for g in pooled(fitted.rows))
    size = sum(float(np.sum((g.R[:, :-1] @ after) ** 2)) for g in pooled(fitted.rows))
    return float(np.sqrt(off / size))


def _residuals(fitted: Fitted, log: AnyLog, x: np.ndarray, most: int | None = None) -> np.ndarray:
    """What the model leaves of each motor's torque (N, n_motors), of least norm where there are more motors than coordinates."""
    end = None if most is None else min(most, log.size)
    found = []
    for block in observe(fitted.settings.robot, log, fitted.settings.run.preparation, [None], 0, end):
        left = (block.measured - block.known - block.W @ x)[block.keep]
        found.append(np.einsum("nmd,nd->nm", np.linalg.pinv(block.B[block.keep].swapaxes(1, 2)), left))
    return np.concatenate(found)


def _scale(fitted: Fitted, logs: Sequence[AnyLog], x: np.ndarray) -> np.ndarray:
    """Standard deviation (n_motors,) of the residuals, from their medians."""
    sizes = np.abs(np.concatenate([_residuals(fitted, log, x, LOOKED_AT) for log in logs]))
    return np.maximum(np.median(sizes, axis=0) / 0.6745, 1e-12)


def _share(robust: Robust, r: np.ndarray) -> np.ndarray:
    """The share of residuals r, in standard deviations, that counts."""
    return np.minimum(1, HUBER / np.maximum(np.abs(r), 1e-300)) if robust == "huber" else 1 / (1 + r**2 / FREEDOM)


def _slope(robust: Robust, r: np.ndarray) -> float:
    """Mean derivative of what counts."""
    return float(np.mean(np.abs(r) < HUBER if robust == "huber" else (1 - r**2 / FREEDOM) / (1 + r**2 / FREEDOM) ** 2))


def _moved(fitted: Fitted, log: Log, x: np.ndarray, scale: np.ndarray, slope: float, robust: Robust) -> Log:
    """The log with torques at the model and what counts of the residuals."""
    left = _residuals(fitted, log, x)
    return replace(log, tau=log.efforts + left * (_share(robust, left / scale) / slope - 1))
