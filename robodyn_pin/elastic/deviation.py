"""How far a force on the tool moves it, Stiff-6660 (1)-(7), for springs in any drives, in open chains and in loops.

With the springs' stiffness k, the rates B of their axes per coordinate rate and the Jacobian J of the tool's point:

    K = B' diag(k) B                      stiffness of the coordinates
    linear      dx = J K^-1 J' F
    unloaded    dx = x(c + K^-1 J' F) - x(c)     torques of the unloaded pose, then finite rotations, as in (3)-(6)
    loaded      B1' diag(k) (s(c1) - s(c)) = J1' F, dx = x(c1) - x(c)     equilibrium in the deflected pose c1

Weight bends the robot before and after the force comes; the change that the springs see is of second order and is
neglected. The derivatives with respect to k are exact.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from robodyn_pin.elastic.springs import PoseKinematics, Springs, pose_kinematics, second_derivatives
from robodyn_pin.errors import RobodynError

DeviationModel = Literal["linear", "unloaded", "loaded"]
LAST_STEP = 1e-13  # [rad or m] at which Newton's method ends; rounding of a coordinate is a thousandth of that
STEPS = 20


@dataclass(frozen=True)
class Deviation:
    """What N forces do to the tool."""

    values: np.ndarray  # (N, 3) displacement of the tool's point [m], axes of the base
    slopes: np.ndarray  # (N, 3, n) their derivatives with respect to the stiffness of each spring [m rad/(N m)]


def deviation(
    springs: Springs, c: np.ndarray, force: np.ndarray, k: np.ndarray, model: DeviationModel = "loaded"
) -> Deviation:
    """Deviations at unloaded coordinates c (N, d) under forces (N, 3) [N], axes of the base; k (n,) [N m/rad].

    Raises:
        ClosureFailed: a pose is out of reach. RobodynError: the springs do not hold a force.
    """
    return deviation_at(springs, pose_kinematics(springs, c), force, k, model)


def deviation_at(
    springs: Springs, poses: PoseKinematics, force: np.ndarray, k: np.ndarray, model: DeviationModel
) -> Deviation:
    """As `deviation`, from the kinematics of the unloaded poses."""
    K, deflection = _stiffness(poses.B, k), linear_deflection(poses, force, k)
    if model == "linear":
        P = poses.J @ np.linalg.inv(K)
        twists = np.einsum("nsd,nd->ns", poses.B, deflection)
        return Deviation(np.einsum("nxd,nd->nx", poses.J, deflection), -_stiffness_slopes(P, poses.B, twists))
    coordinates = springs.robot.coordinates
    c = poses.q @ coordinates.S.T + coordinates.offset
    if model == "unloaded":
        deflected = pose_kinematics(springs, c + deflection)
        twists = np.einsum("nsd,nd->ns", poses.B, deflection)
        P = deflected.J @ np.linalg.inv(K)
        return Deviation(deflected.point - poses.point, -_stiffness_slopes(P, poses.B, twists))
    deflected, tangent = _equilibrium(springs, poses, c + deflection, force, k)
    twists = deflected.angles - poses.angles
    P = deflected.J @ np.linalg.inv(tangent)
    return Deviation(deflected.point - poses.point, -_stiffness_slopes(P, deflected.B, twists))


def linear_deflection(poses: PoseKinematics, force: np.ndarray, k: np.ndarray) -> np.ndarray:
    """K^-1 J' F (N, d): by how much the coordinates give way under the torques of the given poses."""
    torque = np.einsum("nxd,nx->nd", poses.J, force)
    return np.asarray(np.linalg.solve(_stiffness(poses.B, k), torque[..., None])[..., 0])


def compliance(poses: PoseKinematics, k: np.ndarray) -> np.ndarray:
    """J K^-1 J' (N, 3, 3) [m/N]: deviation of the tool per component of a small force."""
    return np.asarray(poses.J @ np.linalg.solve(_stiffness(poses.B, k), np.swapaxes(poses.J, 1, 2)))


def twist_compliance(poses: PoseKinematics, k: np.ndarray) -> np.ndarray:
    """L = J K^-1 B' (N, 3, n) [rad/N]: a small force F twists the springs by L'F, a moment m in them moves the tool by L m."""
    return np.asarray(poses.J @ np.linalg.solve(_stiffness(poses.B, k), np.swapaxes(poses.B, 1, 2)))


def twist_compliance_slopes(springs: Springs, poses: PoseKinematics, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L (N, 3, n) as `twist_compliance`, and its derivatives (N, 3, n, d) with respect to the coordinates."""
    dJ, dB = second_derivatives(springs, poses)
    inverse = np.linalg.inv(_stiffness(poses.B, k))
    P, R = poses.J @ inverse, inverse @ np.swapaxes(poses.B, 1, 2)  # (N, 3, d), (N, d, n)
    half = np.einsum("nsij,s,nsl->nilj", dB, k, poses.B)
    dK = half + np.swapaxes(half, 1, 2)
    slopes = np.einsum("nxdj,nds->nxsj", dJ, R) - np.einsum("nxd,ndej,nes->nxsj", P, dK, R)
    return poses.J @ R, slopes + np.einsum("nxd,nsdj->nxsj", P, dB)


def _stiffness(B: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.asarray(np.swapaxes(B, 1, 2) @ (k[:, None] * B))


def _stiffness_slopes(P: np.ndarray, B: np.ndarray, twists: np.ndarray) -> np.ndarray:
    """(P b_i) twist_i of each spring i (N, 3, n), with b_i' the rows of B."""
    return np.asarray((P @ np.swapaxes(B, 1, 2)) * twists[:, None, :])


def _equilibrium(
    springs: Springs, unloaded: PoseKinematics, c: np.ndarray, force: np.ndarray, k: np.ndarray
) -> tuple[PoseKinematics, np.ndarray]:
    """The poses in which springs and force balance, by Newton's method from a guess c (N, d); their stiffness (N, d, d)."""
    for _ in range(STEPS):
        deflected = pose_kinematics(springs, c)
        of_point, of_springs = second_derivatives(springs, deflected)
        torque = k * (deflected.angles - unloaded.angles)
        tangent = _stiffness(deflected.B, k) + np.einsum("ns,nsij->nij", torque, of_springs)
        tangent -= np.einsum("nx,nxij->nij", force, of_point)
        unbalanced = np.einsum("nsd,ns->nd", deflected.B, torque) - np.einsum("nxd,nx->nd", deflected.J, force)
        step = np.linalg.solve(tangent, unbalanced[..., None])[..., 0]
        c = c - step
        if np.abs(step).max(initial=0.0) < LAST_STEP:
            return deflected, tangent
    worst = int(np.abs(step).max(axis=1).argmax())
    raise RobodynError(
        f"the springs do not hold the force at pose {worst + 1}: no balance found in {STEPS} steps; are the stiffnesses in N m/rad "
        "and the force in N?"
    )
