"""The loops compiled: what loops.py, closing.py and projection.py do with Pinocchio and NumPy, sample by sample.

Motion is that of the world's origin (linear, angular), so that it adds up along the tree without being turned:
joint j moves its body with s[j] q', V[j] = V[parent] + s[j] q', A[j] = A[parent] + s[j] q'' + V[parent] x s[j] q'.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kinds import COUPLING, DISTANCE

# No sample may raise: a division by zero gives inf, and the sample is reported as not solved. "contract": multiply-add.
# "nogil": Ctrl-C is heard meanwhile.
OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
compiled = njit(_nrt=True, **OPTIONS)
# Of kernels alone: what Python would hand over in tables takes long to compile.
WITHIN = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
allocating = njit(_nrt=True, **WITHIN)
# Makes no array and returns none, so that nobody need count who holds those of the tables: a fifth of the time of a sample.
inner = njit(_nrt=False, **WITHIN)
# Called many times a sample: without inlining, handing over the tables costs more than the work.
inlined = njit(_nrt=False, forceinline=True, **WITHIN)


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
        k = tree.parent[j]
        if tree.turns[j]:
            sine, versine = np.sin(q[j - 1]), 1.0 - np.cos(q[j - 1])
            for r in range(3):
                for c in range(3):
                    E[r, c] = tree.turn[j, 0, r, c] + sine * tree.turn[j, 1, r, c] + versine * tree.turn[j, 2, r, c]
            o0, o1, o2 = tree.origin[j, 0], tree.origin[j, 1], tree.origin[j, 2]
        else:
            for r in range(3):
                for c in range(3):
                    E[r, c] = tree.turn[j, 0, r, c]
            o0, o1, o2 = (
                tree.origin[j, 0] + tree.slide[j, 0] * q[j - 1],
                tree.origin[j, 1] + tree.slide[j, 1] * q[j - 1],
                tree.origin[j, 2] + tree.slide[j, 2] * q[j - 1],
            )
        for r in range(3):
            k0, k1, k2 = R[k, r, 0], R[k, r, 1], R[k, r, 2]
            for c in range(3):
                R[j, r, c] = k0 * E[0, c] + k1 * E[1, c] + k2 * E[2, c]
            p[j, r] = p[k, r] + k0 * o0 + k1 * o1 + k2 * o2
        x, y, z = tree.axis[j, 0], tree.axis[j, 1], tree.axis[j, 2]
        zx = R[j, 0, 0] * x + R[j, 0, 1] * y + R[j, 0, 2] * z
        zy = R[j, 1, 0] * x + R[j, 1, 1] * y + R[j, 1, 2] * z
        zz = R[j, 2, 0] * x + R[j, 2, 1] * y + R[j, 2, 2] * z
        if tree.turns[j]:
            s[j, 0] = p[j, 1] * zz - p[j, 2] * zy
            s[j, 1] = p[j, 2] * zx - p[j, 0] * zz
            s[j, 2] = p[j, 0] * zy - p[j, 1] * zx
            s[j, 3], s[j, 4], s[j, 5] = zx, zy, zz
        else:
            s[j, 0], s[j, 1], s[j, 2] = zx, zy, zz


@inlined
def move(tree: Tree, v, a, at: Posture):
    """Velocities V and accelerations A of the bodies at joint rates v (nv,) and accelerations a (nv,), after `place`."""
    s, V, A = at.s, at.V, at.A
    for j in range(1, len(tree.parent)):
        k = tree.parent[j]
        r, rr = v[j - 1], a[j - 1]
        l0, l1, l2 = s[j, 0] * r, s[j, 1] * r, s[j, 2] * r
        w0, w1, w2 = s[j, 3] * r, s[j, 4] * r, s[j, 5] * r
        x0, x1, x2, y0, y1, y2 = V[k, 0], V[k, 1], V[k, 2], V[k, 3], V[k, 4], V[k, 5]
        A[j, 0] = A[k, 0] + s[j, 0] * rr + y1 * l2 - y2 * l1 + x1 * w2 - x2 * w1
        A[j, 1] = A[k, 1] + s[j, 1] * rr + y2 * l0 - y0 * l2 + x2 * w0 - x0 * w2
        A[j, 2] = A[k, 2] + s[j, 2] * rr + y0 * l1 - y1 * l0 + x0 * w1 - x1 * w0
        A[j, 3] = A[k, 3] + s[j, 3] * rr + y1 * w2 - y2 * w1
        A[j, 4] = A[k, 4] + s[j, 4] * rr + y2 * w0 - y0 * w2
        A[j, 5] = A[k, 5] + s[j, 5] * rr + y0 * w1 - y1 * w0
        V[j, 0], V[j, 1], V[j, 2] = x0 + l0, x1 + l1, x2 + l2
        V[j, 3], V[j, 4], V[j, 5] = y0 + w0, y1 + w1, y2 + w2


@inlined
def residual(loops: LoopTable, q, at: Posture, phi):
    """phi (m,) after `place`, as kinds.py defines it."""
    for k in range(len(loops.formula)):
        formula, row = loops.formula[k], loops.first_row[k]
        if formula == COUPLING:
            phi[row] = -loops.length[k]
            for e in range(loops.start[k], loops.start[k + 1]):
                phi[row] += loops.sign[e] * q[loops.joint[e] - 1]
            continue
        (a00, a01, a02, a10, a11, a12, a20, a21, a22), (x0, x1, x2), (y0, y1, y2) = ends(loops, k, at)
        d0, d1, d2 = y0 - x0, y1 - x1, y2 - x2
        if formula == DISTANCE:
            phi[row] = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2) - loops.length[k]
            continue
        y, z, rx, ry, rz = held(loops, k)[1:]
        phi[row] = a00 * d0 + a10 * d1 + a20 * d2  # where x is free, the first row that is kept is written over it
        if y >= 0:
            phi[row + y] = a01 * d0 + a11 * d1 + a21 * d2
        if z >= 0:
            phi[row + z] = a02 * d0 + a12 * d1 + a22 * d2
        if rx >= 0:
            for c in range(3):
                b0, b1, b2 = axis(at.R, loops.b[k], loops.turn_b, k, c)
                at.E[0, c] = a00 * b0 + a10 * b1 + a20 * b2
                at.E[1, c] = a01 * b0 + a11 * b1 + a21 * b2
                at.E[2, c] = a02 * b0 + a12 * b1 + a22 * b2
            phi[row + rx], phi[row + ry], phi[row + rz] = rotation_vector(at.E)
        elif ry >= 0:
            b0, b1, b2 = axis(at.R, loops.b[k], loops.turn_b, k, 0)
            phi[row + ry] = -(a02 * b0 + a12 * b1 + a22 * b2)
            phi[row + rz] = a01 * b0 + a11 * b1 + a21 * b2
        elif rz >= 0:
            a0, a1, a2 = axis(at.R, loops.a[k], loops.turn_a, k, 0)
            b0, b1, b2 = axis(at.R, loops.b[k], loops.turn_b, k, 1)
            phi[row + rz] = -(a0 * b0 + a1 * b1 + a2 * b2)


@inlined
def jacobian(loops: LoopTable, at: Posture, A):
    """Rows of closure k in A[k] (rows, its joints), after `place`."""
    for k in range(len(loops.formula)):
        start, chain = loops.start[k], range(loops.start[k], loops.start[k + 1])
        if loops.formula[k] == COUPLING:
            for e in chain:
                A[k, 0, e - start] = loops.sign[e]
            continue
        (a00, a01, a02, a10, a11, a12, a20, a21, a22), (x0, x1, x2), (y0, y1, y2) = ends(loops, k, at)
        x, y, z, rx, ry, rz = held(loops, k)
        if loops.formula[k] == DISTANCE:
            d0, d1, d2 = y0 - x0, y1 - x1, y2 - x2
            distance = max(np.sqrt(d0 * d0 + d1 * d1 + d2 * d2), 1e-12)
            a00, a10, a20 = d0 / distance, d1 / distance, d2 / distance  # the one row is along the rod
        elif loops.coincident[k]:
            y0, y1, y2 = x0, x1, x2
        n0, n1, n2 = a02, a12, a22
        if rz >= 0 and ry < 0:
            n0, n1, n2 = cross((a00, a10, a20), axis(at.R, loops.b[k], loops.turn_b, k, 1))
        for e in chain:
            j, sign, c = loops.joint[e], loops.sign[e], e - start
            s0, s1, s2, w0, w1, w2 = at.s[j, 0], at.s[j, 1], at.s[j, 2], at.s[j, 3], at.s[j, 4], at.s[j, 5]
            t0, t1, t2 = s0 + w1 * y2 - w2 * y1, s1 + w2 * y0 - w0 * y2, s2 + w0 * y1 - w1 * y0
            if x >= 0:
                A[k, x, c] = sign * (a00 * t0 + a10 * t1 + a20 * t2)
            if y >= 0:
                A[k, y, c] = sign * (a01 * t0 + a11 * t1 + a21 * t2)
            if z >= 0:
                A[k, z, c] = sign * (a02 * t0 + a12 * t1 + a22 * t2)
            if rz >= 0:
                if rx >= 0:
                    A[k, rx, c] = sign * (a00 * w0 + a10 * w1 + a20 * w2)
                if ry >= 0:
                    A[k, ry, c] = sign * (a01 * w0 + a11 * w1 + a21 * w2)
                A[k, rz, c] = sign * (n0 * w0 + n1 * w1 + n2 * w2)


@inlined
def held(loops: LoopTable, k):
    """Which rows of closure k hold x, y, z, rx, ry, rz of frame b against frame a; -1: none."""
    h = loops.held
    return h[k, 0], h[k, 1], h[k, 2], h[k, 3], h[k, 4], h[k, 5]


@inlined
def axis(R, j, turn, k, i):
    """Axis i of an end of closure k in the world, joint j having that end."""
    x, y, z = turn[k, 0, i], turn[k, 1, i], turn[k, 2, i]
    return (
        R[j, 0, 0] * x + R[j, 0, 1] * y + R[j, 0, 2] * z,
        R[j, 1, 0] * x + R[j, 1, 1] * y + R[j, 1, 2] * z,
        R[j, 2, 0] * x + R[j, 2, 1] * y + R[j, 2, 2] * z,
    )


@inlined
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def ends(loops: LoopTable, k, at: Posture):
    """Axes of closure frame a and the origins of a and b, in the world."""
    a, b = loops.a[k], loops.b[k]
    Ra, Rb, A = at.R[a], at.R[b], loops.turn_a[k]
    o, t = loops.at_a[k], loops.at_b[k]
    axes = (
        Ra[0, 0] * A[0, 0] + Ra[0, 1] * A[1, 0] + Ra[0, 2] * A[2, 0],
        Ra[0, 0] * A[0, 1] + Ra[0, 1] * A[1, 1] + Ra[0, 2] * A[2, 1],
        Ra[0, 0] * A[0, 2] + Ra[0, 1] * A[1, 2] + Ra[0, 2] * A[2, 2],
        Ra[1, 0] * A[0, 0] + Ra[1, 1] * A[1, 0] + Ra[1, 2] * A[2, 0],
        Ra[1, 0] * A[0, 1] + Ra[1, 1] * A[1, 1] + Ra[1, 2] * A[2, 1],
        Ra[1, 0] * A[0, 2] + Ra[1, 1] * A[1, 2] + Ra[1, 2] * A[2, 2],
        Ra[2, 0] * A[0, 0] + Ra[2, 1] * A[1, 0] + Ra[2, 2] * A[2, 0],
        Ra[2, 0] * A[0, 1] + Ra[2, 1] * A[1, 1] + Ra[2, 2] * A[2, 1],
        Ra[2, 0] * A[0, 2] + Ra[2, 1] * A[1, 2] + Ra[2, 2] * A[2, 2],
    )
    origin_a = (
        at.p[a, 0] + Ra[0, 0] * o[0] + Ra[0, 1] * o[1] + Ra[0, 2] * o[2],
        at.p[a, 1] + Ra[1, 0] * o[0] + Ra[1, 1] * o[1] + Ra[1, 2] * o[2],
        at.p[a, 2] + Ra[2, 0] * o[0] + Ra[2, 1] * o[1] + Ra[2, 2] * o[2],
    )
    origin_b = (
        at.p[b, 0] + Rb[0, 0] * t[0] + Rb[0, 1] * t[1] + Rb[0, 2] * t[2],
        at.p[b, 1] + Rb[1, 0] * t[0] + Rb[1, 1] * t[1] + Rb[1, 2] * t[2],
        at.p[b, 2] + Rb[2, 0] * t[0] + Rb[2, 1] * t[1] + Rb[2, 2] * t[2],
    )
    return axes, origin_a, origin_b


@inner
def rotation_vector(C):
    """The rotation C (3, 3) as a vector along its axis; from the largest quaternion component, exact near zero and a half turn."""
    t, a, b, c = C[0, 0] + C[1, 1] + C[2, 2], C[0, 0], C[1, 1], C[2, 2]
    if t >= a and t >= b and t >= c:
        w, x, y, z = 1.0 + t, C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]
    elif a >= b and a >= c:
        w, x, y, z = C[2, 1] - C[1, 2], 1.0 + a - b - c, C[0, 1] + C[1, 0], C[0, 2] + C[2, 0]
    elif b >= c:
        w, x, y, z = C[0, 2] - C[2, 0], C[0, 1] + C[1, 0], 1.0 - a + b - c, C[1, 2] + C[2, 1]
    else:
        w, x, y, z = C[1, 0] - C[0, 1], C[0, 2] + C[2, 0], C[1, 2] + C[2, 1], 1.0 - a - b + c
    if w < 0:
        w, x, y, z = -w, -x, -y, -z
    sine = np.sqrt(x * x + y * y + z * z)
    factor = 2.0 * np.arctan2(sine, w) / sine if sine > 1e-300 else 2.0 / w
    return factor * x, factor * y, factor * z


@inlined
def loop_drift(loops: LoopTable, at: Posture, drift):
    """Accelerations (m,) of the rows where the joints' accelerations are zero, after `place` and `move` with a = 0."""
    for k in range(len(loops.formula)):
        row = loops.first_row[k]
        if loops.formula[k] == COUPLING:
            drift[row] = 0.0
            continue
        x, y, z, rx, ry, rz = held(loops, k)
        (a00, a01, a02, a10, a11, a12, a20, a21, a22), (x0, x1, x2), (y0, y1, y2) = ends(loops, k, at)
        Va, Vb, Aa, Ab = at.V[loops.a[k]], at.V[loops.b[k]], at.A[loops.a[k]], at.A[loops.b[k]]
        e0, e1, e2, e3, e4, e5 = (
            Ab[0] - Aa[0],
            Ab[1] - Aa[1],
            Ab[2] - Aa[2],
            Ab[3] - Aa[3],
            Ab[4] - Aa[4],
            Ab[5] - Aa[5],
        )
        w0, w1, w2 = Va[3], Va[4], Va[5]
        g0, g1, g2 = Vb[3] - w0, Vb[4] - w1, Vb[5] - w2
        # Rotation of b against a, as a sees it.
        r0, r1, r2 = e3 - (w1 * Vb[5] - w2 * Vb[4]), e4 - (w2 * Vb[3] - w0 * Vb[5]), e5 - (w0 * Vb[4] - w1 * Vb[3])
        if loops.coincident[k]:
            e0 -= w1 * Vb[2] - w2 * Vb[1] + Va[1] * Vb[5] - Va[2] * Vb[4]
            e1 -= w2 * Vb[0] - w0 * Vb[2] + Va[2] * Vb[3] - Va[0] * Vb[5]
            e2 -= w0 * Vb[1] - w1 * Vb[0] + Va[0] * Vb[4] - Va[1] * Vb[3]
            t0, t1, t2 = e0 + r1 * x2 - r2 * x1, e1 + r2 * x0 - r0 * x2, e2 + r0 * x1 - r1 * x0
        else:
            b0, b1, b2 = (
                Vb[0] + Vb[4] * y2 - Vb[5] * y1,
                Vb[1] + Vb[5] * y0 - Vb[3] * y2,
                Vb[2] + Vb[3] * y1 - Vb[4] * y0,
            )
            u0, u1, u2 = b0 - Va[0] - w1 * y2 + w2 * y1, b1 - Va[1] - w2 * y0 + w0 * y2, b2 - Va[2] - w0 * y1 + w1 * y0
            t0 = e0 + e4 * y2 - e5 * y1 + g1 * b2 - g2 * b1 - w1 * u2 + w2 * u1
            t1 = e1 + e5 * y0 - e3 * y2 + g2 * b0 - g0 * b2 - w2 * u0 + w0 * u2
            t2 = e2 + e3 * y1 - e4 * y0 + g0 * b1 - g1 * b0 - w0 * u1 + w1 * u0
            if loops.formula[k] == DISTANCE:
                d0, d1, d2 = y0 - x0, y1 - x1, y2 - x2
                distance = max(np.sqrt(d0 * d0 + d1 * d1 + d2 * d2), 1e-12)
                along = (d0 * u0 + d1 * u1 + d2 * u2) / distance
                across = u0 * u0 + u1 * u1 + u2 * u2 - along * along
                drift[row] = (d0 * t0 + d1 * t1 + d2 * t2 + across) / distance
                continue
        if x >= 0:
            drift[row + x] = a00 * t0 + a10 * t1 + a20 * t2
        if y >= 0:
            drift[row + y] = a01 * t0 + a11 * t1 + a21 * t2
        if z >= 0:
            drift[row + z] = a02 * t0 + a12 * t1 + a22 * t2
        if rx >= 0:
            drift[row + rx] = a00 * r0 + a10 * r1 + a20 * r2
        if ry >= 0:
            drift[row + ry] = a01 * r0 + a11 * r1 + a21 * r2
            drift[row + rz] = a02 * r0 + a12 * r1 + a22 * r2
        elif rz >= 0:
            b0, b1, b2 = axis(at.R, loops.b[k], loops.turn_b, k, 1)
            n0, n1, n2 = cross((a00, a10, a20), (b0, b1, b2))
            of_a, of_b = g0 * a00 + g1 * a10 + g2 * a20, g0 * b0 + g1 * b1 + g2 * b2
            drift[row + rz] = n0 * r0 + n1 * r1 + n2 * r2 - of_a * of_b
            drift[row + rz] += (g0 * g0 + g1 * g1 + g2 * g2) * (a00 * b0 + a10 * b1 + a20 * b2)


@compiled
def evaluate(tree: Tree, loops: LoopTable, q, v, phi, J, drift):
    """Fill phi (N, m), J (N, m, nv), zero at first, and drift (N, m)."""
    at, A, rest = new_posture(len(tree.parent)), new_blocks(loops), np.zeros(q.shape[1])
    for i in range(len(q)):
        place(tree, q[i], at)
        residual(loops, q[i], at, phi[i])
        jacobian(loops, at, A)
        for k in range(len(loops.formula)):
            for r in range(loops.n_rows[k]):
                for e in range(loops.start[k], loops.start[k + 1]):
                    J[i, loops.first_row[k] + r, loops.joint[e] - 1] = A[k, r, e - loops.start[k]]
        move(tree, v[i], rest, at)
        loop_drift(loops, at, drift[i])


@allocating
def new_blocks(loops: LoopTable):
    """Room for the rows of every closure over its joints, and for the shared system as last block."""
    rows, columns = loops.n_left, len(loops.shared)
    for k in range(len(loops.formula)):
        rows, columns = max(rows, loops.n_rows[k]), max(columns, loops.start[k + 1] - loops.start[k])
    return np.zeros((len(loops.formula) + 1, rows, columns))
