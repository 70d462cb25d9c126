"""A primal-dual interior-point method for splines: every iterate is strictly feasible, every linear system is banded.

At each iteration the convex parts of the slacks are replaced by their tangents (sequential convexification), and one
Newton step is taken for the barrier problem. This step is a descent direction of the barrier function f - mu sum
log(slack), and a line search makes the function decrease along it. So the method makes progress, and the motion is
feasible whenever it stops.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from robodyn_pin.errors import SolverFailed
from robodyn_pin.planning.limit_rows import ConstraintSet
from robodyn_pin.planning.objectives import Objective

TO_BOUNDARY = 0.97  # share of the way to the nearest limit that a step may take
BACKTRACKING = 0.6  # factor for a step that does not decrease the barrier function
TOLERANCE = 1e-5  # complementarity gap, relative to the objective, at which a search ends
STATIONARY = 1e-3  # share of the objective below which the Lagrangian's gradient counts as zero
TRIES = 40  # step lengths along Newton's direction
CORRECTED_TRIES = 2  # step lengths along the corrected direction
ROUND_OFF = 1e-12  # relative; the barrier function may increase by that much


@dataclass(frozen=True)
class Optimum:
    """The best iterate."""

    x: np.ndarray  # (n,)
    history: tuple[float, ...]  # objective of each iterate; all of them are feasible
    converged: bool


def minimise(
    objective: Objective,
    constraints: Sequence[ConstraintSet],
    x: np.ndarray,
    iterations: int = 100,
    gap: float = 30.0,
) -> Optimum:
    """Minimise an objective from a strictly feasible start x (n,).

    Each iteration tries Mehrotra's predictor-corrector direction; if that does not decrease the barrier function,
    Newton's.

    Args:
        iterations: at most so many.
        gap: complementarity gap to begin with, relative to the objective.

    Raises:
        SolverFailed: the start is not strictly feasible.
    """
    f, slacks = objective.value(x), _slacks(constraints, x)
    if slacks is None or not all((s > 0).all() for s in slacks):
        raise SolverFailed("the search for a motion was begun outside the limits", "infeasible start")
    count = sum(s.size for s in slacks)
    mu = gap * abs(f) / count
    multipliers = [mu / s for s in slacks]
    history, best, converged = [f], x, False
    while len(history) <= iterations:
        try:
            system = _newton_system(objective, constraints, x, slacks, multipliers)
        except LinAlgError:
            break
        gap = _inner_product(slacks, multipliers)
        converged = gap < TOLERANCE * abs(f) and system.stationarity(x) < STATIONARY * abs(f)
        if converged:
            break
        predictor = system.direction([np.zeros_like(s) for s in slacks])
        predicted_slacks = _moved(slacks, predictor.ds, _step_to_boundary(slacks, predictor.ds))
        predicted_multipliers = _moved(multipliers, predictor.dm, _step_to_boundary(multipliers, predictor.dm))
        mu = max(_inner_product(predicted_slacks, predicted_multipliers), 0.1 * TOLERANCE * abs(f)) / count
        corrected = [mu - ds * dm for ds, dm in zip(predictor.ds, predictor.dm, strict=True)]
        for target, tries in ((corrected, CORRECTED_TRIES), ([np.full_like(s, mu) for s in slacks], TRIES)):
            step = system.direction(target)
            length, new_slacks = _line_search(objective, system, x, step, mu, tries)
            if length:
                break
        else:
            break
        multipliers = _moved(multipliers, step.dm, _step_to_boundary(multipliers, step.dm))
        x, slacks = x + length * step.dx, new_slacks
        f = objective.value(x)
        history.append(f)
        best = x if f <= min(history) else best
    return Optimum(best, tuple(history), converged)


def strictly_feasible(constraints: Sequence[ConstraintSet], x: np.ndarray) -> bool:
    """Return whether coefficients x (n,) keep all limits strictly."""
    slacks = _slacks(constraints, x)
    return slacks is not None and all((s > 0).all() for s in slacks)


@dataclass(frozen=True)
class _Step:
    dx: np.ndarray  # (n,)
    ds: list[np.ndarray]  # of the slacks of each constraint set (K', M), linearised
    dm: list[np.ndarray]  # of their multipliers


@dataclass(frozen=True)
class _NewtonSystem:
    """Newton's equations of the barrier problem at x, factorised."""

    constraints: Sequence[ConstraintSet]
    slacks: list[np.ndarray]  # of each constraint set (K', M)
    multipliers: list[np.ndarray]
    gradients: list[np.ndarray]  # of the slacks by y, u, w (K', M, 3)
    objective_gradient: np.ndarray  # (n,)
    factor: np.ndarray  # (3, n) Cholesky factor in bands

    def stationarity(self, x: np.ndarray) -> float:
        """Return the Lagrangian's gradient (n,) in size, times the size of x (n,): in units of the objective."""
        rest = self.objective_gradient.copy()
        for part, g, m in zip(self.constraints, self.gradients, self.multipliers, strict=True):
            part.scatter(rest, -(m[:, None] @ g)[:, 0])
        return float(np.abs(rest) @ np.abs(x))

    def direction(self, target: list[np.ndarray]) -> _Step:
        """Return the step after which each multiplier times its slack is `target`, to first order."""
        rhs = -self.objective_gradient
        for part, s, g, t in zip(self.constraints, self.slacks, self.gradients, target, strict=True):
            part.scatter(rhs, ((t / s)[:, None] @ g)[:, 0])
        dx = cho_solve_banded((self.factor, True), rhs, check_finite=False)
        ds = [
            (g @ part.motion(dx)[..., None])[..., 0] for part, g in zip(self.constraints, self.gradients, strict=True)
        ]
        dm = [(t - m * (s + d)) / s for t, s, m, d in zip(target, self.slacks, self.multipliers, ds, strict=True)]
        return _Step(dx, ds, dm)


def _newton_system(
    objective: Objective,
    constraints: Sequence[ConstraintSet],
    x: np.ndarray,
    slacks: list[np.ndarray],
    multipliers: list[np.ndarray],
) -> _NewtonSystem:
    objective_gradient, bands = objective.derivatives(x)
    gradients = []
    for part, s, m in zip(constraints, slacks, multipliers, strict=True):
        motion = part.motion(x)
        g = part.gradients(motion)
        hessian = (g * (m / s)[..., None]).transpose(0, 2, 1) @ g
        hessian[:, 0, 0] += part.curvature(motion, m)
        part.scatter_bands(bands, hessian)
        gradients.append(g)
    factor = cholesky_banded(bands, lower=True, check_finite=False)
    return _NewtonSystem(constraints, slacks, multipliers, gradients, objective_gradient, factor)


def _line_search(
    objective: Objective, system: _NewtonSystem, x: np.ndarray, step: _Step, mu: float, tries: int
) -> tuple[float, list[np.ndarray]]:
    """Return a feasible step length that decreases the barrier function, and the slacks after it; 0 if no try does."""
    slacks = system.slacks
    start = _barrier(objective.value(x), slacks, mu)
    length = _step_to_boundary(slacks, step.ds)
    for _ in range(tries):
        new = _slacks(system.constraints, x + length * step.dx)
        if new is not None and all((n >= (1 - TO_BOUNDARY) * s).all() for n, s in zip(new, slacks, strict=True)):
            now = _barrier(objective.value(x + length * step.dx), new, mu)
            if now <= start + ROUND_OFF * abs(start):
                return length, new
        length *= BACKTRACKING
    return 0.0, slacks


def _barrier(f: float, slacks: list[np.ndarray], mu: float) -> float:
    return f - mu * sum(float(np.log(s).sum()) for s in slacks)


def _slacks(constraints: Sequence[ConstraintSet], x: np.ndarray) -> list[np.ndarray] | None:
    """Return the slacks of each constraint set; None where y is not positive."""
    motions = [part.motion(x) for part in constraints]
    if not all((motion[:, 0] > 0).all() for motion in motions):
        return None
    return [part.slacks(motion) for part, motion in zip(constraints, motions, strict=True)]


def _step_to_boundary(values: list[np.ndarray], changes: list[np.ndarray]) -> float:
    """Return the share of a step, at most 1, that keeps all values positive."""
    steepest = max(float((-d / v).max(initial=0.0)) for v, d in zip(values, changes, strict=True))
    return TO_BOUNDARY / max(TO_BOUNDARY, steepest)


def _moved(values: list[np.ndarray], changes: list[np.ndarray], length: float) -> list[np.ndarray]:
    return [v + length * d for v, d in zip(values, changes, strict=True)]


def _inner_product(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return sum(float((x * y).sum()) for x, y in zip(a, b, strict=True))
