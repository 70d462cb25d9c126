"""The projected regressor: B'tau = W pi, with W = T' [Y, friction columns] and labelled columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.projection import tangents
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.simple_bodies import in_other_frame
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import RUBBING, not_negative
from robodyn_pin.robot.masses import any_parameter, check_known
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.robot.urdf_tree import body_joints

KERNEL = "robodyn_pin.dynamics.kernel"
CHUNK = 64  # samples whose regressors of all joints are held at once: they stay in the processor's cache


class Bodies(NamedTuple):
    """Where the columns of a robot's bodies come from, for the kernels."""

    joint: np.ndarray  # (k,) that moves each body
    first: np.ndarray  # (k,) of its ten columns in W, which identical bodies share
    gravity: np.ndarray  # (3,) [m/s^2]


def body_table(robot: Robot) -> Bodies:
    """The bodies of a robot for the kernels."""
    return Bodies(*robot.body_columns, *kernel_choice.ready(robot.model.gravity.linear))


@dataclass(frozen=True)
class Columns:
    """Which parameters the columns of W stand for, and their values in the robot's files."""

    layout: Layout
    values: np.ndarray  # (p,) from URDF and `initial`; of identical bodies their mean


def columns(robot: Robot) -> Columns:
    """Labels and file values of the columns of `regressor`: ten per group of identical bodies, then the efforts.

    The values of a payload are zero: files say nothing of it.

    Raises:
        BadFile: the robot has neither bodies with inertia nor efforts.
    """
    if not any_parameter(robot):
        check_known(robot)
    model = robot.model
    joint_of = dict(zip(robot.bodies, body_joints(model), strict=False))  # a payload is no joint's body
    inertial = [
        np.mean([model.inertias[joint_of[name]].toDynamicParameters() for name in group], axis=0)
        if group[0] in joint_of
        else np.zeros(10)
        for group in robot.body_groups
    ]
    unknown = [e for e in robot.efforts if not e.spec.known]
    place = {name: i for i, group in enumerate(robot.body_groups) for name in group}
    separate = robot.file.identical if robot.file.separate else []
    layout = Layout(
        bodies=tuple(group_name(group) for group in robot.body_groups),
        scalars=distinct([label for e in unknown for label in e.labels]),
        nonnegative=tuple(each for e in unknown for each in not_negative(e.spec)),
        copies=tuple(tuple(place[name] for name in group) for group in separate),
    )
    return Columns(layout, np.concatenate([np.zeros(0), *inertial, *(e.initial for e in unknown)]))


def friction_columns(robot: Robot) -> np.ndarray:
    """Mask (p,) of the columns that are friction."""
    unknown = [e.spec.model in RUBBING for e in robot.efforts if not e.spec.known for _ in e.labels]
    return np.array([False] * (10 * len(robot.body_groups)) + unknown)


def distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that can be told apart: two Coulomb terms along one rate are `coulomb(j1)` and `coulomb(j1) 2`."""
    counts = [labels[: k + 1].count(label) for k, label in enumerate(labels)]
    return tuple(label if count == 1 else f"{label} {count}" for label, count in zip(labels, counts, strict=True))


def group_name(group: Sequence[str]) -> str:
    """One body by its name, identical bodies as `arm_1=arm_2=arm_3`."""
    return "=".join(group)


def regressor(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """W (N, d, p) with W @ pi = B'tau, less the known efforts; columns as `columns(robot)` labels them.

    Args:
        c, cd, cdd: coordinates and rates (N, d) [rad or m, per s, per s^2].
    """
    return state_regressor(robot, robot.close(c, cd, cdd))


def state_regressor(robot: Robot, state: State, loaded: bool = True) -> np.ndarray:
    """As `regressor`, at closed states; not `loaded`: the robot carries no payload, whose columns are zero.

    In place of T there may be other motions (N, nv, k) of the tree: W (N, k, p) is what it asks along them.
    """
    unknown = [e for e in robot.efforts if not e.spec.known]
    begin = 10 * len(robot.body_groups)
    W = np.zeros((len(state.q), state.T.shape[2], begin + sum(len(e.labels) for e in unknown)))
    _add_bodies(robot, state, W)
    if robot.payload:  # its parameters count in its link's frame, not in the joint's
        turn = in_other_frame(robot.payload.placement.homogeneous)
        W[:, :, robot.payload_columns] = W[:, :, robot.payload_columns] @ turn if loaded else 0.0
    state = with_loads(robot, state, loaded)
    for effort in unknown:
        W[:, :, begin : begin + len(effort.labels)] = projected(effort, state)
        begin += len(effort.labels)
    return W


def body_regressor(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The columns of the bodies (N, d, 10 groups) at a closed motion of all joints q, v, a (N, nv), T solved from the loops."""
    loops, S = robot.loops, robot.coordinates.S
    W = np.zeros((len(q), len(S), 10 * len(robot.body_groups)))
    if not (kernel_choice.chosen(len(q)) and (compiled := loops.compiled(S))):
        _add_by_pinocchio(robot, q, v, a, None, W)
        return W
    regular = np.empty(len(q), bool)
    project = kernel_choice.kernel(KERNEL).project_bodies
    project(*compiled, *kernel_choice.ready(S), body_table(robot), *kernel_choice.ready(q, v, a), W, regular)
    if not regular.all():
        with kernel_choice.forced("pinocchio"):
            W[~regular] = body_regressor(robot, *(x[~regular] for x in (q, v, a)))
    return W


def _add_bodies(robot: Robot, state: State, W: np.ndarray) -> None:
    """Add T'Y, summed over identical bodies, to the first columns of W (N, d, p)."""
    motion = state.q, state.v, state.a, state.T
    if kernel_choice.chosen(len(W)) and (compiled := robot.loops.compiled(robot.coordinates.S)):
        add = kernel_choice.kernel(KERNEL).add_bodies
        add(compiled[0], body_table(robot), *kernel_choice.ready(*motion), W)
    else:
        _add_by_pinocchio(robot, *motion, W)


def _add_by_pinocchio(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, T: np.ndarray | None, W: np.ndarray
) -> None:
    """As `_add_bodies`, from Pinocchio's regressor of the tree, sample by sample; T is solved where it is needed and not given."""
    model, together = robot.model, neighbours(*robot.body_columns)
    tree_regressor = partial(pin.computeJointTorqueRegressor, model, robot.loops.data)
    size, serial = (
        10 * (model.njoints - 1),
        robot.loops.size == 0 and np.array_equal(robot.coordinates.S, np.eye(model.nv)),
    )
    if serial and together == [(0, 0, size)]:  # T is one, and every joint moves a body of its own: T'Y is Y
        bodies = W[:, :, :size]
        for i, y in enumerate(map(tree_regressor, q, v, a)):
            bodies[i] = y
        return
    T = tangents(robot.loops, robot.coordinates.S, q) if T is None else T
    left = np.ascontiguousarray(T.transpose(0, 2, 1))
    for begin in range(0, len(q), CHUNK):
        part = slice(begin, begin + CHUNK)
        tree = np.empty((len(left[part]), W.shape[1], size))
        Y = map(tree_regressor, q[part], v[part], a[part])
        for out, t, y in zip(tree, left[part], Y, strict=True):
            if serial:
                out[:] = y
            else:
                np.dot(t, y.reshape(model.nv, -1), out=out)  # Pinocchio drops the axis of a lone joint
        for joint, group, width in together:
            W[part, :, group : group + width] += tree[:, :, joint : joint + width]


def neighbours(joints: np.ndarray, groups: np.ndarray) -> list[tuple[int, int, int]]:
    """Bodies whose columns are neighbours in the tree and in W: first column in each, and how many."""
    ends = np.flatnonzero((np.diff(joints) != 1) | (np.diff(groups) != 10)) + 1
    parts = np.split(np.arange(len(joints)), ends)
    return [(10 * int(joints[p[0]]) - 10, int(groups[p[0]]), 10 * len(p)) for p in parts if len(p)]


def projected(effort: Effort, state: State) -> np.ndarray:
    """Columns of one effort on the coordinates, T' times those of the tree: (N, d, k)."""
    return state.T.transpose(0, 2, 1) @ effort.columns(
        state.q, state.v, state.a, state.stops, state.loads, state.warmth
    )


def known_efforts(robot: Robot, state: State) -> np.ndarray:
    """T' times the efforts that the robot file declares as known: (N, d)."""
    total = np.zeros((len(state.q), state.T.shape[2]))
    state = with_loads(robot, state)
    for effort in robot.efforts:
        if effort.spec.known:
            total += projected(effort, state) @ effort.initial
    return total
