"""The feasible fit: parameters that rigid bodies can have, by a linear matrix inequality for each body.

Source: Sousa & Cortesao, IJRR 33(6), 2014; Wensing, Kim & Slotine, RA-L 3(1), 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.bounds import Bounds, reduction
from robodyn_pin.identification.cones import nearest_bodies
from robodyn_pin.identification.constraints import NEAR, conflict, constraints, pseudo_inertias, still_met
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.objective import stacked_rows
from robodyn_pin.identification.parameters import UNIT, Layout, pseudo_inertia, smallest_eigenvalues
from robodyn_pin.identification.prior import Prior, check_prior
from robodyn_pin.identification.solving import SOLVERS, solve

if TYPE_CHECKING:
    import cvxpy as cp

FINEST = 1e-5  # of the rms torque: less noise is rounding, and leaves the solver no digits for the prior


@dataclass(frozen=True)
class FeasibleEstimate:
    """Parameters of bodies that can exist."""

    values: np.ndarray  # (p,) SI, in the layout's order
    status: str
    solver: str
    eigenvalues: np.ndarray  # (bodies,) smallest of each pseudo-inertia, in units of 1 kg and 0.1 m
    free: int  # variables that equalities leave


def fit_feasible(
    groups: Sequence[Factor], sigma: np.ndarray, layout: Layout, bounds: Bounds, prior: Prior
) -> FeasibleEstimate:
    """Minimise ||(W pi - y) / sigma||^2 / rows + weight^2 d(pi, prior) over bodies that can exist.

    P(pi_i) - eigenvalue I >= 0, friction and armature >= 0, and what else `bounds` says; d as `prior` says. The rows
    come as one second-order cone on their triangular factor: the quadratic form squares the condition number and leaves
    solvers inaccurate. Whatever the solver's status says, the answer is checked by eigenvalues.

    Args:
        groups: folded rows per motor. sigma: (groups,) noise of each.

    Raises:
        NotPhysical: a body of the prior cannot exist; names the nearest that can.
        RobodynError: equalities that contradict each other.
        SolverFailed: no solver reached an optimum that passes the check; names the constraints that cannot hold.
    """
    check_prior(prior, layout.bodies)
    n, p = len(layout.bodies), layout.size
    stacked, scale = stacked_rows(groups, _noise_taken(groups, sigma), layout, prior)
    cone = triangle(stacked)
    # Rows of zeros make the cone degenerate; its size decides how well the solver is scaled (size one: 90 of 90 trial
    # problems optimal, without: 84). The last row holds what no parameter can explain.
    size = float(np.linalg.norm(cone[:p, :p], 2))
    cone = cone[:p][np.abs(cone[:p, :p]).max(axis=1) > 1e-12] / size
    # Solvers meet a tolerance relative to the largest variable: scalars in units of the noise would take the digits from the bodies.
    cone[:, layout.first_scalar : p] *= size
    scale[layout.first_scalar :] *= size

    reduced = reduction(bounds.linear, layout.bodies, scale)
    A, b, free = cone[:, :p], cone[:, p], p
    if reduced is not None:
        free = reduced[1].shape[1]
        cone = triangle(np.column_stack([A @ reduced[1], b - A @ reduced[0]]))[:free]
        A, b = cone[:, :free], cone[:, free]
    if prior.distance != "entropic":
        found = nearest_bodies(A, b, layout, bounds, reduced)
        if found is not None and (values := _checked(found, scale, layout, bounds)) is not None:
            return _estimate(values, "optimal", "CLARABEL", n, free)
    import cvxpy as cp  # slow to import, and seldom needed from here on

    z = cp.Variable(free)
    x = z if reduced is None else reduced[0] + reduced[1] @ z
    if prior.distance == "entropic":
        cost, cones = _entropic(A @ z - b, x, size, prior), []
    else:
        cost = cp.Variable()
        cones = [cp.SOC(cost, A @ z - b)]
    problem = cp.Problem(cp.Minimize(cost), [*cones, *constraints(x, layout, bounds).values()])
    tried = []
    for solver in SOLVERS:
        status = solve(problem, solver, **_options(solver, prior.distance == "entropic"))
        if x.value is not None and status == cp.OPTIMAL:
            if (values := _checked(x.value, scale, layout, bounds)) is not None:
                return _estimate(values, status, solver, n, free)
            status = "optimal, but its bodies fail the check"
        tried.append(f"{solver}: {status}")
    clash = conflict(layout, bounds)
    reason = f"these cannot hold together: {'; '.join(clash)}" if clash else "give the prior more weight"
    raise SolverFailed(f"the feasible fit found no trustworthy optimum ({'; '.join(tried)}); {reason}", tried[0])


def with_noise_taken(groups: Sequence[Factor], estimate: BaseEstimate) -> BaseEstimate:
    """The estimate with as much noise as the feasible fit reckons with: more where the rows are exact but for rounding."""
    sigma = _noise_taken(groups, estimate.sigma)
    more = np.divide(sigma, estimate.sigma, out=np.ones_like(sigma), where=estimate.sigma > 0).max()
    return replace(estimate, covariance=more**2 * estimate.covariance, sigma=sigma)


def _noise_taken(groups: Sequence[Factor], sigma: np.ndarray) -> np.ndarray:
    return np.maximum(sigma, [FINEST * np.sqrt(g.energy / max(g.rows, 1)) for g in groups])


def _checked(x: np.ndarray, scale: np.ndarray, layout: Layout, bounds: Bounds) -> np.ndarray | None:
    """The parameters (p,) in SI of x in units `scale` (p,), coefficients not negative; None where they fail the check."""
    nonnegative = layout.first_scalar + np.flatnonzero(layout.nonnegative)
    values = x * scale
    values[nonnegative] = np.maximum(values[nonnegative], 0.0)  # a solver's zero may be -1e-12, not more
    good = x[nonnegative].min(initial=0.0) > -NEAR and still_met(values, layout, bounds)
    return values if good else None


def _estimate(values: np.ndarray, status: str, solver: str, n: int, free: int) -> FeasibleEstimate:
    return FeasibleEstimate(values, status, solver, smallest_eigenvalues(values[: 10 * n].reshape(n, 10)), free)


def _entropic(residual: cp.Expression, x: cp.Expression, size: float, prior: Prior) -> cp.Expression:
    """Squares of the residual and the entropic distance, in units of the distance: so the logarithms are of size one.

    Beside logarithms the squares do better as a quadratic form in the residual than as a cone (weight 0.001: 24 of 24
    trial problems optimal against 13).
    """
    import cvxpy as cp

    total = cp.sum_squares(size / prior.weight * residual)
    for i, P in enumerate(pseudo_inertias(x, len(prior.bodies))):
        inverse = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(prior.bodies[i] / UNIT)))
        X = inverse @ P @ inverse.T
        total = total + (prior.of_body(i) / prior.weight) ** 2 * (cp.trace(X) - cp.log_det((X + X.T) / 2) - 4)
    return total


def _options(solver: str, entropic: bool) -> dict[str, float]:
    if solver == "SCS":
        return {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 50_000}
    # Weights 0.0003 to 0.1: 160 of 160 trial problems optimal; steps of 0.9 alone lose 1 of 30 at 0.001.
    return {"max_step_fraction": 0.8, "static_regularization_constant": 1e-7} if entropic else {}
