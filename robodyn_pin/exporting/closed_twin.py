"""A robot as expressions: its pose closed by Newton's steps from the joint positions of the sample before, and what its bodies ask."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np

from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.dynamics.rigid_loads import body_parameters
from robodyn_pin.errors import RobodynError
from robodyn_pin.exporting.elimination import Eliminated, eliminate, triangular_steps
from robodyn_pin.exporting.symbolic_efforts import check_forms
from robodyn_pin.exporting.symbols import X, applied, as_column, constant, cross_product, dot, objects, total, unknowns
from robodyn_pin.exporting.twin import Places, bodies_motion, closure_residual, jacobian_blocks, places
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
    last: tuple[np.ndarray, np.ndarray]  # q before the last step (nv,); what is open of the closures there (m,)


@dataclass(frozen=True)
class Twin:
    """What all functions of one robot share."""

    robot: Robot
    tree: Tree
    loops: LoopTable
    bodies: np.ndarray  # (joints, 10) parameters, as Pinocchio orders them: numbers or expressions

    @cached_property
    def start(self) -> tuple[Any, np.ndarray]:
        """Joint positions (nv,) that closing begins from, as a column of CasADi and its entries."""
        return unknowns("start", self.robot.model.nv)

    @cached_property
    def c(self) -> tuple[Any, np.ndarray]:
        """Coordinates (d,), likewise."""
        return unknowns("c", len(self.robot.coordinates.S))

    @cached_property
    def pose(self) -> ClosedPose:
        """The pose at the coordinates, the same for all functions."""
        return self._close(self.start[1], self.c[1])

    @cached_property
    def clearance(self) -> X:
        """How far the loops are from a singular pose, 1 at home, 0 there: the least share of its pivot at home that a pivot has."""
        if self.pose.eliminated is None:
            return constant(1.0)
        pivots = [applied("fabs", x) for x in self.pose.eliminated.pivots if not x.is_constant]
        at = casadi.Function("pivots", [self.start[0], self.c[0]], [as_column(np.array(pivots))])
        axes, least = self.robot.coordinates, constant(1.0)
        for x, home in zip(
            pivots, at(self.robot.home, axes.S @ self.robot.home + axes.offset).full()[:, 0], strict=True
        ):
            least = applied("fmin", least, x / float(max(home, 1e-12)))
        return least

    def _close(self, start: np.ndarray, c: np.ndarray) -> ClosedPose:
        """The pose at coordinates c (d,), by Newton's steps from joint positions `start` (nv,)."""
        S, offset = self.robot.coordinates.S, self.robot.coordinates.offset
        if not self.loops.size:
            T = np.linalg.inv(S)
            q = objects(T) @ (c - offset)
            return ClosedPose(places(self.tree, q), q, constant(0.0), objects(T), None, (q[:0], q[:0]))
        q, eliminated, last = start, None, (start[:0], start[:0])
        for k in range(NEWTON):
            at = places(self.tree, q)
            if eliminated is None or k < NEWTON - 1:
                eliminated = eliminate(self.loops, S, jacobian_blocks(self.loops, at))
            last = q, closure_residual(self.loops, at, q)
            q = q + eliminated.solve(-last[1], self._away(c, q))
        at = places(self.tree, q)
        left = constant(0.0)
        for error in [*closure_residual(self.loops, at, q), *self._away(c, q)]:
            left = applied("fmax", left, applied("fabs", error))
        eliminated = eliminate(self.loops, S, jacobian_blocks(self.loops, at))
        none = objects(np.zeros(self.loops.size))
        T = np.stack([eliminated.solve(none, objects(rate)) for rate in np.eye(len(S))], axis=1)
        return ClosedPose(at, q, left, T, eliminated, last)

    def _away(self, c: np.ndarray, q: np.ndarray) -> np.ndarray:
        S, offset = self.robot.coordinates.S, self.robot.coordinates.offset
        return np.array(
            [
                x - float(o) - total(s * y for s, y in zip(row, q, strict=True) if s)
                for row, x, o in zip(S, c, offset, strict=True)
            ]
        )

    def tree_efforts(
        self, v: np.ndarray, a: np.ndarray, gravity: np.ndarray, bodies: np.ndarray | None = None
    ) -> np.ndarray:
        """What the bodies' motion asks of the tree's joints (nv,), by Newton and Euler; `bodies` (joints, 10) instead of the twin's."""
        V, A = bodies_motion(self.tree, self.pose.at, v, a)
        parameters = self.bodies if bodies is None else bodies
        forces = [objects(np.zeros(6)) for _ in self.tree.parent]
        for j in range(1, len(self.tree.parent)):
            if parameters[j].any():
                forces[j] = push_of(self.pose.at, j, V[j], A[j], gravity, parameters[j])
        tau = objects(np.zeros(len(v)))
        for j in range(len(forces) - 1, 0, -1):
            tau[j - 1] = dot(self.pose.at.s[j], forces[j])
            forces[self.tree.parent[j]] = forces[self.tree.parent[j]] + forces[j]
        return tau


def push_of(
    at: Places, j: int, V: np.ndarray, A: np.ndarray, gravity: np.ndarray, parameters: np.ndarray
) -> np.ndarray:
    """Force and moment (6,) about the world's origin that the motion of a body asks."""
    R, p = at.R[j], at.p[j]
    u = V[:3] + cross_product(V[3:], p)  # velocity of the joint's origin
    f = R.T @ (A[:3] + cross_product(A[3:], p) + cross_product(V[3:], u) - objects(gravity))
    w, b = R.T @ V[3:], R.T @ A[3:]
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = parameters
    h, inertia = objects([h0, h1, h2]), objects([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    force = R @ (f * m + cross_product(b, h) + cross_product(w, cross_product(w, h)))
    moment = R @ (inertia @ b + cross_product(w, inertia @ w) + cross_product(h, f))
    return np.concatenate([force, moment + cross_product(p, force)])


def torques_of_motors(robot: Robot, T: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Motor torques of least norm that act as `along` (d,) does.

    Raises:
        RobodynError: there are fewer motors than degrees of freedom.
    """
    S, own = robot.motors.S, robot.coordinates.S
    if len(S) < len(own):
        raise RobodynError(
            f"robot {robot.name!r} has {len(S)} motors for {len(own)} degrees of freedom, and their torques make no motion that is asked for; "
            "forward_dynamics, gravity and mass_matrix can be exported, or name what drives the other joints under 'motors'"
        )
    if S.shape == own.shape and (own == S).all():
        return along
    B = objects(S) @ T
    if len(S) == len(own):
        return solved(B.T, along)
    return B @ solved(B.T @ B, along)


def solved(A: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x (n,) with A x = y, A (n, n), by Householder steps: CasADi's own solution loses digits with the square of A's condition."""
    n, R = len(A), np.column_stack([A, y])
    triangular_steps(R, n)
    x = objects(np.zeros(n))
    for r in range(n - 1, -1, -1):
        x[r] = (R[r, n] - total(R[r, c] * x[c] for c in range(r + 1, n))) / R[r, r]
    return x


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
    return Twin(robot, *tables, body_parameters(robot))
