"""The functions that a controller calls, as CasADi functions: loops closed inside, from the joints' positions of the sample before."""

from collections.abc import Callable
from dataclasses import dataclass

import casadi
import numpy as np

from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.dynamics.rigid_loads import body_parameters
from robodyn_pin.dynamics.struts import held_struts
from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.exporting.elimination import Eliminated, eliminate
from robodyn_pin.exporting.symbolic_efforts import check_forms, effort_terms
from robodyn_pin.exporting.symbols import X, applied, as_column, constant, cross_product, dot, objects, total, unknowns
from robodyn_pin.exporting.twin import Places, bodies_motion, closure_residual, drift, jacobian_blocks, places
from robodyn_pin.robot.masses import check_known
from robodyn_pin.robot.robot import Robot

NEWTON = 3  # steps from the sample before; the last one with the Jacobian of the one before it


@dataclass(frozen=True)
class ClosedPose:
    """A closed pose: all that follows is solved with its eliminated closures."""

    at: Places
    q: np.ndarray  # (nv,)
    residual: X  # largest error of closures and coordinates [rad or m]
    T: np.ndarray  # (nv, d) joint rates per coordinate rate
    eliminated: Eliminated | None  # None: a tree


@dataclass(frozen=True)
class Twin:
    """What all functions of one robot share."""

    robot: Robot
    tree: Tree
    loops: LoopTable

    def close(self, start: np.ndarray, c: np.ndarray) -> ClosedPose:
        """The pose at coordinates c (d,), by Newton's steps from joint positions `start` (nv,)."""
        S, offset = self.robot.coordinates.S, self.robot.coordinates.offset
        if not self.loops.size:
            T = np.linalg.inv(S)
            q = objects(T) @ (c - offset)
            return ClosedPose(places(self.tree, q), q, constant(0.0), objects(T), None)
        q, eliminated = start, None
        for k in range(NEWTON):
            at = places(self.tree, q)
            if eliminated is None or k < NEWTON - 1:
                eliminated = eliminate(self.loops, S, jacobian_blocks(self.loops, at))
            q = q + eliminated.solve(-closure_residual(self.loops, at, q), self._away(c, q))
        at = places(self.tree, q)
        left = constant(0.0)
        for error in [*closure_residual(self.loops, at, q), *self._away(c, q)]:
            left = applied("fmax", left, applied("fabs", error))
        eliminated = eliminate(self.loops, S, jacobian_blocks(self.loops, at))
        none = objects(np.zeros(self.loops.size))
        T = np.stack([eliminated.solve(none, objects(rate)) for rate in np.eye(len(S))], axis=1)
        return ClosedPose(at, q, left, T, eliminated)

    def _away(self, c: np.ndarray, q: np.ndarray) -> np.ndarray:
        S, offset = self.robot.coordinates.S, self.robot.coordinates.offset
        return np.array(
            [
                x - float(o) - total(s * y for s, y in zip(row, q, strict=True) if s)
                for row, x, o in zip(S, c, offset, strict=True)
            ]
        )

    def tree_efforts(self, pose: ClosedPose, v: np.ndarray, a: np.ndarray, gravity: np.ndarray) -> np.ndarray:
        """What the bodies' motion asks of the tree's joints (nv,), by Newton and Euler."""
        V, A = bodies_motion(self.tree, pose.at, v, a)
        parameters, forces = body_parameters(self.robot), [objects(np.zeros(6)) for _ in self.tree.parent]
        for j in range(1, len(self.tree.parent)):
            if parameters[j].any():
                forces[j] = _push(pose.at, j, V[j], A[j], gravity, parameters[j])
        tau = objects(np.zeros(len(v)))
        for j in range(len(forces) - 1, 0, -1):
            tau[j - 1] = dot(pose.at.s[j], forces[j])
            forces[self.tree.parent[j]] = forces[self.tree.parent[j]] + forces[j]
        return tau


def _push(at: Places, j: int, V: np.ndarray, A: np.ndarray, gravity: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Force and moment (6,) about the world's origin that the motion of a body asks."""
    R, p = at.R[j], at.p[j]
    u = V[:3] + cross_product(V[3:], p)  # velocity of the joint's origin
    f = R.T @ (A[:3] + cross_product(A[3:], p) + cross_product(V[3:], u) - objects(gravity))
    w, b = R.T @ V[3:], R.T @ A[3:]
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = parameters
    h, inertia = objects([h0, h1, h2]), objects([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    force = R @ (f * float(m) + cross_product(b, h) + cross_product(w, cross_product(w, h)))
    moment = R @ (inertia @ b + cross_product(w, inertia @ w) + cross_product(h, f))
    return np.concatenate([force, moment + cross_product(p, force)])


def _inverse_dynamics(twin: Twin, pose: ClosedPose, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    asked, *_ = _asked_of_joints(twin, pose, cd, cdd)
    return _of_motors(twin.robot, pose.T, pose.T.T @ asked)


def _asked_of_joints(
    twin: Twin, pose: ClosedPose, cd: np.ndarray, cdd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a motion asks of the tree's joints (nv,), and their rates and accelerations."""
    v, a = pose.T @ cd, pose.T @ cdd
    if pose.eliminated is not None:
        V, A = bodies_motion(twin.tree, pose.at, v, objects(np.zeros(len(v))))
        a = a + pose.eliminated.solve(-drift(twin.loops, pose.at, V, A), objects(np.zeros(len(cd))))
    g = np.array(twin.robot.model.gravity.linear)
    return twin.tree_efforts(pose, v, a, g) + effort_terms(twin.robot, pose.at, pose.q, v, a), v, a


def _strut_forces(twin: Twin, pose: ClosedPose, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """Along the struts, at their closed ends and then at those that the tree carries (2, struts)."""
    robot, (asked, v, a) = twin.robot, _asked_of_joints(twin, pose, cd, cdd)
    rest = asked - _of_motors(robot, pose.T, pose.T.T @ asked) @ objects(robot.motors.S)
    lam, (V, A) = _multipliers(twin, pose, rest), bodies_motion(twin.tree, pose.at, v, a)
    lower, upper = [], []
    for strut in held_struts(robot):
        first, last = strut.bodies[0], strut.bodies[-1]
        span = pose.at.point(first, strut.far) - pose.at.point(last, strut.near)
        along = span * (1 / applied("sqrt", dot(span, span)))
        kind = KINDS[robot.loops.closures[strut.closure].kind]
        axes = pose.at.R[twin.loops.a[strut.closure]] @ objects(twin.loops.turn_a[strut.closure])
        row = twin.loops.first_row[strut.closure]
        far = (axes[:, kind.linear] @ lam[row : row + kind.moves]) * strut.sign
        near = sum((_lifting(robot, pose.at, V[j], A[j], j) for j in strut.bodies), objects(np.zeros(3))) - far
        lower.append(dot(far, along))
        upper.append(-dot(near, along))
    return np.array([lower, upper])


def _multipliers(twin: Twin, pose: ClosedPose, rest: np.ndarray) -> np.ndarray:
    """lam (m,) with J'lam = rest (nv,), of least norm: solving [J; S] x = right is linear, and this its transpose."""
    assert pose.eliminated is not None
    of_right, right = unknowns("right", twin.loops.size)
    x = pose.eliminated.solve(right, objects(np.zeros(len(twin.robot.coordinates.S))))
    found = casadi.jtimes(as_column(x), of_right, as_column(rest), True)
    return np.array([X(found[k]) for k in range(twin.loops.size)])


def _lifting(robot: Robot, at: Places, V: np.ndarray, A: np.ndarray, joint: int) -> np.ndarray:
    """Force (3,) that a body's motion asks beyond its weight."""
    body = robot.model.inertias[joint]
    centre = at.point(joint, body.lever)
    rate = V[:3] + cross_product(V[3:], centre)
    acceleration = A[:3] + cross_product(A[3:], centre) + cross_product(V[3:], rate)
    return (acceleration - objects(robot.model.gravity.linear)) * float(body.mass)


def _forward_kinematics(twin: Twin, pose: ClosedPose, *_: np.ndarray) -> np.ndarray:
    """The upper three rows of the poses of the robot's named frames (frames, 3, 4)."""
    model, found = twin.robot.model, []
    for name in named_frames(twin.robot):
        frame = model.frames[model.getFrameId(name)]
        R = pose.at.R[frame.parentJoint] @ objects(frame.placement.rotation)
        found.append(np.column_stack([R, pose.at.point(frame.parentJoint, frame.placement.translation)]))
    return np.array(found)


def named_frames(robot: Robot) -> list[str]:
    """The frames that the robot file names.

    Raises:
        RobodynError: none.
    """
    if not robot.file.frames:
        raise RobodynError(
            f"'forward_kinematics' gives the poses of the frames that the file of robot {robot.name!r} names, and it names none; add "
            "'frames: {tool: {link: LINK, xyz: [0, 0, 0]}}'"
        )
    return list(robot.file.frames)


def _of_motors(robot: Robot, T: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Motor torques of least norm that act as `along` (d,) does."""
    S, own = robot.motors.S, robot.coordinates.S
    if S.shape == own.shape and (own == S).all():
        return along
    B = objects(S) @ T
    if len(S) == len(own):
        return _solved(B.T, along)
    return B @ _solved(B.T @ B, along)


def _solved(A: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = casadi.solve(casadi.reshape(as_column(A), len(A), len(A)).T, as_column(y))
    return np.array([X(found[k]) for k in range(len(A))])


def _gravity(twin: Twin, pose: ClosedPose, *_: np.ndarray) -> np.ndarray:
    still = objects(np.zeros(len(pose.q)))
    return pose.T.T @ twin.tree_efforts(pose, still, still, np.array(twin.robot.model.gravity.linear))


def _mass_matrix(twin: Twin, pose: ClosedPose, *_: np.ndarray) -> np.ndarray:
    still, columns = objects(np.zeros(len(pose.q))), []
    rotors = [e for e in twin.robot.efforts if e.spec.model == "armature" and e.spec.warmth is None]
    for a in pose.T.T:
        tau = twin.tree_efforts(pose, still, a, np.zeros(3))
        for effort in rotors:
            for row in effort.rows:
                tau = tau + row * (total(k * x for k, x in zip(row, a, strict=True) if k) * float(effort.initial[0]))
        columns.append(pose.T.T @ tau)
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Offered:
    """A function that can be exported."""

    build: Callable[..., np.ndarray]
    inputs: tuple[str, ...]  # besides the coordinates
    output: str
    meaning: str  # with units


def _check_struts(robot: Robot) -> None:
    if not robot.file.struts:
        raise RobodynError(f"robot {robot.name!r} has no struts; name them in its file, or leave 'strut_forces' out")


FUNCTIONS = {
    "strut_forces": Offered(
        _strut_forces,
        ("cd", "cdd"),
        "force",
        "along the struts, tension positive: at their closed ends, then at the others [N]",
    ),
    "forward_kinematics": Offered(
        _forward_kinematics, (), "pose", "upper three rows (rotation, position [m]) of the poses of the named frames"
    ),
    "inverse_dynamics": Offered(_inverse_dynamics, ("cd", "cdd"), "tau", "torques or forces of the motors [N m or N]"),
    "gravity": Offered(_gravity, (), "g", "what holding the bodies takes along the coordinates [N m or N]"),
    "mass_matrix": Offered(_mass_matrix, (), "M", "mass matrix of the coordinates, row by row [kg m^2, kg m or kg]"),
}


def twin_of(robot: Robot) -> Twin:
    """The robot as expressions.

    Raises:
        BadFile: its masses are not known. RobodynError: a joint, a closure or an effort has no form in C.
    """
    check_known(robot)
    check_forms(robot)
    tables = robot.loops.compiled(robot.coordinates.S) if robot.loops.size else robot.loops.compiled()
    if tables is None:
        raise RobodynError(
            f"robot {robot.name!r} has joints of several degrees of freedom, or loops that its coordinates do not determine one by one; "
            "both have no form in C yet"
        )
    return Twin(robot, *tables)


def function_of(twin: Twin, name: str) -> casadi.Function:
    """A function of CasADi: (start, c, ...) -> (q, residual, output), columns; matrices row by row.

    Raises:
        UnknownName: no such function.
    """
    if name not in FUNCTIONS:
        raise UnknownName("function", name, "the functions that can be exported", list(FUNCTIONS))
    if name == "strut_forces":
        _check_struts(twin.robot)
    offered, d = FUNCTIONS[name], len(twin.robot.coordinates.S)
    (start, q), (of_c, c) = unknowns("start", twin.robot.model.nv), unknowns("c", d)
    rates = [unknowns(x, d) for x in offered.inputs]
    pose = twin.close(q, c)
    found = offered.build(twin, pose, *(x for _, x in rates))
    inputs = [start, of_c, *(x for x, _ in rates)]
    outputs = [as_column(pose.q), as_column(np.array([pose.residual])), as_column(found)]
    return casadi.Function(
        name, inputs, outputs, ["start", "c", *offered.inputs], ["q", "residual", offered.output], {"cse": True}
    )
