"""The nearest bodies that can exist, all together, for parameters of which some cannot.

Bodies that can exist stay as they are. Of the others, each in its own units (mass 1, largest radius of gyration 1) and
about its centre of mass, the pseudo-inertia P keeps every eigenvalue above `thinnest`^2: in no direction is a body
thinner than that part of its size. Nearest means, with the bodies' changes dP_i and the torques' changes dtau,

    euclidean   sum_i |dP_i|_F^2                       exact: eigenvalues cut off; mass and centre of mass stay
    torque      |dtau|^2 / |tau|^2 + 1e-6 sum_i |dP_i|_F^2    a semidefinite programme over all bodies at once
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from robodyn_pin.errors import ShapeMismatch, SolverFailed
from robodyn_pin.identification.parameters import PSEUDO_INERTIA, pseudo_inertia, unit_scale, why_not_physical
from robodyn_pin.identification.simple_bodies import moved, nearest_body
from robodyn_pin.identification.solving import SOLVERS, solve

Metric = Literal["euclidean", "torque"]
THINNEST = 0.01  # of a body's largest radius of gyration
LEAST = 1e-6  # weight of the change of bodies beside that of torques, for what no torque shows


@dataclass(frozen=True)
class Repaired:
    """Bodies that can exist."""

    bodies: np.ndarray  # (n, 10) SI, about the joint frames
    reasons: tuple[str | None, ...]  # why each could not exist, None where it could
    distance: np.ndarray  # (n,) |dP_i|_F in the body's own units
    solver: str  # that found them


def own_units(x: np.ndarray) -> np.ndarray:
    """T (10, 10) of a body x (10,), whether it can exist or not: x = T y with y in its own units about its centre of mass.

    A body without mass counts about its joint frame.
    """
    mass = abs(x[0]) or 1.0
    centre = x[1:4] / x[0] if x[0] > 0 else np.zeros(3)
    second = pseudo_inertia(moved(x, -centre))[:3, :3]
    size = np.sqrt(np.abs(np.linalg.eigvalsh(second)).max() / mass) or 0.1
    shift = np.stack([moved(unit, centre) for unit in np.eye(10)], axis=1)
    return np.asarray(shift * unit_scale(mass, size))


def repaired(
    bodies: np.ndarray, metric: Metric = "euclidean", rows: np.ndarray | None = None, thinnest: float = THINNEST
) -> Repaired:
    """The nearest bodies (n, 10) that can exist.

    Args:
        bodies: (n, 10) SI, Pinocchio's order, about the joint frames.
        rows: (k, 10 n) torques per parameter, each row in units of its motor's torque; for the metric `torque`.

    Raises:
        ShapeMismatch: the metric `torque` without rows. SolverFailed: no solver reached an optimum that passes the check.
    """
    reasons = tuple(why_not_physical(x) for x in bodies)
    broken = np.flatnonzero([reason is not None for reason in reasons])
    units = [own_units(bodies[i]) for i in broken]
    y0 = np.array([np.linalg.solve(T, bodies[i]) for T, i in zip(units, broken, strict=True)]).reshape(-1, 10)
    if metric == "euclidean":
        y, solver = np.array([nearest_body(y, thinnest**2) for y in y0]).reshape(-1, 10), "eigenvalues"
    else:
        if rows is None:
            raise ShapeMismatch("the metric 'torque' needs rows (k, 10 n) of torques per parameter; none were given")
        of_body = [rows[:, 10 * i : 10 * i + 10] @ T for T, i in zip(units, broken, strict=True)]
        columns = np.concatenate(of_body, axis=1)
        y, solver = programme(y0, columns / np.linalg.norm(rows @ bodies.ravel()), thinnest**2)
    mended = bodies.copy()
    for i, T, body in zip(broken, units, y, strict=True):
        mended[i] = T @ body
    distance = np.zeros(len(bodies))
    distance[broken] = np.linalg.norm((y - y0) @ PSEUDO_INERTIA.T, axis=1)
    return Repaired(mended, reasons, distance, solver)


def programme(
    y0: np.ndarray, rows: np.ndarray, eigenvalue: float, solvers: tuple[str, ...] = SOLVERS
) -> tuple[np.ndarray, str]:
    """Minimise |rows (y - y0)|^2 + LEAST sum_i |P(y_i) - P(y0_i)|^2 over P(y_i) >= eigenvalue; y, y0 (n, 10).

    Raises:
        SolverFailed: no solver reached an optimum that passes the check.
    """
    import cvxpy as cp

    n = len(y0)
    R = np.linalg.qr(rows, mode="r") if len(rows) > rows.shape[1] else rows
    y = cp.Variable(10 * n)
    P = [cp.reshape(PSEUDO_INERTIA @ y[10 * i : 10 * i + 10], (4, 4), order="C") for i in range(n)]
    change = cp.hstack([R @ (y - y0.ravel()), np.sqrt(LEAST) * (np.kron(np.eye(n), PSEUDO_INERTIA) @ (y - y0.ravel()))])
    problem = cp.Problem(cp.Minimize(cp.norm(change)), [(p + p.T) / 2 >> eigenvalue * np.eye(4) for p in P])
    tried = []
    for solver in solvers:
        options = {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 200_000} if solver == "SCS" else {}
        status = solve(problem, solver, **options)
        if status == cp.OPTIMAL:
            found = np.asarray(y.value).reshape(n, 10)
            if np.linalg.eigvalsh(pseudo_inertia(found)).min() > eigenvalue / 2:
                return found, solver
            status = "optimal, but its bodies fail the check"
        tried.append(f"{solver}: {status}")
    raise SolverFailed(f"no nearest bodies were found ({'; '.join(tried)})", tried[0])
