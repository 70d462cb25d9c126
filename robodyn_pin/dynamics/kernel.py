"""What bodies ask of the joints, compiled: the projected regressor, W = sum over the bodies of (J_b T)' R_b, R_b that (6, 10)
of one body, and the efforts by Newton and Euler.
"""

import numpy as np

from robodyn_pin.closures.kernel import compiled, inlined, jacobian, move, new_posture, place
from robodyn_pin.closures.kernel_elimination import new_legs, reduce, tangent
from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.dynamics.regressor import Bodies


@compiled
def add_bodies(tree: Tree, bodies: Bodies, q, v, a, T, W):
    """Add the columns of every body to W (N, d, p) for a closed motion q, v, a (N, nv) and its T (N, nv, d)."""
    at, X = new_posture(q.shape[1] + 1), np.zeros((q.shape[1] + 1, T.shape[2], 6))
    for i in range(len(q)):
        place(tree, q[i], at)
        add_sample(tree, bodies, v[i], a[i], T[i], at, X, i, W)


@compiled
def project_bodies(tree: Tree, loops: LoopTable, S, bodies: Bodies, q, v, a, W, regular):
    """As `add_bodies`, T solved from the closures for the coordinates S (d, nv): `regular` (N,) says where that was possible."""
    nv, d = q.shape[1], len(S)
    at, legs, X, T = new_posture(nv + 1), new_legs(loops), np.zeros((nv + 1, d, 6)), np.zeros((nv, d))
    for i in range(len(q)):
        place(tree, q[i], at)
        jacobian(loops, at, legs.A)
        regular[i] = reduce(loops, S, legs)
        if regular[i]:
            tangent(loops, S, legs, T)
            add_sample(tree, bodies, v[i], a[i], T, at, X, i, W)


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
    at, F = new_posture(joints), np.zeros((joints, 6))  # force and moment on each body, at the world's origin
    for i in range(len(q)):
        place(tree, q[i], at)
        move(tree, v[i], a[i], at)
        ask(tree, gravity, parameters, at, F, tau[i])


@inlined
def ask(tree: Tree, gravity, parameters, at, F, tau):
    """tau (nv,) that the bodies ask of the joints, after `place` and `move`; F (joints, 6) is scratch, zero for the world."""
    joints = len(tree.parent)
    for j in range(1, joints):
        F[j] = 0.0
        if parameters[j].any():
            push(at, j, gravity, parameters[j], F[j])
    for j in range(joints - 1, 0, -1):
        k = tree.parent[j]
        tau[j - 1] = 0.0
        for r in range(6):
            tau[j - 1] += at.s[j, r] * F[j, r]
            F[k, r] += F[j, r]


@inlined
def push(at, j, gravity, parameters, F):
    """F (6,) that the motion of the body of joint j asks."""
    (f0, f1, f2), (w0, w1, w2), (b0, b1, b2) = felt(at, j, gravity)
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = parameters
    g0, g1, g2 = b1 * h2 - b2 * h1, b2 * h0 - b0 * h2, b0 * h1 - b1 * h0
    u0, u1, u2 = w1 * h2 - w2 * h1, w2 * h0 - w0 * h2, w0 * h1 - w1 * h0
    l0, l1, l2 = m * f0 + g0 + w1 * u2 - w2 * u1, m * f1 + g1 + w2 * u0 - w0 * u2, m * f2 + g2 + w0 * u1 - w1 * u0
    k0, k1, k2 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2, xz * w0 + yz * w1 + zz * w2
    n0 = xx * b0 + xy * b1 + xz * b2 + w1 * k2 - w2 * k1 + h1 * f2 - h2 * f1
    n1 = xy * b0 + yy * b1 + yz * b2 + w2 * k0 - w0 * k2 + h2 * f0 - h0 * f2
    n2 = xz * b0 + yz * b1 + zz * b2 + w0 * k1 - w1 * k0 + h0 * f1 - h1 * f0
    R, p = at.R[j], at.p[j]
    for r in range(3):
        F[r] = R[r, 0] * l0 + R[r, 1] * l1 + R[r, 2] * l2
        F[3 + r] = R[r, 0] * n0 + R[r, 1] * n1 + R[r, 2] * n2
    F[3] += p[1] * F[2] - p[2] * F[1]
    F[4] += p[2] * F[0] - p[0] * F[2]
    F[5] += p[0] * F[1] - p[1] * F[0]


@inlined
def felt(at, j, gravity):
    """Acceleration of joint j's origin against gravity, angular velocity and acceleration, along the joint's own axes."""
    R, V, A = at.R, at.V, at.A
    p0, p1, p2 = at.p[j, 0], at.p[j, 1], at.p[j, 2]
    V3, V4, V5, a3, a4, a5 = V[j, 3], V[j, 4], V[j, 5], A[j, 3], A[j, 4], A[j, 5]
    u0 = V[j, 0] + V4 * p2 - V5 * p1  # velocity of the joint's origin
    u1 = V[j, 1] + V5 * p0 - V3 * p2
    u2 = V[j, 2] + V3 * p1 - V4 * p0
    e0 = A[j, 0] + a4 * p2 - a5 * p1 + V4 * u2 - V5 * u1 - gravity[0]
    e1 = A[j, 1] + a5 * p0 - a3 * p2 + V5 * u0 - V3 * u2 - gravity[1]
    e2 = A[j, 2] + a3 * p1 - a4 * p0 + V3 * u1 - V4 * u0 - gravity[2]
    r00, r01, r02 = R[j, 0, 0], R[j, 0, 1], R[j, 0, 2]
    r10, r11, r12 = R[j, 1, 0], R[j, 1, 1], R[j, 1, 2]
    r20, r21, r22 = R[j, 2, 0], R[j, 2, 1], R[j, 2, 2]
    return (
        (r00 * e0 + r10 * e1 + r20 * e2, r01 * e0 + r11 * e1 + r21 * e2, r02 * e0 + r12 * e1 + r22 * e2),
        (r00 * V3 + r10 * V4 + r20 * V5, r01 * V3 + r11 * V4 + r21 * V5, r02 * V3 + r12 * V4 + r22 * V5),
        (r00 * a3 + r10 * a4 + r20 * a5, r01 * a3 + r11 * a4 + r21 * a5, r02 * a3 + r12 * a4 + r22 * a5),
    )


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
        x = X[j, m, 0], X[j, m, 1], X[j, m, 2], X[j, m, 3], X[j, m, 4], X[j, m, 5]
        if x[0] == 0 and x[1] == 0 and x[2] == 0 and x[3] == 0 and x[4] == 0 and x[5] == 0:
            continue  # this coordinate does not move the body
        l, n = along_axes(at, j, x)
        ten = ten_columns(l, n, f, squares(w), b)
        for c in range(10):
            W[i, m, first + c] += ten[c]


@inlined
def along_axes(at, j, x):
    """A motion of the world's origin as that of joint j's, along its axes: linear, angular."""
    R, (x0, x1, x2, y0, y1, y2) = at.R, x
    p0, p1, p2 = at.p[j, 0], at.p[j, 1], at.p[j, 2]
    r00, r01, r02 = R[j, 0, 0], R[j, 0, 1], R[j, 0, 2]
    r10, r11, r12 = R[j, 1, 0], R[j, 1, 1], R[j, 1, 2]
    r20, r21, r22 = R[j, 2, 0], R[j, 2, 1], R[j, 2, 2]
    x0, x1, x2 = x0 + y1 * p2 - y2 * p1, x1 + y2 * p0 - y0 * p2, x2 + y0 * p1 - y1 * p0
    return (
        (r00 * x0 + r10 * x1 + r20 * x2, r01 * x0 + r11 * x1 + r21 * x2, r02 * x0 + r12 * x1 + r22 * x2),
        (r00 * y0 + r10 * y1 + r20 * y2, r01 * y0 + r11 * y1 + r21 * y2, r02 * y0 + r12 * y1 + r22 * y2),
    )


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
