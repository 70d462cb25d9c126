"""Logs that were made of arrays, and not read: they are held against the robot as those of a file are."""

from dataclasses import replace
from typing import Any

import numpy as np

from robodyn_pin.errors import BadLog, ShapeMismatch
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import good_log
from robodyn_pin.logs.units import Units
from robodyn_pin.robot.robot import Robot


def known_log(log: Log, robot: Robot) -> Log:
    """The log with what is odd about it; as it is, if it was read.

    Raises:
        ShapeMismatch: arrays that are not (N,) and (N, n), or hold no numbers. BadLog: as reading such a log.
    """
    if log.quality.rows:
        return log
    motors = robot.motors.names
    arrays: dict[str, Any] = {}
    for key in ("t", "q", "tau", "dq", "ddq"):
        if getattr(log, key) is None:
            continue
        try:
            x = np.asarray(getattr(log, key), float)
        except (TypeError, ValueError):
            raise ShapeMismatch(f"{log.name}: {key} is no array of numbers") from None
        expected = (len(log.t),) if key == "t" else (len(log.t), len(motors))
        if x.shape != expected:
            raise ShapeMismatch(
                f"{log.name}: {key} has shape {x.shape}, expected {expected}: one row for each time, one column for each of the motors "
                f"{', '.join(motors)}"
            )
        if len(wrong := np.argwhere(~np.isfinite(x))):
            raise BadLog(f"{log.name}: {key} is {x[tuple(wrong[0])]} at sample {wrong[0][0]}; it must be finite")
        arrays[key] = x
    return good_log(replace(log, **arrays), robot, Units())
