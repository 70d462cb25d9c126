"""From a motion that breaks limits to a feasible one nearby, by a sequence of linear programs.

Each program minimises the largest violation of the limits, with tangents at the motion before in place of their curved
parts. Whether its solution keeps the limits themselves is checked afterwards.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from robodyn_pin.planning.grid import Grid
from robodyn_pin.planning.interior_point import strictly_feasible
from robodyn_pin.planning.limit_rows import ConstraintSet
from robodyn_pin.planning.parabolas import SplineSpace
from robodyn_pin.planning.terms import Terms

Label = tuple[str, str]  # kind and axis
PROGRAMS = 10  # linear programs, one after the other
ROOM = 0.05  # share of the limits left free with which a start is good enough
SPEED_WEIGHT = 1e-3  # of the speed row's violation: enough to keep y off zero
LEAST = 1e-9  # least coefficient [1/s^2]; also, as a share of the largest y, the least y at which tangents are taken


@dataclass(frozen=True)
class Miss:
    """How far the search remained from the limits."""

    excess: float  # least violation found, as a share of the limit
    knot: int  # where the violation is
    label: Label  # of which limit


def nearby_start(grid: Grid, terms: Terms, motion: np.ndarray) -> np.ndarray | Miss:
    """Return a strictly feasible motion (n,) near a motion (2 K + 1,) of smoothness 0, or how it was missed."""
    constraints, limits = grid.constraints, grid.search_limits
    space = constraints[0].space
    if space.smoothness == 0 and strictly_feasible(limits, motion):
        return motion
    rough = SplineSpace(space.intervals, 0)
    ys = [replace(part, space=rough).motion(motion)[:, :1] for part in constraints]
    miss = Miss(np.inf, 0, terms.labels[0])
    for _ in range(PROGRAMS):
        x, miss = _least_violation([(part, _tangents(part, terms, y)) for part, y in zip(constraints, ys, strict=True)])
        if x is None:
            break
        if miss.excess < 0 and strictly_feasible(limits, x):
            return x
        ys = [part.motion(x)[:, :1] for part in constraints]
    return replace(miss, excess=max(miss.excess, 0.0))


@dataclass(frozen=True)
class _Inequalities:
    """slope (y, u, w) <= bound + weight * violation, for one side of M limits at K' places."""

    slope: np.ndarray  # (K', M, 3)
    bound: np.ndarray  # (K', M)
    weight: np.ndarray  # (M,)
    labels: tuple[Label, ...]  # (M,)


def _tangents(part: ConstraintSet, terms: Terms, y: np.ndarray) -> list[_Inequalities]:
    """Return both sides of a constraint set's limits, with tangents at y (K', 1)."""
    rows, sides = part.rows, []
    m, k = rows.gamma.shape[1], rows.jerk.shape[1]
    labels = (*terms.labels * ((m - 1) // max(len(terms.labels), 1)), ("velocity", ""))
    weight = np.where(np.arange(m) == m - 1, SPEED_WEIGHT, 1.0)
    y = np.maximum(y, LEAST * (2 / rows.linear[:, -1:, 0] if m else y.max()))
    for sign in (1.0, -1.0):
        delta = sign * rows.delta
        slope = np.zeros((*rows.gamma.shape, 3))
        slope[..., :2] = sign * rows.linear
        slope[..., 0] += delta * 0.5 / np.sqrt(y)
        bound = 1 - sign * rows.gamma - delta * np.sqrt(y) / 2
        sides.append(_Inequalities(slope, bound, weight, labels[:m] if m else ()))
        if k:  # jerk * sqrt(y0) <= sqrt(y0 / y), whose tangent at y0 is 1.5 - 0.5 y / y0
            jerk = sign * rows.jerk * np.sqrt(y)[..., None]
            jerk[..., 0] += 0.5 / y
            sides.append(_Inequalities(jerk, np.full(jerk.shape[:2], 1.5), np.ones(k), terms.jerk_labels))
    return sides


def _least_violation(program: list[tuple[ConstraintSet, list[_Inequalities]]]) -> tuple[np.ndarray | None, Miss]:
    """Return the motion with the least violation, and the limit that matters most to it; None: the solver failed."""
    space = program[0][0].space
    slopes, columns, weights, bounds, knots, labels = [], [], [], [], [], []
    for part, sides in program:
        for side in sides:
            count, m = side.bound.shape
            coefficients = space.local(np.arange(space.size))[part.intervals]
            slopes.append((side.slope @ part.basis).reshape(-1, 3))
            columns.append(np.repeat(coefficients, m, axis=0))
            weights.append(np.tile(side.weight, count))
            bounds.append(side.bound.ravel())
            knots.append(np.repeat(part.nearest_knots, m))
            labels += list(side.labels) * count
    slope, column, weight = np.concatenate(slopes), np.concatenate(columns), np.concatenate(weights)
    row = np.arange(len(slope))
    entries = np.concatenate([slope.ravel(), -weight])  # the last column is the violation
    places = np.concatenate([np.repeat(row, 3), row]), np.append(column.ravel(), np.full(len(row), space.size))
    A = coo_array((entries, places), shape=(len(row), space.size + 1)).tocsr()
    cost, least = np.append(np.zeros(space.size), 1.0), [(LEAST, None)] * space.size + [(-ROOM, None)]
    found = linprog(cost, A_ub=A, b_ub=np.concatenate(bounds), bounds=least, method="highs")
    if found.x is None:
        return None, Miss(np.inf, 0, labels[0])
    multiplier = np.where(weight == 1.0, -found.ineqlin.marginals, -1.0)  # the speed row is no limit
    worst = int(multiplier.argmax())
    return found.x[:-1], Miss(float(found.x[-1]), int(np.concatenate(knots)[worst]), labels[worst])
