"""The kinds of loop closures: one table of what each asks of two frames; a kind is added as one line of it.

The six rows of frame b against frame a are the vector from a to b (x, y, z) and the rotation of b (rx, ry, rz), along and
about a's axes. A kind keeps some of them. Its rotations count from the last one, and each number has its residual:

    rz          -a_x . b_y: the two axes of a universal joint stay at right angles; the row is about their normal
    ry, rz      the cross components of b's x axis, the axis that is free; they are zero with that axis reversed, too
    rx, ry, rz  the rotation vector of b in a

Not log6: Newton on log6 with a dropped row converges poorly. Multipliers are force and moment on b, at its own point.

Three readers make residual, Jacobian and drift of the table: `equations` here from Pinocchio's anchors of few samples,
batch.py of many samples in NumPy, kernel.py compiled. Drift is the acceleration of the rows without that of the joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import pinocchio as pin

SIX = ("x", "y", "z", "rx", "ry", "rz")
FRAMES, DISTANCE, COUPLING = range(3)  # what an equation is of: rows of two frames, their distance, joints


@dataclass(frozen=True)
class Kind:
    """What a closure holds."""

    rows: tuple[str, ...]  # labels of the equations: those of SIX that are kept, or that of a formula
    key: str = ""  # of the robot file: it gives a length, or a direction in a and one in b
    onto: str = ""  # which axes of the closure frames a and b are turned onto these directions

    @cached_property
    def formula(self) -> int:
        """FRAMES, DISTANCE or COUPLING."""
        return {"length": DISTANCE, "coupling": COUPLING}.get(self.rows[0], FRAMES)

    @cached_property
    def turns(self) -> int:
        """How many rotations are held."""
        return sum(row in SIX[3:] for row in self.rows)

    @cached_property
    def moves(self) -> int:
        """How many translations are held, or the one equation of a formula."""
        return len(self.rows) - self.turns

    @cached_property
    def kept(self) -> slice | list[int]:
        """Which of the six rows; of a formula the first, which then lies along the line."""
        return _places(self.rows)

    @cached_property
    def linear(self) -> slice | list[int]:
        """Which of x, y, z, likewise."""
        return _places(self.rows[: self.moves])

    @cached_property
    def coincident(self) -> bool:
        """Whether frames with a rotation held are in one place: velocities are then compared at a, else at b."""
        return self.turns > 0 and self.moves == 3


def _places(rows: tuple[str, ...]) -> slice | list[int]:
    """Places of rows among the six; of neighbours as a slice, which copies nothing."""
    at = [SIX.index(row) if row in SIX else 0 for row in rows]
    return slice(at[0], at[-1] + 1) if at and at[-1] - at[0] < len(at) else at


def _kind(rows: str, key: str = "", onto: str = "") -> Kind:
    return Kind(tuple(rows.split()), key, onto)


KINDS = {
    "point": _kind("x y z"),
    "planar_point": _kind("x y", "normal", "zz"),
    "rod": _kind("length", "length"),
    "frame": _kind("x y z rx ry rz"),
    "revolute": _kind("x y z ry rz", "axis", "xx"),
    "prismatic": _kind("y z rx ry rz", "axis", "xx"),
    "cylindrical": _kind("y z ry rz", "axis", "xx"),
    "universal": _kind("x y z rz", "axes", "xy"),
    "planar": _kind("x ry rz", "normal", "xx"),
    "coupling": _kind("coupling"),
}


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

    kind: ClassVar[str] = "coupling"
    name: str
    joints: dict[str, float]
    offset: float = 0.0


@dataclass(frozen=True)
class Anchors:
    """What Pinocchio's anchor of one closure, of points or of frames, says of N samples."""

    d: np.ndarray  # (N, 3) from a to b, along a's axes [m]
    R: np.ndarray  # (N, 3, 3) axes of b in a (frame anchors only, else empty)
    J: np.ndarray  # (N, 3 or 6, nv) linear (of frames: at a), then angular rows
    rate: np.ndarray  # (N, 3 or 6) J v
    drift: np.ndarray  # (N, 3 or 6) acceleration of the rows where the joints' accelerations are zero


def equations(closure: Closure, at: Anchors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """phi (N, m), J (N, m, nv) and drift (N, m) of a closure."""
    kind = KINDS[closure.kind]
    if kind.formula == DISTANCE:
        return _distance(closure, at)
    d, J, drift = at.d[:, kind.linear], at.J, at.drift
    if not kind.turns:
        return d, J[:, kind.kept], drift[:, kind.kept]
    if not kind.coincident:
        J, drift = _at_b(at)
    if kind.turns == 1:
        J, drift = _about_the_normal(at, J, drift)
        turn = [-at.R[:, 0, 1:2]]
    elif kind.turns == 2:
        turn = [-at.R[:, 2, :1], at.R[:, 1, :1]]
    else:
        from scipy.spatial.transform import Rotation

        turn = [Rotation.from_matrix(at.R).as_rotvec()]
    return np.concatenate([d, *turn], axis=1), J[:, kind.kept], drift[:, kind.kept]


def _distance(closure: Closure, at: Anchors) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distance = np.linalg.norm(at.d, axis=1, keepdims=True)
    u = at.d / np.maximum(distance, 1e-12)
    J = np.einsum("ni,nij->nj", u, at.J)[:, None]
    across = (at.rate**2).sum(1) - np.einsum("ni,ni->n", u, at.rate) ** 2
    drift = np.einsum("ni,ni->n", u, at.drift)[:, None] + across[:, None] / np.maximum(distance, 1e-12)
    return distance - closure.length, J, drift


def _at_b(at: Anchors) -> tuple[np.ndarray, np.ndarray]:
    """Rows and drift (N, 6, ...) of a frame anchor at b's point: d' = t + w x d for the twist (t, w) at a."""
    t, w = at.rate[:, :3], at.rate[:, 3:]
    J, drift = at.J.copy(), at.drift.copy()
    J[:, :3] += np.cross(at.J[:, 3:], at.d[..., None], axis=1)
    drift[:, :3] += np.cross(at.drift[:, 3:], at.d) + np.cross(w, t + np.cross(w, at.d))
    return J, drift


def _about_the_normal(at: Anchors, J: np.ndarray, drift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last row of J (N, 6, nv) and drift (N, 6) is about n = a_x x b_y, which turns: -(a_x . b_y)' = n . w."""
    J, drift, w, b = J.copy(), drift.copy(), at.rate[:, 3:], at.R[:, :, 1]
    n = np.cross([1.0, 0.0, 0.0], b)
    J[:, 5] = np.einsum("ni,nij->nj", n, at.J[:, 3:])
    drift[:, 5] = (n * at.drift[:, 3:]).sum(1) + b[:, 0] * (w * w).sum(1) - w[:, 0] * (w * b).sum(1)
    return J, drift


def held_by(kind: str, a_to_b: pin.SE3, lam: np.ndarray) -> np.ndarray:
    """Force and moment (6,) of multipliers lam (m,) on b at its point, along a's axes."""
    values = np.zeros(6)
    values[KINDS[kind].kept] = lam
    if KINDS[kind].formula == DISTANCE:
        values[:3] = a_to_b.translation / np.linalg.norm(a_to_b.translation) * lam[0]
    if KINDS[kind].turns == 1:
        values[3:] = np.cross([1.0, 0.0, 0.0], a_to_b.rotation[:, 1]) * lam[-1]
    return values


def turned_onto(axis: str, direction: Sequence[float] | np.ndarray) -> pin.SE3:
    """Placement whose axis "x", "y" or "z" lies along `direction` (3,)."""
    start = np.eye(3)["xyz".index(axis)]
    rotation = pin.Quaternion.FromTwoVectors(start, np.asarray(direction, float)).toRotationMatrix()
    return pin.SE3(rotation, np.zeros(3))
