"""Which rows of a fit log are fitted and which are scored, and in which segment for cross-validation each lies."""

from dataclasses import replace

import numpy as np

from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.rows import Job
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot


def fitted_rows(robot: Robot, run: RunFile, log: AnyLog, period: float | None = None) -> Job:
    """Which rows of a fit log are fitted, and in which segment each lies."""
    job = segmented(robot, run, log, run.rows.filter, run.rows.every, period)
    return replace(job, noise=motor_noise(run, robot))


def segmented(
    robot: Robot, run: RunFile, log: AnyLog, lowpass: Lowpass | None, every: int, period: float | None = None
) -> Job:
    """Fold a log's samples by segment of the log, or of its period [s], the ends cut, one sample of `every` kept."""
    n, cut, segments = log.size, run.rows.cut, run.choose.folds
    dropped = left_out(robot, log, lowpass, run.rows.saturated == "drop")

    def label(index: np.ndarray, rates: np.ndarray) -> np.ndarray:
        kept = (index >= cut) & (index < n - cut) & (index % every == 0) & ~dropped(index)
        if period is None:
            segment = (index - cut) * segments // (n - 2 * cut)
        else:
            segment = (index / log.rate / period % 1 * segments).astype(int)
        segment = np.where(kept, segment, -1)
        return np.repeat(segment[:, None], rates.shape[1], axis=1)

    return Job(lowpass, label, segments)
