"""The fit logs once more, when the weights of their rows are known: pieces, instruments and the motion, each log closed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robodyn_pin.identification.fold import Factor, empty, fold_rows
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.log_to_robot.instruments import LOOKED_AT, MARGIN, Instruments, band, fills_band
from robodyn_pin.log_to_robot.outliers import outliers_seen
from robodyn_pin.log_to_robot.pace import Pace, PaceOfLog
from robodyn_pin.log_to_robot.pieces import PieceFolds, cut_up
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_blocks
from robodyn_pin.log_to_robot.unlike_part import unlike_part
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each


@dataclass(frozen=True)
class SeenAgain:
    """What a log shows besides the parameters."""

    pieces: PieceFolds
    instruments: list[Factor]  # rows [Z, W, y] of each coordinate; no rows where instruments are switched off
    pace: Pace
    far: str  # what fitted samples far off the model are worth saying, a few or a part of the log; empty: nothing


@dataclass(frozen=True)
class SecondPass:
    """What all fit logs show besides the parameters."""

    logs: list[SeenAgain]
    motion: float  # [Hz] below which the liveliest of them moves
    cutoff: float  # [Hz] of the instruments' motion; 0 where they are switched off, or where the log has no room above its motion

    @property
    def outliers(self) -> str:
        """What samples far off the model are worth saying, of the first log that has such, and how many more have."""
        said = [log.far for log in self.logs if log.far]
        return "" if not said else said[0] + (f" (and those of {len(said) - 1} more logs)" if len(said) > 1 else "")


def second_pass(
    robot: Robot,
    run: RunFile,
    wls: BaseEstimate,
    logs: Sequence[AnyLog],
    periods: Sequence[float | None],
) -> SecondPass:
    """What the logs show when they are read once more; raises as `observe`.

    Args:
        wls: base parameters that were fitted. periods: [s] of each log's motion, None: it does not repeat.
    """
    motion = max(band(log) for log in logs)
    cutoff = MARGIN * motion if run.instruments and not fills_band(motion, logs[0].rate) else 0.0
    seen = each(partial(_seen_again, robot, run, wls, cutoff), list(zip(logs, periods, strict=True)))
    return SecondPass(seen, motion, cutoff)


def _seen_again(
    robot: Robot, run: RunFile, wls: BaseEstimate, cutoff: float, of: tuple[AnyLog, float | None]
) -> SeenAgain:
    (log, period), base, sigma = of, wls.base.columns, wls.sigma
    piece_of, seconds = cut_up(log, period, run.rows.cut)
    pieces, pace = PieceFolds(robot, len(base), seconds), PaceOfLog(robot)
    instruments = Instruments(robot, run, log, base, cutoff) if cutoff else None
    beside = [empty(2 * len(base)) for _ in sigma]
    left, predicted, at = list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    for block, kept, W, y in fitted_blocks(robot, run, log, base):
        index, inner = block.begin + np.flatnonzero(kept), block.state[block.keep]
        pace.add(block.begin, inner)
        rows = np.concatenate([W, y[:, :, None]], axis=2)
        still = np.abs(block.rates[block.keep][kept]) < run.score.still
        pieces.add(piece_of(index), rows / sigma[:, None], inner.q[kept] @ robot.motors.S.T, still)
        if block.begin < LOOKED_AT:
            left.append(y - W @ wls.values)
            predicted.append(W @ wls.values)
            at.append(index)
        if instruments and block.begin < LOOKED_AT:
            rows = np.concatenate([instruments.of(block)[kept], rows], axis=2)[index < LOOKED_AT]
            beside = [fold_rows(f, rows[:, j, :-1], rows[:, j, -1]) for j, f in enumerate(beside)]
    index, away = np.concatenate(at), np.concatenate(left)
    few = "" if run.robust else outliers_seen(away, f"fitted samples of {log.name}", log, index)
    far = few or unlike_part(log, index, away, np.concatenate(predicted), robot.coordinates.names)
    return SeenAgain(pieces, beside, pace.found(log), far)
