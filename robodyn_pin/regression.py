"""The projected regressor: B'tau = W pi, with W = T' [Y, friction columns] and labelled columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.efforts import FREE_SIGN, Effort
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.robot import Robot, State
from robodyn_pin.urdf_tree import body_joints, body_name

CHUNK = 256  # samples whose tree regressors are held at once


@dataclass(frozen=True)
class Columns:
    """Which parameters the columns of W stand for, and their values in the robot's files."""

    layout: Layout
    values: np.ndarray  # (p,) from URDF and `initial`; of identical bodies the first one's


def columns(robot: Robot) -> Columns:
    """Labels and file values of the columns of `regressor`: ten per group of identical bodies, then the efforts."""
    model = robot.model
    joint_of = {body_name(model, j): j for j in body_joints(model)}
    inertial = [model.inertias[joint_of[group[0]]].toDynamicParameters() for group in robot.body_groups]
    unknown = [e for e in robot.efforts if not e.spec.known]
    layout = Layout(
        bodies=tuple(group_name(group) for group in robot.body_groups),
        scalars=tuple(label for e in unknown for label in e.labels),
        nonnegative=tuple(e.spec.model not in FREE_SIGN for e in unknown for _ in e.labels),
    )
    return Columns(layout, np.concatenate([np.zeros(0), *inertial, *(e.initial for e in unknown)]))


def group_name(group: Sequence[str]) -> str:
    """One body by its name, identical bodies as `arm_1=arm_2=arm_3`."""
    return "=".join(group)


def regressor(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """W (N, d, p) with W @ pi = B'tau, less the known efforts; columns as `columns(robot)` labels them.

    Args:
        c, cd, cdd: coordinates and rates (N, d) [rad or m, per s, per s^2].
    """
    return state_regressor(robot, robot.close(c, cd, cdd))


def state_regressor(robot: Robot, state: State) -> np.ndarray:
    """As `regressor`, at closed states."""
    n, nv, d = state.T.shape
    groups, size = len(robot.body_groups), 10 * len(robot.body_groups)
    model, data = robot.model, robot.model.createData()
    joints = body_joints(model)
    place = {name: k for k, group in enumerate(robot.body_groups) for name in group}
    group_of = [place[body_name(model, j)] for j in joints]
    unknown = [e for e in robot.efforts if not e.spec.known]
    W = np.empty((n, d, size + sum(len(e.labels) for e in unknown)))
    for begin in range(0, n, CHUNK):
        part = slice(begin, min(begin + CHUNK, n))
        Y = np.zeros((part.stop - begin, nv, groups, 10))
        for i, (q, v, a) in enumerate(zip(state.q[part], state.v[part], state.a[part], strict=True)):
            tree = pin.computeJointTorqueRegressor(model, data, q, v, a).reshape(nv, -1, 10)
            for joint, group in zip(joints, group_of, strict=True):
                Y[i, :, group] += tree[:, joint - 1]
        np.matmul(state.T[part].transpose(0, 2, 1), Y.reshape(-1, nv, size), out=W[part, :, :size])
    begin = size
    for effort in unknown:
        W[:, :, begin : begin + len(effort.labels)] = projected(effort, state)
        begin += len(effort.labels)
    return W


def projected(effort: Effort, state: State) -> np.ndarray:
    """Columns of one effort on the coordinates, T' k f: (N, d, k)."""
    along = np.einsum("nij,i->nj", state.T, effort.row)
    return along[:, :, None] * effort.columns(state.q, state.v, state.a)[:, None, :]


def known_efforts(robot: Robot, state: State) -> np.ndarray:
    """T' times the efforts that the robot file declares as known: (N, d)."""
    total = np.zeros((len(state.q), state.T.shape[2]))
    for effort in robot.efforts:
        if effort.spec.known:
            total += projected(effort, state) @ effort.initial
    return total
