"""Optimal experiments: inputs whose measurements leave the smallest posterior covariance, Stiff-6660 (16)-(20).

The model is a callable; nothing here knows what is measured. Every covariance is that of a linearised model (17).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from robodyn_pin.errors import SolverFailed

Criterion = Literal["A", "D", "E"]  # trace, determinant, largest eigenvalue
# u (n,) -> values (m,) and their slopes (m, n); of rows: (m, p) and (m, p, n), in units of the noise
Function = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
SMOOTH = 16  # power whose root of the trace stands for the largest eigenvalue, which bends where two are equal
KEPT = 1e-6  # [m, rad or cosine] by which a constraint may be missed


@dataclass(frozen=True)
class DesignProblem:
    """Which inputs u may be chosen, and what they tell."""

    rows: Function  # slopes of the measured numbers for the parameters
    precision: np.ndarray  # (p, p) of the prior
    low: np.ndarray  # (n,)
    high: np.ndarray  # (n,)
    equal: Function | None = None  # h(u) = 0
    above: Function | None = None  # g(u) >= 0


@dataclass(frozen=True)
class Found:
    """The best inputs of all starts."""

    u: np.ndarray  # (n,)
    covariance: np.ndarray  # (p, p)
    size: float  # of the covariance, as the criterion has it
    sizes: np.ndarray  # (starts,) reached from each start, infinite where a constraint is missed


def design_posterior(rows: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Covariance (..., p, p) that measurements with rows (..., m, p), in units of the noise, leave of a prior, (17)."""
    return np.linalg.inv(np.swapaxes(rows, -1, -2) @ rows + precision)


def size(covariance: np.ndarray, criterion: Criterion) -> np.ndarray:
    """How large covariances (..., p, p) are, (16)."""
    if criterion == "A":
        return np.asarray(np.trace(covariance, axis1=-2, axis2=-1))
    if criterion == "D":
        return np.asarray(np.linalg.det(covariance))
    return np.asarray(np.linalg.eigvalsh(covariance)[..., -1])


def objective(problem: DesignProblem, u: np.ndarray, criterion: Criterion) -> tuple[float, np.ndarray]:
    """Logarithm of the (smoothed) criterion and its slope (n,)."""
    rows, slopes = problem.rows(u)
    C = design_posterior(rows, problem.precision)
    if criterion == "A":
        value, weight = float(np.log(np.trace(C))), np.eye(len(C)) / np.trace(C)
    elif criterion == "D":
        value, weight = float(np.linalg.slogdet(C)[1]), np.linalg.inv(C)
    else:
        values, axes = np.linalg.eigh(C)
        part = (values / values[-1]) ** SMOOTH
        value = float(np.log(values[-1]) + np.log(part.sum()) / SMOOTH)
        weight = (axes * (part / values / part.sum())) @ axes.T
    # dC = -C (R'dR + dR'R) C
    return value, -2 * np.einsum("mp,mpn->n", rows @ (C @ weight @ C), slopes)


def improve(problem: DesignProblem, start: np.ndarray, criterion: Criterion, steps: int = 100) -> np.ndarray:
    """Inputs (n,) from a start by sequential quadratic programming, which Stiff-6660 uses as well."""
    from scipy.optimize import minimize

    sides = {"eq": problem.equal, "ineq": problem.above}.items()
    constraints = [{"type": k, "fun": lambda u, f=f: f(u)[0], "jac": lambda u, f=f: f(u)[1]} for k, f in sides if f]
    bounds = list(zip(problem.low, problem.high, strict=True))
    cost, options = partial(objective, problem, criterion=criterion), {"maxiter": steps, "ftol": 1e-7}
    found = minimize(cost, start, jac=True, bounds=bounds, constraints=constraints, method="SLSQP", options=options)
    return np.clip(found.x, problem.low, problem.high)


def missed(problem: DesignProblem, u: np.ndarray) -> float:
    """By how much inputs miss the constraints."""
    worst = 0.0
    if problem.equal:
        worst = float(np.abs(problem.equal(u)[0]).max(initial=0.0))
    if problem.above:
        worst = max(worst, float(-problem.above(u)[0].min(initial=0.0)))
    return worst


def search(
    cases: Sequence[tuple[DesignProblem, np.ndarray]],
    criterion: Criterion,
    steps: int = 100,
    progress: Callable[[float], None] = lambda share: None,
) -> tuple[int, Found]:
    """The best of all cases, each a problem and a start for it, and which case it came from.

    Raises:
        SolverFailed: from no start inputs that keep the constraints.
    """
    sizes, inputs = np.full(len(cases), np.inf), [start for _, start in cases]
    for k, (problem, start) in enumerate(cases):
        for u in (start, improve(problem, start, criterion, steps)):  # a start that keeps them is never made worse
            value = float(size(design_posterior(problem.rows(u)[0], problem.precision), criterion))
            if missed(problem, u) <= KEPT and value < sizes[k]:
                sizes[k], inputs[k] = value, u
        progress((k + 1) / len(cases))
    which = int(sizes.argmin())
    if not np.isfinite(sizes[which]):
        raise SolverFailed("no inputs found that keep all constraints, from none of the starts", "infeasible")
    problem, u = cases[which][0], inputs[which]
    return which, Found(u, design_posterior(problem.rows(u)[0], problem.precision), float(sizes[which]), sizes)
