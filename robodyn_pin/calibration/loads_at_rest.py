"""What a robot carries at rest under measured loads, by the statics of any robot."""

from dataclasses import replace

import numpy as np

from robodyn_pin.calibration.yielding_drives import YieldingDrives
from robodyn_pin.dynamics.equations import Wrench
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.robot.kinematics import forward_kinematics
from robodyn_pin.robot.robot import Robot


def loads_at_rest(robot: Robot, drives: YieldingDrives, c: np.ndarray, wrench: np.ndarray) -> Loads:
    """Loads at coordinates c (N, d) under force and moment (N, 6) where the drives' loads act [N, N m], axes of the base.

    Raises:
        ClosureFailed: a pose is out of reach.
    """
    lever = forward_kinematics(robot, c, drives.frame)[:, :3, :3] @ np.array(drives.at)
    moment = wrench[:, 3:] + np.cross(lever, wrench[:, :3])
    at_rest = robot if drives.weight else _weightless(robot)
    return Loads(at_rest, at_rest.at_rest(c), Wrench(drives.frame, np.concatenate([wrench[:, :3], moment], axis=1)))


def motors_carry(robot: Robot, drives: YieldingDrives, c: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Torques (N, d) [N m or N] of the motors that are the robot's coordinates, in their order; arguments as `loads_at_rest`."""
    order = [robot.motors.names.index(name) for name in robot.coordinates.names]
    return loads_at_rest(robot, drives, c, wrench).tau[:, order]


def _weightless(robot: Robot) -> Robot:
    model = robot.model.copy()
    model.gravity.linear = np.zeros(3)
    return replace(robot, model=model)
