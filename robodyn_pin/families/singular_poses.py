"""Singular poses of arms with a spherical wrist, how near a pose is, and rates that stay finite there.

The determinant of the Jacobian of equation (33) is, up to its sign, length of the lower arm x shoulder x elbow x wrist:
three families, where Obal and Gierlak (2025) count two; equation (36) is the product of the first two.

    shoulder   the wrist centre meets axis 1 in the arm's plane         a1 + a2 sin q2 + a3 sin q3 + d4 cos q3 = 0
    elbow      axes 2, 3 and wrist centre are in line                   a3 sin(q3 - q2) + d4 cos(q3 - q2) = 0
    wrist      axes 4 and 6 are in line                                 sin q5 = 0
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.families.inverse_kinematics import reach
from robodyn_pin.families.spherical_wrist import SphericalWrist, across, spherical_wrist, turn
from robodyn_pin.robot.kinematics import frame_jacobian
from robodyn_pin.robot.robot import Robot

FAMILIES = {
    "shoulder": "the wrist centre is on axis 1",
    "elbow": "the arm is stretched out or folded",
    "wrist": "axes 4 and 6 are in line",
}
NEAR = 0.05  # smallest singular value of the Jacobian below which rates are damped, lengths in metres


@dataclass(frozen=True)
class Nearness:
    """How far N poses are from the three families."""

    arm: SphericalWrist
    shoulder: np.ndarray  # (N,) wrist centre from axis 1, in the arm's plane [m]
    elbow: np.ndarray  # (N,) angle from in line [rad]
    wrist: np.ndarray  # (N,) angle from in line [rad]

    @property
    def factors(self) -> np.ndarray:
        """Return shoulder over the arm's reach and the sines of elbow and wrist (N, 3): pure numbers, zero in a singular pose."""
        return np.stack([self.shoulder / reach(self.arm)[1], np.sin(self.elbow), np.sin(self.wrist)], axis=1)

    @property
    def nearest(self) -> list[str]:
        """Return the family of singular poses that each pose is nearest to, by its factor."""
        return [list(FAMILIES)[k] for k in self.factors.argmin(axis=1)]


def nearness(robot: Robot, c: np.ndarray, frame: str = "flange") -> Nearness:
    """Return how far the coordinates c (N, 6) are from singular poses; exact, from the arm's axes.

    Raises:
        UnknownName, NoClosedForm: as `inverse_kinematics`. ShapeMismatch: not (N, 6).
    """
    arm = spherical_wrist(robot, frame)
    if c.ndim != 2 or c.shape[1] != 6:
        raise ShapeMismatch(f"c has shape {c.shape}, expected (N, 6)")
    theta = arm.angles(c)
    a1, a2, a3, a4, a5, a6 = arm.axes
    u = turn(a3, theta[:, 2]) @ arm.upper
    from_axis_2 = (turn(a2, theta[:, 1]) @ (u - arm.lower)[..., None])[..., 0]
    shoulder = np.cross(a1, from_axis_2 + across(a2, arm.points[1] - arm.points[0])) @ a2
    hand = turn(a5, theta[:, 4]) @ a6
    return Nearness(
        arm,
        np.abs(shoulder),
        np.arctan2(np.abs(np.cross(arm.lower, u) @ a2), np.abs(u @ arm.lower)),
        np.arctan2(np.linalg.norm(np.cross(a4, hand), axis=1), np.abs(hand @ a4)),
    )


@dataclass(frozen=True)
class DampedRates:
    """Rates that follow a velocity as far as the pose allows."""

    rates: np.ndarray  # (N, d) of the coordinates
    missed: np.ndarray  # (N, 6) asked minus reached velocity of the frame [m/s, rad/s]; zero away from singular poses
    smallest: np.ndarray  # (N,) smallest singular value of the Jacobian in pure numbers


def damped_rates(
    robot: Robot, c: np.ndarray, velocity: np.ndarray, frame: str = "flange", near: float = NEAR, length: float = 1.0
) -> DampedRates:
    """Return the rates of the coordinates for a velocity (N, 6) of a frame. They are exact, and damped near a singular pose.

    c' = J'(J J' + mu^2)^-1 v minimises |J c' - v|^2 + mu^2 |c'|^2. Lengths are counted in `length` [m], which makes J a
    pure number s at its smallest; mu = 0 for s >= near, else mu^2 = (1 - (s / near)^2) (near / 2)^2, so that rates grow
    to at most 1.16 / near times the velocity. Any robot with frames will do.

    Raises:
        UnknownName: no such frame. ShapeMismatch: arrays that do not fit. ClosureFailed: out of reach.

    Source: variable damping after Nakamura & Hanafusa (1986).
    """
    if velocity.shape != (len(c), 6):
        raise ShapeMismatch(f"velocity has shape {velocity.shape}, expected ({len(c)}, 6): m/s, then rad/s")
    per_length = np.repeat([1 / length, 1.0], 3)
    J, v = frame_jacobian(robot, c, frame) * per_length[:, None], velocity * per_length
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    mu2 = np.where(s[:, -1:] < near, (1 - (s[:, -1:] / near) ** 2) * (near / 2) ** 2, 0.0)
    gain = s / (s**2 + mu2)
    rates = np.einsum("nkj,nk,nik,ni->nj", Vt, gain, U, v)
    missed = (v - np.einsum("nij,nj->ni", J, rates)) / per_length
    return DampedRates(rates, missed, s[:, -1])
