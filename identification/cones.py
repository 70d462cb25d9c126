"""The usual feasible fit as Clarabel takes it: rows of cones written down, since modelling them anew each time takes longer than solving.

min t over v = (z, t) with t >= ||A z - b|| and, of x = x0 + N z, P(x_i) - least I >= 0 for each body, masses in their bounds,
some coefficients not negative. Clarabel's form: G v + s = h, s in cones; of symmetric matrices it takes the upper triangle,
column by column, what is off the diagonal times sqrt 2.
"""

from functools import cache

import numpy as np

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.constraints import INSET, SLACK
from robodyn_pin.identification.parameters import PSEUDO_INERTIA, Layout


def usual(bounds: Bounds) -> bool:
    """Whether bounds ask for no more than these cones."""
    return not (bounds.total_mass or bounds.boxes or bounds.ellipsoids)


def nearest_bodies(
    A: np.ndarray, b: np.ndarray, layout: Layout, bounds: Bounds, reduced: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray | None:
    """Minimise ||A z - b|| over bodies that can exist; x (p,) in units of 1 kg and 0.1 m, None where Clarabel finds no optimum.

    Args:
        A, b: (k, free), (k,) of the free variables. reduced: x0 (p,) and N (p, free); None: x is z.
    """
    import clarabel
    from scipy import sparse

    p, free = layout.size, A.shape[1]
    x0, N = reduced if reduced is not None else (np.zeros(p), np.eye(p))
    rows, ends = _linear(layout, bounds)
    least = SLACK * bounds.eigenvalue * _triangle(np.eye(4))
    bodies = np.kron(np.eye(len(layout.bodies)), _of_body())
    h = [rows @ x0 - ends, [0.0], -b, bodies @ x0[: bodies.shape[1]] - np.tile(least, len(layout.bodies))]
    G = np.zeros((len(rows) + 1 + len(A) + len(bodies), free + 1))
    G[: len(rows), :free] = -rows @ N
    G[len(rows), free] = -1.0
    G[len(rows) + 1 : len(rows) + 1 + len(A), :free] = -A
    G[len(rows) + 1 + len(A) :, :free] = -bodies @ N[: bodies.shape[1]]
    cones = [clarabel.NonnegativeConeT(len(rows)), clarabel.SecondOrderConeT(1 + len(A))]
    cones += [clarabel.PSDTriangleConeT(4)] * len(layout.bodies)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    goal = np.append(np.zeros(free), 1.0)
    nothing = sparse.csc_matrix((free + 1, free + 1))
    solver = clarabel.DefaultSolver(nothing, goal, sparse.csc_matrix(G), np.concatenate(h), cones, settings)
    found = solver.solve()
    return x0 + N @ np.array(found.x)[:free] if found.status == clarabel.SolverStatus.Solved else None


def _linear(layout: Layout, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """Rows (m, p) and ends (m,) of rows @ x >= ends: masses of bodies that are not weighed, coefficients that are not negative."""
    unit, masses = np.eye(layout.size), 10 * np.flatnonzero(~bounds.fixed)
    low, high = bounds.mass[~bounds.fixed].T
    zero = layout.first_scalar + np.flatnonzero(layout.nonnegative)
    ends = np.concatenate([low * (1 + INSET), -high * (1 - INSET), np.zeros(len(zero))])
    return np.concatenate([unit[masses], -unit[masses], unit[zero]]), ends


@cache
def _of_body() -> np.ndarray:
    """The triangle (10, 10) of P of a body's ten parameters."""
    return np.stack([_triangle(P) for P in PSEUDO_INERTIA.T.reshape(10, 4, 4)], axis=1)


def _triangle(P: np.ndarray) -> np.ndarray:
    column, row = np.tril_indices(4)
    return np.where(row == column, 1.0, np.sqrt(2.0)) * P[row, column]
