"""The kinds of loop closures: what each asks of two frames, as residual, Jacobian and drift of a batch of samples.

A closure between frames a and b is measured by a Pinocchio anchor in a's frame: the vector from a to b and the rotation
of b. Each kind keeps the rows that it needs. Rows are along a's axes, so a multiplier is the force (moment) on b.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation


@dataclass(frozen=True)
class Closure:
    """Two frames of the tree, one on each side of a cut joint."""

    name: str
    kind: str  # a key of KINDS
    frame_a: str
    frame_b: str
    placement_a: pin.SE3 = field(default_factory=pin.SE3.Identity)  # closure frame in frame_a
    placement_b: pin.SE3 = field(default_factory=pin.SE3.Identity)  # closure frame in frame_b
    length: float = 0.0  # of a rod [m]


@dataclass(frozen=True)
class Coupling:
    """A linear relation between joints, sum k_j q_j = offset: gears, belts, cables."""

    name: str
    joints: dict[str, float]
    offset: float = 0.0


@dataclass(frozen=True)
class Anchors:
    """What Pinocchio's anchor of one closure says of N samples."""

    d: np.ndarray  # (N, 3) from a to b, along a's axes [m]
    R: np.ndarray  # (N, 3, 3) axes of b in a (frame anchors only, else empty)
    J: np.ndarray  # (N, 3 or 6, nv) linear, then angular rows
    rate: np.ndarray  # (N, 3 or 6) J v
    drift: np.ndarray  # (N, 3 or 6) acceleration of the rows where the joints' accelerations are zero


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # phi (N, m), J (N, m, nv), drift (N, m)


@dataclass(frozen=True)
class Kind:
    """How many equations, which anchor, which rows."""

    rows: tuple[str, ...]  # labels of the equations
    full_frame: bool  # needs the rotation of b in a
    select: Callable[[Closure, Anchors], Rows]
    axis_from: np.ndarray | None = None  # the axis of the closure frame that a user's axis or normal is turned onto


def _point(closure: Closure, at: Anchors) -> Rows:
    return at.d, at.J, at.drift


def _planar_point(closure: Closure, at: Anchors) -> Rows:
    return at.d[:, :2], at.J[:, :2], at.drift[:, :2]  # the normal is z of the closure frame


def _frame(closure: Closure, at: Anchors) -> Rows:
    return np.concatenate([at.d, Rotation.from_matrix(at.R).as_rotvec()], axis=1), at.J, at.drift


def _revolute(closure: Closure, at: Anchors) -> Rows:
    # Cross components of b's axis instead of log6: Newton on log6 with a dropped row converges poorly.
    phi = np.concatenate([at.d, -at.R[:, 2, :1], at.R[:, 1, :1]], axis=1)
    keep = [0, 1, 2, 4, 5]  # x is the free axis
    return phi, at.J[:, keep], at.drift[:, keep]


def _rod(closure: Closure, at: Anchors) -> Rows:
    distance = np.linalg.norm(at.d, axis=1, keepdims=True)
    u = at.d / np.maximum(distance, 1e-12)
    J = np.einsum("ni,nij->nj", u, at.J)[:, None]
    across = (at.rate**2).sum(1) - np.einsum("ni,ni->n", u, at.rate) ** 2
    drift = np.einsum("ni,ni->n", u, at.drift)[:, None] + across[:, None] / np.maximum(distance, 1e-12)
    return distance - closure.length, J, drift


XYZ = ("x", "y", "z")
KINDS = {
    "point": Kind(XYZ, False, _point),
    "planar_point": Kind(("x", "y"), False, _planar_point, np.array([0.0, 0.0, 1.0])),
    "frame": Kind((*XYZ, "rx", "ry", "rz"), True, _frame),
    "revolute": Kind((*XYZ, "ry", "rz"), True, _revolute, np.array([1.0, 0.0, 0.0])),
    "rod": Kind(("length",), False, _rod),
}


def turned_onto(kind: str, axis: np.ndarray) -> pin.SE3:
    """Placement whose x axis (revolute) or z axis (planar point) is `axis`."""
    start = KINDS[kind].axis_from
    assert start is not None
    rotation = pin.Quaternion.FromTwoVectors(start, np.asarray(axis, float)).toRotationMatrix()
    return pin.SE3(rotation, np.zeros(3))
