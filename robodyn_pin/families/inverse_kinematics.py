"""Inverse kinematics in closed form of arms with a spherical wrist: all eight branches, limits, and what is out of reach.

The wrist centre gives the first three angles (Pieper), the orientation the last three; each step has two roots:

    axis 1   the wrist centre must be as far beside the arm's plane as at zero     in front of axis 1, or behind it
    axis 3   law of cosines in the triangle of axis 2, axis 3 and wrist centre     elbow as at zero, or the other way
    axis 5   angle between axes 4 and 6                                            turned to plus, or to minus

Sines and cosines are taken separately, so that nothing is lost near singularities. Poses are handled all at once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.errors import RobodynError, ShapeMismatch
from robodyn_pin.families.spherical_wrist import SphericalWrist, across, spherical_wrist, turn
from robodyn_pin.robot.limits import AxisLimits, limits_of
from robodyn_pin.robot.robot import Robot

BRANCHES = tuple(
    f"shoulder {shoulder}, elbow {elbow}, wrist {wrist}"
    for shoulder in ("front", "back")
    for elbow in ("as at zero", "turned")
    for wrist in ("plus", "minus")
)
SLACK = 1e-9  # [m or rad] beyond reach or limits that is round-off
TURN = 2 * np.pi
FREE = 1e-12  # [m, or sine] of a lever below which an angle is free: it is set to zero


class OutOfReach(RobodynError):
    """A pose that the robot cannot take; names the limit."""


@dataclass(frozen=True)
class Branches:
    """Answers for N poses; branch k is called BRANCHES[k]."""

    arm: SphericalWrist
    limits: AxisLimits  # of positions of joints and motors
    theta: np.ndarray  # (N, 8, 6) angles of the arm's joints, NaN where there are none
    beside: np.ndarray  # (N,) distance of the wrist centre from axis 1 [m]
    lever: np.ndarray  # (N, 2) its distance from axis 2 [m], arm in front and at the back

    @cached_property
    def c(self) -> np.ndarray:
        """Return the coordinates (N, 8, 6), NaN where there are none."""
        return self.arm.coordinates(self.theta)

    @cached_property
    def excess(self) -> np.ndarray:
        """Return by how much each limited joint or motor is beyond its limit (N, 8, m) [rad], negative inside."""
        return self._excess(self.theta)

    @cached_property
    def inside(self) -> np.ndarray:
        """Return which branches (N, 8) exist and keep all limits."""
        return self._fits(self.theta)

    def best(self, near: np.ndarray | None = None) -> np.ndarray:
        """Return one answer for each pose (N, 6): within limits, nearest to the coordinates `near` (6,) or (N, 6), default home.

        Joints are turned by whole turns towards `near` where their limits let them.

        Raises:
            OutOfReach: a pose without one.
        """
        if not (reached := self.inside.any(axis=1)).all():
            raise OutOfReach(self.why_not(int(np.argmin(reached))))
        robot = self.arm.robot
        near = robot.coordinates.S @ robot.home + robot.coordinates.offset if near is None else np.asarray(near, float)
        towards = self.arm.angles(near.reshape(-1, 1, 6))
        turned = self.theta + TURN * np.round((towards - self.theta) / TURN)
        low, high = ranges(self.arm, self.limits).T
        turned = np.where((turned >= low - SLACK) & (turned <= high + SLACK), turned, self.theta)
        theta = np.concatenate([turned, self.theta], axis=1)
        away = np.where(self._fits(theta), np.abs(theta - towards).max(axis=2), np.inf)
        chosen = away.argmin(axis=1)
        return self.arm.coordinates(theta[np.arange(len(chosen)), chosen])

    def solutions(self, i: int = 0) -> np.ndarray:
        """Return all coordinates (k, 6) within limits for pose i; a joint with more than a turn of room counts with each turn."""
        found = self.theta[i, ~np.isnan(self.theta[i, :, 0])]
        for joint, (low, high) in enumerate(ranges(self.arm, self.limits)):
            most = int((high - low) / (2 * TURN) + 0.5) if high - low < np.inf else 0
            step = TURN * np.eye(6)[joint]
            found = np.concatenate([found + k * step for k in range(-most, most + 1)])
            found = found[(found[:, joint] >= low - SLACK) & (found[:, joint] <= high + SLACK)]
        return self.arm.coordinates(found[self._fits(found)])

    def why_not(self, i: int = 0) -> str:
        """Return what keeps the frame from pose i: the arm's lengths, or the limit that the best branch breaks least."""
        arm = self.arm
        where = f"{arm.frame!r} of robot {arm.robot.name!r} cannot reach {'the pose' if len(self.theta) == 1 else f'pose {i}'}"
        if not np.isnan(self.theta[i, :, 0]).all():
            k = int(np.nanargmin(self.excess[i].max(axis=1)))
            m = int(self.excess[i, k].argmax())
            name, motors = self.limits.names[m], arm.robot.motors
            offset = motors.offset[motors.names.index(name)] if name in motors.names else 0.0
            value = arm.joint_positions(self.theta[i, k]) @ self.limits.S[m] + offset
            low, high = self.limits.centre[m] + offset + self.limits.half[m] * np.array([-1, 1])
            return (
                f"{where}: every branch breaks a limit; nearest is ({BRANCHES[k]}), where {name} would be "
                f"at {value:.4f} rad, its limits are {low:.4f} and {high:.4f}"
            )
        if self.beside[i] < abs(arm.offset):
            return f"{where}: the wrist centre would be {self.beside[i]:.4f} m from axis 1, at least {abs(arm.offset):.4f} is needed"
        least, most = reach(arm)
        return (
            f"{where}: the wrist centre would be {self.lever[i, 0]:.4f} m from the axis of {arm.joints[1]}, the arm reaches "
            f"from {least:.4f} to {most:.4f} m"
        )

    def _fits(self, theta: np.ndarray) -> np.ndarray:
        return np.asarray((self._excess(theta) <= SLACK).all(axis=-1) & ~np.isnan(theta[..., 0]))

    def _excess(self, theta: np.ndarray) -> np.ndarray:
        excess = np.abs(self.arm.joint_positions(theta) @ self.limits.S.T - self.limits.centre) - self.limits.half
        return np.asarray(np.where(np.isnan(theta[..., :1]), np.inf, excess))


def inverse_kinematics(robot: Robot, poses: np.ndarray, frame: str = "flange") -> Branches:
    """Return all ways to put a frame at poses (N, 4, 4) in the base frame, or at one (4, 4).

    Raises:
        UnknownName: no such frame. NoClosedForm: no arm with a spherical wrist. ShapeMismatch: not rigid poses.
    """
    arm = spherical_wrist(robot, frame)
    limits = _position_limits(robot)
    theta, beside, lever = _roots(arm, _checked(poses))
    spans, middle = ranges(arm, limits), np.zeros(6)
    limited = np.isfinite(spans).all(axis=1)
    middle[limited] = spans[limited].mean(axis=1)
    theta = theta + TURN * np.round((middle - theta) / TURN)
    return Branches(arm, limits, theta, beside, lever)


def _position_limits(robot: Robot) -> AxisLimits:
    """Return the position limits of joints and motors."""
    found = next((b for b in limits_of(robot, {}, 0.0).bounds if b.kind == "position"), None)
    if found is None:
        return AxisLimits("position", (), np.zeros((0, robot.model.nv)), np.zeros(0), np.zeros(0))
    return found


def reach(arm: SphericalWrist) -> tuple[float, float]:
    """Return the least and greatest distance of the wrist centre from axis 2 [m]."""
    long, short = np.linalg.norm(arm.upper), np.linalg.norm(arm.lower)
    return float(abs(long - short)), float(long + short)


def ranges(arm: SphericalWrist, limits: AxisLimits) -> np.ndarray:
    """Return the least and greatest angle of the arm's joints (6, 2) that limits of one joint or motor allow, infinite without."""
    found = np.tile([-np.inf, np.inf], (6, 1))
    rows, rest = limits.S @ arm.tree, limits.S @ arm.rest
    for row, offset, centre, half in zip(rows, rest, limits.centre, limits.half, strict=True):
        if np.count_nonzero(row) == 1:
            joint = int(np.flatnonzero(row)[0])
            low, high = sorted((centre - offset + half * np.array([-1, 1])) / row[joint])
            found[joint] = max(found[joint, 0], low), min(found[joint, 1], high)
    return found


def _roots(arm: SphericalWrist, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta (N, 8, 6), and the distances of the wrist centre from axis 1 (N,) and axis 2 (N, 2)."""
    a1, a2, a3 = arm.axes[:3]
    R = poses[:, :3, :3] @ arm.zero[:3, :3].T
    r = poses[:, :3, 3] + R @ (arm.centre - arm.zero[:3, 3]) - arm.points[0]

    # Axis 1: the part along axis 2 of the wrist centre, turned back, is the arm's offset.
    x, y = r @ a2, r @ np.cross(a1, a2)
    beside = np.hypot(x, y)
    half = np.arctan2(np.sqrt(np.maximum((beside - arm.offset) * (beside + arm.offset), 0)), arm.offset)
    front = 1.0 if np.cross(a1, arm.centre - arm.points[0]) @ a2 >= 0 else -1.0
    middle = np.where(beside < FREE, -front * half, np.arctan2(y, x))
    q1 = middle[:, None] + half[:, None] * np.array([front, -front])  # (N, 2)
    turned = np.einsum("nkji,nj->nki", turn(a1, q1), r)
    fits = (beside >= abs(arm.offset) - SLACK)[:, None]

    # Axes 2 and 3: a triangle across them.
    d = across(a2, turned + arm.points[0] - arm.points[1])
    lever, u, v = np.linalg.norm(d, axis=2), arm.upper, arm.lower
    long, short = np.linalg.norm(u), np.linalg.norm(v)
    fits = fits & (lever <= long + short + SLACK) & (lever >= abs(long - short) - SLACK)
    cosine = long**2 + short**2 - lever**2
    product = ((long + short) ** 2 - lever**2) * (lever**2 - (long - short) ** 2)
    corner = np.arctan2(np.sqrt(np.maximum(product, 0)), cosine)
    at_zero = np.arctan2(v @ np.cross(a3, u), v @ u)
    bent = 1.0 if np.sin(-at_zero) >= 0 else -1.0
    q3 = at_zero + corner[:, :, None] * np.array([bent, -bent])  # (N, 2, 2)
    arm_at = turn(a3, q3) @ u - v
    d = np.broadcast_to(d[:, :, None], arm_at.shape)
    q2 = np.arctan2(np.cross(arm_at, d) @ a2, (arm_at * d).sum(axis=-1))

    # Wrist: what is left of the orientation.
    carried = turn(a1, q1)[:, :, None] @ turn(a2, q2) @ turn(a3, q3)
    left = carried.swapaxes(-1, -2) @ R[:, None, None]  # (N, 2, 2, 3, 3)
    q4, q5, q6 = _wrist(arm.axes[3:], left)

    shape = (len(poses), 2, 2, 2)
    first = [q1[:, :, None, None], q2[..., None], q3[..., None]]
    theta = np.stack([np.broadcast_to(q, shape) for q in (*first, q4, q5, q6)], axis=-1)
    return np.where(fits[:, :, None, None, None], theta, np.nan).reshape(-1, 8, 6), beside, lever


def _wrist(axes: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the angles 4, 5 and 6 (..., 2) that make the rotations `left` (..., 3, 3)."""
    a4, a5, a6 = axes
    z = left @ a6
    sine = np.linalg.norm(np.cross(a4, z), axis=-1)
    bend = np.arctan2(sine, z @ a4)[..., None] * np.array([1.0, -1.0])
    q5 = np.arctan2(a4 @ np.cross(a5, a6), a4 @ a6) + bend
    tilted = turn(a5, q5) @ a6
    z = np.broadcast_to(z[..., None, :], tilted.shape)
    q4 = np.arctan2(np.cross(tilted, z) @ a4, (across(a4, tilted) * across(a4, z)).sum(axis=-1))
    q4 = np.where(sine[..., None] < FREE, 0.0, q4)
    last = turn(a5, -q5) @ turn(a4, -q4) @ left[..., None, :, :] @ a5
    return q4, q5, np.arctan2(np.cross(a5, last) @ a6, last @ a5)


def _checked(poses: np.ndarray) -> np.ndarray:
    poses = np.asarray(poses, float)
    poses = poses[None] if poses.ndim == 2 else poses
    if poses.ndim != 3 or poses.shape[1:] != (4, 4) or not np.isfinite(poses).all():
        raise ShapeMismatch(f"poses have shape {poses.shape}, expected (N, 4, 4) or (4, 4), all finite")
    R = poses[:, :3, :3]
    bad = (np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2)) > 1e-6) | (np.linalg.det(R) < 0)
    if bad.any():
        raise ShapeMismatch(
            f"pose {int(bad.argmax())} has no rotation in its upper left 3 x 3 corner: R R' must be 1, det R = 1"
        )
    return poses
