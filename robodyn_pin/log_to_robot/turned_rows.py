"""Rows of the fit logs whose gravity can still be turned: the logs are read once for all directions.

Torques are linear in gravity, W(g) = W(g0) + the sum over three directions of (g - g0)_k / |g0| U_k, where U_k has columns for masses
and first moments alone. The loads of friction that grows with them stay those of the robot that is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.dynamics.unknown_start import unknown_start
from robodyn_pin.identification.fold import Factor, empty, triangle
from robodyn_pin.log_to_robot.lean import leaning
from robodyn_pin.log_to_robot.rows import Block, Folded, add, fold_blocks, observe
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows, segmented
from robodyn_pin.logs.fourier_series import period_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each


@dataclass(frozen=True)
class TurnedRows:
    """Rows with columns W at one gravity and U along three directions behind them."""

    gravity: np.ndarray  # (3,) [m/s^2] of W, not zero
    size: int  # p, columns of W
    moved: np.ndarray  # (k,) those that depend on gravity; U has three times as many
    fitted: Folded  # [segment][coordinate]
    scored: Folded

    def turned(self, R: np.ndarray, gravity: np.ndarray) -> np.ndarray:
        """Rows [W, y] (n, p + 1) at another gravity (3,) of rows R [W, U, y] (n, p + 3 k + 1)."""
        parts = (gravity - self.gravity) / np.linalg.norm(self.gravity)
        found = np.column_stack([R[:, : self.size], R[:, -1]])
        found[:, self.moved] += np.tensordot(parts, R[:, self.size : -1].reshape(len(R), 3, -1), (0, 1))
        return found

    def at(self, groups: Sequence[Factor], gravity: np.ndarray) -> list[Factor]:
        """Factors of W at another gravity (3,)."""
        return [Factor(triangle(self.turned(f.R, gravity)), f.rows, f.energy) for f in groups]


def turned_rows(robot: Robot, run: RunFile, logs: Sequence[AnyLog]) -> TurnedRows:
    """The fit logs in segments, those of a log that repeats by phase of its period; raises as `fold_logs`."""
    parts = each(partial(_of_log, robot, run), logs)
    fitted, scored = (reduce(add, folded) for folded in zip(*parts, strict=True))
    moved = _moved(robot)
    return TurnedRows(np.array(robot.model.gravity.linear), columns(robot).layout.size, moved, fitted, scored)


def _moved(robot: Robot) -> np.ndarray:
    """Columns of mass and first moments of each body."""
    return (10 * np.arange(len(robot.body_groups))[:, None] + np.arange(4)).ravel()


def _of_log(robot: Robot, run: RunFile, log: AnyLog) -> tuple[Folded, Folded]:
    """Rows of a log as they are fitted and as a choice is judged by."""
    period, judged = period_of(log), None if run.choose.use == "simulation" else run.score.filter
    jobs = [fitted_rows(robot, run, log, period), segmented(robot, run, log, judged, 1, period)]
    width = columns(robot).layout.size + 3 * len(_moved(robot))
    folded: list[Folded] = [[[empty(width)] * len(robot.coordinates.names) for _ in range(job.groups)] for job in jobs]
    g = np.array(robot.model.gravity.linear)
    others = [leaning(robot, g + turn) for turn in np.linalg.norm(g) * np.eye(3)]
    start = unknown_start(robot, log)
    seen = observe(robot, log, run.preparation, [job.filter for job in jobs], start=start)
    wide = (_widened(block, others, _moved(robot), log.loaded) for block in seen)
    fitted, scored = fold_blocks(wide, jobs, log, folded, start)
    return fitted, scored


def _widened(block: Block, others: Sequence[Robot], moved: np.ndarray, loaded: bool) -> Block:
    """The block with what three other directions of gravity change behind W."""
    own = block.W[:, :, block.in_front :]
    changes = [(state_regressor(other, block.state, loaded) - own)[:, :, moved] for other in others]
    return Block(**(vars(block) | {"W": np.concatenate([block.W, *changes], axis=2)}))
