"""How the bodies' columns of the projected regressor change with the coordinates, compiled: what body_slopes.py does, sample by sample."""

import numpy as np

from robodyn_pin.closures.kernel_options import compiled, inlined
from robodyn_pin.closures.kernel_posture import move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import Tree
from robodyn_pin.closures.kernel_vectors import crossed, row_of, six
from robodyn_pin.dynamics.kernel import along_axes, felt, squares, ten_columns
from robodyn_pin.dynamics.kernel_slopes import Forces, spread_changes
from robodyn_pin.dynamics.regressor import Bodies


@compiled
def body_column_slopes(tree: Tree, bodies: Bodies, q, v, a, T, bent, dv, da, out):
    """Add to out (3, N, d, p, d) the derivatives by c, c', c'' of every body's columns; bent, dv, da as bends.py says."""
    joints, d = len(tree.parent), T.shape[2]
    posture, shape = new_posture(joints), (joints, d, 6)
    forces = Forces(
        np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros((joints, 6)), np.zeros((1, 1, 6))
    )
    tree, bodies, at, w = by_reference(tree), by_reference(bodies), by_reference(posture), by_reference(forces)
    dU = np.zeros((joints, d, d, 6))
    for i in range(len(q)):
        place(tree, q[i], at)
        move(tree, v[i], a[i], at)
        spread_changes(tree, v[i], T[i], dv[i], da[i], at, w)
        bend_motions(tree, T[i], bent[i], at, w.U, dU)
        for b in range(len(bodies.joint)):
            add_changes(at, bodies.joint[b], bodies.gravity, w, dU, bodies.first[b], i, out)
    still_needed((posture, forces))


@inlined
def bend_motions(tree: Tree, T, bent, at, U, dU):
    """dU[j, m, k]: how the motion per coordinate m of body j changes with coordinate k, as the body sees it."""
    for j in range(1, len(tree.parent)):
        p, s = tree.parent[j], row_of(at.s, j)
        for m in range(T.shape[1]):
            z = crossed(six(U, p, m), s)
            for k in range(T.shape[1]):
                for r in range(6):
                    dU[j, m, k, r] = dU[p, m, k, r] + T[j - 1, k] * z[r] + bent[j - 1, m, k] * s[r]


@inlined
def add_changes(at, j, gravity, w: Forces, dU, first, i, out):
    """Add the changes of one body's columns."""
    f, omega, b = felt(at, j, gravity)
    ww, d = squares(omega), w.U.shape[1]
    V = row_of(at.V, j)
    for k in range(d):
        U = six(w.U, j, k)
        own, turning = along_axes(at, j, U)
        seen = felt_changes(at, j, V, U, six(w.dV, j, k), six(w.dA, j, k), gravity)
        seen_cd = felt_changes(at, j, V, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), U, six(w.dA_by_cd, j, k), gravity)
        for m in range(d):
            l, n = along_axes(at, j, six(w.U, j, m))
            dl, dn = along_axes(
                at, j, (dU[j, m, k, 0], dU[j, m, k, 1], dU[j, m, k, 2], dU[j, m, k, 3], dU[j, m, k, 4], dU[j, m, k, 5])
            )
            by_c = ten_columns(l, n, seen[0], mixed(omega, seen[1]), seen[2])
            moved = ten_columns(dl, dn, f, ww, b)
            by_cd = ten_columns(l, n, seen_cd[0], mixed(omega, seen_cd[1]), seen_cd[2])
            by_cdd = ten_columns(l, n, own, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), turning)
            for c in range(10):
                out[0, i, m, first + c, k] += by_c[c] + moved[c]
                out[1, i, m, first + c, k] += by_cd[c]
                out[2, i, m, first + c, k] += by_cdd[c]


@inlined
def felt_changes(at, j, V, U, dV, dA, gravity):
    """How acceleration against gravity, angular velocity and acceleration of a body change, along its axes."""
    p0, p1, p2 = at.p[j, 0], at.p[j, 1], at.p[j, 2]
    u0, u1, u2 = V[0] + V[4] * p2 - V[5] * p1, V[1] + V[5] * p0 - V[3] * p2, V[2] + V[3] * p1 - V[4] * p0
    e0, e1, e2 = dV[0] + dV[4] * p2 - dV[5] * p1, dV[1] + dV[5] * p0 - dV[3] * p2, dV[2] + dV[3] * p1 - dV[4] * p0
    g0, g1, g2 = gravity[0], gravity[1], gravity[2]
    x0 = dV[4] * u2 - dV[5] * u1 + V[4] * e2 - V[5] * e1 + U[4] * g2 - U[5] * g1
    x1 = dV[5] * u0 - dV[3] * u2 + V[5] * e0 - V[3] * e2 + U[5] * g0 - U[3] * g2
    x2 = dV[3] * u1 - dV[4] * u0 + V[3] * e1 - V[4] * e0 + U[3] * g1 - U[4] * g0
    f, b = along_axes(at, j, (dA[0] + x0, dA[1] + x1, dA[2] + x2, dA[3], dA[4], dA[5]))
    _, w = along_axes(at, j, dV)
    return f, w, b


@inlined
def mixed(w, x):
    """How `squares` of w changes with x."""
    return (
        2 * w[0] * x[0], 2 * w[1] * x[1], 2 * w[2] * x[2], w[0] * x[1] + x[0] * w[1], w[0] * x[2] + x[0] * w[2],
        w[1] * x[2] + x[1] * w[2],
    )  # fmt: skip
