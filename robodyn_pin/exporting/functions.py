"""The functions that a controller calls, as CasADi functions: loops closed inside."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi
import numpy as np

from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.dynamics.rigid_loads import borne_bodies
from robodyn_pin.dynamics.struts import held_struts
from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.exporting.closed_twin import Twin, push_of, solved, torques_of_motors
from robodyn_pin.exporting.elimination import Eliminated
from robodyn_pin.exporting.reduced_twin import reduced_strut_forces
from robodyn_pin.exporting.symbolic_efforts import check_forms, effort_terms
from robodyn_pin.exporting.symbols import X, applied, as_column, dot, objects, total, unknowns
from robodyn_pin.exporting.twin import bodies_motion, drift
from robodyn_pin.robot.bearing_axes import bearer
from robodyn_pin.robot.kinematics import END_EFFECTORS, told_frames
from robodyn_pin.robot.robot import Robot


def _inverse_dynamics(twin: Twin, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    asked, *_ = _asked_of_joints(twin, cd, cdd)
    return torques_of_motors(twin.robot, twin.pose.T, twin.pose.T.T @ asked)


def _asked_of_joints(twin: Twin, cd: np.ndarray, cdd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a motion asks of the tree's joints (nv,), and their rates and accelerations."""
    v, a = motion_of_joints(twin, cd, cdd)
    g = np.array(twin.robot.model.gravity.linear)
    bodies = twin.tree_efforts(v, a, g)
    loads = _loads(
        twin, bodies if twin.robot.borne is None else twin.tree_efforts(v, a, g, borne_bodies(twin.robot, True))
    )
    return bodies + effort_terms(twin.robot, twin.pose.at, twin.pose.q, v, a, loads), v, a


def _loads(twin: Twin, tree: np.ndarray) -> dict[bytes, np.ndarray]:
    """What friction grows with where bodies ask the tree's joints for `tree` (nv,): as dynamics/rigid_loads.py."""
    robot, found = twin.robot, {}
    for effort in robot.efforts:
        if effort.bears:
            said = [bearer(row, robot.motors, len(robot.coordinates.names), robot.loops) for row in effort.rows]
            torques = (
                torques_of_motors(robot, twin.pose.T, twin.pose.T.T @ tree)
                if any(x and x.motor for x in said)
                else tree
            )
            found[effort.load_key] = np.array(
                [applied("fabs", (torques if x.motor else tree)[x.number] / float(x.gear)) for x in said if x]
            )
    return found


def motion_of_joints(twin: Twin, cd: np.ndarray, cdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates and accelerations (nv,) of the tree's joints."""
    v, a = twin.pose.T @ cd, twin.pose.T @ cdd
    if twin.pose.eliminated is not None:
        V, A = bodies_motion(twin.tree, twin.pose.at, v, objects(np.zeros(len(v))))
        a = a + twin.pose.eliminated.solve(-drift(twin.loops, twin.pose.at, V, A), objects(np.zeros(len(cd))))
    return v, a


def _strut_forces(twin: Twin, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """Along the struts, at their closed ends and then at those that the tree carries (2, struts).

    Raises:
        RobodynError: the robot has none.
    """
    robot, pose = twin.robot, twin.pose
    if not robot.file.struts or pose.eliminated is None:
        raise RobodynError(
            f"robot {robot.name!r} has no struts in loops; name them in its file, or leave 'strut_forces' out"
        )
    asked, v, a = _asked_of_joints(twin, cd, cdd)
    rest = asked - torques_of_motors(robot, pose.T, pose.T.T @ asked) @ objects(robot.motors.S)
    lam, (V, A) = _multipliers(twin, pose.eliminated, rest), bodies_motion(twin.tree, pose.at, v, a)
    lower, upper = [], []
    for strut in held_struts(robot):
        first, last = strut.bodies[0], strut.bodies[-1]
        span = pose.at.point(first, strut.far) - pose.at.point(last, strut.near)
        along = span * (1 / applied("sqrt", dot(span, span)))
        kind = KINDS[robot.loops.closures[strut.closure].kind]
        axes = pose.at.R[twin.loops.a[strut.closure]] @ objects(twin.loops.turn_a[strut.closure])
        row = twin.loops.first_row[strut.closure]
        far = (axes[:, kind.linear] @ lam[row : row + kind.moves]) * strut.sign
        near = sum((_lifting(twin, V[j], A[j], j) for j in strut.bodies), objects(np.zeros(3))) - far
        lower.append(dot(far, along))
        upper.append(-dot(near, along))
    return np.array([lower, upper])


def _reduced_forces(twin: Twin, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """As `_strut_forces`, by the reduced model.

    Raises:
        RobodynError: the robot has no struts, or the model does not fit it.
    """
    if not twin.robot.file.struts or twin.pose.eliminated is None:
        raise RobodynError(
            f"robot {twin.robot.name!r} has no struts in loops; name them in its file, or leave 'reduced_forces' out"
        )
    return reduced_strut_forces(twin, *motion_of_joints(twin, cd, cdd))


def _multipliers(twin: Twin, eliminated: Eliminated, rest: np.ndarray) -> np.ndarray:
    """lam (m,) with J'lam = rest (nv,), of least norm: solving [J; S] x = right is linear, and this its transpose."""
    of_right, right = unknowns("right", twin.loops.size)
    x = eliminated.solve(right, objects(np.zeros(len(twin.robot.coordinates.S))))
    found = casadi.jtimes(as_column(x), of_right, as_column(rest), True)
    return np.array([X(found[k]) for k in range(twin.loops.size)])


def _lifting(twin: Twin, V: np.ndarray, A: np.ndarray, joint: int) -> np.ndarray:
    """Force (3,) that a body's motion asks beyond its weight."""
    gravity = np.array(twin.robot.model.gravity.linear)
    return push_of(twin.pose.at, joint, V, A, gravity, twin.bodies[joint])[:3]


def _forward_kinematics(twin: Twin) -> np.ndarray:
    """The upper three rows of the poses of the robot's frames (frames, 3, 4).

    Raises:
        RobodynError: its file names none, and it has none that is usually a robot's end.
    """
    robot, model, found = twin.robot, twin.robot.model, []
    if not told_frames(robot):
        raise RobodynError(
            f"'forward_kinematics' gives the poses of the frames that the file of robot {robot.name!r} names, and it names none, nor is a link called "
            f"{', '.join(END_EFFECTORS[:-1])} or {END_EFFECTORS[-1]}; add 'frames: {{tool: {{link: LINK, at: [0, 0, 0]}}}}'"
        )
    for name in told_frames(robot):
        frame = model.frames[frame_id(model, name)]
        R = twin.pose.at.R[frame.parentJoint] @ objects(frame.placement.rotation)
        found.append(np.column_stack([R, twin.pose.at.point(frame.parentJoint, frame.placement.translation)]))
    return np.array(found)


def _forward_dynamics(twin: Twin, cd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Accelerations (d,) that motor torques (n,) cause: M c'' = B'tau - what the motion asks without them.

    Raises:
        RobodynError: friction grows with what they ask.
    """
    check_forms(twin.robot, given=False)
    still = objects(np.zeros(len(cd)))
    asked, *_ = _asked_of_joints(twin, cd, still)
    pushed = tau @ objects(twin.robot.motors.S) - asked
    return solved(mass_matrix_of(twin), twin.pose.T.T @ pushed)


def _gravity(twin: Twin) -> np.ndarray:
    still = objects(np.zeros(len(twin.pose.q)))
    return twin.pose.T.T @ twin.tree_efforts(still, still, np.array(twin.robot.model.gravity.linear))


def mass_matrix_of(twin: Twin) -> np.ndarray:
    still, columns = objects(np.zeros(len(twin.pose.q))), []
    rotors = [e for e in twin.robot.efforts if e.spec.model == "armature"]
    for a in twin.pose.T.T:
        tau = twin.tree_efforts(still, a, np.zeros(3))
        for effort in rotors:
            for row in effort.rows:
                tau = tau + row * (total(k * x for k, x in zip(row, a, strict=True) if k) * effort.initial[0])
        columns.append(twin.pose.T.T @ tau)
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Offered:
    """A function that can be exported."""

    build: Callable[..., np.ndarray]
    inputs: tuple[str, ...]  # besides the coordinates
    output: str
    meaning: str  # with units
    shape: Callable[[Robot], tuple[int, ...]]  # of the output


FUNCTIONS = {
    "inverse_dynamics": Offered(
        _inverse_dynamics, ("cd", "cdd"), "tau", "torques or forces of the motors [N m or N]",
        lambda robot: (len(robot.motors.names),),
    ),
    "gravity": Offered(
        _gravity, (), "g", "what holding the bodies takes along the coordinates [N m or N]",
        lambda robot: (len(robot.coordinates.names),),
    ),
    "mass_matrix": Offered(
        mass_matrix_of, (), "M", "mass matrix of the coordinates, row by row [kg m^2, kg m or kg]",
        lambda robot: 2 * (len(robot.coordinates.names),),
    ),
    "forward_dynamics": Offered(
        _forward_dynamics, ("cd", "tau"), "cdd", "accelerations of the coordinates under motor torques tau [rad/s^2 or m/s^2]",
        lambda robot: (len(robot.coordinates.names),),
    ),
    "strut_forces": Offered(
        _strut_forces, ("cd", "cdd"), "force", "along the struts {struts}, tension positive: at their closed ends, then at the others [N]",
        lambda robot: (2, len(robot.file.struts)),
    ),
    "reduced_forces": Offered(
        _reduced_forces, ("cd", "cdd"), "force", "as strut_forces, by the reduced model: struts carry along their length only [N]",
        lambda robot: (2, len(robot.file.struts)),
    ),
    "forward_kinematics": Offered(
        _forward_kinematics, (), "pose", "upper three rows (rotation, position [m]) of the poses of the frames {frames}",
        lambda robot: (len(told_frames(robot)), 3, 4),
    ),
}  # fmt: skip


def sizes_of(robot: Robot, function: Offered) -> dict[str, int]:
    """Inputs of an exported function by name, and how many numbers each has."""
    d, n = len(robot.coordinates.names), len(robot.motors.names)
    return {name: n if name == "tau" else d for name in ("c", *function.inputs)}


def function_of(
    twin: Twin, name: str, last_step: bool = False, among: Mapping[str, Offered] = FUNCTIONS
) -> casadi.Function:
    """A function of CasADi: (start, c, ...) -> (q, residual, output, clearance), columns; matrices row by row.

    With `last_step` two more outputs say where the last step of closing begins, `before` (nv,), and what it takes away, `open` (m,).

    Raises:
        UnknownName: no such function. RobodynError: the robot has not what it is about.
    """
    if name not in among:
        raise UnknownName("function", name, "the functions that can be exported", list(among))
    offered, sizes = among[name], sizes_of(twin.robot, among[name])
    rates = [unknowns(x, sizes[x]) for x in offered.inputs]
    found = offered.build(twin, *(x for _, x in rates))
    inputs = [twin.start[0], twin.c[0], *(x for x, _ in rates)]
    residual, clearance = (as_column(np.array([x])) for x in (twin.pose.residual, twin.clearance))
    outputs, named = (
        [as_column(twin.pose.q), residual, as_column(found), clearance],
        ["q", "residual", offered.output, "clearance"],
    )
    if last_step:
        outputs, named = [*outputs, *map(as_column, twin.pose.last)], [*named, "before", "open"]
    return casadi.Function(name, inputs, outputs, ["start", "c", *offered.inputs], named, {"cse": True})
