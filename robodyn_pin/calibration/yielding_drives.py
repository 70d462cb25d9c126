"""Drives that yield: where a robot with errors of its geometry comes to rest under a load, and how that follows the errors.

A motor that reads c drives through a spring, so its axis stands at x, where the spring and what pushes it are in balance:

    x = c + w * tau(x, e),    tau = T'(J_p'f + J_r'm - g)

with the springs' compliances w, force f and moment m at the loaded point, and the weight g of the bodies, all in the robot with
errors e and closed loops. By the implicit function theorem

    (I - w dtau/dx) dx/de = dc/de + w dtau/de + dw/de tau.

tau bends with the tree (cross products of its Jacobians' columns) and with the loops, whose multipliers push along other directions
once the robot has moved (closures/variations.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.loops import Loops
from robodyn_pin.closures.variations import rate_slopes, varied
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import Robot

LAST_STEP = 1e-13  # [rad or m] at which Newton's method ends
STEPS = 20
LOAD = "load"  # the target of the inner robot that stands where loads act
LARGEST_TWIST = 0.1  # [rad or m] no drive fit for work yields as much


class ErringTree(Protocol):
    """What an `ErringRobot` is asked here."""

    robot: Robot
    model: pin.Model
    loops: Loops
    tree: np.ndarray
    columns: np.ndarray
    frames: dict[str, int]

    def whole(self, e: np.ndarray, q: np.ndarray) -> np.ndarray: ...

    def closed(self, e: np.ndarray, x: np.ndarray, start: np.ndarray) -> np.ndarray: ...

    def tangents(self, e: np.ndarray, q: np.ndarray) -> np.ndarray: ...

    def joint_slopes(self, e: np.ndarray, q: np.ndarray, rates: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class YieldingDrives:
    """Springs in the drives of a robot's d coordinates, and where loads act on it."""

    stiffness: np.ndarray  # (d,) drawn [N m/rad, N/m where it slides]
    frame: str  # that carries the loads
    at: tuple[float, float, float]  # in it [m]
    weight: bool  # the robot's own bodies push, too


@dataclass(frozen=True)
class Pushed:
    """What pushes the d coordinates of N poses, and how that changes."""

    tau: np.ndarray  # (N, d) [N m or N]
    by_x: np.ndarray  # (N, d, d)
    by_e: np.ndarray  # (N, d, errors); errors that move frames or lengthen rods


@dataclass(frozen=True)
class Settled:
    """The coordinates x (N, d) in balance, the joints (N, joints), and what pushes the coordinates there, where that was asked for."""

    x: np.ndarray
    q: np.ndarray
    pushed: Pushed | None


def rest_under_load(
    robot: ErringTree, drives: YieldingDrives, e: np.ndarray, c: np.ndarray, compliance: np.ndarray,
    wrench: np.ndarray, start: np.ndarray, slopes: bool = True,
) -> Settled:  # fmt: skip
    """Find the balance at N poses.

    Args:
        robot: its base at zero, its errors those that move frames or lengthen rods, its target LOAD where loads act.
        c: true coordinates of the motors (N, d). compliance: of each drive (d,). wrench: force and moment (N, 6), axes of the base.
        slopes: whether `pushed` is asked for.

    Raises:
        ClosureFailed: as `ErringRobot.closed`. RobodynError: the springs do not hold a load.
    """
    x, q = c, start
    for k in range(STEPS):
        q = robot.closed(e, x, q)
        if k == 0:
            pushed = pushes(robot, drives, e, q, wrench, by_errors=False)
            tau, held = pushed.tau, np.eye(c.shape[1]) - compliance[:, None] * pushed.by_x  # which hardly changes
        else:
            tau = _efforts(robot, drives, e, q, wrench)
        step = np.linalg.solve(held, (x - c - compliance * tau)[..., None])[..., 0]
        x = x - step
        if np.abs(step).max(initial=0.0) < LAST_STEP:
            return Settled(x, q, pushes(robot, drives, e, q, wrench) if slopes else None)
        if not np.abs(x - c).max() < LARGEST_TWIST:
            break
    i, axis = divmod(int(np.abs(x - c).argmax()), c.shape[1])
    name = robot.robot.coordinates.names[axis]
    raise RobodynError(
        f"the spring of {name!r} would yield by {abs(x[i, axis] - c[i, axis]):.2g} under the load of pose {i + 1}, expected less than "
        f"{LARGEST_TWIST:g}: are forces in N, moments in N m and 'drives.stiffness' in N m/rad?"
    )


def pushes(
    robot: ErringTree,
    drives: YieldingDrives,
    e: np.ndarray,
    q: np.ndarray,
    wrench: np.ndarray,
    by_errors: bool = True,
) -> Pushed:
    """What loads (N, 6) and weight push the coordinates with at closed joints q (N, joints)."""
    whole, tree, S = robot.whole(e, q), robot.tree, robot.robot.coordinates.S
    d, loops = len(S), robot.loops
    Z = np.zeros((len(q), whole.shape[1], d + by_errors * len(e)))  # how the tree follows coordinates and errors
    Z[:, tree, :d] = robot.tangents(e, q)
    if by_errors:
        Z[:, tree, d:] = robot.joint_slopes(e, q, np.zeros((len(q), d, len(e))))
        moved = np.flatnonzero(robot.columns >= 0)
        Z[:, robot.columns[moved], d + moved] = 1.0
    Q, bent = _tree_pushes(robot, drives, whole, wrench)
    T = Z[:, tree, :d]
    tau = np.einsum("ntd,nt->nd", T, Q[:, tree])
    slopes = np.swapaxes(T, 1, 2) @ (bent[:, tree] @ Z)
    if loops.size:
        J = loops.at(whole).jacobian()[:, :, tree]
        rest = Q[:, tree] - tau @ S
        lam = (np.linalg.pinv(np.swapaxes(J, 1, 2)) @ rest[..., None])[..., 0]
        at, still = loops.placed(whole), np.zeros_like(Z)
        for i in range(d):
            turned = rate_slopes(at, varied(at, Z[:, :, i], still[:, :, 0], Z, still, still))
            slopes[:, i] -= np.einsum("nm,nmk->nk", lam, turned)
    return Pushed(tau, slopes[:, :, :d], slopes[:, :, d:])


def _efforts(robot: ErringTree, drives: YieldingDrives, e: np.ndarray, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """What pushes the coordinates (N, d), as `pushes` says, without how that changes."""
    Q, _ = _tree_pushes(robot, drives, robot.whole(e, q), wrench)
    return np.asarray(np.einsum("ntd,nt->nd", robot.tangents(e, q), Q[:, robot.tree]))


def _tree_pushes(
    robot: ErringTree, drives: YieldingDrives, whole: np.ndarray, wrench: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What pushes each joint of the tree (N, nv), and how that changes with each joint (N, nv, nv), as if there were no loops.

    Not by Pinocchio's derivatives of gravity: they ask that what a joint carries is numbered right after it.
    """
    model, at = robot.model, robot.loops.placed(whole, whole=True)
    carried = _carried(at.batch.tree.parent)
    J = at.s[1:].transpose(2, 0, 1)  # (N, nv, 6), of the world's origin
    linear, angular = J[:, :, :3], J[:, :, 3:]
    Q, bent = np.zeros(whole.shape), np.zeros((*whole.shape, model.nv))
    heavy = [j for j in range(1, model.njoints) if model.inertias[j].mass > 0] if drives.weight else []
    if heavy:
        masses = np.array([model.inertias[j].mass for j in heavy])
        above = carried[:, [j - 1 for j in heavy]] * masses  # that each joint carries (nv, bodies)
        centres = np.stack([at.point(j, model.inertias[j].lever).T for j in heavy], axis=1)  # (N, bodies, 3)
        momentum = above.sum(axis=1)[:, None] * linear + np.cross(angular, above @ centres)
        gravity = model.gravity.linear
        Q += momentum @ gravity
        bent += _symmetric(carried * (np.cross(gravity, angular) @ momentum.swapaxes(1, 2)))
    frame = model.frames[robot.frames[LOAD]]
    if frame.parentJoint and wrench.any():
        holding = carried[:, frame.parentJoint - 1][:, None]
        point = at.point(frame.parentJoint, frame.placement.translation).T
        moved, turned = holding * (linear + np.cross(angular, point[:, None])), holding * angular
        Q += (moved @ wrench[:, :3, None] + turned @ wrench[:, 3:, None])[:, :, 0]
        bent += _load_slopes(moved, turned, wrench)
    return Q, bent


def _carried(parent: np.ndarray) -> np.ndarray:
    """Which joints (columns) each joint of the tree carries, itself among them (nv, nv); `parent` (joints,), joint 0 is the world."""
    found = np.eye(len(parent) - 1)
    for j in range(1, len(parent)):
        if parent[j]:
            found[:, j - 1] += found[:, parent[j] - 1]
    return found


def _symmetric(upper: np.ndarray) -> np.ndarray:
    """The symmetric matrices of upper ones (N, nv, nv)."""
    return np.asarray(upper + np.triu(upper, 1).swapaxes(1, 2))


def _load_slopes(linear: np.ndarray, angular: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """How a constant force and moment (N, 6) push each joint when another one moves, (N, nv, nv); the Jacobian's columns are (N, nv, 3) each.

    A joint turns all that the joints after it do; joints are numbered from the base on.
    """
    force, moment = wrench[:, None, :3], wrench[:, None, 3:]
    of_force = np.triu(np.cross(force, angular) @ linear.swapaxes(1, 2))
    of_moment = np.triu(np.cross(moment, angular) @ angular.swapaxes(1, 2), 1)
    return _symmetric(of_force) + of_moment.swapaxes(1, 2)


def compliances(
    drives: YieldingDrives, names: Sequence[str], places: Sequence[tuple[str, ...]], e: np.ndarray
) -> np.ndarray:
    """Compliance of each drive (d,): an error of a stiffness is the logarithm of what it is over what was drawn."""
    shift = np.zeros(len(names))
    for place, value in zip(places, e, strict=True):
        if place[0] == "drive":
            shift[names.index(place[1])] += value
    return np.exp(-shift) / drives.stiffness
