"""Convex programmes over bodies as Clarabel takes them: rows of cones written down, since modelling them anew each time takes longer than solving.

Each block of rows says h - G v in a cone. Bodies: of x = x0 + N z, P(x_i) - least I >= 0, masses and centres in their bounds, some
coefficients not negative. Of symmetric matrices Clarabel takes the upper triangle, column by column, what is off the diagonal times sqrt 2.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from robodyn_pin.identification.bounds import Bounds, copies_of
from robodyn_pin.identification.constraints import INSET, SLACK
from robodyn_pin.identification.parameters import LENGTH, PSEUDO_INERTIA, Layout

GAP = 1e-7  # between the least and its bound, in parts of it: on contradictory logs Clarabel's digits end a step before its own 1e-8
REFINED = 1e-9  # to which each of many programmes solves its linear systems: a quarter of the time less than to Clarabel's 1e-13


class Rows(NamedTuple):
    """h - G z lies in a cone of Clarabel's: "Nonnegative", "SecondOrder" or "PSDTriangle", of this size."""

    G: np.ndarray  # (m, free)
    h: np.ndarray  # (m,)
    cone: str
    size: int


class Least(NamedTuple):
    """The end of a programme."""

    v: np.ndarray  # (n,) NaN where Clarabel finds none
    duals: np.ndarray  # (rows,) by how much the least falls for each unit that a row gives way
    optimal: bool  # to GAP


def of_bodies(layout: Layout, bounds: Bounds, x0: np.ndarray, N: np.ndarray) -> list[Rows]:
    """What x = x0 + N z (p,), in units of 1 kg and 0.1 m, must meet besides equalities; as `constraints`."""
    rows, ends = _linear(layout, bounds)
    held, least = [Rows(-rows @ N, rows @ x0 - ends, "Nonnegative", len(ends))], _triangle(np.eye(4))
    for i, (centre, axes) in bounds.ellipsoids.items():  # m >= ||LENGTH h / axes - m centre / axes||
        part, own = np.zeros((4, layout.size)), slice(10 * i, 10 * i + 4)
        part[:, own] = np.diag(np.append(1.0, LENGTH / axes))
        part[1:, 10 * i] = -centre / axes
        held.append(Rows(-part @ N, part @ x0, "SecondOrder", 4))
    for i in range(len(layout.bodies)):
        own = slice(10 * i, 10 * i + 10)
        h = _of_body() @ x0[own] - SLACK * bounds.eigenvalue * least
        held.append(Rows(-_of_body() @ N[own], h, "PSDTriangle", 4))
    return held


def nearest_bodies(
    A: np.ndarray, b: np.ndarray, layout: Layout, bounds: Bounds, reduced: tuple[np.ndarray, np.ndarray] | None
) -> np.ndarray | None:
    """Minimise ||A z - b|| over bodies that can exist; x (p,) in units of 1 kg and 0.1 m, None where Clarabel finds no optimum.

    Args:
        A, b: (k, free), (k,) of the free variables. reduced: x0 (p,) and N (p, free); None: x is z.
    """
    p, free = layout.size, A.shape[1]
    x0, N = reduced if reduced is not None else (np.zeros(p), np.eye(p))
    linear, *others = (r._replace(G=np.pad(r.G, ((0, 0), (0, 1)))) for r in of_bodies(layout, bounds, x0, N))
    G = np.block([[np.zeros(free), -1.0], [-A, np.zeros((len(A), 1))]])  # t >= ||A z - b||, and t is to be least
    error = Rows(G, np.append(0.0, -b), "SecondOrder", 1 + len(A))
    for scaled in (True, False):  # without scaled rows the solver takes more steps and gives up less often
        found = next(least([linear, error, *others], np.eye(free + 1)[-1:], scaled))
        if found.optimal:
            return x0 + N @ found.v[:free]
    return None


def least(held: Sequence[Rows], goals: np.ndarray, scaled: bool = True) -> Iterator[Least]:
    """For each of the goals (k, n), the v (n,) of the least goal @ v that rows allow.

    The rows are given to the solver once, so that many goals cost little more than their steps.
    """
    import clarabel
    from scipy import sparse

    cones = [getattr(clarabel, f"{r.cone}ConeT")(r.size) for r in held]
    G, h = sparse.csc_matrix(np.concatenate([r.G for r in held])), np.concatenate([r.h for r in held])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.equilibrate_enable = False, scaled
    if len(goals) > 1:
        settings.presolve_enable = False  # what is presolved cannot be given another goal
        settings.iterative_refinement_reltol = settings.iterative_refinement_abstol = REFINED
    solver = clarabel.DefaultSolver(sparse.csc_matrix((G.shape[1],) * 2), goals[0], G, h, cones, settings)
    known = clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved
    for k, goal in enumerate(goals):
        if k:
            solver.update(q=goal)
        found = solver.solve()
        v = np.array(found.x) if found.status in known else np.full(len(goal), np.nan)
        gap = abs(found.obj_val - found.obj_val_dual)
        optimal = found.status == known[0] or (found.status == known[1] and gap <= GAP * abs(found.obj_val))
        yield Least(v, np.array(found.z), optimal)


def _linear(layout: Layout, bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    """Rows (m, p) and ends (m,) of rows @ x >= ends: masses of bodies that are not weighed, coefficients that are not
    negative, the total mass, and boxes of centres."""
    unit, masses = np.eye(layout.size), 10 * np.flatnonzero(~bounds.fixed)
    low, high = bounds.mass[~bounds.fixed].T
    zero = layout.first_scalar + np.flatnonzero(layout.nonnegative)
    rows = [unit[masses], -unit[masses], unit[zero]]
    ends = [low * (1 + INSET), -high * (1 - INSET), np.zeros(len(zero))]
    if bounds.total_mass is not None:
        total = copies_of(bounds) @ unit[10 * np.arange(len(bounds.mass))]
        rows.append(np.array([total, -total]))
        ends.append(np.array(bounds.total_mass) * (1, -1))
    for i, box in bounds.boxes.items():
        mass, moments = unit[10 * i], unit[10 * i + 1 : 10 * i + 4]
        rows += [moments - np.outer(box[:, 0] / LENGTH, mass), np.outer(box[:, 1] / LENGTH, mass) - moments]
        ends.append(np.zeros(6))
    return np.concatenate(rows), np.concatenate(ends)


@cache
def _of_body() -> np.ndarray:
    """The triangle (10, 10) of P of a body's ten parameters."""
    return np.stack([_triangle(P) for P in PSEUDO_INERTIA.T.reshape(10, 4, 4)], axis=1)


def _triangle(P: np.ndarray) -> np.ndarray:
    column, row = np.tril_indices(4)
    return np.where(row == column, 1.0, np.sqrt(2.0)) * P[row, column]
