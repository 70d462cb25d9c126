"""The loops compiled: what loops.py, closing.py and projection.py do with Pinocchio and NumPy, sample by sample."""

from math import atan2, sqrt

import numpy as np

from robodyn_pin.closures.kernel_options import compiled, inlined, inner
from robodyn_pin.closures.kernel_posture import Posture, move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kernel_vectors import (
    angular,
    cross,
    crossed,
    less,
    less3,
    plus3,
    point,
    rotated,
    row_of,
    scalar,
    shifted,
)
from robodyn_pin.closures.kinds import COUPLING, DISTANCE


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
        of_a, from_a, to_b = ends(loops, k, at)
        span = less3(to_b, from_a)
        if formula == DISTANCE:
            phi[row] = sqrt(scalar(span, span)) - loops.length[k]
            continue
        y, z, rx, ry, rz = held(loops, k)[1:]
        phi[row] = scalar(of_a[0], span)  # where x is free, the first row that is kept is written over it
        if y >= 0:
            phi[row + y] = scalar(of_a[1], span)
        if z >= 0:
            phi[row + z] = scalar(of_a[2], span)
        if rz < 0:
            continue
        of_b = axes(at.R, loops.b[k], loops.turn_b, k)
        if rx >= 0:
            for r in range(3):
                for c in range(3):
                    at.E[r, c] = scalar(of_a[r], of_b[c])
            phi[row + rx], phi[row + ry], phi[row + rz] = rotation_vector(at.E)
        elif ry >= 0:
            phi[row + ry], phi[row + rz] = -scalar(of_a[2], of_b[0]), scalar(of_a[1], of_b[0])
        else:
            phi[row + rz] = -scalar(of_a[0], of_b[1])


@inlined
def jacobian(loops: LoopTable, at: Posture, A):
    """Rows of closure k in A[k] (rows, its joints), after `place`."""
    for k in range(len(loops.formula)):
        start, chain = loops.start[k], range(loops.start[k], loops.start[k + 1])
        if loops.formula[k] == COUPLING:
            for e in chain:
                A[k, 0, e - start] = loops.sign[e]
            continue
        (along_x, along_y, along_z), from_a, to_b = ends(loops, k, at)
        normal = along_z
        x, y, z, rx, ry, rz = held(loops, k)
        if loops.formula[k] == DISTANCE:
            span = less3(to_b, from_a)
            distance = max(sqrt(scalar(span, span)), 1e-12)
            along_x = span[0] / distance, span[1] / distance, span[2] / distance  # the one row is along the rod
        elif loops.coincident[k]:
            to_b = from_a
        if rz >= 0 and ry < 0:
            normal = cross(along_x, axes(at.R, loops.b[k], loops.turn_b, k)[1])
        for e in chain:
            own, sign, c = row_of(at.s, loops.joint[e]), loops.sign[e], e - start
            moved, turning = shifted(own, to_b), angular(own)
            if x >= 0:
                A[k, x, c] = sign * scalar(along_x, moved)
            if y >= 0:
                A[k, y, c] = sign * scalar(along_y, moved)
            if z >= 0:
                A[k, z, c] = sign * scalar(along_z, moved)
            if rz >= 0:
                if rx >= 0:
                    A[k, rx, c] = sign * scalar(along_x, turning)
                if ry >= 0:
                    A[k, ry, c] = sign * scalar(along_y, turning)
                A[k, rz, c] = sign * scalar(normal, turning)


@inlined
def held(loops: LoopTable, k):
    """Which rows of closure k hold x, y, z, rx, ry, rz of frame b against frame a; -1: none."""
    h = loops.held
    return h[k, 0], h[k, 1], h[k, 2], h[k, 3], h[k, 4], h[k, 5]


@inlined
def axes(R, j, turn, k):
    """Axes of an end of closure k in the world, joint j having that end."""
    return (
        rotated(R, j, (turn[k, 0, 0], turn[k, 1, 0], turn[k, 2, 0])),
        rotated(R, j, (turn[k, 0, 1], turn[k, 1, 1], turn[k, 2, 1])),
        rotated(R, j, (turn[k, 0, 2], turn[k, 1, 2], turn[k, 2, 2])),
    )


@inlined
def ends(loops: LoopTable, k, at: Posture):
    """Axes of closure frame a and the origins of a and b, in the world."""
    R, p, a, b = at.R, at.p, loops.a[k], loops.b[k]
    from_a = plus3(point(p, a), rotated(R, a, point(loops.at_a, k)))
    return axes(R, a, loops.turn_a, k), from_a, plus3(point(p, b), rotated(R, b, point(loops.at_b, k)))


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
    sine = sqrt(x * x + y * y + z * z)
    factor = 2.0 * atan2(sine, w) / sine if sine > 1e-300 else 2.0 / w
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
        of_a, from_a, to_b = ends(loops, k, at)
        Va, Vb = row_of(at.V, loops.a[k]), row_of(at.V, loops.b[k])
        apart = less(row_of(at.A, loops.b[k]), row_of(at.A, loops.a[k]))
        seen = less(apart, crossed(Va, Vb))  # acceleration of b against a, as a sees it
        turning, omega = angular(seen), less3(angular(Vb), angular(Va))
        if loops.coincident[k]:
            moved = shifted(seen, from_a)
        else:
            rate = shifted(Vb, to_b)
            sliding = less3(rate, shifted(Va, to_b))
            moved = plus3(shifted(apart, to_b), less3(cross(omega, rate), cross(angular(Va), sliding)))
            if loops.formula[k] == DISTANCE:
                span = less3(to_b, from_a)
                distance = max(sqrt(scalar(span, span)), 1e-12)
                along = scalar(span, sliding) / distance
                across = scalar(sliding, sliding) - along * along
                drift[row] = (scalar(span, moved) + across) / distance
                continue
        if x >= 0:
            drift[row + x] = scalar(of_a[0], moved)
        if y >= 0:
            drift[row + y] = scalar(of_a[1], moved)
        if z >= 0:
            drift[row + z] = scalar(of_a[2], moved)
        if rx >= 0:
            drift[row + rx] = scalar(of_a[0], turning)
        if ry >= 0:
            drift[row + ry], drift[row + rz] = scalar(of_a[1], turning), scalar(of_a[2], turning)
        elif rz >= 0:
            a, b = of_a[0], axes(at.R, loops.b[k], loops.turn_b, k)[1]
            drift[row + rz] = (
                scalar(cross(a, b), turning) - scalar(omega, a) * scalar(omega, b) + scalar(omega, omega) * scalar(a, b)
            )


@compiled
def evaluate(tree: Tree, loops: LoopTable, q, v, phi, J, drift):
    """Fill phi (N, m), J (N, m, nv), zero at first, and drift (N, m)."""
    posture, rest = new_posture(len(tree.parent)), np.zeros(q.shape[1])
    tree, loops, at = by_reference(tree), by_reference(loops), by_reference(posture)
    A = np.zeros((len(loops.formula), loops.rows, loops.columns))
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
    still_needed(posture)
