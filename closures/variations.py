"""How the bodies' motion on the loops changes with the coordinates, in NumPy: samples last, directions before them.

A direction moves the tree by u = dq, dv, da. A body's motion turns with the body, so its change counts as the body itself sees it:
dV_j - U_j x V_j, U_j being how the body is moved. The joint's own s_j then stays, and changes add up along the tree like velocities:

    U_j  = U_p + s u
    V'_j = V'_p + s dv + z u                      z = V_p x s
    A'_j = A'_p + s da + z dv + y u + (V'_p x s) v,   y = A_p x s + (z x s) v
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.batch import KERNEL, Placed, motion_product, vector_product
from robodyn_pin.closures.kinds import COUPLING, DISTANCE


@dataclass(frozen=True)
class Varied:
    """The bodies' motions (joints, 6, 1, N), and along D directions how they are moved, and what changes (joints, 6, D, N)."""

    V: np.ndarray
    A: np.ndarray
    U: np.ndarray
    dV: np.ndarray
    dA: np.ndarray


def varied(at: Placed, v: np.ndarray, a: np.ndarray, u: np.ndarray, dv: np.ndarray, da: np.ndarray) -> Varied:
    """Changes of the bodies' motion v, a (N, nv) along directions u, dv, da (N, nv, D)."""
    V, A = (x[:, :, None] for x in at.motions(v, a))
    if kernel_choice.chosen(len(v)):
        U, dV, dA = np.zeros((3, *V.shape[:2], u.shape[2], len(v)))
        given = kernel_choice.ready(at.s, V[:, :, 0], A[:, :, 0], v, u, dv, da)
        kernel_choice.kernel(KERNEL).vary_samples(at.batch.tree, *given, U, dV, dA)
        return Varied(V, A, U, dV, dA)
    rates, toward = v.T[:, None, None], [x.transpose(1, 2, 0)[:, None] for x in (u, dv, da)]  # (nv, 1, D or 1, N)
    U, dV, dA = np.zeros((3, *V.shape[:2], u.shape[2], len(v)))
    for joints in at.batch.levels:
        p, s, speed = at.batch.tree.parent[joints], at.s[joints][:, :, None], rates[joints - 1]
        by_u, by_v, by_a = (x[joints - 1] for x in toward)
        z = motion_product(V[p], s)
        y = motion_product(A[p], s) + motion_product(z, s) * speed
        U[joints] = U[p] + s * by_u
        dV[joints] = dV[p] + s * by_v + z * by_u
        dA[joints] = dA[p] + s * by_a + z * by_v + y * by_u + motion_product(dV[p], s) * speed
    return Varied(V, A, U, dV, dA)


def rate_slopes(at: Placed, of: Varied) -> np.ndarray:
    """How the rows' rates at the motion of `of` change along its directions, (N, m, D)."""
    return _rows(at, of, _rate_of)


def acceleration_slopes(at: Placed, of: Varied) -> np.ndarray:
    """How the rows' accelerations change along the directions, (N, m, D); on the manifold, where rates and accelerations are zero."""
    return _rows(at, of, _acceleration_of)


@dataclass(frozen=True)
class _Relative:
    """Motion of frame b against a as a sees it, along D directions; vectors (k, 3, D, N)."""

    y: np.ndarray  # origin of b
    d: np.ndarray  # from the origin of a to it
    b: np.ndarray  # second axis of b
    dy: np.ndarray  # changes of these
    db: np.ndarray
    V: np.ndarray
    A: np.ndarray
    dV: np.ndarray
    dA: np.ndarray

    @property
    def u(self) -> np.ndarray:
        """Velocity of the origin of b."""
        return self.V[:, :3] + vector_product(self.V[:, 3:], self.y)

    @property
    def du(self) -> np.ndarray:
        return self.dV[:, :3] + vector_product(self.dV[:, 3:], self.y) + vector_product(self.V[:, 3:], self.dy)

    @property
    def t(self) -> np.ndarray:
        """Acceleration of the origin of b."""
        return self.A[:, :3] + vector_product(self.A[:, 3:], self.y) + vector_product(self.V[:, 3:], self.u)

    @property
    def dt(self) -> np.ndarray:
        w, dw = self.V[:, 3:], self.dV[:, 3:]
        turned = vector_product(self.dA[:, 3:], self.y) + vector_product(self.A[:, 3:], self.dy)
        return self.dA[:, :3] + turned + vector_product(dw, self.u) + vector_product(w, self.du)


def _relative(at: Placed, of: Varied, k: np.ndarray) -> _Relative:
    loops, (_, x, y) = at.batch.loops, at.ends
    a, b, y, x = loops.a[k], loops.b[k], y[k][:, :, None], x[k][:, :, None]
    axis = at.axis_of_b(k, 1)[:, :, None]
    U, dVb = of.U[b] - of.U[a], of.dV[b]
    dVb = dVb + motion_product(U, of.V[b])
    dAb = of.dA[b] + motion_product(U, of.A[b])
    Va, Vb = of.V[a], of.V[b]
    return _Relative(
        y, y - x, axis, U[:, :3] + vector_product(U[:, 3:], y), vector_product(U[:, 3:], axis), Vb - Va,
        of.A[b] - of.A[a] - motion_product(Va, Vb), dVb - of.dV[a],
        dAb - of.dA[a] - motion_product(of.dV[a], Vb) - motion_product(Va, dVb),
    )  # fmt: skip


def _rate_of(r: _Relative, rod: bool, normal: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Changes of: velocity of b's origin (of a rod, along it), angular velocity, turning about the normal of a universal joint."""
    if rod:
        return _dot(r.d, r.du) + _dot(r.dy, r.u), r.dV[:, 3:], None
    about = None
    if normal is not None:
        about = _dot(vector_product(normal, r.b), r.dV[:, 3:]) + _dot(vector_product(normal, r.db), r.V[:, 3:])
    return r.du, r.dV[:, 3:], about


def _acceleration_of(
    r: _Relative, rod: bool, normal: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """As `_rate_of`, of accelerations."""
    if rod:
        return _dot(r.d, r.dt) + _dot(r.dy, r.t) + 2 * _dot(r.u, r.du), r.dA[:, 3:], None
    about = None
    if normal is not None:
        w, dw = r.V[:, 3:], r.dV[:, 3:]
        about = _dot(vector_product(normal, r.b), r.dA[:, 3:]) + _dot(vector_product(normal, r.db), r.A[:, 3:])
        about += _dot(vector_product(normal, vector_product(w, r.b)), dw) + _dot(
            vector_product(normal, vector_product(dw, r.b) + vector_product(w, r.db)), w
        )
    return r.dt, r.dA[:, 3:], about


def _rows(at: Placed, of: Varied, changes: object) -> np.ndarray:
    """The changes of all rows, each along the axes that its kind holds."""
    loops, D = at.batch.loops, of.U.shape[2]
    found = np.zeros((loops.size, D, at.q.shape[1]))
    axes = at.ends[0]
    for group in at.batch.groups:
        k = group.index
        if group.formula == COUPLING:
            continue
        rod, of_a = group.formula == DISTANCE, axes[k, :, 0][:, :, None] if group.turns == 1 else None
        relative = _relative(at, of, k)
        moved, turned, about = changes(relative, rod, of_a)  # type: ignore[operator]
        if rod:
            found[group.rows[:, 0]] = moved / np.sqrt(_dot(relative.d, relative.d))
            continue
        for row, i in zip(group.rows.T, group.kept, strict=True):
            along = axes[k, :, i % 3][:, :, None]
            found[row] = about if about is not None and i == 5 else _dot(along, turned if i >= 3 else moved)
    return found.transpose(2, 0, 1)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=1)
