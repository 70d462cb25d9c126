"""A primal-dual interior-point method for splines: every iterate is strictly feasible, every linear system is banded.

At each iteration the convex parts of the slacks are replaced by their tangents (sequential convexification), and one
Newton step is taken for the barrier problem. This step is a descent direction of the barrier function f - mu sum
log(slack), and a line search makes the function decrease along it. So the method makes progress, and the motion is
feasible whenever it stops.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpbtrf, dpbtrs

from robodyn_pin.errors import SolverFailed
from robodyn_pin.planning.objectives import Objective
from robodyn_pin.planning.search_limits import SearchLimits, Tangents, slack_tangents

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
    objective: Objective, limits: SearchLimits, x: np.ndarray, iterations: int = 100, gap: float = 30.0
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
    f, slacks = objective.value(x), limits.slacks(x)
    if slacks is None or not (slacks > 0).all():
        raise SolverFailed("the search for a motion was begun outside the limits", "infeasible start")
    mu = gap * abs(f) / limits.size
    multipliers = mu / slacks
    history, best, converged = [f], x, False
    while len(history) <= iterations:
        system = _newton_system(objective, limits, x, slacks, multipliers)
        if system is None:
            break
        gap = float(slacks @ multipliers)
        converged = gap < TOLERANCE * abs(f) and system.stationarity(x) < STATIONARY * abs(f)
        if converged:
            break
        predictor = system.direction(0.0)
        predicted_slacks = slacks + _step_to_boundary(slacks, predictor.ds) * predictor.ds
        predicted_multipliers = multipliers + _step_to_boundary(multipliers, predictor.dm) * predictor.dm
        mu = max(float(predicted_slacks @ predicted_multipliers), 0.1 * TOLERANCE * abs(f)) / limits.size
        for target, tries in ((mu - predictor.ds * predictor.dm, CORRECTED_TRIES), (mu, TRIES)):
            step = system.direction(target)
            length, new_slacks, new_f = _line_search(objective, system, f, x, step, mu, tries)
            if length:
                break
        else:
            break
        multipliers = multipliers + _step_to_boundary(multipliers, step.dm) * step.dm
        x, slacks, f = x + length * step.dx, new_slacks, new_f
        history.append(f)
        best = x if f <= min(history) else best
    return Optimum(best, tuple(history), converged)


def strictly_feasible(limits: SearchLimits, x: np.ndarray) -> bool:
    """Return whether coefficients x (n,) keep all limits strictly."""
    slacks = limits.slacks(x)
    return slacks is not None and bool((slacks > 0).all())


@dataclass(frozen=True)
class _Step:
    dx: np.ndarray  # (n,)
    ds: np.ndarray  # (c,) of the slacks, linearised
    dm: np.ndarray  # (c,) of their multipliers


@dataclass(frozen=True)
class _NewtonSystem:
    """Newton's equations of the barrier problem at x, factorised."""

    limits: SearchLimits
    tangents: Tangents
    slacks: np.ndarray  # (c,)
    multipliers: np.ndarray  # (c,)
    objective_gradient: np.ndarray  # (n,)
    factor: np.ndarray  # (3, n) Cholesky factor in bands

    def stationarity(self, x: np.ndarray) -> float:
        """Return the Lagrangian's gradient (n,) in size, times the size of x (n,): in units of the objective."""
        rest = self.objective_gradient.copy()
        self.tangents.scatter(rest, -self.multipliers)
        return float(np.abs(rest) @ np.abs(x))

    def direction(self, target: np.ndarray | float) -> _Step:
        """Return the step after which each multiplier times its slack is `target`, to first order."""
        rhs, wanted = -self.objective_gradient, target / self.slacks
        if isinstance(target, np.ndarray) or target:
            self.tangents.scatter(rhs, np.broadcast_to(wanted, self.slacks.shape))
        dx, _ = dpbtrs(self.factor, rhs, lower=1)
        ds = self.tangents.change(dx)
        return _Step(dx, ds, wanted - self.multipliers * (1 + ds / self.slacks))


def _newton_system(
    objective: Objective, limits: SearchLimits, x: np.ndarray, slacks: np.ndarray, multipliers: np.ndarray
) -> _NewtonSystem | None:
    """None: the matrix is not positive definite, as round-off has it."""
    objective_gradient, bands = objective.derivatives(x)
    found = slack_tangents(limits, x)
    found.scatter_bands(bands, multipliers / slacks, multipliers)
    factor, failed = dpbtrf(bands, lower=1)
    if failed:
        return None
    return _NewtonSystem(limits, found, slacks, multipliers, objective_gradient, factor)


def _line_search(
    objective: Objective, system: _NewtonSystem, f: float, x: np.ndarray, step: _Step, mu: float, tries: int
) -> tuple[float, np.ndarray, float]:
    """Return a feasible step length that decreases the barrier function, the slacks and the objective after it; 0 if no try does.

    f: the objective at x (n,).
    """
    slacks = system.slacks
    start = f - mu * float(np.log(slacks).sum())
    length = _step_to_boundary(slacks, step.ds)
    for _ in range(tries):
        there = x + length * step.dx
        new = system.limits.slacks(there)
        if new is not None and (new >= (1 - TO_BOUNDARY) * slacks).all():
            value = objective.value(there)
            if value - mu * float(np.log(new).sum()) <= start + ROUND_OFF * abs(start):
                return length, new, value
        length *= BACKTRACKING
    return 0.0, slacks, f


def _step_to_boundary(values: np.ndarray, changes: np.ndarray) -> float:
    """Return the share of a step, at most 1, that keeps all values positive."""
    steepest = -float((changes / values).min(initial=0.0))
    return TO_BOUNDARY / max(TO_BOUNDARY, steepest)
