"""The usual feasible fit as Clarabel takes it: rows of cones written down, since modelling them anew each time takes longer than solving.

min t over v = (z, t) with t >= ||A z - b|| and, of x = x0 + N z, P(x_i) - least I >= 0 for each body, masses in their bounds,
some coefficients not negative. Clarabel's form: G v + s = h, s in cones; of symmetric matrices it takes the upper triangle,
column by column, what is off the diagonal times sqrt 2.
"""

from functools import cache
from typing import Any

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

    free = A.shape[1]
    x0, N = reduced if reduced is not None else (np.zeros(layout.size), np.eye(layout.size))
    G, h, cones = bodies_that_exist(layout, bounds, x0, N)
    size = np.zeros((1 + len(A), free + 1))
    size[0, free], size[1:, :free] = -1.0, -A
    G = np.concatenate([np.append(G, np.zeros((len(G), 1)), axis=1), size])
    h, cones = np.concatenate([h, [0.0], -b]), [*cones, clarabel.SecondOrderConeT(1 + len(A))]
    found = _clarabel(np.append(np.zeros(free), 1.0), G, h, cones).solve()
    return x0 + N @ np.array(found.x)[:free] if found.status == clarabel.SolverStatus.Solved else None


class Programme:
    """min goal @ v with h - G v in cones, for one goal after the other."""

    def __init__(self, G: np.ndarray, h: np.ndarray, cones: list[Any]) -> None:
        self._rows = G, h, cones
        # Goals can change only where the rows stay as they are.
        self._solver = _clarabel(
            np.zeros(G.shape[1]), *self._rows, presolve_enable=False, chordal_decomposition_enable=False
        )

    def least(self, goal: np.ndarray) -> np.ndarray | None:
        """The v (n,) of the least goal (n,) @ v, which may be inaccurate; None where Clarabel finds none."""
        import clarabel

        good = clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved
        self._solver.update(q=goal)
        found = self._solver.solve()
        if found.status not in good:  # without scaled rows it takes more steps and gives up less often
            found = _clarabel(goal, *self._rows, equilibrate_enable=False).solve()
        return np.array(found.x) if found.status in good else None


def _clarabel(goal: np.ndarray, G: np.ndarray, h: np.ndarray, cones: list[Any], **given: bool) -> Any:
    import clarabel
    from scipy import sparse

    settings = clarabel.DefaultSettings()
    for name, value in ({"verbose": False} | given).items():
        setattr(settings, name, value)
    nothing = sparse.csc_matrix((len(goal), len(goal)))
    return clarabel.DefaultSolver(nothing, goal, sparse.csc_matrix(G), h, cones, settings)


def bodies_that_exist(
    layout: Layout, bounds: Bounds, x0: np.ndarray, N: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """G, h and cones of all that `usual` bounds ask of x = x0 + N v, in units of 1 kg and 0.1 m."""
    import clarabel

    rows, ends = _linear(layout, bounds)
    least = SLACK * bounds.eigenvalue * _triangle(np.eye(4))
    bodies = np.kron(np.eye(len(layout.bodies)), _of_body())
    inertial = bodies.shape[1]
    G = np.concatenate([-rows @ N, -bodies @ N[:inertial]])
    h = np.concatenate([rows @ x0 - ends, bodies @ x0[:inertial] - np.tile(least, len(layout.bodies))])
    return G, h, [clarabel.NonnegativeConeT(len(rows)), *[clarabel.PSDTriangleConeT(4)] * len(layout.bodies)]


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
