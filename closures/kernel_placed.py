"""Placements and motions of the bodies compiled: what batch.py and variations.py do, sample by sample, samples last."""

import numpy as np

from robodyn_pin.closures.kernel_options import compiled
from robodyn_pin.closures.kernel_posture import move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import Tree
from robodyn_pin.closures.kernel_vectors import crossed


@compiled
def place_samples(tree: Tree, q, R, p, s):
    """R (joints, 3, 3, N), p (joints, 3, N) and s (joints, 6, N) of the joints at q (nv, N)."""
    joints, n = len(tree.parent), q.shape[1]
    posture, here = new_posture(joints), np.zeros(joints - 1)
    tree, at = by_reference(tree), by_reference(posture)
    for i in range(n):
        for j in range(joints - 1):
            here[j] = q[j, i]
        place(tree, here, at)
        for j in range(joints):
            for r in range(3):
                p[j, r, i] = at.p[j, r]
                for c in range(3):
                    R[j, r, c, i] = at.R[j, r, c]
            for r in range(6):
                s[j, r, i] = at.s[j, r]
    still_needed(posture)


@compiled
def move_samples(tree: Tree, s, v, a, V, A):
    """V and A (joints, 6, N) of motions s (joints, 6, N) at joint rates v and accelerations a (N, nv)."""
    joints, n = len(tree.parent), len(v)
    posture = new_posture(joints)
    tree, at = by_reference(tree), by_reference(posture)
    for i in range(n):
        for j in range(joints):
            for r in range(6):
                at.s[j, r] = s[j, r, i]
        move(tree, v[i], a[i], at)
        for j in range(joints):
            for r in range(6):
                V[j, r, i], A[j, r, i] = at.V[j, r], at.A[j, r]
    still_needed(posture)


@compiled
def vary_samples(tree: Tree, s, V, A, v, u, dv, da, U, dV, dA):
    """U, dV and dA (joints, 6, D, N) along directions u, dv, da (N, nv, D) of motions V, A (joints, 6, N); zero at first."""
    for j in range(1, len(tree.parent)):
        p = tree.parent[j]
        for i in range(len(v)):
            rate = v[i, j - 1]
            own = s[j, 0, i], s[j, 1, i], s[j, 2, i], s[j, 3, i], s[j, 4, i], s[j, 5, i]
            z = crossed((V[p, 0, i], V[p, 1, i], V[p, 2, i], V[p, 3, i], V[p, 4, i], V[p, 5, i]), own)
            y = crossed((A[p, 0, i], A[p, 1, i], A[p, 2, i], A[p, 3, i], A[p, 4, i], A[p, 5, i]), own)
            e = crossed(z, own)
            for k in range(u.shape[2]):
                b, c, f = u[i, j - 1, k], dv[i, j - 1, k], da[i, j - 1, k]
                x = crossed(
                    (dV[p, 0, k, i], dV[p, 1, k, i], dV[p, 2, k, i], dV[p, 3, k, i], dV[p, 4, k, i], dV[p, 5, k, i]),
                    own,
                )
                for r in range(6):
                    U[j, r, k, i] = U[p, r, k, i] + b * own[r]
                    dV[j, r, k, i] = dV[p, r, k, i] + c * own[r] + b * z[r]
                    dA[j, r, k, i] = dA[p, r, k, i] + f * own[r] + c * z[r] + b * (y[r] + rate * e[r]) + rate * x[r]
