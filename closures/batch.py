"""The closure equations of many samples in NumPy, by the formulas of kernel.py: samples last, joints of one depth at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_pin.closures.kernel_tables import CODES, LoopTable, Tree

POINT, PLANAR, ROD, FRAME, REVOLUTE, COUPLING = CODES.values()


@dataclass(frozen=True)
class Group:
    """Closures of one kind, and their joints."""

    kind: int
    index: np.ndarray  # (k,) which closures
    axes: np.ndarray  # rows of a frame anchor (linear, angular) that the kind keeps
    rows: np.ndarray  # (k, m) their equations
    owner: np.ndarray  # (e,) position in `index`, for each joint of each closure
    joint: np.ndarray  # (e,)
    sign: np.ndarray  # (e,)


class Batch:
    """What is decided once for a robot."""

    def __init__(self, tree: Tree, loops: LoopTable):
        self.tree, self.loops = tree, loops
        needed, depth = np.zeros(len(tree.parent), bool), np.zeros(len(tree.parent), int)
        for joint in {*loops.a.tolist(), *loops.b.tolist()}:
            while joint and not needed[joint]:
                needed[joint], joint = True, int(tree.parent[joint])
        for joint in range(1, len(depth)):
            depth[joint] = depth[tree.parent[joint]] + 1
        self.levels = [np.flatnonzero(needed & (depth == k)) for k in range(1, depth.max(initial=0) + 1)]
        self.groups = [self._group(kind) for kind in np.unique(loops.kind)]

    def _group(self, kind: int) -> Group:
        loops = self.loops
        index = np.flatnonzero(loops.kind == kind)
        joints = [np.arange(loops.start[k], loops.start[k + 1]) for k in index]
        entries = np.concatenate(joints)
        axes = {PLANAR: [0, 1], FRAME: [0, 1, 2, 3, 4, 5], REVOLUTE: [0, 1, 2, 4, 5]}.get(kind, [0, 1, 2])
        rows = loops.first_row[index][:, None] + np.arange(loops.n_rows[index[0]])
        owner = np.repeat(np.arange(len(index)), [len(x) for x in joints])
        return Group(
            int(kind), index, np.array(axes), rows, owner, loops.joint[entries], loops.sign[entries, None, None]
        )

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
            s[joints, :3] = np.where(turns[:, None, None], _cross(at, z), z)
        return Placed(self, x, R, p, s)


@dataclass(frozen=True)
class Placed:
    """N samples of the tree; motions s, V, A are those of the world's origin (kernel.py)."""

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
            if group.kind == COUPLING:
                phi[first] = -loops.length[k, None]
                np.add.at(phi, first[group.owner], group.sign[:, 0] * self.q[group.joint - 1])
                continue
            d = y[k] - x[k]
            if group.kind == ROD:
                phi[first] = np.sqrt((d * d).sum(axis=1)) - loops.length[k, None]
                continue
            linear = group.rows[:, :3]
            phi[linear] = _apply_back(axes[k], d)[:, : linear.shape[1]]
            if group.kind == REVOLUTE:  # cross components of b's x axis
                b = _apply(self.R[loops.b[k]], loops.turn_b[k, :, 0, None])
                b = _apply_back(axes[k], b)
                phi[group.rows[:, 3]], phi[group.rows[:, 4]] = -b[:, 2], b[:, 1]
            elif group.kind == FRAME:
                B = _product(self.R[loops.b[k]], loops.turn_b[k][..., None])
                C = _product(axes[k].swapaxes(1, 2), B).transpose(0, 3, 1, 2)
                turn = Rotation.from_matrix(C.reshape(-1, 3, 3)).as_rotvec()
                phi[group.rows[:, 3:]] = turn.reshape(len(k), -1, 3).transpose(0, 2, 1)
        return phi.T

    def jacobian(self) -> np.ndarray:
        """J (N, m, nv), a view with the samples last in memory."""
        loops = self.batch.loops
        J = np.zeros((loops.size, *self.q.shape))
        axes, x, y = self.ends
        for group in self.batch.groups:
            own, column = group.index[group.owner], group.joint - 1
            if group.kind == COUPLING:
                J[group.rows[group.owner, 0], column] = group.sign[:, 0]
                continue
            s, R = self.s[group.joint], axes[own]
            # Pinocchio's frame anchor compares velocities at frame a.
            t = s[:, :3] + _cross(s[:, 3:], (x if group.kind >= FRAME else y)[own])
            t *= group.sign
            if group.kind == ROD:
                d = y[own] - x[own]
                J[group.rows[group.owner, 0], column] = (d * t).sum(axis=1) / _length(d)
                continue
            t = _apply_back(R, t)
            if group.kind >= FRAME:
                t = np.concatenate([t, _apply_back(R, group.sign * s[:, 3:])], axis=1)
            J[group.rows[group.owner], column[:, None]] = t[:, group.axes]
        return J.transpose(2, 0, 1)

    def motions(self, v: np.ndarray, a: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Spatial velocities and accelerations (joints, 6, N) at joint rates v and accelerations a (N, nv), None: zero."""
        s, V, A = self.s, np.zeros_like(self.s), np.zeros_like(self.s)
        rates = np.ascontiguousarray(v.T)
        for joints in self.batch.levels:
            parents = self.batch.tree.parent[joints]
            above, step = V[parents], s[joints] * rates[joints - 1][:, None]
            V[joints] = above + step
            A[joints] = A[parents] + _cross_motion(above, step)
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
            if group.kind == COUPLING:
                continue
            Va, Vb = V[loops.a[k]], V[loops.b[k]]
            e = A[loops.b[k]] - A[loops.a[k]]
            if group.kind >= FRAME:
                e -= _cross_motion(Va, Vb)  # the twist of b against a, seen from a, at frame a
                t = _apply_back(axes[k], e[:, :3] + _cross(e[:, 3:], x[k]))
                t = np.concatenate([t, _apply_back(axes[k], e[:, 3:])], axis=1)
                drift[group.rows] = t[:, group.axes]
                continue
            of_b = Vb[:, :3] + _cross(Vb[:, 3:], y[k])
            u = of_b - Va[:, :3] - _cross(Va[:, 3:], y[k])
            t = e[:, :3] + _cross(e[:, 3:], y[k]) + _cross(Vb[:, 3:] - Va[:, 3:], of_b) - _cross(Va[:, 3:], u)
            if group.kind == ROD:
                d = y[k] - x[k]
                length = _length(d)
                across = (u * u).sum(axis=1) - ((d * u).sum(axis=1) / length) ** 2
                drift[group.rows[:, 0]] = ((d * t).sum(axis=1) + across) / length
                continue
            drift[group.rows] = _apply_back(axes[k], t)[:, group.axes]
        return drift.T


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


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b, (k, 3, N) both."""
    out = np.empty_like(a)
    for r in range(3):
        i, j = (r + 1) % 3, (r + 2) % 3
        np.multiply(a[:, i], b[:, j], out=out[:, r])
        out[:, r] -= a[:, j] * b[:, i]
    return out


def _cross_motion(V: np.ndarray, s: np.ndarray) -> np.ndarray:
    """V x s of motions (k, 6, N), linear first."""
    linear = _cross(V[:, 3:], s[:, :3])
    linear += _cross(V[:, :3], s[:, 3:])
    return np.concatenate([linear, _cross(V[:, 3:], s[:, 3:])], axis=1)
