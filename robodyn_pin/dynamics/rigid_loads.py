"""What rigid bodies ask of the axes, gravity and inertia without friction, along which friction of the model `load` grows.

A motor's load is the torque that the bodies ask of the motor, S'tau = what they ask of the tree, through the loops: that is what its
gear transmits. A driven joint of an open chain has the tree's own. A strut or a bearing has the force along it that the same bodies ask.
"""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.loops import Loops
from robodyn_pin.dynamics.axial_forces import axial_forces
from robodyn_pin.errors import Underactuated
from robodyn_pin.identification.simple_bodies import in_other_frame
from robodyn_pin.robot.bearing_axes import bearer
from robodyn_pin.robot.robot import Robot, State


def with_loads(robot: Robot, state: State, loaded: bool = True, asked: np.ndarray | None = None) -> State:
    """The states with the loads of the robot's friction, where it has such friction and they are not there yet.

    Args:
        loaded: the robot carries its payload. asked: what the bodies of its files ask of the tree (N, nv), if at hand.

    Raises:
        Underactuated: a dead point of the motors.
    """
    bearing = [effort for effort in robot.efforts if effort.bears]
    if not bearing or state.loads is not None:
        return state
    bodies = borne_bodies(robot, loaded)
    tree = body_efforts(robot, state, bodies) if asked is None or robot.borne else asked
    freedom, motors = len(robot.coordinates.names), robot.motors
    tau: np.ndarray | None = None
    found = {}
    if any(effort.carriers for effort in bearing):
        tau = _motor_loads(robot, state, tree) if robot.loops.size else None
        struts = {name for e in bearing if e.spec.strut is not None for name in e.carriers}
        slides = {name: _along_bearing(robot, name, state, bodies) for name in robot.bearings}
        axial = axial_forces(robot, state, tree if tau is None else tree - tau @ motors.S, struts, slides)
    for effort in bearing:
        if effort.carriers:
            kind = "bearing" if effort.spec.strut is None else "strut"
            found[effort.load_key] = np.abs(np.stack([axial[kind, name] for name in effort.carriers], axis=1))
            continue
        along = []
        for row in effort.rows:
            said = bearer(row, motors, freedom, robot.loops)
            assert said is not None  # checked when the robot was built
            if said.motor and tau is None:
                tau = _motor_loads(robot, state, tree)
            along.append(np.abs((tau if said.motor else tree)[:, said.number] / said.gear))  # type: ignore[index]
        found[effort.load_key] = np.stack(along, axis=1)
    return replace(state, loads=found)


def _along_bearing(robot: Robot, name: str, state: State, bodies: np.ndarray) -> np.ndarray:
    """What bodies (joints, 10) ask along the axis of a bearing (N,), as if there were no loops."""
    there = robot.bearings[name]
    q, v, a = (there.moved(x) for x in (state.q, state.v, state.a))
    return _tree_efforts(there.loops.model, there.loops, q, v, a, there.bodies(bodies))[:, there.slide]


def _motor_loads(robot: Robot, state: State, tree: np.ndarray) -> np.ndarray:
    """Torques (N, n) of the motors, one for each degree of freedom, for efforts of the tree (N, nv)."""
    B, efforts = robot.motors.S @ state.T, np.einsum("nij,ni->nj", state.T, tree)
    try:
        return np.linalg.solve(B.transpose(0, 2, 1), efforts[..., None])[..., 0]
    except np.linalg.LinAlgError:
        i = int(np.abs(np.linalg.det(B)).argmin())
        raise Underactuated(
            f"robot {robot.name!r}: sample {i} is a dead point of its motors, where friction that grows with their load has no value; "
            "choose a motion that stays clear of it",
            i,
            efforts[i],
        ) from None


def borne_bodies(robot: Robot, loaded: bool) -> np.ndarray:
    """The ten parameters of each joint's body (joints, 10) by which loads count: those of the files, or the estimate before."""
    if robot.borne is None:
        return body_parameters(robot)
    found, values = np.zeros((robot.model.njoints, 10)), np.array(robot.borne)
    for joint, first in zip(*robot.body_columns, strict=True):
        own = values[first : first + 10]
        if robot.payload and first == robot.payload_columns.start:
            own = in_other_frame(robot.payload.placement.homogeneous) @ own if loaded else 0 * own
        found[joint] += own
    return found


def body_parameters(robot: Robot) -> np.ndarray:
    """The ten parameters of each joint's body (joints, 10), as Pinocchio orders them."""
    return _parameters_of(robot.model)


def _parameters_of(model: pin.Model) -> np.ndarray:
    return np.array([body.toDynamicParameters() for body in model.inertias])


def body_efforts(robot: Robot, state: State, parameters: np.ndarray | None = None) -> np.ndarray:
    """What bodies ask of the tree's joints (N, nv), of parameters (joints, 10) or of the robot's files."""
    return _tree_efforts(robot.model, robot.loops, state.q, state.v, state.a, parameters)


def _tree_efforts(
    model: pin.Model, loops: Loops, q: np.ndarray, v: np.ndarray, a: np.ndarray, parameters: np.ndarray | None
) -> np.ndarray:
    total = np.empty(q.shape)
    if kernel_choice.chosen(len(total)) and (compiled := loops.compiled()):
        bodies = _parameters_of(model) if parameters is None else parameters
        given = kernel_choice.ready(model.gravity.linear, bodies, q, v, a)
        kernel_choice.kernel("robodyn_pin.dynamics.kernel").efforts(compiled[0], *given, total)
        return total
    data = model.createData()
    for i, motion in enumerate(zip(q, v, a, strict=True)):
        if parameters is None:
            total[i] = pin.rnea(model, data, *motion)
        else:
            Y = pin.computeJointTorqueRegressor(model, data, *motion)
            total[i] = Y.reshape(model.nv, -1) @ parameters[1:].ravel()
    return total
