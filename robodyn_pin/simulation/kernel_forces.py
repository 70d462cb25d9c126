"""A robot's forces at one moment, compiled: mass matrix, bodies, friction and springs along the coordinates (machine.py)."""

from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.kernel import jacobian, loop_drift
from robodyn_pin.closures.kernel_elimination import new_legs, reduce, solve_reduced, tangent
from robodyn_pin.closures.kernel_options import allocating, compiled, inner
from robodyn_pin.closures.kernel_posture import move, new_posture, place
from robodyn_pin.closures.kernel_solve import Newton, newton_steps
from robodyn_pin.dynamics.kernel import ask, body_motions
from robodyn_pin.robot.friction_models import FADED
from robodyn_pin.simulation.machine import CODES, NO_LOAD, OF_MOTOR, Curves, Machine

(VISCOUS, COULOMB, LOAD, STRIBECK, SATURATING, QUADRATIC, CBRT, DIRECTIONAL, POSITION, OFFSET, ARMATURE, SPRING, LEVER_SPRING,
 POLYNOMIAL, COGGING, POSITION_SPLINES, POSITION_WAVES) = range(len(CODES))  # fmt: skip


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
    loads: np.ndarray  # (E,) of friction that grows with them, else one


@allocating
def new_desk(m: Machine):
    joints, (d, nv), size = len(m.tree.parent), m.S.shape, m.loops.size
    newton = Newton(new_posture(joints), new_legs(m.loops), np.zeros(size), np.zeros(d), np.zeros(nv))
    return Desk(
        newton, np.zeros((joints, d, 6)), np.zeros((nv, d)), np.zeros((len(m.rows), d)), np.zeros((len(m.motors), d)), np.zeros((d, d)),
        np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(len(m.rows)), np.zeros(nv), np.zeros((joints, 6)), np.zeros(size),
        np.zeros(d), np.ones(len(m.curves.model)),
    )  # fmt: skip


@inner
def onto_loops(m: Machine, desk: Desk, c, q):
    """Bring q (nv,) onto the loops at c (d,), in place; whether it closes."""
    if m.closed:
        return newton_steps(m.tree, m.loops, m.S, m.offset, c, q, 30, desk.newton)
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
            add_mass(at, j, m.bodies[j], desk.X[j], M)
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
    """Add X' I X of the body of joint j, of X (d, 6) its motion at the world's origin."""
    R, p0, p1, p2 = at.R[j], at.p[j, 0], at.p[j, 1], at.p[j, 2]
    m, h0, h1, h2, xx, xy, yy, xz, yz, zz = parameters
    for k in range(len(X)):
        x0, x1, x2, y0, y1, y2 = X[k]
        x0, x1, x2 = x0 + y1 * p2 - y2 * p1, x1 + y2 * p0 - y0 * p2, x2 + y0 * p1 - y1 * p0
        l0 = R[0, 0] * x0 + R[1, 0] * x1 + R[2, 0] * x2
        l1 = R[0, 1] * x0 + R[1, 1] * x1 + R[2, 1] * x2
        l2 = R[0, 2] * x0 + R[1, 2] * x1 + R[2, 2] * x2
        w0 = R[0, 0] * y0 + R[1, 0] * y1 + R[2, 0] * y2
        w1 = R[0, 1] * y0 + R[1, 1] * y1 + R[2, 1] * y2
        w2 = R[0, 2] * y0 + R[1, 2] * y1 + R[2, 2] * y2
        f0, f1, f2 = m * l0 + w1 * h2 - w2 * h1, m * l1 + w2 * h0 - w0 * h2, m * l2 + w0 * h1 - w1 * h0
        n0 = xx * w0 + xy * w1 + xz * w2 + h1 * l2 - h2 * l1
        n1 = xy * w0 + yy * w1 + yz * w2 + h2 * l0 - h0 * l2
        n2 = xz * w0 + yz * w1 + zz * w2 + h0 * l1 - h1 * l0
        # Momentum, back to the world's origin.
        g0, g1, g2 = R[0, 0] * f0 + R[0, 1] * f1 + R[0, 2] * f2, R[1, 0] * f0 + R[1, 1] * f1 + R[1, 2] * f2, R[2, 0] * f0 + R[2, 1] * f1 + R[2, 2] * f2  # fmt: skip
        u0 = R[0, 0] * n0 + R[0, 1] * n1 + R[0, 2] * n2 + p1 * g2 - p2 * g1
        u1 = R[1, 0] * n0 + R[1, 1] * n1 + R[1, 2] * n2 + p2 * g0 - p0 * g2
        u2 = R[2, 0] * n0 + R[2, 1] * n1 + R[2, 2] * n2 + p0 * g1 - p1 * g0
        for i in range(k + 1):
            value = X[i, 0] * g0 + X[i, 1] * g1 + X[i, 2] * g2 + X[i, 3] * u0 + X[i, 4] * u1 + X[i, 5] * u2
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
    torque = np.linalg.solve(desk.B.T.copy(), given) if len(desk.B) == d else given
    for e in range(curves.rubbing):
        if curves.load[e, 0] != NO_LOAD:
            i = curves.load[e, 1]
            desk.loads[e] = abs((torque[i] if curves.load[e, 0] == OF_MOTOR else desk.tau[i]) / curves.gear[e])


@inner
def rub_inside(m: Machine, desk: Desk, out):
    """Add friction in closures to out (d,)."""
    at, X = desk.newton.at, desk.X
    for i in range(len(m.balls.curve)):
        a, b = m.balls.a[i], m.balls.b[i]
        w0, w1, w2 = at.V[b, 3] - at.V[a, 3], at.V[b, 4] - at.V[a, 4], at.V[b, 5] - at.V[a, 5]
        speed = np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        if speed > 0:
            e = m.balls.curve[i]
            f = curve(m.turning, e, 0.0, speed, np.tanh(speed / m.turning.width[e])) / speed
            for k in range(len(out)):
                out[k] += f * (
                    w0 * (X[b, k, 3] - X[a, k, 3]) + w1 * (X[b, k, 4] - X[a, k, 4]) + w2 * (X[b, k, 5] - X[a, k, 5])
                )


@inner
def pushed(m: Machine, desk: Desk, out):
    """Take the load from outside from out (d,)."""
    j, f = m.push.joint, m.push.values
    if j == 0:
        return
    p, R, o = desk.newton.at.p, desk.newton.at.R, m.push.point
    p0 = p[j, 0] + R[j, 0, 0] * o[0] + R[j, 0, 1] * o[1] + R[j, 0, 2] * o[2]
    p1 = p[j, 1] + R[j, 1, 0] * o[0] + R[j, 1, 1] * o[1] + R[j, 1, 2] * o[2]
    p2 = p[j, 2] + R[j, 2, 0] * o[0] + R[j, 2, 1] * o[1] + R[j, 2, 2] * o[2]
    n0, n1, n2 = f[3] + p1 * f[2] - p2 * f[1], f[4] + p2 * f[0] - p0 * f[2], f[5] + p0 * f[1] - p1 * f[0]
    for k in range(len(out)):
        x = desk.X[j, k]
        out[k] -= x[0] * f[0] + x[1] * f[1] + x[2] * f[2] + x[3] * n0 + x[4] * n1 + x[5] * n2


@inner
def splines(x, places, n, degree, factors, first):
    """A spline at x between its n places as a sum of powers, their factors from `first` on: OverPosition.in_powers."""
    level = 0.0
    for k in range(degree, -1, -1):
        level = level * (x - places[0]) + factors[first + k]
    for k in range(1, n - 1):
        level += factors[first + degree + k] * max(x - places[k], 0.0) ** degree
    return level


@compiled
def curve(c: Curves, e, x, xd, sign):
    """Effort number e at x, x', `sign` the change of sign of its friction: what friction_models.basis does."""
    model, v, points, n = c.model[e], c.values[e], c.points[e], c.points_used[e]
    if model == VISCOUS:
        return v[0] * xd
    if model in (COULOMB, LOAD):
        return v[0] * sign
    if model == STRIBECK:
        ratio = xd / c.speed[e]
        return sign * (v[0] + v[1] * (np.exp(-ratio * ratio) if ratio * ratio < FADED else 0.0)) + v[2] * xd
    if model == SATURATING:
        return v[0] * sign + v[1] * np.tanh(xd / c.speed[e])
    if model == QUADRATIC:
        return v[0] * xd * abs(xd)
    if model == CBRT:
        return v[0] * np.cbrt(xd)
    if model == DIRECTIONAL:
        return v[0] * max(sign, 0.0) + v[1] * min(sign, 0.0) + v[2] * max(xd, 0.0) + v[3] * min(xd, 0.0)
    if model == POSITION:
        return sign * np.interp(x, points[:n], v[n : 2 * n] if c.each_way[e] and xd <= 0 else v[:n])
    if model == POSITION_SPLINES:
        d = c.degree[e]
        return sign * splines(
            min(max(x, points[0]), points[n - 1]), points, n, d, v, n + d - 1 if c.each_way[e] and xd <= 0 else 0
        )
    if model == POSITION_WAVES:
        first = 2 * n + 1 if c.each_way[e] and xd <= 0 else 0
        level = v[first]
        for k in range(n):
            level += v[first + 2 * k + 1] * np.sin(points[k] * x) + v[first + 2 * k + 2] * np.cos(points[k] * x)
        return sign * level
    if model == OFFSET:
        return v[0]
    if model == SPRING:
        return v[0] * (x - points[0])
    if model == LEVER_SPRING:
        r, h, free, turn = points[0], points[1], points[2], points[4]
        angle = points[3] + turn * x
        length = np.sqrt(r * r + h * h - 2 * r * h * np.cos(angle))
        return v[0] * (length - free) * turn * r * h * np.sin(angle) / length
    total = 0.0
    if model == POLYNOMIAL:
        for k in range(n - 1, -1, -1):
            total = total * x + v[k]
    if model == COGGING:
        for k in range(n):
            total += v[2 * k] * np.sin(points[k] * x) + v[2 * k + 1] * np.cos(points[k] * x)
    return total
