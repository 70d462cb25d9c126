"""Which rows of a fit log are fitted and which are scored, and in which segment for cross-validation each lies."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.unknown_start import start_counts
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.rows import Block, Job, filtered, observe
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot


def fitted_rows(robot: Robot, run: RunFile, log: AnyLog, period: float | None = None) -> Job:
    """Which rows of a fit log are fitted, and in which segment each lies."""
    job = segmented(robot, run, log, run.rows.filter, run.rows.every, period)
    return replace(job, noise=motor_noise(run, robot))


def fitted_blocks(
    robot: Robot, run: RunFile, log: AnyLog, columns: np.ndarray | slice = slice(None)
) -> Iterator[tuple[Block, np.ndarray, np.ndarray, np.ndarray]]:
    """Blocks of a fit log without W, which of their samples (n,) are fitted, and the rows of these: `columns` of W (m, d, k), efforts (m, d).

    Samples that depend on where the log's stops began are left out.
    """
    job, first = fitted_rows(robot, run, log), start_counts(robot, log)
    for block in observe(robot, log, run.preparation, [job.filter]):
        W, known, measured = filtered(replace(block, W=block.W[:, :, columns]), job.filter, log, job.noise)
        index = block.begin + np.arange(len(W))
        kept = (job.label(index, block.rates[block.keep])[:, 0] >= 0) & (index >= first)
        bare = replace(block, W=block.W[:, :, :0].copy())  # a view would hold all of it
        found = bare, kept, W[kept], (measured - known)[kept]
        del block, W  # before the next ones are made: together they are the most that memory holds
        yield found


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
