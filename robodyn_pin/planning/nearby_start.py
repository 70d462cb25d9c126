"""From a motion that breaks limits to one nearby that keeps them: linear programs with tangents at the motion.

Each minimises how far the limits are exceeded, with tangents at the motion before; whether what it finds keeps the limits
themselves is looked at.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from robodyn_pin.planning.interior_point import within
from robodyn_pin.planning.limit_rows import Point
from robodyn_pin.planning.parabolas import Space
from robodyn_pin.planning.terms import Terms

Label = tuple[str, str]  # kind and axis
STEPS = 10
ROOM = 0.05  # share of the limits that a motion to start from need not leave free
PACE = 1e-3  # speeds take so little part in the excess that y stays off zero and no more
LEAST = 1e-9  # [1/s^2] coefficients of a motion are not below it, and, of the largest y, tangents are not at less


@dataclass(frozen=True)
class Missed:
    """How much of a limit is exceeded at least, and the knot and the limit where."""

    excess: float
    where: tuple[int, Label]


def nearer(points: tuple[Point, ...], found: Terms, course: np.ndarray) -> np.ndarray | Missed:
    """A motion (n,) strictly within the limits at points near a course (2 K + 1,) of smoothness 0, or how near it came."""
    space = points[0].space
    flat = Space(space.intervals, 0)
    if space.smoothness == 0 and within(points, course):
        return course
    ys = [replace(p, space=flat).motion(course)[:, :1] for p in points]
    missed = Missed(np.inf, (0, found.labels[0]))
    for _ in range(STEPS):
        x, missed = _least_excess([(p, _quantities(p, found, y)) for p, y in zip(points, ys, strict=True)])
        if x is None:
            break
        if missed.excess < 0 and within(points, x):
            return x
        ys = [p.motion(x)[:, :1] for p in points]
    return Missed(max(missed.excess, 0.0), missed.where)


@dataclass(frozen=True)
class _Rows:
    """(y, u, w) @ slope <= room + weight * excess, at one side of the limits of a point."""

    slope: np.ndarray  # (K', M, 3)
    room: np.ndarray  # (K', M)
    weight: np.ndarray  # (M,)
    labels: tuple[Label, ...]  # (M,)


def _quantities(point: Point, found: Terms, y: np.ndarray) -> list[_Rows]:
    """Both sides of a point's limits, at tangents at y (K', 1)."""
    rows, sides = point.rows, []
    m = rows.gamma.shape[1]
    labels = (*found.labels * ((m - 1) // max(len(found.labels), 1)), ("velocity", ""))
    weight = np.where(np.arange(m) == m - 1, PACE, 1.0)
    y = np.maximum(y, LEAST * (2 / rows.linear[:, -1:, 0] if m else y.max()))
    for sign in (1.0, -1.0):
        delta = sign * rows.delta
        slope = np.zeros((*rows.gamma.shape, 3))
        slope[..., :2] = sign * rows.linear
        slope[..., 0] += delta * 0.5 / np.sqrt(y)
        sides.append(_Rows(slope, 1 - sign * rows.gamma - delta * np.sqrt(y) / 2, weight, labels[:m] if m else ()))
        if rows.jerk.shape[1]:  # |jerk| sqrt(y) <= 1 at y, scaled by sqrt(y)
            jerk = sign * rows.jerk * np.sqrt(y)[..., None]
            jerk[..., 0] += 0.5 / y
            k = rows.jerk.shape[1]
            sides.append(_Rows(jerk, np.full(jerk.shape[:2], 1.5), np.ones(k), found.jerk_labels))
    return sides


def _least_excess(program: list[tuple[Point, list[_Rows]]]) -> tuple[np.ndarray | None, Missed]:
    """The motion with the least excess, and what holds it; None: the solver gave up."""
    space = program[0][0].space
    values, columns, borders, rooms, knots, labels = [], [], [], [], [], []
    for point, sides in program:
        for side in sides:
            count, m = side.room.shape
            places = space.windows(np.arange(space.size))[point.intervals]
            values.append((side.slope @ point.basis).reshape(-1, 3))
            columns.append(np.repeat(places, m, axis=0))
            borders.append(np.tile(side.weight, count))
            rooms.append(side.room.ravel())
            knots.append(np.repeat(point.knots, m))
            labels += list(side.labels) * count
    table, at, border = np.concatenate(values), np.concatenate(columns), np.concatenate(borders)
    rows = np.repeat(np.arange(len(table)), 3)
    everything = np.concatenate([table.ravel(), -border])
    index = np.concatenate([rows, np.arange(len(table))]), np.concatenate([at.ravel(), np.full(len(table), space.size)])
    A = coo_array((everything, index), shape=(len(table), space.size + 1)).tocsr()
    found = linprog(
        np.append(np.zeros(space.size), 1.0), A_ub=A, b_ub=np.concatenate(rooms),
        bounds=[(LEAST, None)] * space.size + [(-ROOM, None)], method="highs",
    )  # fmt: skip
    if found.x is None:
        return None, Missed(np.inf, (0, labels[0]))
    force = np.where(border == 1.0, -found.ineqlin.marginals, -1.0)
    row = int(force.argmax())
    return found.x[:-1], Missed(float(found.x[-1]), (int(np.concatenate(knots)[row]), labels[row]))
