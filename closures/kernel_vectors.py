"""Vectors of three and motions of six (linear, angular) as tuples, compiled: a call costs nothing once compiled, and compiles faster than
what it stands for."""

from robodyn_pin.closures.kernel_options import inlined


@inlined
def plus3(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def less3(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scalar(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def point(p, j):
    return p[j, 0], p[j, 1], p[j, 2]


@inlined
def rotated(R, j, x):
    """R[j] x."""
    return (
        R[j, 0, 0] * x[0] + R[j, 0, 1] * x[1] + R[j, 0, 2] * x[2],
        R[j, 1, 0] * x[0] + R[j, 1, 1] * x[1] + R[j, 1, 2] * x[2],
        R[j, 2, 0] * x[0] + R[j, 2, 1] * x[1] + R[j, 2, 2] * x[2],
    )


@inlined
def rotated_back(R, j, x):
    """R[j]' x."""
    return (
        R[j, 0, 0] * x[0] + R[j, 1, 0] * x[1] + R[j, 2, 0] * x[2],
        R[j, 0, 1] * x[0] + R[j, 1, 1] * x[1] + R[j, 2, 1] * x[2],
        R[j, 0, 2] * x[0] + R[j, 1, 2] * x[1] + R[j, 2, 2] * x[2],
    )


@inlined
def six(M, j, k):
    return M[j, k, 0], M[j, k, 1], M[j, k, 2], M[j, k, 3], M[j, k, 4], M[j, k, 5]


@inlined
def row_of(M, j):
    return M[j, 0], M[j, 1], M[j, 2], M[j, 3], M[j, 4], M[j, 5]


@inlined
def less(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5]


@inlined
def plus(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@inlined
def angular(V):
    return V[3], V[4], V[5]


@inlined
def shifted(V, y):
    """What a motion V moves the point y by: v + w x y."""
    return V[0] + V[4] * y[2] - V[5] * y[1], V[1] + V[5] * y[0] - V[3] * y[2], V[2] + V[3] * y[1] - V[4] * y[0]


@inlined
def crossed(V, s):
    """V x s of motions."""
    return (
        V[4] * s[2] - V[5] * s[1] + V[1] * s[5] - V[2] * s[4],
        V[5] * s[0] - V[3] * s[2] + V[2] * s[3] - V[0] * s[5],
        V[3] * s[1] - V[4] * s[0] + V[0] * s[4] - V[1] * s[3],
        V[4] * s[5] - V[5] * s[4],
        V[5] * s[3] - V[3] * s[5],
        V[3] * s[4] - V[4] * s[3],
    )
