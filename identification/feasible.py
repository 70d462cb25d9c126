"""The feasible fit: parameters that rigid bodies can have, by a linear matrix inequality for each body.

Source: Sousa & Cortesao, IJRR 33(6), 2014; Wensing, Kim & Slotine, RA-L 3(1), 2018.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.fold import Factor, triangle, weighted
from robodyn_pin.identification.parameters import PSEUDO_INERTIA, Layout, smallest_eigenvalues, unit_scale

LENGTH = 0.1  # [m] with 1 kg the units of the fit: bodies of robots are then of size one
SLACK = 1.05  # the solver meets constraints to a tolerance; asking for a little more keeps the answer inside


@dataclass(frozen=True)
class Bounds:
    """What is known of the bodies besides being bodies."""

    mass: np.ndarray  # (bodies, 2) lightest and heaviest [kg]
    eigenvalue: float = 1e-4  # smallest of every pseudo-inertia, in units of 1 kg and 0.1 m


@dataclass(frozen=True)
class Prior:
    """Where parameters go that the rows do not show: Euclidean distance of pseudo-inertias, in units of 1 kg, 0.1 m."""

    bodies: np.ndarray  # (bodies, 10) SI
    weight: float  # against the rows' mean squared error in units of their noise


@dataclass(frozen=True)
class FeasibleEstimate:
    """Parameters of bodies that can exist."""

    values: np.ndarray  # (p,) SI, in the layout's order
    status: str
    solver: str
    eigenvalues: np.ndarray  # (bodies,) smallest of each pseudo-inertia, in units of 1 kg and 0.1 m


def ball(mass: float, radius: float) -> np.ndarray:
    """Parameters (10,) of a solid ball about its centre: a neutral body that says little."""
    inertia = 0.4 * mass * radius**2
    return np.array([mass, 0, 0, 0, inertia, 0, inertia, 0, 0, inertia])


def fit_feasible(
    groups: Sequence[Factor], sigma: np.ndarray, layout: Layout, bounds: Bounds, prior: Prior
) -> FeasibleEstimate:
    """Minimise ||(W pi - y) / sigma||^2 / rows + weight^2 ||P(pi) - P(prior)||^2 over bodies that can exist.

    P(pi_i) - eigenvalue I >= 0, friction and armature >= 0, masses inside their bounds. The rows come as one
    second-order cone on their triangular factor: the quadratic form squares the condition number and leaves solvers
    inaccurate. Whatever the solver's status says, the answer is checked by eigenvalues.

    Args:
        groups: folded rows per motor. sigma: (groups,) noise of each.

    Raises:
        SolverFailed: no solver reached an optimum that passes the check.
    """
    n, p = len(layout.bodies), layout.size
    rows = max(sum(g.rows for g in groups), 1)
    R = weighted(groups, sigma) / np.sqrt(rows)
    scale = np.concatenate([np.tile(unit_scale(1.0, LENGTH), n), np.ones(p - 10 * n)])
    length = np.linalg.norm(R[:, 10 * n : p], axis=0)
    scale[10 * n :] = 1 / np.where(length > 0, length, 1.0)
    distance = np.zeros((16 * n, p + 1))
    for i, body in enumerate(prior.bodies):
        distance[16 * i : 16 * i + 16, 10 * i : 10 * i + 10] = PSEUDO_INERTIA
        distance[16 * i : 16 * i + 16, p] = PSEUDO_INERTIA @ (body / unit_scale(1.0, LENGTH))
    stacked = np.concatenate([R * np.append(scale, 1.0), prior.weight * distance])
    cone = triangle(stacked)
    # Rows of zeros make the cone degenerate; its size decides how well the solver is scaled (size one: 90 of 90 trial
    # problems optimal, without: 84). The last row holds what no parameter can explain.
    cone = cone[:p][np.abs(cone[:p, :p]).max(axis=1) > 1e-12] / np.linalg.norm(cone[:p, :p], 2)

    x, cost = cp.Variable(p), cp.Variable()
    constraints = [cp.SOC(cost, cone[:, :p] @ x - cone[:, p])]
    for i in range(n):
        P = cp.reshape(PSEUDO_INERTIA @ x[10 * i : 10 * i + 10], (4, 4), order="C")
        constraints.append((P + P.T) / 2 >> SLACK * bounds.eigenvalue * np.eye(4))
    masses = x[np.arange(n) * 10]
    inset = 1e-6 * bounds.mass
    constraints += [masses >= bounds.mass[:, 0] + inset[:, 0], masses <= bounds.mass[:, 1] - inset[:, 1]]
    nonnegative = 10 * n + np.flatnonzero(layout.nonnegative)
    if len(nonnegative):
        constraints.append(x[nonnegative] >= 0)
    problem = cp.Problem(cp.Minimize(cost), constraints)
    tried = []
    for solver in ("CLARABEL", "SCS"):
        status = _solve(problem, solver)
        if x.value is not None and status == cp.OPTIMAL:
            values = x.value * scale
            values[nonnegative] = np.maximum(values[nonnegative], 0.0)  # a solver's zero may be -1e-12
            eigenvalues = smallest_eigenvalues(values[: 10 * n].reshape(n, 10))
            mass = values[: 10 * n : 10]
            inside = (mass >= bounds.mass[:, 0]).all() and (mass <= bounds.mass[:, 1]).all()
            if (eigenvalues >= bounds.eigenvalue).all() and inside:
                return FeasibleEstimate(values, status, solver, eigenvalues)
            status = "optimal, but its bodies fail the check"
        tried.append(f"{solver}: {status}")
    raise SolverFailed(
        f"the feasible fit found no trustworthy optimum ({'; '.join(tried)}); check the mass bounds, or give the prior more "
        "weight", tried[0],
    )  # fmt: skip


def _solve(problem: cp.Problem, solver: str) -> str:
    options = {"SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 50_000}}.get(solver, {})
    try:
        with warnings.catch_warnings():  # cvxpy warns of inaccurate answers; the status says so too, and is looked at
            warnings.simplefilter("ignore")
            problem.solve(solver=solver, **options)
    except cp.error.SolverError as error:
        return " ".join(str(error).split())
    return str(problem.status)
