"""The closure equations of many samples in NumPy, by the formulas of kernel.py: samples last, joints of one depth at once.

Where kernels serve, they place and move the bodies.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kinds import COUPLING, DISTANCE

KERNEL = "robodyn_pin.closures.kernel_placed"


@dataclass(frozen=True)
class Group:
    """Closures of one kind, and their joints."""

    formula: int
    coincident: bool
    index: np.ndarray  # (k,) which closures
    kept: np.ndarray  # which of the six rows of frame b against frame a
    turns: int  # how many of them are rotations
    rows: np.ndarray  # (k, m) their equations
    owner: np.ndarray  # (e,) position in `index`, for each joint of each closure
    joint: np.ndarray  # (e,)
    sign: np.ndarray  # (e,)


class Batch:
    """What is decided once for a robot; not `whole`: only joints of the loops are placed."""

    def __init__(self, tree: Tree, loops: LoopTable, whole: bool = False):
        self.tree, self.loops = tree, loops
        needed, depth = np.full(len(tree.parent), whole), np.zeros(len(tree.parent), int)
        for joint in {*loops.a.tolist(), *loops.b.tolist()}:
            while joint and not needed[joint]:
                needed[joint], joint = True, int(tree.parent[joint])
        for joint in range(1, len(depth)):
            depth[joint] = depth[tree.parent[joint]] + 1
        self.levels = [np.flatnonzero(needed & (depth == k)) for k in range(1, depth.max(initial=0) + 1)]
        kinds, which = np.unique(np.column_stack([loops.formula, loops.held]), axis=0, return_inverse=True)
        self.groups = [self._group(np.flatnonzero(which.ravel() == k)) for k in range(len(kinds))]

    def _group(self, index: np.ndarray) -> Group:
        loops, first = self.loops, index[0]
        joints = [np.arange(loops.start[k], loops.start[k + 1]) for k in index]
        entries = np.concatenate(joints)
        kept = np.flatnonzero(loops.held[first] >= 0)
        rows = loops.first_row[index][:, None] + np.arange(loops.n_rows[first])
        owner = np.repeat(np.arange(len(index)), [len(x) for x in joints])
        return Group(
            int(loops.formula[first]), bool(loops.coincident[first]), index, kept, int((kept >= 3).sum()), rows, owner,
            loops.joint[entries], loops.sign[entries, None, None],
        )  # fmt: skip

    def at(self, q: np.ndarray) -> "Placed":
        """The joints placed at q (N, nv)."""
        tree, n = self.tree, len(q)
        x = np.ascontiguousarray(q.T)
        R, p, s = (
            np.empty((len(tree.parent), 3, 3, n)),
            np.zeros((len(tree.parent), 3, n)),
            np.zeros((len(tree.parent), 6, n)),
        )
        R[0] = np.eye(3)[..., None]
        if kernel_choice.chosen(n):
            kernel_choice.kernel(KERNEL).place_samples(tree, *kernel_choice.ready(x), R, p, s)
            return Placed(self, x, R, p, s)
        for joints in self.levels:
            parents, angle = tree.parent[joints], x[joints - 1][:, None]
            turn, turns = tree.turn[joints][..., None], tree.turns[joints]
            E = np.sin(angle)[:, None] * turn[:, 1]
            E += (1 - np.cos(angle))[:, None] * turn[:, 2]
            E += turn[:, 0]
            above = R[parents]
            here = _product(above, E)
            z = _apply(here, tree.axis[joints][..., None])
            at = p[parents] + _apply(above, tree.origin[joints][..., None] + tree.slide[joints][..., None] * angle)
            R[joints], p[joints] = here, at
            s[joints, 3:] = np.where(turns[:, None, None], z, 0.0)
            s[joints, :3] = np.where(turns[:, None, None], vector_product(at, z), z)
        return Placed(self, x, R, p, s)


@dataclass(frozen=True)
class Placed:
    """N samples of the tree; motions s, V, A are those of the world's origin (kernel_posture.py)."""

    batch: Batch
    q: np.ndarray  # (nv, N)
    R: np.ndarray  # (joints, 3, 3, N)
    p: np.ndarray  # (joints, 3, N)
    s: np.ndarray  # (joints, 6, N)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Axes of the closure frames a (k, 3, 3, N), origins of a and of b (k, 3, N)."""
        loops = self.batch.loops
        Ra = self.R[loops.a]
        x, y = (
            self.p[joint] + _apply(R, at[..., None])
            for joint, R, at in ((loops.a, Ra, loops.at_a), (loops.b, self.R[loops.b], loops.at_b))
        )
        return _product(Ra, loops.turn_a[..., None]), x, y

    def point(self, joint: int, at: np.ndarray) -> np.ndarray:
        """A point (3,) of a body of the loops in the world, (3, N)."""
        return self.p[joint] + np.einsum("ijn,j->in", self.R[joint], at)

    def residual(self) -> np.ndarray:
        """phi (N, m)."""
        loops = self.batch.loops
        phi = np.empty((loops.size, self.q.shape[1]))
        axes, x, y = self.ends
        for group in self.batch.groups:
            k, first = group.index, group.rows[:, 0]
            if group.formula == COUPLING:
                phi[first] = -loops.length[k, None]
                np.add.at(phi, first[group.owner], group.sign[:, 0] * self.q[group.joint - 1])
                continue
            d = y[k] - x[k]
            if group.formula == DISTANCE:
                phi[first] = np.sqrt((d * d).sum(axis=1)) - loops.length[k, None]
                continue
            d = _apply_back(axes[k], d)
            for row, i in zip(group.rows.T, group.kept[: len(group.kept) - group.turns], strict=False):
                phi[row] = d[:, i]
            if group.turns == 1:
                phi[group.rows[:, -1]] = -_dot(axes[k, :, 0], self.axis_of_b(k, 1))
            elif group.turns == 2:
                b = _apply_back(axes[k], self.axis_of_b(k, 0))
                phi[group.rows[:, -2]], phi[group.rows[:, -1]] = -b[:, 2], b[:, 1]
            elif group.turns == 3:
                from scipy.spatial.transform import Rotation

                B = _product(self.R[loops.b[k]], loops.turn_b[k][..., None])
                C = _product(axes[k].swapaxes(1, 2), B).transpose(0, 3, 1, 2)
                turn = Rotation.from_matrix(C.reshape(-1, 3, 3)).as_rotvec()
                phi[group.rows[:, -3:]] = turn.reshape(len(k), -1, 3).transpose(0, 2, 1)
        return phi.T

    def axis_of_b(self, k: np.ndarray, i: int) -> np.ndarray:
        """Axis i of frame b of the closures k in the world, (k, 3, N)."""
        loops = self.batch.loops
        return _apply(self.R[loops.b[k]], loops.turn_b[k, :, i, None])

    def jacobian(self) -> np.ndarray:
        """J (N, m, nv), a view with the samples last in memory."""
        loops = self.batch.loops
        J = np.zeros((loops.size, *self.q.shape))
        axes, x, y = self.ends
        for group in self.batch.groups:
            own, column = group.index[group.owner], group.joint - 1
            if group.formula == COUPLING:
                J[group.rows[group.owner, 0], column] = group.sign[:, 0]
                continue
            s, R = self.s[group.joint], axes[own]
            t = s[:, :3] + vector_product(s[:, 3:], (x if group.coincident else y)[own])
            t *= group.sign
            if group.formula == DISTANCE:
                d = y[own] - x[own]
                J[group.rows[group.owner, 0], column] = (d * t).sum(axis=1) / _length(d)
                continue
            t = _apply_back(R, t)
            if group.turns:
                w = group.sign * s[:, 3:]
                t = np.concatenate([t, _apply_back(R, w)], axis=1)
                if group.turns == 1:
                    t[:, 5] = _dot(vector_product(R[:, :, 0], self.axis_of_b(own, 1)), w)
            J[group.rows[group.owner], column[:, None]] = t[:, group.kept]
        return J.transpose(2, 0, 1)

    def motions(self, v: np.ndarray, a: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Spatial velocities and accelerations (joints, 6, N) at joint rates v and accelerations a (N, nv), None: zero."""
        s, V, A = self.s, np.zeros_like(self.s), np.zeros_like(self.s)
        if kernel_choice.chosen(len(v)):
            given = kernel_choice.ready(s, v, np.zeros_like(v) if a is None else a)
            kernel_choice.kernel(KERNEL).move_samples(self.batch.tree, *given, V, A)
            return V, A
        rates = np.ascontiguousarray(v.T)
        for joints in self.batch.levels:
            parents = self.batch.tree.parent[joints]
            above, step = V[parents], s[joints] * rates[joints - 1][:, None]
            V[joints] = above + step
            A[joints] = A[parents] + motion_product(above, step)
            if a is not None:
                A[joints] += s[joints] * a.T[joints - 1][:, None]
        return V, A

    def drift(self, v: np.ndarray) -> np.ndarray:
        """Accelerations (N, m) of the rows at rates v (N, nv) where the joints' accelerations are zero."""
        loops = self.batch.loops
        drift = np.zeros((loops.size, len(v)))
        V, A = self.motions(v)
        axes, x, y = self.ends
        for group in self.batch.groups:
            k = group.index
            if group.formula == COUPLING:
                continue
            Va, Vb = V[loops.a[k]], V[loops.b[k]]
            e = A[loops.b[k]] - A[loops.a[k]]
            w = Vb[:, 3:] - Va[:, 3:]
            if group.turns:
                seen = e - motion_product(Va, Vb)  # of b against a, as a sees it
            if group.coincident:
                t = seen[:, :3] + vector_product(seen[:, 3:], x[k])
            else:
                of_b = Vb[:, :3] + vector_product(Vb[:, 3:], y[k])
                u = of_b - Va[:, :3] - vector_product(Va[:, 3:], y[k])
                t = e[:, :3] + vector_product(e[:, 3:], y[k]) + vector_product(w, of_b) - vector_product(Va[:, 3:], u)
            if group.formula == DISTANCE:
                d = y[k] - x[k]
                length = _length(d)
                across = (u * u).sum(axis=1) - ((d * u).sum(axis=1) / length) ** 2
                drift[group.rows[:, 0]] = ((d * t).sum(axis=1) + across) / length
                continue
            t = _apply_back(axes[k], t)
            if group.turns:
                t = np.concatenate([t, _apply_back(axes[k], seen[:, 3:])], axis=1)
                if group.turns == 1:
                    a, b = axes[k, :, 0], self.axis_of_b(k, 1)
                    t[:, 5] = (
                        _dot(vector_product(a, b), seen[:, 3:]) + _dot(w, w) * _dot(a, b) - _dot(w, a) * _dot(w, b)
                    )
            drift[group.rows] = t[:, group.kept]
        return drift.T


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a . b, (k, 3, N) both."""
    return (a * b).sum(axis=1)


def _length(d: np.ndarray) -> np.ndarray:
    return np.maximum(np.sqrt((d * d).sum(axis=1)), 1e-12)


def _apply(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R x, (k, 3, 3, N) times (k, 3, N)."""
    out = R[:, :, 0] * x[:, :1]
    out += R[:, :, 1] * x[:, 1:2]
    out += R[:, :, 2] * x[:, 2:]
    return out


def _apply_back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R' x."""
    out = R[:, 0] * x[:, :1]
    out += R[:, 1] * x[:, 1:2]
    out += R[:, 2] * x[:, 2:]
    return out


def _product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B, (k, 3, 3, N) both."""
    out = A[:, :, 0, None] * B[:, None, 0]
    out += A[:, :, 1, None] * B[:, None, 1]
    out += A[:, :, 2, None] * B[:, None, 2]
    return out


def vector_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b, (k, 3, ..., N) both."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        np.multiply(a[:, i], b[:, j], out=out[:, r])
        out[:, r] -= a[:, j] * b[:, i]
    return out


def motion_product(V: np.ndarray, s: np.ndarray) -> np.ndarray:
    """V x s of motions (k, 6, ..., N), linear first."""
    linear = vector_product(V[:, 3:], s[:, :3])
    linear += vector_product(V[:, :3], s[:, 3:])
    return np.concatenate([linear, vector_product(V[:, 3:], s[:, 3:])], axis=1)
