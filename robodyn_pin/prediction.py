"""Motor torques that a model predicts for the motion of a log, one row for each row of the log."""

import numpy as np

from robodyn_pin.differentiation import Preparation, rates_of
from robodyn_pin.dynamics import coordinate_efforts, motor_torques
from robodyn_pin.motion import Log, resample, uniform
from robodyn_pin.observations import blocks, close_log
from robodyn_pin.robot import Robot

BLOCK = 20_000  # samples closed at once


def predict(robot: Robot, log: Log, preparation: Preparation) -> np.ndarray:
    """Motor torques (N, n_motors) [N m or N] for a log with positions; parameters of the robot's files.

    Raises:
        ClosureFailed: the log leaves the workspace. BadLog: too short for the filter.
    """
    even = uniform(log)
    tau = np.empty((even.size, len(robot.motors.names)))
    rates = rates_of(even, preparation)
    for low, begin, end, high in blocks(even, rates, [], 0, even.size, BLOCK):
        state = close_log(robot, even.section(low, high), rates)
        part = motor_torques(robot, state, coordinate_efforts(robot, state))
        tau[begin:end] = part[begin - low : end - low]
    return tau if even is log else resample(log.t, even.t, tau)
