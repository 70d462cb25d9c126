"""[J; S] of one sample reduced leg by leg, compiled: what elimination.py does for many."""

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.elimination import SINGULAR
from robodyn_pin.closures.kernel_options import allocating, inlined
from robodyn_pin.closures.kernel_tables import LoopTable


class Legs(NamedTuple):
    """One sample's [J; S], reduced: a block per closure over its joints, the shared system as last block."""

    A: np.ndarray  # (blocks, rows, columns) triangles; on and below the diagonal the Householder vectors
    pivot: np.ndarray  # (blocks, rows) diagonals
    scale: np.ndarray  # (blocks, rows) of the Householder vectors
    y: np.ndarray  # (blocks, rows) scratch: right sides
    H: np.ndarray  # (left, 4) scratch: right sides of the shared system


@allocating
def new_legs(loops: LoopTable):
    blocks, rows = len(loops.formula) + 1, loops.rows
    shape = blocks, rows
    A = np.zeros((blocks, rows, loops.columns))
    return Legs(A, np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((loops.n_left, 4)))


@inlined
def reduce(loops: LoopTable, S, legs: Legs):
    """Triangulate [J; S] leg by leg, J in the blocks as `jacobian` leaves it; False where it is singular."""
    A, last, n, left = legs.A, len(loops.formula), len(loops.shared), 0
    low, high = inf, 0.0
    for k in range(last):
        m, own, start = loops.n_rows[k], loops.n_own[k], loops.start[k]
        c = loops.start[k + 1] - start
        triangulate(legs, k, m, c, own)
        for r in range(own):
            low, high = min(low, abs(legs.pivot[k, r])), max(high, abs(legs.pivot[k, r]))
        for r in range(own, m):
            for e in range(n):
                A[last, left, e] = 0.0
            for e in range(own, c):
                if loops.place[start + e] >= 0:
                    A[last, left, loops.place[start + e]] = A[k, r, e]
            left += 1
    for r in loops.mixed:
        for e in range(n):
            A[last, left, e] = S[r, loops.shared[e]]
        left += 1
    # Not `left`, which is as much: numba takes it for the literal 0 at first, and would compile the step twice.
    triangulate(legs, last, loops.n_left, n, n)
    for r in range(n):
        low, high = min(low, abs(legs.pivot[last, r])), max(high, abs(legs.pivot[last, r]))
    return low > SINGULAR * high


@inlined
def triangulate(legs: Legs, k, m, c, own):
    """Householder steps on the first `own` columns of block k (m, c)."""
    A = legs.A
    for j in range(own):
        x = A[k, j, j]
        if j == m - 1:
            legs.pivot[k, j], legs.scale[k, j] = x, 0.0
            continue
        square = 0.0
        for r in range(j, m):
            square += A[k, r, j] * A[k, r, j]
        norm = sqrt(square)
        top = -norm if x > 0 else norm
        scale = 1.0 / (norm * (norm + abs(x))) if norm > 0 else 0.0
        legs.pivot[k, j], legs.scale[k, j], A[k, j, j] = top, scale, x - top
        if m - j <= 3:  # most legs: no inner loops
            j1, j2 = j + 1, m - 1
            u0, u1, u2 = x - top, A[k, j1, j], A[k, j2, j] if j2 > j1 else 0.0
            for e in range(j + 1, c):
                w = scale * (u0 * A[k, j, e] + u1 * A[k, j1, e] + u2 * A[k, j2, e])
                A[k, j, e] -= w * u0
                A[k, j1, e] -= w * u1
                A[k, j2, e] -= w * u2
            continue
        for e in range(j + 1, c):
            w = 0.0
            for r in range(j, m):
                w += A[k, r, j] * A[k, r, e]
            w *= scale
            for r in range(j, m):
                A[k, r, e] -= w * A[k, r, j]


@inlined
def apply_reflections(legs: Legs, k, m, own):
    """Q'y of block k, in place."""
    A, y = legs.A, legs.y
    for j in range(min(own, m - 1)):
        w = 0.0
        for r in range(j, m):
            w += A[k, r, j] * y[k, r]
        w *= legs.scale[k, j]
        for r in range(j, m):
            y[k, r] -= w * A[k, r, j]


@inlined
def solve_reduced(loops: LoopTable, S, legs: Legs, right, rates, x):
    """x (nv,) with J x = right (m,) and S x = rates (d,), after `reduce`."""
    A, y, last, n, left = legs.A, legs.y, len(loops.formula), len(loops.shared), 0
    for i in range(len(loops.known)):
        x[loops.known[i]] = rates[loops.known_row[i]] / S[loops.known_row[i], loops.known[i]]
    for k in range(last):
        m, own = loops.n_rows[k], loops.n_own[k]
        for r in range(m):
            y[k, r] = right[loops.first_row[k] + r]
        apply_reflections(legs, k, m, own)
        for r in range(own, m):
            w = y[k, r]
            for e in range(loops.start[k] + own, loops.start[k + 1]):
                if loops.place[e] < 0:
                    w -= A[k, r, e - loops.start[k]] * x[loops.joint[e] - 1]
            y[last, left] = w
            left += 1
    for r in loops.mixed:
        y[last, left] = rates[r]
        for i in range(len(loops.known)):
            y[last, left] -= S[r, loops.known[i]] * x[loops.known[i]]
        left += 1
    apply_reflections(legs, last, loops.n_left, n)
    for r in range(n - 1, -1, -1):
        w = y[last, r]
        for f in range(r + 1, n):
            w -= A[last, r, f] * x[loops.shared[f]]
        x[loops.shared[r]] = w / legs.pivot[last, r]
    for k in range(last):
        start = loops.start[k]
        for r in range(loops.n_own[k] - 1, -1, -1):
            w = y[k, r]
            for e in range(start + r + 1, loops.start[k + 1]):
                w -= A[k, r, e - start] * x[loops.joint[e] - 1]
            x[loops.joint[start + r] - 1] = w / legs.pivot[k, r]


@inlined
def tangent(loops: LoopTable, S, legs: Legs, T):
    """T (nv, d) with J T = 0 and S T = I, after `reduce`; four columns at once, held in registers."""
    A, H, last, n, d = legs.A, legs.H, len(loops.formula), len(loops.shared), len(S)
    for i in range(len(loops.known)):
        for m in range(d):
            T[loops.known[i], m] = 0.0
        T[loops.known[i], loops.known_row[i]] = 1.0 / S[loops.known_row[i], loops.known[i]]
    for first in range(0, d, 4):
        # Columns that are not there repeat the last one.
        four = first, min(first + 1, d - 1), min(first + 2, d - 1), min(first + 3, d - 1)
        left = 0
        for k in range(last):
            start, own = loops.start[k], loops.n_own[k]
            for r in range(own, loops.n_rows[k]):
                h = 0.0, 0.0, 0.0, 0.0
                for e in range(start + own, loops.start[k + 1]):
                    if loops.place[e] < 0:
                        h = less_multiple(h, A[k, r, e - start], T, loops.joint[e] - 1, four)
                H[left, 0], H[left, 1], H[left, 2], H[left, 3] = h
                left += 1
        for r in loops.mixed:
            H[left, 0], H[left, 1], H[left, 2], H[left, 3] = r == four[0], r == four[1], r == four[2], r == four[3]
            h = H[left, 0], H[left, 1], H[left, 2], H[left, 3]
            for f in loops.known:
                h = less_multiple(h, S[r, f], T, f, four)
            H[left, 0], H[left, 1], H[left, 2], H[left, 3] = h
            left += 1
        for j in range(min(n, left - 1)):
            h = 0.0, 0.0, 0.0, 0.0
            for r in range(j, left):
                h = less_multiple(h, -A[last, r, j], H, r, (0, 1, 2, 3))
            for r in range(j, left):
                w = A[last, r, j] * legs.scale[last, j]
                H[r, 0] -= w * h[0]
                H[r, 1] -= w * h[1]
                H[r, 2] -= w * h[2]
                H[r, 3] -= w * h[3]
        for r in range(n - 1, -1, -1):
            h = H[r, 0], H[r, 1], H[r, 2], H[r, 3]
            for e in range(r + 1, n):
                h = less_multiple(h, A[last, r, e], T, loops.shared[e], four)
            set_columns(T, loops.shared[r], four, h, 1.0 / legs.pivot[last, r])
        for k in range(last):
            start = loops.start[k]
            for r in range(loops.n_own[k] - 1, -1, -1):
                h = 0.0, 0.0, 0.0, 0.0
                for e in range(start + r + 1, loops.start[k + 1]):
                    h = less_multiple(h, A[k, r, e - start], T, loops.joint[e] - 1, four)
                set_columns(T, loops.joint[start + r] - 1, four, h, 1.0 / legs.pivot[k, r])


@inlined
def less_multiple(h, w, T, f, four):
    """h - w T[f] in four columns."""
    return h[0] - w * T[f, four[0]], h[1] - w * T[f, four[1]], h[2] - w * T[f, four[2]], h[3] - w * T[f, four[3]]


@inlined
def set_columns(T, f, four, h, w):
    """T[f] = w h in four columns."""
    T[f, four[0]], T[f, four[1]], T[f, four[2]], T[f, four[3]] = h[0] * w, h[1] * w, h[2] * w, h[3] * w
