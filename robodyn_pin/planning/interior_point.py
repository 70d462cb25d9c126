"""A primal-dual interior-point method for splines: every iterate is within the limits, every system is banded.

At each step the convex parts of the slacks are replaced by their tangents (sequential convexification) and one Newton step
is taken for the barrier problem. It is a descent direction of the barrier function f - mu sum log s, which a line search
makes fall: proof of progress, and whenever it stops the motion is feasible.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from robodyn_pin.errors import SolverFailed
from robodyn_pin.planning.limit_rows import Point
from robodyn_pin.planning.objectives import Objective

NEAR = 0.97  # share of the way to the nearest limit that a step may take
SHORTER = 0.6  # a step that does not make the barrier function fall is cut to this
LEVEL = 1e-3  # of the objective: work of what the limits do not carry
ROUND = 1e-12  # relative: rises of the barrier function below this are round-off


@dataclass(frozen=True)
class Optimum:
    """Where the iteration stopped."""

    x: np.ndarray  # (n,) the best iterate
    history: tuple[float, ...]  # objective of each iterate; all are feasible
    converged: bool


def minimise(
    objective: Objective,
    points: Sequence[Point],
    x: np.ndarray,
    tolerance: float = 1e-5,
    most: int = 100,
    gap: float = 30.0,
) -> Optimum:
    """Minimise from a start x (n,) strictly within the limits.

    Predictor and corrector as Mehrotra's; where the corrected step does not make the barrier function fall, Newton's does.

    Args:
        tolerance: of the gap, relative to the objective.
        most: iterations.
        gap: of the barrier problem to begin with, relative to the objective.

    Raises:
        SolverFailed: the start is not strictly within the limits.
    """
    f, slacks = objective.value(x), _slacks(points, x)
    if slacks is None or not all((s > 0).all() for s in slacks):
        raise SolverFailed("the search for a motion was begun outside the limits", "infeasible start")
    count = sum(s.size for s in slacks)
    mu = gap * abs(f) / count
    multipliers = [mu / s for s in slacks]
    history, best, converged = [f], x, False
    while len(history) <= most:
        try:
            system = _linearised(objective, points, x, slacks, multipliers)
        except LinAlgError:
            break
        left = _product(slacks, multipliers)
        converged = left < tolerance * abs(f) and system.force(x) < LEVEL * abs(f)
        if converged:
            break
        ahead = system.direction([np.zeros_like(s) for s in slacks])
        reach = _reach(slacks, ahead.ds), _reach(multipliers, ahead.dm)
        reached = _product(_moved(slacks, ahead.ds, reach[0]), _moved(multipliers, ahead.dm, reach[1]))
        mu = max(reached, 0.1 * tolerance * abs(f)) / count
        corrected = [mu - ds * dm for ds, dm in zip(ahead.ds, ahead.dm, strict=True)]
        for target, tries in ((corrected, 2), ([np.full_like(s, mu) for s in slacks], 40)):
            step = system.direction(target)
            length, there = _search(objective, points, x, slacks, step, mu, tries)
            if length:
                break
        else:
            break
        multipliers = _moved(multipliers, step.dm, _reach(multipliers, step.dm))
        x, slacks = x + length * step.dx, there
        f = objective.value(x)
        history.append(f)
        best = x if f <= min(history) else best
    return Optimum(best, tuple(history), converged)


def within(points: Sequence[Point], x: np.ndarray) -> bool:
    """Whether x (n,) keeps all limits strictly."""
    slacks = _slacks(points, x)
    return slacks is not None and all((s > 0).all() for s in slacks)


@dataclass(frozen=True)
class _Step:
    dx: np.ndarray  # (n,)
    ds: list[np.ndarray]  # of the slacks of each point (K', M), linearised
    dm: list[np.ndarray]  # of their multipliers


@dataclass(frozen=True)
class _System:
    """Newton's equations at a motion, factorised."""

    points: Sequence[Point]
    slacks: list[np.ndarray]
    multipliers: list[np.ndarray]
    slopes: list[np.ndarray]  # of the slacks by y, u, w (K', M, 3)
    gradient: np.ndarray  # (n,) of the objective
    factor: np.ndarray  # (3, n) of the matrix in bands

    def force(self, x: np.ndarray) -> float:
        """What the limits do not carry of the objective's slope, as the work that it does along x (n,)."""
        rest = self.gradient.copy()
        for point, g, m in zip(self.points, self.slopes, self.multipliers, strict=True):
            point.add(rest, -(m[:, None] @ g)[:, 0])
        return float(np.abs(rest) @ np.abs(x))

    def direction(self, target: list[np.ndarray]) -> _Step:
        """The step to where multiplier times slack is `target`."""
        rhs = -self.gradient
        for point, s, g, t in zip(self.points, self.slacks, self.slopes, target, strict=True):
            point.add(rhs, ((t / s)[:, None] @ g)[:, 0])
        dx = cho_solve_banded((self.factor, True), rhs, check_finite=False)
        ds = [(g @ point.motion(dx)[..., None])[..., 0] for point, g in zip(self.points, self.slopes, strict=True)]
        dm = [(t - m * (s + d)) / s for t, s, m, d in zip(target, self.slacks, self.multipliers, ds, strict=True)]
        return _Step(dx, ds, dm)


def _linearised(
    objective: Objective,
    points: Sequence[Point],
    x: np.ndarray,
    slacks: list[np.ndarray],
    multipliers: list[np.ndarray],
) -> _System:
    gradient, bands = objective.derivatives(x)
    slopes = []
    for point, s, m in zip(points, slacks, multipliers, strict=True):
        motion = point.motion(x)
        g = point.gradients(motion)
        local = (g * (m / s)[..., None]).transpose(0, 2, 1) @ g
        local[:, 0, 0] += point.curvature(motion, m)
        point.add_bands(bands, local)
        slopes.append(g)
    factor = cholesky_banded(bands, lower=True, check_finite=False)
    return _System(points, slacks, multipliers, slopes, gradient, factor)


def _search(
    objective: Objective,
    points: Sequence[Point],
    x: np.ndarray,
    slacks: list[np.ndarray],
    step: _Step,
    mu: float,
    tries: int,
) -> tuple[float, list[np.ndarray]]:
    """Length of a step that stays within the limits and makes the barrier function fall, 0 where none does; slacks there."""
    start = _barrier(objective.value(x), slacks, mu)
    length = _reach(slacks, step.ds)
    for _ in range(tries):
        new = _slacks(points, x + length * step.dx)
        if new is not None and all((n >= (1 - NEAR) * s).all() for n, s in zip(new, slacks, strict=True)):
            now = _barrier(objective.value(x + length * step.dx), new, mu)
            if now <= start + ROUND * abs(start):
                return length, new
        length *= SHORTER
    return 0.0, slacks


def _barrier(f: float, slacks: list[np.ndarray], mu: float) -> float:
    return f - mu * sum(float(np.log(s).sum()) for s in slacks)


def _slacks(points: Sequence[Point], x: np.ndarray) -> list[np.ndarray] | None:
    """Slacks of each point; None where y is not positive."""
    motions = [point.motion(x) for point in points]
    if not all((motion[:, 0] > 0).all() for motion in motions):
        return None
    return [point.slacks(motion) for point, motion in zip(points, motions, strict=True)]


def _reach(values: list[np.ndarray], changes: list[np.ndarray]) -> float:
    """Share of a step, 1 at most, that leaves all values positive."""
    steepest = max(float((-d / v).max(initial=0.0)) for v, d in zip(values, changes, strict=True))
    return NEAR / max(NEAR, steepest)


def _moved(values: list[np.ndarray], changes: list[np.ndarray], length: float) -> list[np.ndarray]:
    return [v + length * d for v, d in zip(values, changes, strict=True)]


def _product(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True))
