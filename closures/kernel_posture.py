"""Where the joints are and how the bodies move, compiled, one sample at a time.

Motion is that of the world's origin (linear, angular), so that it adds up along the tree without being turned:
joint j moves its body with s[j] q', V[j] = V[parent] + s[j] q', A[j] = A[parent] + s[j] q'' + V[parent] x s[j] q'.
"""

from math import cos, sin
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.kernel_options import allocating, inlined
from robodyn_pin.closures.kernel_tables import Tree
from robodyn_pin.closures.kernel_vectors import cross, crossed, plus3, point, rotated, row_of


class Posture(NamedTuple):
    """Workspace of one sample: where the joints are, and how they move."""

    R: np.ndarray  # (joints, 3, 3)
    p: np.ndarray  # (joints, 3)
    s: np.ndarray  # (joints, 6)
    V: np.ndarray  # (joints, 6)
    A: np.ndarray  # (joints, 6)
    E: np.ndarray  # (3, 3) scratch


@allocating
def new_posture(joints):
    posture = Posture(
        np.zeros((joints, 3, 3)),
        np.zeros((joints, 3)),
        np.zeros((joints, 6)),
        np.zeros((joints, 6)),
        np.zeros((joints, 6)),
        np.zeros((3, 3)),
    )
    for r in range(3):
        posture.R[0, r, r] = 1.0
    return posture


@inlined
def place(tree: Tree, q, at: Posture):
    """Placements R, p of the joints and their motions s at q (nv,)."""
    R, p, s, E = at.R, at.p, at.s, at.E
    for j in range(1, len(tree.parent)):
        k, along = tree.parent[j], q[j - 1]
        x, turns = point(tree.origin, j), tree.turns[j]
        sine, versine = (sin(along), 1.0 - cos(along)) if turns else (0.0, 0.0)
        for r in range(3):
            for c in range(3):
                E[r, c] = tree.turn[j, 0, r, c] + sine * tree.turn[j, 1, r, c] + versine * tree.turn[j, 2, r, c]
        if not turns:
            slide = point(tree.slide, j)
            x = x[0] + slide[0] * along, x[1] + slide[1] * along, x[2] + slide[2] * along
        for r in range(3):
            for c in range(3):
                R[j, r, c] = R[k, r, 0] * E[0, c] + R[k, r, 1] * E[1, c] + R[k, r, 2] * E[2, c]
        x = plus3(point(p, k), rotated(R, k, x))
        z = rotated(R, j, point(tree.axis, j))
        p[j, 0], p[j, 1], p[j, 2] = x
        if turns:
            s[j, 0], s[j, 1], s[j, 2] = cross(x, z)
            s[j, 3], s[j, 4], s[j, 5] = z
        else:
            s[j, 0], s[j, 1], s[j, 2] = z


@inlined
def move(tree: Tree, v, a, at: Posture):
    """Velocities V and accelerations A of the bodies at joint rates v (nv,) and accelerations a (nv,), after `place`."""
    s, V, A = at.s, at.V, at.A
    for j in range(1, len(tree.parent)):
        k, rate = tree.parent[j], v[j - 1]
        own = s[j, 0] * rate, s[j, 1] * rate, s[j, 2] * rate, s[j, 3] * rate, s[j, 4] * rate, s[j, 5] * rate
        z = crossed(row_of(V, k), own)
        for r in range(6):
            V[j, r] = V[k, r] + own[r]
            A[j, r] = A[k, r] + s[j, r] * a[j - 1] + z[r]
