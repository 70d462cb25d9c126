"""What bodies ask of the joints, compiled: the projected regressor, W = sum over the bodies of (J_b T)' R_b, R_b that (6, 10)
of one body, and the efforts by Newton and Euler.
"""

import numpy as np

from robodyn_pin.closures.kernel import jacobian
from robodyn_pin.closures.kernel_elimination import new_legs, reduce, tangent
from robodyn_pin.closures.kernel_options import compiled, inlined
from robodyn_pin.closures.kernel_posture import move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kernel_vectors import (
    angular,
    cross,
    plus3,
    point,
    rotated,
    rotated_back,
    row_of,
    shifted,
    six,
)
from robodyn_pin.dynamics.regressor import Bodies


@compiled
def add_bodies(tree: Tree, bodies: Bodies, q, v, a, T, W):
    """Add the columns of every body to W (N, d, p) for a closed motion q, v, a (N, nv) and its T (N, nv, d)."""
    posture, X = new_posture(q.shape[1] + 1), np.zeros((q.shape[1] + 1, T.shape[2], 6))
    tree, bodies, at = by_reference(tree), by_reference(bodies), by_reference(posture)
    for i in range(len(q)):
        place(tree, q[i], at)
        add_sample(tree, bodies, v[i], a[i], T[i], at, X, i, W)
    still_needed(posture)


@compiled
def project_bodies(tree: Tree, loops: LoopTable, S, bodies: Bodies, q, v, a, W, regular):
    """As `add_bodies`, T solved from the closures for the coordinates S (d, nv): `regular` (N,) says where that was possible."""
    nv, d = q.shape[1], len(S)
    posture, reduced, X, T = new_posture(nv + 1), new_legs(loops), np.zeros((nv + 1, d, 6)), np.zeros((nv, d))
    tree, loops, bodies = by_reference(tree), by_reference(loops), by_reference(bodies)
    at, legs = by_reference(posture), by_reference(reduced)
    for i in range(len(q)):
        place(tree, q[i], at)
        jacobian(loops, at, legs.A)
        regular[i] = reduce(loops, S, legs)
        if regular[i]:
            tangent(loops, S, legs, T)
            add_sample(tree, bodies, v[i], a[i], T, at, X, i, W)
    still_needed((posture, reduced))


@inlined
def add_sample(tree: Tree, bodies: Bodies, v, a, T, at, X, i, W):
    """Add the columns of every body to sample i of W; identical bodies share their ten."""
    move(tree, v, a, at)
    body_motions(tree, at.s, T, X)
    for b in range(len(bodies.joint)):
        add_body(at, bodies.joint[b], bodies.gravity, X, bodies.first[b], i, W)


@compiled
def efforts(tree: Tree, gravity, parameters, q, v, a, tau):
    """tau (N, nv) of a motion of the tree q, v, a (N, nv); parameters (joints, 10) of the bodies, gravity (3,)."""
    joints = len(tree.parent)
    posture, F = new_posture(joints), np.zeros((joints, 6))  # force and moment on each body, at the world's origin
    tree, at = by_reference(tree), by_reference(posture)
    for i in range(len(q)):
        place(tree, q[i], at)
        move(tree, v[i], a[i], at)
        ask(tree, gravity, parameters, at, F, tau[i])
    still_needed(posture)


@inlined
def ask(tree: Tree, gravity, parameters, at, F, tau):
    """tau (nv,) that the bodies ask of the joints, after `place` and `move`; F (joints, 6) is scratch, zero for the world."""
    joints = len(tree.parent)
    for j in range(1, joints):
        F[j, 0], F[j, 1], F[j, 2], F[j, 3], F[j, 4], F[j, 5] = push(at, j, gravity, parameters)
    for j in range(joints - 1, 0, -1):
        k = tree.parent[j]
        tau[j - 1] = 0.0
        for r in range(6):
            tau[j - 1] += at.s[j, r] * F[j, r]
            F[k, r] += F[j, r]


@inlined
def push(at, j, gravity, parameters):
    """Force and moment at the world's origin that the motion of the body of joint j asks."""
    f, w, b = felt(at, j, gravity)
    m, h = parameters[j, 0], (parameters[j, 1], parameters[j, 2], parameters[j, 3])
    tangential, centripetal = cross(b, h), cross(w, cross(w, h))
    force = (
        m * f[0] + tangential[0] + centripetal[0],
        m * f[1] + tangential[1] + centripetal[1],
        m * f[2] + tangential[2] + centripetal[2],
    )
    moment = plus3(inertia_times(parameters, j, b), plus3(cross(w, inertia_times(parameters, j, w)), cross(h, f)))
    force, moment = rotated(at.R, j, force), rotated(at.R, j, moment)
    x, y, z = plus3(moment, cross(point(at.p, j), force))
    return force[0], force[1], force[2], x, y, z


@inlined
def inertia_times(parameters, j, w):
    """I w about the joint's origin."""
    xx, xy, yy = parameters[j, 4], parameters[j, 5], parameters[j, 6]
    xz, yz, zz = parameters[j, 7], parameters[j, 8], parameters[j, 9]
    return xx * w[0] + xy * w[1] + xz * w[2], xy * w[0] + yy * w[1] + yz * w[2], xz * w[0] + yz * w[1] + zz * w[2]


@inlined
def felt(at, j, gravity):
    """Acceleration of joint j's origin against gravity, angular velocity and acceleration, along the joint's own axes."""
    R, p, V, A = at.R, point(at.p, j), row_of(at.V, j), row_of(at.A, j)
    omega = angular(V)
    spun = plus3(shifted(A, p), cross(omega, shifted(V, p)))
    f = spun[0] - gravity[0], spun[1] - gravity[1], spun[2] - gravity[2]
    return rotated_back(R, j, f), rotated_back(R, j, omega), rotated_back(R, j, angular(A))


@inlined
def body_motions(tree: Tree, s, T, X):
    """X[j] = J_j T, the motion of body j per coordinate rate (d, 6)."""
    for j in range(1, len(tree.parent)):
        k = tree.parent[j]
        for m in range(T.shape[1]):
            for r in range(6):
                X[j, m, r] = X[k, m, r] + T[j - 1, m] * s[j, r]


@inlined
def add_body(at, j, gravity, X, first, i, W):
    """Add X[j]' R of the body of joint j to the columns `first`.. of sample i of W."""
    f, w, b = felt(at, j, gravity)
    for m in range(X.shape[1]):
        x = six(X, j, m)
        if x[0] == 0 and x[1] == 0 and x[2] == 0 and x[3] == 0 and x[4] == 0 and x[5] == 0:
            continue  # this coordinate does not move the body
        l, n = along_axes(at, j, x)
        ten = ten_columns(l, n, f, squares(w), b)
        for c in range(10):
            W[i, m, first + c] += ten[c]


@inlined
def along_axes(at, j, x):
    """A motion of the world's origin as that of joint j's, along its axes: linear, angular."""
    return rotated_back(at.R, j, shifted(x, point(at.p, j))), rotated_back(at.R, j, angular(x))


@inlined
def squares(w):
    """The products of an angular velocity with itself: xx, yy, zz, xy, xz, yz."""
    return w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2]


@inlined
def ten_columns(l, n, f, ww, b):
    """Power per parameter of a body that moves with (l, n), of its acceleration f, products ww of its rotation and its own b."""
    (l0, l1, l2), (n0, n1, n2), (f0, f1, f2), (b0, b1, b2) = l, n, f, b
    w00, w11, w22, w01, w02, w12 = ww
    return (
        l0 * f0 + l1 * f1 + l2 * f2,
        -(w11 + w22) * l0 + (w01 + b2) * l1 + (w02 - b1) * l2 + f1 * n2 - f2 * n1,
        (w01 - b2) * l0 - (w00 + w22) * l1 + (w12 + b0) * l2 + f2 * n0 - f0 * n2,
        (w02 + b1) * l0 + (w12 - b0) * l1 - (w00 + w11) * l2 + f0 * n1 - f1 * n0,
        b0 * n0 + w02 * n1 - w01 * n2,
        (b1 - w02) * n0 + (b0 + w12) * n1 + (w00 - w11) * n2,
        -w12 * n0 + b1 * n1 + w01 * n2,
        (b2 + w01) * n0 + (w22 - w00) * n1 + (b0 - w12) * n2,
        (w11 - w22) * n0 + (b2 - w01) * n1 + (b1 + w02) * n2,
        w12 * n0 - w02 * n1 + b2 * n2,
    )
