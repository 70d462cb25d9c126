"""The symbolic twin of a robot: the tree's motion, its closures and Newton's steps as CasADi expressions.

It is built from the tables of the compiled kernels. Motion is that of the world's origin (linear, angular), as closures/kernel_posture.py has it.
Constants fold as expressions grow, so that zeros of the tables cost nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kinds import COUPLING, DISTANCE
from robodyn_pin.exporting.symbols import applied, constant, cross_product, dot, objects, total

FIXED_AXES = (0, 1, 2)


@dataclass(frozen=True)
class Places:
    """Where the joints are: lists over the joints, joint 0 is the world."""

    R: list[np.ndarray]  # (3, 3) of expressions
    p: list[np.ndarray]  # (3,)
    s: list[np.ndarray]  # (6,) motion of the world's origin per joint rate

    def point(self, joint: int, at: np.ndarray) -> np.ndarray:
        """A point (3,) of a joint's body in the world [m]."""
        return self.p[joint] + self.R[joint] @ objects(at)


def places(tree: Tree, q: np.ndarray) -> Places:
    """Placements and motions of the joints at q (nv,)."""
    R, p, s = [objects(np.eye(3))], [objects(np.zeros(3))], [objects(np.zeros(6))]
    for j in range(1, len(tree.parent)):
        k, turn = tree.parent[j], objects(tree.turn[j])
        if tree.turns[j]:
            E = turn[0] + applied("sin", q[j - 1]) * turn[1] + (1 - applied("cos", q[j - 1])) * turn[2]
            origin = objects(tree.origin[j])
        else:
            E, origin = turn[0], tree.origin[j] + objects(tree.slide[j]) * q[j - 1]
        R.append(R[k] @ E)
        p.append(p[k] + R[k] @ origin)
        z = R[j] @ objects(tree.axis[j])
        s.append(np.concatenate([cross_product(p[j], z), z] if tree.turns[j] else [z, objects(np.zeros(3))]))
    return Places(R, p, s)


def bodies_motion(tree: Tree, at: Places, v: np.ndarray, a: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Velocities and accelerations (6,) of the bodies at joint rates v and accelerations a (nv,)."""
    V, A = [objects(np.zeros(6))], [objects(np.zeros(6))]
    for j in range(1, len(tree.parent)):
        k = tree.parent[j]
        own, before = at.s[j] * v[j - 1], V[k]
        turned = np.concatenate(
            [
                cross_product(before[3:], own[:3]) + cross_product(before[:3], own[3:]),
                cross_product(before[3:], own[3:]),
            ]
        )
        A.append(A[k] + at.s[j] * a[j - 1] + turned)
        V.append(before + own)
    return V, A


def closure_residual(loops: LoopTable, at: Places, q: np.ndarray) -> np.ndarray:
    """phi (m,) as closures/kinds.py defines it."""
    phi = objects(np.zeros(loops.size))
    for k, formula in enumerate(loops.formula):
        row = loops.first_row[k]
        if formula == COUPLING:
            phi[row] = total(loops.sign[e] * q[loops.joint[e] - 1] for e in _chain(loops, k)) - loops.length[k]
            continue
        A, B, x, y = _ends(loops, k, at)
        if formula == DISTANCE:
            phi[row] = applied("sqrt", dot(y - x, y - x)) - loops.length[k]
            continue
        held = loops.held[k]
        along = A.T @ (y - x)
        for i in FIXED_AXES:
            if held[i] >= 0:
                phi[row + held[i]] = along[i]
        for i, value in _turned(A, B, held).items():
            phi[row + held[i]] = value
    return phi


def _turned(A: np.ndarray, B: np.ndarray, held: np.ndarray) -> dict[int, Any]:
    """What closures that hold turns measure of them, by column of `held`; the axes are those of kinds.py."""
    if held[3] >= 0:
        return dict(zip((3, 4, 5), _rotation_vector(A.T @ B), strict=True))
    if held[4] >= 0:
        return {4: -dot(A[:, 2], B[:, 0]), 5: dot(A[:, 1], B[:, 0])}
    return {5: -dot(A[:, 0], B[:, 1])} if held[5] >= 0 else {}


def _rotation_vector(C: np.ndarray) -> np.ndarray:
    """A rotation C (3, 3) of less than half a turn as a vector along its axis, from its quaternion.

    A closed weld turns by nothing: near a half turn, where this loses its accuracy, it is far from closed.
    """
    w = 1 + C[0, 0] + C[1, 1] + C[2, 2]
    xyz = np.array([C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]])
    sine = applied("sqrt", dot(xyz, xyz) + 1e-30)
    return xyz * (2 * applied("atan2", sine, w) / sine)


def jacobian_blocks(loops: LoopTable, at: Places) -> list[np.ndarray]:
    """Rows of each closure (rows, its joints), its own joints first."""
    blocks = []
    for k, formula in enumerate(loops.formula):
        block = objects(np.zeros((loops.n_rows[k], loops.start[k + 1] - loops.start[k])))
        for column, e in enumerate(_chain(loops, k)):
            block[:, column] = (
                constant(loops.sign[e])
                if formula == COUPLING
                else loops.sign[e] * _per_rate(loops, k, at, at.s[loops.joint[e]])
            )
        blocks.append(block)
    return blocks


def _per_rate(loops: LoopTable, k: int, at: Places, s: np.ndarray) -> np.ndarray:
    """How the rows of closure k change as its second member moves with s (6,)."""
    A, B, x, y = _ends(loops, k, at)
    if loops.formula[k] == DISTANCE:
        along = (y - x) * (1 / applied("sqrt", dot(y - x, y - x)))
        return np.array([dot(along, s[:3] + cross_product(s[3:], y))])
    held, rows = loops.held[k], objects(np.zeros(loops.n_rows[k]))
    at_point = s[:3] + cross_product(s[3:], x if loops.coincident[k] else y)
    axes = A.copy()
    if held[5] >= 0 and held[4] < 0:
        axes[:, 2] = cross_product(A[:, 0], B[:, 1])
    for i in FIXED_AXES:
        if held[i] >= 0:
            rows[held[i]] = dot(A[:, i], at_point)
        if held[3 + i] >= 0:
            rows[held[3 + i]] = dot(axes[:, i], s[3:])
    return rows


def drift(loops: LoopTable, at: Places, V: list[np.ndarray], A: list[np.ndarray]) -> np.ndarray:
    """Accelerations (m,) of the rows where the joints' accelerations are zero, A being the bodies' without them."""
    found = objects(np.zeros(loops.size))
    for k, formula in enumerate(loops.formula):
        row = loops.first_row[k]
        if formula == COUPLING:
            continue
        F, G, x, y = _ends(loops, k, at)
        Va, Vb, Aa, Ab = V[loops.a[k]], V[loops.b[k]], A[loops.a[k]], A[loops.b[k]]
        w, g, e = Va[3:], Vb[3:] - Va[3:], Ab - Aa
        turned = e[3:] - cross_product(w, Vb[3:])  # of b against a, as a sees it
        if loops.coincident[k]:
            moved = e[:3] - cross_product(w, Vb[:3]) - cross_product(Va[:3], Vb[3:]) + cross_product(turned, x)
        else:
            b = Vb[:3] + cross_product(Vb[3:], y)
            u = b - Va[:3] - cross_product(w, y)
            moved = e[:3] + cross_product(e[3:], y) + cross_product(g, b) - cross_product(w, u)
            if formula == DISTANCE:
                d = y - x
                far = applied("sqrt", dot(d, d))
                along = dot(d, u) / far
                found[row] = (dot(d, moved) + dot(u, u) - along * along) / far
                continue
        held = loops.held[k]
        for i in FIXED_AXES:
            if held[i] >= 0:
                found[row + held[i]] = dot(F[:, i], moved)
            if held[3 + i] >= 0:
                found[row + held[3 + i]] = dot(F[:, i], turned)
        if held[5] >= 0 and held[4] < 0:
            b = G[:, 1]
            found[row + held[5]] = (
                dot(cross_product(F[:, 0], b), turned) - dot(g, F[:, 0]) * dot(g, b) + dot(g, g) * dot(F[:, 0], b)
            )
    return found


def _chain(loops: LoopTable, k: int) -> range:
    return range(loops.start[k], loops.start[k + 1])


def _ends(loops: LoopTable, k: int, at: Places) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Axes of the closure's frames a and b as columns, and their origins, in the world."""
    a, b = loops.a[k], loops.b[k]
    return (
        at.R[a] @ objects(loops.turn_a[k]), at.R[b] @ objects(loops.turn_b[k]),
        at.p[a] + at.R[a] @ objects(loops.at_a[k]), at.p[b] + at.R[b] @ objects(loops.at_b[k]),
    )  # fmt: skip
