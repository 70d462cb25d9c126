"""Strut forces as a linear map of the parameters: R pi, at both ends of every strut, without what the robot file knows."""

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.batch import Placed
from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.loop_forces import multipliers
from robodyn_pin.dynamics.regressor import columns, neighbours
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.dynamics.struts import Held, along_strut, held_struts
from robodyn_pin.robot.robot import Robot, State


def strut_regressor(robot: Robot, state: State) -> np.ndarray:
    """R (N, 2, k, p): forces along k struts at their lower and upper ends [N] per parameter, as `columns(robot)` labels them."""
    Y, T, S = _tree_regressor(robot, state), state.T.transpose(0, 2, 1), robot.motors.S
    B = motor_map(robot, state).transpose(0, 2, 1)
    tau = np.linalg.solve(B, T @ Y) if B.shape[1] == B.shape[2] else np.linalg.pinv(B) @ (T @ Y)
    lam = multipliers(robot, state, Y - S.T @ tau)
    placed = robot.loops.placed(state.q)
    V, A = placed.motions(state.v, state.a)
    ends = []
    for strut in held_struts(robot):
        along = along_strut(placed, strut)
        lower = _closed_end(robot, placed, strut, lam, along)
        ends.append([lower, lower - _lifting(robot, placed, strut, V, A, along, Y.shape[2])])
    return np.array(ends).transpose(2, 1, 0, 3)


def _tree_regressor(robot: Robot, state: State) -> np.ndarray:
    """What a unit of each parameter asks of the tree's joints (N, nv, p)."""
    model, begin = robot.model, 10 * len(robot.body_groups)
    Y = np.zeros((len(state.q), model.nv, columns(robot).layout.size))
    tree = np.empty((len(state.q), model.nv, 10 * (model.njoints - 1)))
    for i, motion in enumerate(zip(state.q, state.v, state.a, strict=True)):
        tree[i] = pin.computeJointTorqueRegressor(model, robot.loops.data, *motion)
    for joint, group, width in neighbours(*robot.body_columns):
        Y[:, :, group : group + width] += tree[:, :, joint : joint + width]
    state = with_loads(robot, state)
    for effort in robot.efforts:
        if not effort.spec.known:
            Y[:, :, begin : begin + len(effort.labels)] = effort.columns(
                state.q, state.v, state.a, state.stops, state.loads, state.warmth
            )
            begin += len(effort.labels)
    return Y


def _closed_end(robot: Robot, placed: Placed, strut: Held, lam: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Force along a strut at its closed end per parameter (N, p), from multipliers (N, m, p)."""
    closure = robot.loops.closures[strut.closure]
    kind = KINDS[closure.kind]
    rows = [r for r, owner in enumerate(robot.loops.row_owner) if owner == closure.name][: kind.moves]
    axes = placed.ends[0][strut.closure][:, kind.linear]
    return strut.sign * np.einsum("ijn,in,njp->np", axes, along, lam[:, rows], optimize=True)


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
