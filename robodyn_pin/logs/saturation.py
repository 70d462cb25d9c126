"""Samples of a log whose torque is saturated, left out together with what a filter remembers of them."""

from collections.abc import Callable

import numpy as np

from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import PIECE, AnyLog
from robodyn_pin.robot.robot import Robot

REMEMBERED = 0.01  # share of a sample in its filtered neighbours that still counts

LeftOut = Callable[[np.ndarray], np.ndarray]  # index (n,) of samples -> whether they are left out (n,)


def left_out(robot: Robot, log: AnyLog, lowpass: Lowpass | None, drop: bool) -> LeftOut:
    """Which samples lie on a flat top or at a torque limit, or so near that the filter mixes them in; none unless `drop`."""
    if not drop or not log.quality.saturated:
        return lambda index: np.zeros(len(index), bool)
    ends = [(k, *log.quality.ends[m]) for k, m in enumerate(robot.motors.names) if m in log.quality.ends]
    near = lowpass.reach(log.rate, log.name, REMEMBERED) if lowpass else 0
    begins, stops = [], []
    for begin in range(0, log.size, PIECE):
        part = log.section(begin, min(begin + PIECE, log.size))
        rows = begin + np.flatnonzero(_saturated(part, ends))
        gaps = np.flatnonzero(np.diff(rows) > 2 * near + 1)  # stretches between them, not rows, are kept in memory
        if len(rows):
            begins.append(rows[np.concatenate([[0], gaps + 1])] - near)
            stops.append(rows[np.concatenate([gaps, [-1]])] + near)
    first, last = (np.concatenate([np.zeros(0, int), *x]) for x in (begins, stops))

    def inside(index: np.ndarray) -> np.ndarray:
        k = np.searchsorted(first, index, side="right") - 1
        return (k >= 0) & (index <= last[k])

    return inside


def _saturated(part: Log, ends: list[tuple[int, float | None, float | None]]) -> np.ndarray:
    """Whether any motor (index, lowest, highest torque) is saturated (N,)."""
    found = np.zeros(part.size, bool)
    if part.tau is not None:
        for k, low, high in ends:
            tau = part.tau[:, k]
            found |= (tau <= (-np.inf if low is None else low)) | (tau >= (np.inf if high is None else high))
    return found
