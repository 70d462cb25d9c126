"""How what bodies ask changes with the coordinates, compiled: what body_slopes.py does, sample by sample.

Forces are those about the world's origin. With a body's inertia I there, F = I A + V x* I V changes, as the body sees it, by
I A' + V' x* I V + V x* I V'; what a joint hands down to its parent changes by s u x* F more, as the parent sees it.
"""

from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.kernel_options import compiled, inlined
from robodyn_pin.closures.kernel_posture import move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import Tree
from robodyn_pin.closures.kernel_vectors import crossed, plus, row_of, six


class Forces(NamedTuple):
    """Workspace of one sample: changes of motion by c and by c' (joints, d, 6), forces and their changes by c, c', c''."""

    U: np.ndarray
    dV: np.ndarray  # by c
    dA: np.ndarray
    dA_by_cd: np.ndarray
    F: np.ndarray  # (joints, 6)
    dF: np.ndarray  # (joints, 3 d, 6)


@compiled
def effort_slopes(tree: Tree, gravity, parameters, q, v, a, T, dv, da, out):
    """out (3, N, nv, d) by c, c', c'' of what bodies of `parameters` (joints, 10) ask of the tree, T, dv, da (N, nv, d) as bends.py says."""
    joints, d = len(tree.parent), T.shape[2]
    posture, shape = new_posture(joints), (joints, d, 6)
    forces = Forces(
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros((joints, 6)),
        np.zeros((joints, 3 * d, 6)),
    )
    tree, at, w = by_reference(tree), by_reference(posture), by_reference(forces)
    massive = np.zeros(joints, np.bool_)
    for j in range(1, joints):
        massive[j] = parameters[j].any()
    for i in range(len(q)):
        place(tree, q[i], at)
        move(tree, v[i], a[i], at)
        spread_changes(tree, v[i], T[i], dv[i], da[i], at, w)
        for j in range(1, joints):
            if massive[j]:
                push_changes(at, j, gravity, parameters[j], w)
            else:
                w.F[j] = 0.0
                w.dF[j] = 0.0
        gather(tree, T[i], at, w, i, out)
    still_needed((posture, forces))


@inlined
def spread_changes(tree: Tree, v, T, dv, da, at, w: Forces):
    """Changes of the bodies' motion along the tree."""
    for j in range(1, len(tree.parent)):
        p, rate = tree.parent[j], v[j - 1]
        s, V, A = row_of(at.s, j), row_of(at.V, p), row_of(at.A, p)
        z = crossed(V, s)
        y, e = crossed(A, s), crossed(z, s)
        for k in range(T.shape[1]):
            u, b, c = T[j - 1, k], dv[j - 1, k], da[j - 1, k]
            x, f = crossed(six(w.dV, p, k), s), crossed(six(w.U, p, k), s)
            for r in range(6):
                w.U[j, k, r] = w.U[p, k, r] + u * s[r]
                w.dV[j, k, r] = w.dV[p, k, r] + b * s[r] + u * z[r]
                w.dA[j, k, r] = w.dA[p, k, r] + c * s[r] + b * z[r] + u * (y[r] + rate * e[r]) + rate * x[r]
                w.dA_by_cd[j, k, r] = w.dA_by_cd[p, k, r] + 2 * b * s[r] + u * z[r] + rate * f[r]


@inlined
def push_changes(at, j, gravity, parameters, w: Forces):
    """Force on body j and its changes, as the body sees them."""
    body = at_origin(at.R[j], at.p[j], parameters)
    V, A = row_of(at.V, j), row_of(at.A, j)
    g = gravity[0], gravity[1], gravity[2]
    P = momentum(body, V)
    F = plus(momentum(body, (A[0] - g[0], A[1] - g[1], A[2] - g[2], A[3], A[4], A[5])), dual(V, P))
    for r in range(6):
        w.F[j, r] = F[r]
    d = w.U.shape[1]
    for k in range(d):
        U, dV, dA = six(w.U, j, k), six(w.dV, j, k), six(w.dA, j, k)
        felt = (
            dA[0] + U[4] * g[2] - U[5] * g[1], dA[1] + U[5] * g[0] - U[3] * g[2], dA[2] + U[3] * g[1] - U[4] * g[0],
            dA[3], dA[4], dA[5],
        )  # fmt: skip
        M = momentum(body, U)
        by_c = plus(momentum(body, felt), plus(dual(dV, P), dual(V, momentum(body, dV))))
        by_cd = plus(momentum(body, six(w.dA_by_cd, j, k)), plus(dual(U, P), dual(V, M)))
        for r in range(6):
            w.dF[j, k, r], w.dF[j, d + k, r], w.dF[j, 2 * d + k, r] = by_c[r], by_cd[r], M[r]


@inlined
def gather(tree: Tree, T, at, w: Forces, i, out):
    """Sum forces down the tree into what the joints give."""
    d = T.shape[1]
    for j in range(len(tree.parent) - 1, 0, -1):
        p, s = tree.parent[j], row_of(at.s, j)
        h = dual(s, row_of(w.F, j))
        for r in range(6):
            w.F[p, r] += w.F[j, r]
        for k in range(3 * d):
            given = 0.0
            for r in range(6):
                given += s[r] * w.dF[j, k, r]
            out[k // d, i, j - 1, k % d] = given
            u = T[j - 1, k] if k < d else 0.0
            for r in range(6):
                w.dF[p, k, r] += w.dF[j, k, r] + u * h[r]


@inlined
def at_origin(R, p, parameters):
    """Mass, first moment and inertia of a body about the world's origin, along its axes."""
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = parameters
    x0, x1, x2, y0, y1, y2, z0, z1, z2 = R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2]
    p0, p1, p2 = p
    b0, b1, b2 = x0 * h0 + x1 * h1 + x2 * h2, y0 * h0 + y1 * h1 + y2 * h2, z0 * h0 + z1 * h1 + z2 * h2
    u0, u1, u2 = xx * x0 + xy * x1 + xz * x2, xy * x0 + yy * x1 + yz * x2, xz * x0 + yz * x1 + zz * x2
    v0, v1, v2 = xx * y0 + xy * y1 + xz * y2, xy * y0 + yy * y1 + yz * y2, xz * y0 + yz * y1 + zz * y2
    w0, w1, w2 = xx * z0 + xy * z1 + xz * z2, xy * z0 + yy * z1 + yz * z2, xz * z0 + yz * z1 + zz * z2
    c0, c1, c2 = b0 + m * p0 / 2, b1 + m * p1 / 2, b2 + m * p2 / 2  # for p c' + c p' = p b' + b p' + m p p'
    far = 2 * (p0 * c0 + p1 * c1 + p2 * c2)
    return (
        m, b0 + m * p0, b1 + m * p1, b2 + m * p2,
        x0 * u0 + x1 * u1 + x2 * u2 + far - 2 * p0 * c0,
        y0 * u0 + y1 * u1 + y2 * u2 - p0 * c1 - p1 * c0,
        y0 * v0 + y1 * v1 + y2 * v2 + far - 2 * p1 * c1,
        z0 * u0 + z1 * u1 + z2 * u2 - p0 * c2 - p2 * c0,
        z0 * v0 + z1 * v1 + z2 * v2 - p1 * c2 - p2 * c1,
        z0 * w0 + z1 * w1 + z2 * w2 + far - 2 * p2 * c2,
    )  # fmt: skip


@inlined
def momentum(body, X):
    """I X (6,) of a motion X."""
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = body
    v0, v1, v2, w0, w1, w2 = X
    return (
        m * v0 + w1 * h2 - w2 * h1,
        m * v1 + w2 * h0 - w0 * h2,
        m * v2 + w0 * h1 - w1 * h0,
        xx * w0 + xy * w1 + xz * w2 + h1 * v2 - h2 * v1,
        xy * w0 + yy * w1 + yz * w2 + h2 * v0 - h0 * v2,
        xz * w0 + yz * w1 + zz * w2 + h0 * v1 - h1 * v0,
    )


@inlined
def dual(V, f):
    """V x* f: how a force changes that moves with V."""
    return (
        V[4] * f[2] - V[5] * f[1],
        V[5] * f[0] - V[3] * f[2],
        V[3] * f[1] - V[4] * f[0],
        V[1] * f[2] - V[2] * f[1] + V[4] * f[5] - V[5] * f[4],
        V[2] * f[0] - V[0] * f[2] + V[5] * f[3] - V[3] * f[5],
        V[0] * f[1] - V[1] * f[0] + V[3] * f[4] - V[4] * f[3],
    )
