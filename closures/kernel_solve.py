"""Closing and projection compiled: what closing.py and projection.py do, sample by sample."""

from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.closing import LAST_STEP, LONGEST_STEP, LOST, MOST_STRIDES, SMALL_MOVE, TOLERANCE
from robodyn_pin.closures.kernel import jacobian, loop_drift, residual
from robodyn_pin.closures.kernel_elimination import Legs, new_legs, reduce, solve_reduced, tangent
from robodyn_pin.closures.kernel_options import compiled, inlined, inner
from robodyn_pin.closures.kernel_posture import Posture, move, new_posture, place
from robodyn_pin.closures.kernel_references import by_reference, still_needed
from robodyn_pin.closures.kernel_tables import LoopTable, Tree


@compiled
def project_samples(tree: Tree, loops: LoopTable, S, q, cd, T, g, v, regular):
    """T (N, nv, d), g and v (N, nv) at closed q (N, nv) with coordinate rates cd (N, d)."""
    d, nv = len(S), q.shape[1]
    posture, reduced = new_posture(len(tree.parent)), new_legs(loops)
    tree, loops, at, legs = by_reference(tree), by_reference(loops), by_reference(posture), by_reference(reduced)
    rest, still, drift = np.zeros(nv), np.zeros(d), np.zeros(loops.size)
    for i in range(len(q)):
        place(tree, q[i], at)
        jacobian(loops, at, legs.A)
        regular[i] = reduce(loops, S, legs)
        tangent(loops, S, legs, T[i])
        for j in range(nv):
            v[i, j] = 0.0
            for m in range(d):
                v[i, j] += T[i, j, m] * cd[i, m]
        move(tree, v[i], rest, at)
        loop_drift(loops, at, drift)
        for r in range(loops.size):
            drift[r] = -drift[r]
        solve_reduced(loops, S, legs, drift, still, g[i])
    still_needed((posture, reduced))


STRIDES = 10_000  # of one call: less than half a second
NEAR = 0.03  # [rad or m] step that ends Newton between strides: about its square is left, and the last one closes


class Newton(NamedTuple):
    """Workspace of one sample's closing."""

    at: Posture
    legs: Legs
    phi: np.ndarray  # (m,)
    away: np.ndarray  # (d,)
    step: np.ndarray  # (nv,)


@compiled
def follow_samples(tree: Tree, loops: LoopTable, S, offset, c, start, scattered, searching, q, closed, first):
    """Close samples c (N, d) from the first one on into q (N, nv): along a trajectory from sample to sample, or each from `start`.

    Returns the sample to go on with, N at the end: no call makes many more than STRIDES strides, lest nobody can interrupt it.
    `closed` (N,) says which samples are closed; it is all false at first.

    Unless `searching`, what comes after a sample that does not close is left out: it is not closed either.

    A guess from the samples before comes first; where that fails, straight lines in steps that keep the assembly mode.
    """
    d, nv = len(S), q.shape[1]
    newton = Newton(new_posture(nv + 1), new_legs(loops), np.zeros(loops.size), np.zeros(d), np.zeros(nv))
    tree, loops, work = by_reference(tree), by_reference(loops), by_reference(newton)
    home, begin, goal = offset.copy(), np.zeros(d), np.zeros(d)
    for m in range(d):
        for j in range(nv):
            home[m] += S[m, j] * start[j]
    known, made = 0, 0  # samples before this one that are closed, in a row, as far as a guess looks back; strides made
    reached = len(q)
    while known < len(WEIGHTS) and known < first and closed[first - known - 1]:
        known += 1
    for i in range(first, len(q)):
        if not searching and i > 0 and not closed[i - 1]:
            break
        if made > STRIDES:
            reached = i
            break
        for guess in (True, False):
            if closed[i] or (guess and (known == 0 or scattered)):
                continue
            strides, off = 1, 0.0
            if guess:
                off = first_guess(c, q, i, known)
            else:
                longest, alone = 0.0, known == 0 or scattered
                for m in range(d):
                    begin[m] = home[m] if alone else c[i - 1, m]
                    longest = max(longest, abs(c[i, m] - begin[m]))
                for j in range(nv):
                    q[i, j] = start[j] if alone else q[i - 1, j]
                if longest > MOST_STRIDES * SMALL_MOVE:
                    continue
                strides = max(1, int(np.ceil(longest / SMALL_MOVE)))
            missed = 0  # strides in a row that do not close
            for k in range(1, strides + 1):
                for m in range(d):
                    goal[m] = c[i, m] if k == strides else begin[m] + k / strides * (c[i, m] - begin[m])
                shortest, foretold = LAST_STEP if k == strides else NEAR, i > first and off > LAST_STEP
                closed[i] = newton_steps(tree, loops, S, offset, goal, q[i], 30, shortest, foretold, work)
                made += 1
                missed = 0 if closed[i] else missed + 1
                if missed > LOST:
                    break
        known = known + 1 if closed[i] else 0
    still_needed(newton)
    return reached


# Lagrange's weights of the samples before for the next one: kept, linear, quadratic, cubic.
WEIGHTS = np.array([[1.0, 0.0, 0.0, 0.0], [2.0, -1.0, 0.0, 0.0], [3.0, -3.0, 1.0, 0.0], [4.0, -6.0, 4.0, -1.0]])


@inner
def first_guess(c, q, i, known):
    """First guess of q[i]: the extrapolation of the samples before that foretells the coordinates best; returns by how much it misses them."""
    best, least = 0, np.inf
    for order in range(min(known, 4)):
        worst = 0.0
        for m in range(c.shape[1]):
            x = -c[i, m]
            for k in range(order + 1):
                x += WEIGHTS[order, k] * c[i - 1 - k, m]
            worst = max(worst, abs(x))
        if worst < least:
            best, least = order, worst
    for j in range(q.shape[1]):
        q[i, j] = 0.0
        for k in range(best + 1):
            q[i, j] += WEIGHTS[best, k] * q[i - 1 - k, j]
    return least


@inlined
def newton_steps(tree: Tree, loops: LoopTable, S, offset, c, q, steps, shortest, foretold, work):
    """Newton from q (nv,), in place, each step bounded, until a step is as short as that; whether it closes so far.

    `foretold`: q is extrapolated, and `work` holds the Jacobian of the sample before. Such a q meets the loops to second order, so that the
    first step looks at the coordinates alone: it costs a third of another one, and saves that.
    """
    at, legs, phi, away, step = work.at, work.legs, work.phi, work.away, work.step
    enough, small, reach, last = max(TOLERANCE, shortest**2), False, 0.0, len(loops.formula)
    for m in range(len(c)):
        enough = max(enough, TOLERANCE * abs(c[m]))
    for _ in range(steps):
        worst = 0.0
        if foretold:
            for r in range(len(phi)):
                phi[r] = 0.0
        else:
            place(tree, q, at)
            residual(loops, q, at, phi)
        for r in range(len(phi)):
            worst = max(worst, abs(phi[r]))
            phi[r] = -phi[r]
        for m in range(len(c)):
            away[m] = c[m] - offset[m]
            for j in range(len(q)):
                away[m] -= S[m, j] * q[j]
            worst = max(worst, abs(away[m]))
        if not np.isfinite(worst):
            break
        if not small and not foretold:  # after a small step the Jacobian is still good
            jacobian(loops, at, legs.A)
            if not reduce(loops, S, legs):
                return False
        solve_reduced(loops, S, legs, phi, away, step)
        longest = 0.0
        for j in range(len(q)):
            longest = max(longest, abs(step[j]))
        factor = min(1.0, LONGEST_STEP / longest)
        for j in range(len(q)):
            q[j] += factor * step[j]
        if foretold:
            foretold = False
            continue
        if not small:
            reach = longest  # from where the Jacobian was taken; the error is about that times the step
        if reach * longest <= shortest**2:
            left = 0.0  # of equations that contradict each other
            for r in range(len(loops.shared), loops.n_left):
                left = max(left, abs(legs.y[last, r]))
            return left <= enough
        small = longest < 1e-4
    return False
