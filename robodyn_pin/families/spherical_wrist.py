"""Arms of six revolute axes with a spherical wrist: their geometry, read from the loaded robot, by screws at zero.

Axes 1 and 2 are perpendicular, 2 and 3 parallel, 4, 5 and 6 meet in the wrist centre at right angles. A parallelogram
between motors and joints may be there, as in the IRB 2400 and 6660: all joints then are linear in the coordinates.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.robot import Robot

EXACT = 1e-9  # [m, or of a unit vector] by which axes may miss meeting, being parallel or perpendicular


class NoClosedForm(RobodynError):
    """A robot, or a frame of it, whose inverse kinematics has no closed form here."""


@dataclass(frozen=True)
class SphericalWrist:
    """The six joints that carry a frame. theta (6,): their angles; q = tree theta + rest: all joints of the tree."""

    robot: Robot
    frame: str
    joints: tuple[str, ...]
    axes: np.ndarray  # (6, 3) directions at theta = 0, base frame
    points: np.ndarray  # (6, 3) a point of each axis [m]
    centre: np.ndarray  # (3,) where the last three meet [m]
    zero: np.ndarray  # (4, 4) pose of the frame at theta = 0
    tree: np.ndarray  # (nv, 6)
    rest: np.ndarray  # (nv,)

    def angles(self, c: np.ndarray) -> np.ndarray:
        """Return theta (..., 6) for coordinates c (..., 6)."""
        S = self.robot.coordinates.S
        return np.linalg.solve(S @ self.tree, (c - S @ self.rest - self.robot.coordinates.offset)[..., None])[..., 0]

    def coordinates(self, theta: np.ndarray) -> np.ndarray:
        """Return coordinates c (..., 6) for theta (..., 6)."""
        return self.joint_positions(theta) @ self.robot.coordinates.S.T + self.robot.coordinates.offset

    def joint_positions(self, theta: np.ndarray) -> np.ndarray:
        """Return q (..., nv) for theta (..., 6), loops closed."""
        return theta @ self.tree.T + self.rest

    @cached_property
    def upper(self) -> np.ndarray:
        """Return the vector from axis 3 to the wrist centre at theta = 0 (3,), across the axis."""
        return across(self.axes[1], self.centre - self.points[2])

    @cached_property
    def lower(self) -> np.ndarray:
        """Return the vector from axis 3 to axis 2 at theta = 0 (3,), across both axes."""
        return across(self.axes[1], self.points[1] - self.points[2])

    @cached_property
    def offset(self) -> float:
        """Return how far the wrist centre is beside axis 1, along axis 2 [m]."""
        return float((self.centre - self.points[0]) @ self.axes[1])


def spherical_wrist(robot: Robot, frame: str = "flange") -> SphericalWrist:
    """Return the geometry of the arm that carries a frame.

    Raises:
        UnknownName: no such frame.
        NoClosedForm: not carried by six such axes, or joints that are not linear in the coordinates.
    """
    model, data = robot.model, robot.model.createData()
    if len(robot.coordinates.names) != 6:
        raise NoClosedForm(
            f"robot {robot.name!r} has {len(robot.coordinates.names)} degrees of freedom; inverse kinematics in closed form "
            "needs six"
        )
    number = frame_number(model, frame, f"robot {robot.name!r}")
    chain = [int(j) for j in model.supports[model.frames[number].parentJoint]][1:]
    names = tuple(model.names[j] for j in chain)
    where = f"frame {frame!r} of robot {robot.name!r}"
    if len(chain) != 6:
        raise NoClosedForm(f"{where} is carried by {len(chain)} joints; inverse kinematics in closed form needs six")
    index = [model.joints[j].idx_v for j in chain]
    tree, rest = _linear(robot, index, where)
    pin.computeJointJacobians(model, data, rest)
    pin.updateFramePlacement(model, data, number)
    world = pin.ReferenceFrame.WORLD
    screws = [pin.getJointJacobian(model, data, j, world)[:, i] for j, i in zip(chain, index, strict=True)]
    axes, moments = np.array([s[3:] for s in screws]), np.array([s[:3] for s in screws])
    if np.abs(np.linalg.norm(axes, axis=1) - 1).max() > EXACT:
        raise NoClosedForm(
            f"{where} is carried by a joint that slides; inverse kinematics in closed form needs six that turn"
        )
    points = np.cross(axes, moments)
    centre = _meeting_point(axes[3:], points[3:])
    found = {
        f"{names[0]} and {names[1]} are not perpendicular": axes[0] @ axes[1],
        f"{names[1]} and {names[2]} are not parallel": np.linalg.norm(np.cross(axes[1], axes[2])),
        f"{names[3]} and {names[4]} are not perpendicular": axes[3] @ axes[4],
        f"{names[4]} and {names[5]} are not perpendicular": axes[4] @ axes[5],
        f"{', '.join(names[3:])} do not meet in a point": np.linalg.norm(
            np.cross(centre - points[3:], axes[3:]), axis=1
        ).max(),
    }
    for what, miss in found.items():
        if abs(miss) > EXACT:
            raise NoClosedForm(f"{where} has no inverse kinematics in closed form: the axes of {what}")
    return SphericalWrist(robot, frame, names, axes, points, centre, data.oMf[number].homogeneous.copy(), tree, rest)


def _linear(robot: Robot, index: list[int], where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return tree and rest of q = tree theta + rest, found from two states besides home."""
    home = (robot.coordinates.S @ robot.home + robot.coordinates.offset)[None]
    away = home + 0.1 * np.array([[1.0, 1, 1, 1, 1, 1], [1, -1, 1, -1, 1, -1]])
    state = robot.close(np.concatenate([home, away]), np.zeros((3, 6)), np.zeros((3, 6)))
    T = state.T[0]
    if np.abs(state.T - T).max() > EXACT or np.linalg.matrix_rank(T[index]) < 6:
        raise NoClosedForm(
            f"{where} is carried by joints that are not linear in {', '.join(robot.coordinates.names)}; "
            "inverse kinematics in closed form needs that, as a parallelogram gives it"
        )
    tree = T @ np.linalg.inv(T[index])
    whole = tree.round()  # gear ratios of one come out of the solve with round-off
    tree = np.where(np.abs(tree - whole) < EXACT, whole, tree)
    return tree, state.q[0] - tree @ state.q[0, index]


def _meeting_point(axes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the point (3,) nearest to all axes."""
    across_axes = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    right = np.einsum("kij,kj->i", across_axes, points)
    return np.asarray(np.linalg.lstsq(across_axes.sum(axis=0), right, rcond=None)[0])


def across(axis: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the part of x (..., 3) across an axis (3,)."""
    return np.asarray(x - (x @ axis)[..., None] * axis)


def turn(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return the rotations (..., 3, 3) about one axis (3,) by angles (...)."""
    K = pin.skew(axis)
    sine, versine = np.sin(angle)[..., None, None], 2 * np.sin(angle / 2)[..., None, None] ** 2
    return np.asarray(np.eye(3) + sine * K + versine * (K @ K))
