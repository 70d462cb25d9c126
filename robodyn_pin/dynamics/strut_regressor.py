"""Strut forces as a linear map of the parameters: R pi, at both ends of every strut, without what the robot file knows.

By virtual work: y moves the tree so that a closure opens by one along its strut while the motors stand still, and the force there is
what the tree asks along y. So R is the projected regressor, with the y of the struts in place of T.
"""

from dataclasses import replace

import numpy as np

from robodyn_pin.closures.batch import Placed
from robodyn_pin.closures.elimination import stacked
from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.dynamics.struts import Held, along_strut, held_struts
from robodyn_pin.robot.robot import Robot, State


def strut_regressor(robot: Robot, state: State) -> np.ndarray:
    """R (N, 2, k, p): forces along k struts at their lower and upper ends [N] per parameter, as `columns(robot)` labels them."""
    placed, struts = robot.loops.placed(state.q), held_struts(robot)
    V, A = placed.motions(state.v, state.a)
    along = [along_strut(placed, strut) for strut in struts]
    rows = np.zeros((len(state.q), robot.loops.size, len(struts)))
    for k, strut in enumerate(struts):
        closure = robot.loops.closures[strut.closure]
        kind, own = KINDS[closure.kind], [r for r, owner in enumerate(robot.loops.row_owner) if owner == closure.name]
        axes = placed.ends[0][strut.closure][:, kind.linear]
        rows[:, own[: kind.moves], k] = strut.sign * np.einsum("ijn,in->nj", axes, along[k])
    lower = state_regressor(robot, replace(with_loads(robot, state), T=_opening(robot, state, rows)))
    upper = lower.copy()
    for k, strut in enumerate(struts):
        upper[:, k] -= _lifting(robot, placed, strut, V, A, along[k], lower.shape[2])
    return np.stack([lower, upper], axis=1)


def _opening(robot: Robot, state: State, rows: np.ndarray) -> np.ndarray:
    """Motions y (N, nv, k) of the tree that open the closures by `rows` (N, m, k) and do not move the motors.

    Where there are more motors, or equations, than needed, those that leave torques and multipliers of least norm.
    """
    J, S, B = robot.loops.jacobian(state.q), robot.coordinates.S, motor_map(robot, state)
    K = stacked(J, S)
    if K.shape[1] == K.shape[2]:
        still = np.zeros((len(rows), len(S), rows.shape[2]))
        y = np.linalg.solve(K, np.concatenate([rows, still], axis=1))
    else:
        y = np.linalg.pinv(J, rcond=1e-9) @ rows
    turned = robot.motors.S @ y  # zero where motors are the coordinates
    return y - state.T @ (np.linalg.pinv(B) @ turned)


def _lifting(
    robot: Robot, placed: Placed, strut: Held, V: np.ndarray, A: np.ndarray, along: np.ndarray, size: int
) -> np.ndarray:
    """Force along a strut that its bodies' motion asks beyond their weight, per parameter (N, p): of masses, first moments."""
    found = np.zeros((along.shape[1], size))
    for joint, group in zip(*robot.body_columns, strict=True):
        if joint not in strut.bodies:
            continue
        turning, faster, at = V[joint, 3:], A[joint, 3:], placed.p[joint]
        rate = V[joint, :3] + np.cross(turning, at, axis=0)
        origin = A[joint, :3] + np.cross(faster, at, axis=0) + np.cross(turning, rate, axis=0)
        found[:, group] += ((origin - robot.model.gravity.linear[:, None]) * along).sum(axis=0)
        for i in range(3):
            axis = placed.R[joint][:, i]
            swung = np.cross(faster, axis, axis=0) + np.cross(turning, np.cross(turning, axis, axis=0), axis=0)
            found[:, group + 1 + i] += (swung * along).sum(axis=0)
    return found
