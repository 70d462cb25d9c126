"""Steps in time, compiled: what sticking.py and schemes.py do with Pinocchio and NumPy."""

import numpy as np

from robodyn_pin.closures.kernel_options import allocating, inner, sequential
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.simulation.bounded import bounded as plain_bounded
from robodyn_pin.simulation.kernel_curves import SPRING, curve
from robodyn_pin.simulation.kernel_forces import (
    Desk,
    accelerate,
    add_outer,
    asked,
    finite,
    move,
    new_desk,
    onto_loops,
    pose,
    put_into,
    rates,
    take_loads,
)  # fmt: skip
from robodyn_pin.simulation.kernel_matrices import backward, factor, forward
from robodyn_pin.simulation.machine import NO_LOAD, Machine
from robodyn_pin.simulation.sticking import ROUNDS, SETTLED, SLOWEST

bounded = allocating(plain_bounded)


@sequential
def turn_once(m: Machine, axes, q, c, cd, mean, after, h, tau, stretch, turns):
    """As `Sticking.step`, its end left out: fill `after` (d,) under motor torques tau (n,).

    Args:
        q: (nv,) near, becomes the middle of the step. mean: (d,) rates in the middle as far as they are known, becomes (c' + after) / 2.
    """
    work, fine, lost = new_desk(m), False, 0.0
    machine, desk = by_reference(m), by_reference(work)
    if middle(machine, desk, q, c, cd, h):
        fine, lost = strike(machine, desk, axes, q, cd, mean, after, h, tau, stretch, turns)
    still_needed(work)
    return fine, lost


@inner
def middle(m: Machine, desk: Desk, q, c, cd, h):
    for k in range(len(c)):
        desk.goal[k] = c[k] + h / 2 * cd[k]
    return onto_loops(m, desk, desk.goal, q) and pose(m, desk, q)


@allocating
def strike(m: Machine, desk: Desk, axes, q, cd, mean, after, h, tau, stretch, turns):
    """Fill `after` (d,); whether that went well, and what friction along axes and stops took [J]."""
    d, stops, curves, J = len(cd), len(m.stops.axis), m.curves, desk.J
    stiff, D, L, low, high = desk.M, np.zeros((d, d)), np.zeros((d, d)), np.zeros(axes + stops), np.zeros(axes + stops)
    for e in range(curves.rubbing, len(curves.model)):
        if curves.model[e] == SPRING:
            add_outer(h * h / 4 * max(curves.values[e, 0], 0.0), J[curves.axis[e]], stiff)
    K, y, p = np.zeros((axes + stops, d + stops)), np.zeros(d + stops), np.zeros(axes + stops)
    last, rest, driven, given, cdd = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    free = np.zeros(axes + stops, np.bool_)
    for t in range(turns):
        put_into(after, last)
        rates(m, desk, mean)
        asked(m, desk, q, desk.still, False, given)
        for k in range(d):
            cdd[k] = (after[k] - cd[k]) / h
            put_into(stiff[k], D[k])
        rub(m, desk, q, cdd, h, low, high, D)
        for k in range(d):
            driven[k] = -h * given[k]
            for i in range(len(tau)):
                driven[k] += h * desk.B[i, k] * tau[i]
            y[k] = driven[k]
            for j in range(d):  # momentum, less what damping takes of it
                y[k] += (stiff[k, j] - (D[k, j] - stiff[k, j])) * cd[j]
        if not factor(D, L):
            return False, 0.0
        forward(L, y[:d])
        for i in range(axes):
            put_into(J[i], K[i, :d])
            forward(L, K[i, :d])
            xd = 0.0
            for k in range(d):
                xd += J[i, k] * after[k]
            slow = abs(xd) <= SLOWEST
            free[i] = slow and high[i] > low[i]
            p[i] = 0.0 if slow else (high[i] if xd > 0 else low[i])
        for s in range(stops):
            i, row = axes + s, J[m.stops.axis[s]]
            k = m.stops.strength[s] / m.stops.radius[s]
            put_into(row, K[i, :d])
            forward(L, K[i, :d])
            ease = np.sqrt(1.0 / (h * h * k / 4)) if k > 0 else 0.0
            begin = h * k * stretch[s]
            for r in range(d):
                begin += h * h * k / 4 * row[r] * cd[r]
            K[i, d + s], y[d + s] = ease, ease * begin
            high[i], low[i] = (
                h * (k * stretch[s] + m.stops.strength[s]) / 2,
                h * (k * stretch[s] - m.stops.strength[s]) / 2,
            )
            p[i], free[i] = min(max(begin, low[i]), high[i]), k > 0
        bounded(K, y, low, high, p, free)
        held = 0
        for i in range(axes):
            held += free[i]
        if held >= d:
            after[:] = 0.0  # nothing moves, not even by round-off
        else:
            put_into(y, rest)
            backward(L, rest)
            put_into(rest, after)
        for k in range(d):
            mean[k] = (cd[k] + after[k]) / 2
        most, largest = 0.0, h
        for k in range(d):
            most, largest = max(most, abs(after[k] - last[k])), max(largest, h + abs(after[k]))
        if t > 0 and most <= SETTLED * largest:
            break
    taken = 0.0
    for k in range(d):
        momentum = driven[k]  # what friction took of it
        for j in range(d):
            momentum += stiff[k, j] * (cd[j] - after[j])
        taken += mean[k] * momentum
    return finite(after), taken


@inner
def rub(m: Machine, desk: Desk, q, cdd, h, low, high, D):
    """Ends of Coulomb friction h low, h high of the axes, and D with the rest of friction."""
    curves = m.curves
    low[:], high[:] = 0.0, 0.0
    for e in range(curves.rubbing):
        if curves.load[e, 0] != NO_LOAD:
            accelerate(desk, cdd)
            move(m.tree, desk.v, desk.a, desk.newton.at)
            take_loads(m, desk)
            break
    for e in range(curves.rubbing):
        i = curves.axis[e]
        x, rate = curves.shift[e], max(abs(desk.xd[i]), SLOWEST)
        for j in range(len(q)):
            x += m.rows[i, j] * q[j]
        ahead, back = curve(curves, e, x, rate, 0.0), curve(curves, e, x, -rate, 0.0)
        high[i] += h * max((curve(curves, e, x, rate, 1.0) - ahead) * desk.loads[e], 0.0)
        low[i] += h * min((curve(curves, e, x, -rate, -1.0) - back) * desk.loads[e], 0.0)
        add_outer(h / 2 * (-back if desk.xd[i] < 0 else ahead) / rate, desk.J[i], D)


@inner
def slide(m: Machine, before, q, stretch):
    """Let the stops follow the joints from `before` to q (nv,)."""
    for s in range(len(stretch)):
        x, radius = stretch[s], m.stops.radius[s]
        for j in range(len(q)):
            x += m.rows[m.stops.axis[s], j] * (q[j] - before[j])
        stretch[s] = min(max(x, -radius), radius)


@inner
def ahead(desk: Desk, h, q):
    """Move joints q (nv,) on for h [s] at the rates of the desk: a guess that closing is close to."""
    for j in range(len(q)):
        q[j] += h * desk.v[j]


@sequential
def hold(m: Machine, axes, q, c, cd, stretch, h, steps, tau, turns):
    """Go on for some steps of h [s] under constant torques tau (n,), all of q, c, c' and stretch in place; whether that went well, and what friction took [J]."""
    work = new_desk(m)
    fine, taken = go_on(by_reference(m), by_reference(work), axes, q, c, cd, stretch, h, steps, tau, turns)
    still_needed(work)
    return fine, taken


@allocating
def go_on(m: Machine, desk: Desk, axes, q, c, cd, stretch, h, steps, tau, turns):
    """As `hold`, on a desk."""
    mean, after, at, taken = np.zeros(len(cd)), np.zeros(len(cd)), q.copy(), 0.0
    for _ in range(steps):
        put_into(q, at)
        ahead(desk, h / 2, at)
        if not middle(m, desk, at, c, cd, h):
            return False, 0.0
        put_into(cd, mean)
        put_into(cd, after)
        fine, lost = strike(m, desk, axes, at, cd, mean, after, h, tau, stretch, turns)
        if not (fine and finish(m, desk, at, q, c, cd, mean, after, stretch, h)):
            return False, 0.0
        taken += lost
    return True, taken


@inner
def finish(m: Machine, desk: Desk, at, q, c, cd, mean, after, stretch, h):
    """From the middle `at` (nv,) to the end of the step: q, c, c', stretch in place."""
    for k in range(len(c)):
        c[k] += h * mean[k]
        cd[k] = after[k]
    for j in range(len(q)):  # a first guess
        for k in range(len(c)):
            at[j] += h / 2 * desk.T[j, k] * mean[k]
    if not onto_loops(m, desk, c, at):
        return False
    slide(m, q, at, stretch)
    for j in range(len(q)):
        q[j] = at[j]
    return True


@sequential
def land(m: Machine, before, q, c, stretch):
    """Close q (nv,), which is near, at c (d,), and let the stops follow from q before the step (nv,); whether it closes."""
    work, machine = new_desk(m), by_reference(m)
    fine = onto_loops(machine, by_reference(work), c, q)
    if fine:
        slide(machine, before, q, stretch)
    still_needed(work)
    return fine


@sequential
def falling_sample(m: Machine, q, c, cd, tau, cdd):
    """As `dynamics.equations.forward_dynamics`, of one sample: c'' (d,) into cdd, q (nv,) from near onto the loops; whether that went well."""
    work = new_desk(m)
    fine = fall(by_reference(m), by_reference(work), q, c, cd, tau, cdd)
    still_needed(work)
    return fine


@allocating
def fall(m: Machine, desk: Desk, q, c, cd, tau, cdd):
    if not (onto_loops(m, desk, c, q) and pose(m, desk, q)):
        return False
    rates(m, desk, cd)
    needs, L, bearing = np.zeros(len(cd)), np.zeros((len(cd), len(cd))), False
    for e in range(m.curves.rubbing):
        bearing = bearing or m.curves.load[e, 0] != NO_LOAD
    cdd[:] = 0.0
    for _ in range(ROUNDS if bearing else 1):
        asked(m, desk, q, cdd, True, needs)
        for k in range(len(cd)):
            needs[k] = -needs[k]
            for i in range(len(tau)):
                needs[k] += desk.B[i, k] * tau[i]
        if not (finite(needs) and factor(desk.M, L)):
            return False
        forward(L, needs)
        backward(L, needs)
        most, largest = 0.0, 1e-3
        for k in range(len(cd)):
            cdd[k] += needs[k]
            most, largest = max(most, abs(needs[k])), max(largest, 1e-3 + abs(cdd[k]))
        if most <= 1e-12 * largest:
            return True
    return not bearing


@sequential
def hold_smooth(m: Machine, q, c, cd, h, tau):
    """A step of order 4 under constant torques tau (n,), all of q, c and c' in place; whether that went well."""
    work = new_desk(m)
    fine = go_on_smoothly(by_reference(m), by_reference(work), q, c, cd, h, tau)
    still_needed(work)
    return fine


@allocating
def go_on_smoothly(m: Machine, desk: Desk, q, c, cd, h, tau):
    """As `hold_smooth`, on a desk."""
    d = len(c)
    at, a1, a2, a3, a4 = q.copy(), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    if not fall(m, desk, at, c, cd, tau, a1):
        return False
    v2 = cd + h / 2 * a1
    ahead(desk, h / 2, at)
    if not fall(m, desk, at, c + h / 2 * cd, v2, tau, a2):
        return False
    v3 = cd + h / 2 * a2
    if not fall(m, desk, at, c + h / 2 * v2, v3, tau, a3):
        return False
    v4 = cd + h * a3
    ahead(desk, h / 2, at)
    if not fall(m, desk, at, c + h * v3, v4, tau, a4):
        return False
    c += h / 6 * (cd + 2 * v2 + 2 * v3 + v4)
    cd += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    if not onto_loops(m, desk, c, at):
        return False
    put_into(at, q)
    return True
