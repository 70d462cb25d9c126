"""How T, v and a change with the coordinates, compiled: what variations.py and bends.py do, sample by sample."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.kernel import axes, ends, held, jacobian
from robodyn_pin.closures.kernel_elimination import Legs, new_legs, reduce
from robodyn_pin.closures.kernel_options import allocating, compiled, inlined
from robodyn_pin.closures.kernel_posture import Posture, move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kernel_vectors import (
    angular,
    cross,
    crossed,
    less,
    less3,
    plus,
    plus3,
    row_of,
    scalar,
    shifted,
    six,
)
from robodyn_pin.closures.kinds import COUPLING, DISTANCE


class Changes(NamedTuple):
    """Workspace of one sample: how the bodies are moved by each coordinate, and how their motion then changes (joints, d, 6)."""

    U: np.ndarray
    dV: np.ndarray
    dA: np.ndarray
    pairs: np.ndarray  # (joints, d (d + 1) / 2, 6) how U[j] changes with coordinate k, j <= k
    right: np.ndarray  # (m, d (d + 1) / 2) changes of the rows
    y: np.ndarray  # (blocks, rows, d (d + 1) / 2) scratch
    x: np.ndarray  # (nv, d (d + 1) / 2) solutions


@allocating
def new_changes(joints, d, loops: LoopTable, legs: Legs):
    n, zero = d * (d + 1) // 2, np.zeros
    blocks, rows = legs.y.shape
    return Changes(
        zero((joints, d, 6)), zero((joints, d, 6)), zero((joints, d, 6)), zero((joints, n, 6)), zero((loops.size, n)),
        zero((blocks, rows, n)), zero((joints - 1, n)),
    )  # fmt: skip


@compiled
def bend_samples(tree: Tree, loops: LoopTable, S, q, v, a, T, bent, dv, da, regular):
    """Derivatives bent (N, nv, d, d) of T, dv and da (N, nv, d) at closed samples; `regular` (N,): where that was possible."""
    joints, d = len(tree.parent), len(S)
    posture, reduced, rates = new_posture(joints), new_legs(loops), np.zeros(d)
    changes = new_changes(joints, d, loops, reduced)
    tree, loops, w = by_reference(tree), by_reference(loops), by_reference(changes)
    at, legs = by_reference(posture), by_reference(reduced)
    for i in range(len(q)):
        place(tree, q[i], at)
        jacobian(loops, at, legs.A)
        regular[i] = reduce(loops, S, legs)
        if not regular[i]:
            continue
        for m in range(d):
            rates[m] = 0.0
            for f in range(joints - 1):
                rates[m] += S[m, f] * v[i, f]
        bend_tangents(tree, loops, S, at, legs, T[i], w, bent[i])
        for j in range(joints - 1):
            for k in range(d):
                dv[i, j, k] = 0.0
                for m in range(d):
                    dv[i, j, k] += bent[i, j, k, m] * rates[m]
        move(tree, v[i], a[i], at)
        change_motions(tree, v[i], at, T[i], dv[i], w)
        rows_of_accelerations(loops, at, w)
        solve_changes(loops, legs, w, d)
        for j in range(joints - 1):
            for k in range(d):
                da[i, j, k] = w.x[j, k]
    still_needed((posture, reduced, changes))


@inlined
def bend_tangents(tree: Tree, loops: LoopTable, S, at: Posture, legs: Legs, T, w: Changes, bent):
    """d2q/dc_j dc_k (nv, d, d) after `place` and `reduce`."""
    d = T.shape[1]
    for j in range(1, len(tree.parent)):
        p = tree.parent[j]
        s = at.s[j, 0], at.s[j, 1], at.s[j, 2], at.s[j, 3], at.s[j, 4], at.s[j, 5]
        n = 0
        for m in range(d):
            t = T[j - 1, m]
            z = crossed(six(w.U, p, m), s)
            for r in range(6):
                w.U[j, m, r] = w.U[p, m, r] + t * s[r]
            for k in range(m, d):
                u = T[j - 1, k]
                for r in range(6):
                    w.pairs[j, n, r] = w.pairs[p, n, r] + u * z[r]
                n += 1
    rows_of_rates(loops, at, w, d)
    solve_changes(loops, legs, w, d * (d + 1) // 2)
    for j in range(len(T)):
        n = 0
        for m in range(d):
            for k in range(m, d):
                bent[j, m, k] = bent[j, k, m] = w.x[j, n]
                n += 1


@inlined
def change_motions(tree: Tree, v, at: Posture, T, dv, w: Changes):
    """dV and dA of the bodies along the coordinates, joints' accelerations kept, after `move` and `bend_tangents`."""
    d = T.shape[1]
    for j in range(1, len(tree.parent)):
        p, rate = tree.parent[j], v[j - 1]
        s = at.s[j, 0], at.s[j, 1], at.s[j, 2], at.s[j, 3], at.s[j, 4], at.s[j, 5]
        z = crossed((at.V[p, 0], at.V[p, 1], at.V[p, 2], at.V[p, 3], at.V[p, 4], at.V[p, 5]), s)
        y, e = crossed((at.A[p, 0], at.A[p, 1], at.A[p, 2], at.A[p, 3], at.A[p, 4], at.A[p, 5]), s), crossed(z, s)
        for k in range(d):
            u, b = T[j - 1, k], dv[j - 1, k]
            x = crossed(six(w.dV, p, k), s)
            for r in range(6):
                w.dV[j, k, r] = w.dV[p, k, r] + b * s[r] + u * z[r]
                w.dA[j, k, r] = w.dA[p, k, r] + b * z[r] + u * (y[r] + rate * e[r]) + rate * x[r]


@inlined
def rows_of_rates(loops: LoopTable, at: Posture, w: Changes, d):
    """Right sides for d2q/dc_j dc_k: how the rows' rates along coordinate j change with coordinate k."""
    for c in range(len(loops.formula)):
        row = loops.first_row[c]
        if loops.formula[c] == COUPLING:
            for n in range(d * (d + 1) // 2):
                w.right[row, n] = 0.0
            continue
        of_a, x, y = ends(loops, c, at)
        a, b, n = loops.a[c], loops.b[c], 0
        first, second = of_a[0], axes(at.R, b, loops.turn_b, c)[1]
        for m in range(d):
            Ub = six(w.U, b, m)
            V = less(Ub, six(w.U, a, m))
            at_y = shifted(V, y)
            for k in range(m, d):
                U = less(six(w.U, b, k), six(w.U, a, k))
                dV = less(plus(six(w.pairs, b, n), crossed(U, Ub)), six(w.pairs, a, n))
                dy = shifted(U, y)
                du = plus3(shifted(dV, y), cross(angular(V), dy))
                if loops.formula[c] == DISTANCE:
                    span = less3(y, x)
                    w.right[row, n] = (scalar(span, du) + scalar(at_y, dy)) / sqrt(scalar(span, span))
                else:
                    about = 0.0
                    if loops.held[c, 5] >= 0 and loops.held[c, 4] < 0:
                        about = scalar(cross(first, second), angular(dV))
                        about += scalar(cross(first, cross(angular(U), second)), angular(V))
                    put(loops, c, of_a, du, angular(dV), about, w.right, row, n)
                n += 1


@inlined
def rows_of_accelerations(loops: LoopTable, at: Posture, w: Changes):
    """Right sides for da/dc: how the rows' accelerations change with each coordinate."""
    for c in range(len(loops.formula)):
        row, d = loops.first_row[c], w.U.shape[1]
        if loops.formula[c] == COUPLING:
            for k in range(d):
                w.right[row, k] = 0.0
            continue
        of_a, x, y = ends(loops, c, at)
        a, b = loops.a[c], loops.b[c]
        Va, Vb, Aa, Ab = row_of(at.V, a), row_of(at.V, b), row_of(at.A, a), row_of(at.A, b)
        V, A = less(Vb, Va), less(less(Ab, Aa), crossed(Va, Vb))
        omega, alpha = angular(V), angular(A)
        u = shifted(V, y)
        t = plus3(shifted(A, y), cross(omega, u))
        first, second = of_a[0], axes(at.R, b, loops.turn_b, c)[1]
        for k in range(d):
            U = less(six(w.U, b, k), six(w.U, a, k))
            dVa, dVb = six(w.dV, a, k), plus(six(w.dV, b, k), crossed(U, Vb))
            dV = less(dVb, dVa)
            dA = less(plus(six(w.dA, b, k), crossed(U, Ab)), six(w.dA, a, k))
            dA = less(less(dA, crossed(dVa, Vb)), crossed(Va, dVb))
            dy, dw = shifted(U, y), angular(dV)
            du = plus3(shifted(dV, y), cross(omega, dy))
            dt = plus3(plus3(shifted(dA, y), cross(alpha, dy)), plus3(cross(dw, u), cross(omega, du)))
            if loops.formula[c] == DISTANCE:
                span = less3(y, x)
                change = scalar(span, dt) + scalar(dy, t) + 2 * scalar(u, du)
                w.right[row, k] = change / sqrt(scalar(span, span))
                continue
            about = 0.0
            if loops.held[c, 5] >= 0 and loops.held[c, 4] < 0:
                db = cross(angular(U), second)
                swing, swung = cross(omega, second), plus3(cross(dw, second), cross(omega, db))
                about = scalar(cross(first, second), angular(dA)) + scalar(cross(first, db), alpha)
                about += scalar(cross(first, swing), dw) + scalar(cross(first, swung), omega)
            put(loops, c, of_a, dt, angular(dA), about, w.right, row, k)


@inlined
def put(loops: LoopTable, c, of_a, moved, turning, about, right, row, n):
    """Changes of a closure's rows along the axes that it holds; `about` the normal of a universal joint."""
    x, y, z, rx, ry, rz = held(loops, c)
    if x >= 0:
        right[row + x, n] = scalar(of_a[0], moved)
    if y >= 0:
        right[row + y, n] = scalar(of_a[1], moved)
    if z >= 0:
        right[row + z, n] = scalar(of_a[2], moved)
    if rx >= 0:
        right[row + rx, n] = scalar(of_a[0], turning)
    if ry >= 0:
        right[row + ry, n], right[row + rz, n] = scalar(of_a[1], turning), scalar(of_a[2], turning)
    elif rz >= 0:
        right[row + rz, n] = about


@inlined
def solve_changes(loops: LoopTable, legs: Legs, w: Changes, size):
    """x (nv, size) with J x = -right (m, size) and S x = 0, after `reduce`."""
    A, y, x, last, n, left = legs.A, w.y, w.x, len(loops.formula), len(loops.shared), 0
    for f in loops.known:
        for c in range(size):
            x[f, c] = 0.0
    for k in range(last):
        m, own = loops.n_rows[k], loops.n_own[k]
        for r in range(m):
            for c in range(size):
                y[k, r, c] = -w.right[loops.first_row[k] + r, c]
        reflect_all(legs, y, k, m, own, size)
        for r in range(own, m):
            for c in range(size):
                y[last, left, c] = y[k, r, c]
            left += 1
    for _ in loops.mixed:
        for c in range(size):
            y[last, left, c] = 0.0
        left += 1
    reflect_all(legs, y, last, loops.n_left, n, size)
    for r in range(n - 1, -1, -1):
        f, scale = loops.shared[r], 1.0 / legs.pivot[last, r]
        for c in range(size):
            x[f, c] = y[last, r, c]
        for e in range(r + 1, n):
            for c in range(size):
                x[f, c] -= A[last, r, e] * x[loops.shared[e], c]
        for c in range(size):
            x[f, c] *= scale
    for k in range(last):
        start = loops.start[k]
        for r in range(loops.n_own[k] - 1, -1, -1):
            f, scale = loops.joint[start + r] - 1, 1.0 / legs.pivot[k, r]
            for c in range(size):
                x[f, c] = y[k, r, c]
            for e in range(start + r + 1, loops.start[k + 1]):
                for c in range(size):
                    x[f, c] -= A[k, r, e - start] * x[loops.joint[e] - 1, c]
            for c in range(size):
                x[f, c] *= scale


@inlined
def reflect_all(legs: Legs, y, k, m, own, size):
    """Q'y of block k for all right sides, in place."""
    for j in range(min(own, m - 1)):
        for c in range(size):
            along = 0.0
            for r in range(j, m):
                along += legs.A[k, r, j] * y[k, r, c]
            along *= legs.scale[k, j]
            for r in range(j, m):
                y[k, r, c] -= along * legs.A[k, r, j]
