"""Inverse dynamics on the loops: B'tau = T'(RNEA + efforts)."""

import numpy as np
import pinocchio as pin

from robodyn_pin.regression import projected
from robodyn_pin.robot import Robot, State


def inverse_dynamics(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """Motor torques (N, n_motors) [N m or N] for a motion of the coordinates (N, d), parameters of the robot's files.

    With more motors than degrees of freedom: the torques of least norm.
    """
    state = robot.close(c, cd, cdd)
    return motor_torques(robot, state, coordinate_efforts(robot, state))


def coordinate_efforts(robot: Robot, state: State) -> np.ndarray:
    """B'tau (N, d): what the motors must provide along the coordinates."""
    model, data = robot.model, robot.model.createData()
    tree = np.array([pin.rnea(model, data, q, v, a) for q, v, a in zip(state.q, state.v, state.a, strict=True)])
    total = np.einsum("nij,ni->nj", state.T, tree.reshape(state.q.shape))
    for effort in robot.efforts:
        total += projected(effort, state) @ effort.initial
    return total


def motor_map(robot: Robot, state: State) -> np.ndarray:
    """B = S T of the motors (N, n_motors, d): motor rates per coordinate rate."""
    return robot.motors.S @ state.T


def motor_torques(robot: Robot, state: State, efforts: np.ndarray) -> np.ndarray:
    """Motor torques (N, n_motors) of least norm with B'tau = efforts (N, d)."""
    Bt = motor_map(robot, state).transpose(0, 2, 1)
    if Bt.shape[1] == Bt.shape[2]:
        return np.linalg.solve(Bt, efforts[..., None])[..., 0]
    return (np.linalg.pinv(Bt) @ efforts[..., None])[..., 0]
