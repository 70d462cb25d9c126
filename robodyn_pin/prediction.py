"""Motor torques that a model predicts for the motion of a log, one row for each row of the log."""

import numpy as np

from robodyn_pin.differentiation import Preparation, rates_of
from robodyn_pin.dynamics import coordinate_efforts, motor_torques
from robodyn_pin.errors import BadLog
from robodyn_pin.motion import Log, resample, uniform
from robodyn_pin.observations import blocks, close_log
from robodyn_pin.robot import Robot

BLOCK = 20_000  # samples closed at once


def predict(robot: Robot, log: Log, preparation: Preparation, internal: bool = False) -> np.ndarray:
    """Motor torques (N, n_motors) [N m or N] for a log with positions; parameters of the robot's files.

    Args:
        internal: with more motors than degrees of freedom, add the torque that moves nothing and that the log's own torques
            contain; else the torques of least norm.

    Raises:
        ClosureFailed: the log leaves the workspace. BadLog: too short for the filter; no torques in the log.
    """
    if internal and log.tau is None:
        raise BadLog(f"{log.name} has no columns tau_<motor>, so its internal torque is not known")
    even = uniform(log)
    tau = np.empty((even.size, len(robot.motors.names)))
    rates = rates_of(even, preparation)
    for low, begin, end, high in blocks(even, rates, [], 0, even.size, BLOCK):
        section = even.section(low, high)
        state = close_log(robot, section, rates)
        own = section.tau if internal else None
        part = motor_torques(robot, state, coordinate_efforts(robot, state), own)
        tau[begin:end] = part[begin - low : end - low]
    return tau if even is log else resample(log.t, even.t, tau)
