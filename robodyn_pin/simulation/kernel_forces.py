"""A robot's forces at one moment, compiled: mass matrix, bodies, friction and springs along the coordinates (machine.py)."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.closing import LAST_STEP
from robodyn_pin.closures.kernel import jacobian, loop_drift
from robodyn_pin.closures.kernel_elimination import new_legs, reduce, solve_reduced, tangent
from robodyn_pin.closures.kernel_options import allocating, inner
from robodyn_pin.closures.kernel_posture import move, new_posture, place
from robodyn_pin.closures.kernel_solve import Newton, newton_steps
from robodyn_pin.closures.kernel_vectors import angular, cross, less3, plus3, point, rotated, row_of, scalar, six
from robodyn_pin.dynamics.kernel import along_axes, ask, body_motions, inertia_times
from robodyn_pin.simulation.kernel_curves import ARMATURE, curve
from robodyn_pin.simulation.kernel_matrices import solve_transposed
from robodyn_pin.simulation.machine import NO_LOAD, OF_MOTOR, Machine


class Desk(NamedTuple):
    """Workspace: one pose, its rates, and what the forces there are."""

    newton: Newton
    X: np.ndarray  # (joints, d, 6) motions of the bodies per coordinate rate, at the world's origin
    T: np.ndarray  # (nv, d)
    J: np.ndarray  # (A, d) rates of the axes
    B: np.ndarray  # (n, d) of the motors
    M: np.ndarray  # (d, d)
    v: np.ndarray  # (nv,)
    g: np.ndarray  # (nv,)
    a: np.ndarray  # (nv,)
    xd: np.ndarray  # (A,) rates along the axes
    tau: np.ndarray  # (nv,)
    F: np.ndarray  # (joints, 6)
    drift: np.ndarray  # (m,)
    still: np.ndarray  # (d,) zeros
    goal: np.ndarray  # (d,)
    loads: np.ndarray  # (E,) of friction that grows with them, else one


@allocating
def new_desk(m: Machine):
    joints, (d, nv), size = len(m.tree.parent), m.S.shape, m.loops.size
    newton = Newton(new_posture(joints), new_legs(m.loops), np.zeros(size), np.zeros(d), np.zeros(nv))
    return Desk(
        newton, np.zeros((joints, d, 6)), np.zeros((nv, d)), np.zeros((len(m.rows), d)), np.zeros((len(m.motors), d)), np.zeros((d, d)),
        np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(len(m.rows)), np.zeros(nv), np.zeros((joints, 6)), np.zeros(size),
        np.zeros(d), np.zeros(d), np.ones(len(m.curves.model)),
    )  # fmt: skip


@inner
def put_into(x, into):
    """Copy x (n,) into an array: `into[:] = x` takes far longer to compile, for the sentence that it would say on another shape."""
    for i in range(len(into)):
        into[i] = x[i]


@inner
def onto_loops(m: Machine, desk: Desk, c, q):
    """Bring q (nv,) onto the loops at c (d,), in place; whether it closes."""
    if m.closed:
        foretold = not m.closed  # False; numba compiles the steps once more for the literal
        return newton_steps(m.tree, m.loops, m.S, m.offset, c, q, 30, LAST_STEP, foretold, desk.newton)
    for j in range(len(q)):
        q[j] = 0.0
        for k in range(len(c)):
            q[j] += m.inverse[j, k] * (c[k] - m.offset[k])
    return finite(q)


@inner
def finite(values):
    fine = True
    for x in values.flat:
        fine = fine and np.isfinite(x)
    return fine


@inner
def pose(m: Machine, desk: Desk, q):
    """T, J, B and M of the desk at closed q (nv,); False where the loops are singular."""
    at, legs, T, M = desk.newton.at, desk.newton.legs, desk.T, desk.M
    place(m.tree, q, at)
    if m.closed:
        jacobian(m.loops, at, legs.A)
        if not reduce(m.loops, m.S, legs):
            return False
        tangent(m.loops, m.S, legs, T)
    else:
        for j in range(len(T)):
            for k in range(T.shape[1]):
                T[j, k] = m.inverse[j, k]
    along_rows(m.rows, T, desk.J)
    along_rows(m.motors, T, desk.B)
    body_motions(m.tree, at.s, T, desk.X)
    M[:] = 0.0
    for j in range(1, len(m.tree.parent)):
        if m.bodies[j].any():
            add_mass(at, j, m.bodies, desk.X, M)
    for e in range(m.curves.rubbing, len(m.curves.model)):
        if m.curves.model[e] == ARMATURE:
            add_outer(m.curves.values[e, 0], desk.J[m.curves.axis[e]], M)
    return finite(M)


@inner
def along_rows(rows, T, out):
    """out = rows T, most of which is zero."""
    for i in range(len(rows)):
        out[i] = 0.0
        for j in range(rows.shape[1]):
            w = rows[i, j]
            if w != 0:
                for k in range(T.shape[1]):
                    out[i, k] += w * T[j, k]


@inner
def add_outer(weight, row, M):
    for i in range(len(row)):
        for k in range(len(row)):
            M[i, k] += weight * row[i] * row[k]


@inner
def add_mass(at, j, parameters, X, M):
    """Add X[j]' I X[j] of the body of joint j, X (joints, d, 6) the motions of bodies at the world's origin; parameters (joints, 10)."""
    m, h = parameters[j, 0], (parameters[j, 1], parameters[j, 2], parameters[j, 3])
    for k in range(X.shape[1]):
        l, w = along_axes(at, j, six(X, j, k))
        whirled = cross(w, h)
        # Momentum along the body's axes, then at the world's origin.
        f = rotated(at.R, j, (m * l[0] + whirled[0], m * l[1] + whirled[1], m * l[2] + whirled[2]))
        n = rotated(at.R, j, plus3(inertia_times(parameters, j, w), cross(h, l)))
        n = plus3(n, cross(point(at.p, j), f))
        for i in range(k + 1):
            x = six(X, j, i)
            value = scalar(x, f) + scalar(angular(x), n)
            M[i, k] += value
            if i < k:
                M[k, i] += value


@inner
def rates(m: Machine, desk: Desk, cd):
    """v, g of the desk's pose at rates c' (d,), the bodies' velocities, and the rates of the axes."""
    at, v, g = desk.newton.at, desk.v, desk.g
    for j in range(len(v)):
        v[j] = 0.0
        for k in range(len(cd)):
            v[j] += desk.T[j, k] * cd[k]
    g[:] = 0.0
    move(m.tree, v, g, at)
    if m.closed:
        loop_drift(m.loops, at, desk.drift)
        for r in range(len(desk.drift)):
            desk.drift[r] = -desk.drift[r]
        solve_reduced(m.loops, m.S, desk.newton.legs, desk.drift, desk.still, g)
    for i in range(len(m.rows)):
        desk.xd[i] = 0.0
        for k in range(len(cd)):
            desk.xd[i] += desk.J[i, k] * cd[k]


@inner
def asked(m: Machine, desk: Desk, q, cdd, tanh, out):
    """What the coordinates need (d,) for accelerations c'' (d,) after `rates`, with friction's change of sign (`tanh`) or without friction."""
    T, J, curves = desk.T, desk.J, m.curves
    accelerate(desk, cdd)
    move(m.tree, desk.v, desk.a, desk.newton.at)
    ask(m.tree, m.gravity, m.bodies, desk.newton.at, desk.F, desk.tau)
    for k in range(len(out)):
        out[k] = 0.0
        for j in range(len(desk.tau)):
            out[k] += T[j, k] * desk.tau[j]
    if tanh:
        take_loads(m, desk)
    for e in range(0 if tanh else curves.rubbing, len(curves.model)):
        i = curves.axis[e]
        x = curves.shift[e]
        for j in range(len(q)):
            x += m.rows[i, j] * q[j]
        if curves.model[e] == ARMATURE:
            f = 0.0
            for j in range(len(q)):
                f += m.rows[i, j] * desk.a[j]
            f *= curves.values[e, 0]
        else:
            f = curve(curves, e, x, desk.xd[i], np.tanh(desk.xd[i] / curves.width[e]))
        if tanh:
            f *= desk.loads[e]
        for k in range(len(out)):
            out[k] += J[i, k] * f
    rub_inside(m, desk, out)
    pushed(m, desk, out)


@inner
def accelerate(desk: Desk, cdd):
    for j in range(len(desk.a)):
        desk.a[j] = desk.g[j]
        for k in range(len(cdd)):
            desk.a[j] += desk.T[j, k] * cdd[k]


@allocating
def take_loads(m: Machine, desk: Desk):
    """What friction grows with, after `move` with the accelerations of the desk."""
    curves, bearing = m.curves, False
    for e in range(curves.rubbing):
        bearing = bearing or curves.load[e, 0] != NO_LOAD
    if not bearing:
        return
    ask(m.tree, m.gravity, m.borne, desk.newton.at, desk.F, desk.tau)
    d = len(desk.M)
    given = np.zeros(d)
    for k in range(d):
        for j in range(len(desk.tau)):
            given[k] += desk.T[j, k] * desk.tau[j]
    if len(desk.B) == d:
        solve_transposed(desk.B.copy(), given)
    for e in range(curves.rubbing):
        if curves.load[e, 0] != NO_LOAD:
            i = curves.load[e, 1]
            desk.loads[e] = abs((given[i] if curves.load[e, 0] == OF_MOTOR else desk.tau[i]) / curves.gear[e])


@inner
def rub_inside(m: Machine, desk: Desk, out):
    """Add friction in closures to out (d,)."""
    at, X = desk.newton.at, desk.X
    for i in range(len(m.balls.curve)):
        a, b = m.balls.a[i], m.balls.b[i]
        w = less3(angular(row_of(at.V, b)), angular(row_of(at.V, a)))
        speed = sqrt(scalar(w, w))
        if speed > 0:
            e = m.balls.curve[i]
            f = curve(m.turning, e, 0.0, speed, np.tanh(speed / m.turning.width[e])) / speed
            for k in range(len(out)):
                out[k] += f * scalar(w, less3(angular(six(X, b, k)), angular(six(X, a, k))))


@inner
def pushed(m: Machine, desk: Desk, out):
    """Take the load from outside from out (d,)."""
    j, at, o, v = m.push.joint, desk.newton.at, m.push.point, m.push.values
    if j == 0:
        return
    f = v[0], v[1], v[2]
    reached = plus3(point(at.p, j), rotated(at.R, j, (o[0], o[1], o[2])))
    n = plus3((v[3], v[4], v[5]), cross(reached, f))
    for k in range(len(out)):
        x = six(desk.X, j, k)
        out[k] -= scalar(x, f) + scalar(angular(x), n)
