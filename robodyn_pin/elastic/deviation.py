"""How far a force on the tool moves it, Stiff-6660 (1)-(7), for springs in any drives, open chains and loops alike.

With the springs' stiffness k, B their angles' change for each coordinate and J that of the tool's point:

    K = B' diag(k) B                      stiffness of the coordinates
    linear      dx = J K^-1 J' F
    unloaded    dx = x(c + K^-1 J' F) - x(c)     torques of the unloaded pose, then finite rotations, as (3)-(6) have it
    loaded      B1' diag(k) (s(c1) - s(c)) = J1' F, dx = x(c1) - x(c)     torques of the pose that the force leads to

Weight bends the robot before and after the force comes; the change that its springs see then is of second order and is
left out. Derivatives for k are exact.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from robodyn_pin.elastic.springs import Placed, Springs, curvature, place
from robodyn_pin.errors import RobodynError

Model = Literal["linear", "unloaded", "loaded"]
EXACT = 1e-13  # [rad or m] last step of Newton's method; rounding of a coordinate is a thousandth of that
STEPS = 20


@dataclass(frozen=True)
class Deviation:
    """What N forces do to the tool."""

    values: np.ndarray  # (N, 3) [m], axes of the base
    slopes: np.ndarray  # (N, 3, n) for the stiffness of each spring [m rad/(N m)]
    twists: np.ndarray  # (N, n) of the springs [rad]


def deviation(springs: Springs, c: np.ndarray, force: np.ndarray, k: np.ndarray, model: Model = "loaded") -> Deviation:
    """Deviations at unloaded coordinates c (N, d) under forces (N, 3) [N], axes of the base; k (n,) [N m/rad].

    Raises:
        ClosureFailed: out of reach. RobodynError: a force that the springs do not hold.
    """
    return deviation_at(springs, place(springs, c), force, k, model)


def deviation_at(springs: Springs, at: Placed, force: np.ndarray, k: np.ndarray, model: Model) -> Deviation:
    """As `deviation`, where the unloaded robot is placed already."""
    K, step = _stiffness(at.B, k), yielding(at, force, k)
    if model == "linear":
        P = at.J @ np.linalg.inv(K)
        twists = np.einsum("nsd,nd->ns", at.B, step)
        return Deviation(np.einsum("nxd,nd->nx", at.J, step), -_outer(P, at.B, twists), twists)
    coordinates = springs.robot.coordinates
    c = at.q @ coordinates.S.T + coordinates.offset
    if model == "unloaded":
        there = place(springs, c + step)
        twists = np.einsum("nsd,nd->ns", at.B, step)
        return Deviation(there.point - at.point, -_outer(there.J @ np.linalg.inv(K), at.B, twists), twists)
    there, tangent = _equilibrium(springs, at, c + step, force, k)
    twists = there.angles - at.angles
    return Deviation(there.point - at.point, -_outer(there.J @ np.linalg.inv(tangent), there.B, twists), twists)


def yielding(at: Placed, force: np.ndarray, k: np.ndarray) -> np.ndarray:
    """K^-1 J' F: how the coordinates (N, d) turn under the torques of the given pose."""
    torque = np.einsum("nxd,nx->nd", at.J, force)
    return np.asarray(np.linalg.solve(_stiffness(at.B, k), torque[..., None])[..., 0])


def compliance(at: Placed, k: np.ndarray) -> np.ndarray:
    """J K^-1 J' (N, 3, 3) [m/N]: deviation of the tool for each component of a small force."""
    return np.asarray(at.J @ np.linalg.solve(_stiffness(at.B, k), np.swapaxes(at.J, 1, 2)))


def levers(at: Placed, k: np.ndarray) -> np.ndarray:
    """L = J K^-1 B' (N, 3, n): how the tool moves for a moment in each spring [m/(N m)]; k (n,)."""
    return np.asarray(at.J @ np.linalg.solve(_stiffness(at.B, k), np.swapaxes(at.B, 1, 2)))


def bent_levers(springs: Springs, at: Placed, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L (N, 3, n) as `levers`, and its slopes (N, 3, n, d) for the coordinates."""
    dJ, dB = curvature(springs, at)
    inverse = np.linalg.inv(_stiffness(at.B, k))
    P, R = at.J @ inverse, inverse @ np.swapaxes(at.B, 1, 2)  # (N, 3, d), (N, d, n)
    half = np.einsum("nsij,s,nsl->nilj", dB, k, at.B)
    dK = half + np.swapaxes(half, 1, 2)
    slope = np.einsum("nxdj,nds->nxsj", dJ, R) - np.einsum("nxd,ndej,nes->nxsj", P, dK, R)
    return at.J @ R, slope + np.einsum("nxd,nsdj->nxsj", P, dB)


def _stiffness(B: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.asarray(np.swapaxes(B, 1, 2) @ (k[:, None] * B))


def _outer(P: np.ndarray, B: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """(P b_i) twist_i for each spring (N, 3, n)."""
    return np.asarray((P @ np.swapaxes(B, 1, 2)) * twists[:, None, :])


def _equilibrium(
    springs: Springs, at: Placed, c: np.ndarray, force: np.ndarray, k: np.ndarray
) -> tuple[Placed, np.ndarray]:
    """Where springs and force balance, from a guess c (N, d), and the tangent stiffness (N, d, d) there."""
    for _ in range(STEPS):
        there = place(springs, c)
        of_point, of_springs = curvature(springs, there)
        torque = k * (there.angles - at.angles)
        tangent = _stiffness(there.B, k) + np.einsum("ns,nsij->nij", torque, of_springs)
        tangent -= np.einsum("nx,nxij->nij", force, of_point)
        rest = np.einsum("nsd,ns->nd", there.B, torque) - np.einsum("nxd,nx->nd", there.J, force)
        step = np.linalg.solve(tangent, rest[..., None])[..., 0]
        c = c - step
        if np.abs(step).max(initial=0.0) < EXACT:
            return there, tangent
    worst = int(np.abs(step).max(axis=1).argmax())
    raise RobodynError(
        f"the springs do not hold the force at pose {worst + 1}: no balance found in {STEPS} steps; are the stiffnesses in N m/rad "
        "and the force in N?"
    )
