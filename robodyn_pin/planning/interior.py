"""A primal-dual interior-point method for splines: every iterate is within the limits, every system is banded.

At each step the convex parts of the slacks are replaced by their tangents (sequential convexification) and one Newton step
is taken for the barrier problem. It is a descent direction of the barrier function f - mu sum log s, which a line search
makes fall: proof of progress, and whenever it stops the motion is feasible.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from robodyn_pin.planning.constraints import Point
from robodyn_pin.planning.objectives import Speed, Time

NEAR = 0.995  # share of the way to the nearest limit that a step may take
ARMIJO = 1e-4


@dataclass(frozen=True)
class Optimum:
    """Where the iteration stopped."""

    x: np.ndarray  # (n,)
    multipliers: tuple[np.ndarray, ...]  # of the slacks of each point (K, M)
    history: tuple[float, ...]  # objective of each iterate; all are feasible
    gap: float  # sum of multiplier times slack: the optimum of the convexified problem is no further below
    converged: bool


def minimise(
    objective: Time | Speed,
    points: Sequence[Point],
    x: np.ndarray,
    gap: float = 0.1,
    tolerance: float = 1e-5,
    most: int = 100,
) -> Optimum:
    """Minimise from a start x (n,) strictly within the limits.

    Args:
        gap: of the barrier problem to begin with, relative to the objective.
        tolerance: of the gap, relative to the objective.
        most: iterations.
    """
    f, slacks = objective.value(x), _slacks(points, x)
    count = sum(s.size for s in slacks)
    mu = gap * abs(f) / count
    multipliers = [mu / s for s in slacks]
    history, converged = [f], False
    for _ in range(most):
        try:
            dx, dm = _step(objective, points, x, slacks, multipliers, mu)
        except LinAlgError:
            break
        length, x_new, slacks_new = _search(objective, points, x, slacks, dx, mu)
        if length == 0.0:
            break
        dual = min(1.0, *(NEAR / max(NEAR, float((-d / m).max())) for d, m in zip(dm, multipliers, strict=True)))
        multipliers = [m + dual * d for m, d in zip(multipliers, dm, strict=True)]
        x, slacks = x_new, slacks_new
        f = objective.value(x)
        history.append(f)
        left = sum(float((s * m).sum()) for s, m in zip(slacks, multipliers, strict=True))
        if left < tolerance * abs(f) and length > 0.9 and dual > 0.5 and abs(history[-2] - f) < tolerance * abs(f):
            converged = True
            break
        mu = (0.1 if min(length, dual) > 0.9 else 0.3 if min(length, dual) > 0.5 else 0.8) * left / count
        mu = max(mu, 0.1 * tolerance * abs(f) / count)
    left = sum(float((s * m).sum()) for s, m in zip(slacks, multipliers, strict=True))
    return Optimum(x, tuple(multipliers), tuple(history), left, converged)


def within(points: Sequence[Point], x: np.ndarray) -> bool:
    """Whether x (n,) keeps all limits strictly."""
    motions = [point.motion(x) for point in points]
    return all((m[:, 0] > 0).all() and (p.slacks(m) > 0).all() for p, m in zip(points, motions, strict=True))


def _step(objective, points, x, slacks, multipliers, mu):  # type: ignore[no-untyped-def]
    gradient, H = objective.derivatives(x)
    space = points[0].space
    rhs = -gradient
    kept = []
    for point, s, m in zip(points, slacks, multipliers, strict=True):
        motion = point.motion(x)
        g = point.gradients(motion)
        local = (g * (m / s)[..., None]).transpose(0, 2, 1) @ g
        local[:, 0, 0] += point.curvature(motion, m)
        space.add_bands(H, point.basis.T @ local @ point.basis, point.first)
        space.add(rhs, ((mu / s)[:, None] @ g)[:, 0] @ point.basis, point.first)
        kept.append(g)
    dx = cho_solve_banded((cholesky_banded(H, lower=True), True), rhs)
    dm = [
        (mu - m * s - m * (g @ point.motion(dx)[..., None])[..., 0]) / s
        for point, s, m, g in zip(points, slacks, multipliers, kept, strict=True)
    ]
    return dx, dm


def _search(objective, points, x, slacks, dx, mu):  # type: ignore[no-untyped-def]
    """Step length, point and slacks: within the limits, and lower on the barrier function."""
    start = _barrier(objective.value(x), slacks, mu)
    length = 1.0
    for _ in range(40):
        new = x + length * dx
        motions = [point.motion(new) for point in points]
        if all((motion[:, 0] > 0).all() for motion in motions):
            left = [point.slacks(motion) for point, motion in zip(points, motions, strict=True)]
            ratio = min(float((s_new / s).min()) for s_new, s in zip(left, slacks, strict=True))
            if ratio >= 1 - NEAR and _barrier(objective.value(new), left, mu) <= start + 1e-12 * abs(start):
                return length, new, left
        length *= 0.7
    return 0.0, x, slacks


def _barrier(f: float, slacks, mu: float) -> float:  # type: ignore[no-untyped-def]
    return f - mu * sum(float(np.log(s).sum()) for s in slacks)


def _slacks(points, x):  # type: ignore[no-untyped-def]
    return [point.slacks(point.motion(x)) for point in points]
