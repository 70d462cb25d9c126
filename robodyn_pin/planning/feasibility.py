"""Where a limit does not even allow standing still: a motion that passes there with momentum, or the proof that none does.

Linear programs that minimise how far the quantities are over their limits. Without the jerk, and with sqrt(y) replaced by a
chord or a tangent so that no motion is lost, more than zero is the proof. With tangents at a motion, so that few are won,
they lead to one that keeps the limits.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from robodyn_pin.errors import InfeasiblePlan, SolverFailed
from robodyn_pin.planning.constraints import Grid, Point
from robodyn_pin.planning.grading import Grading
from robodyn_pin.planning.interior import within
from robodyn_pin.planning.objectives import Time
from robodyn_pin.planning.terms import Terms
from robodyn_pin.planning.velocity_curve import ceiling

Label = tuple[str, str]
ROOM = 0.05  # share of the limits that a motion to start from need not leave free
STEPS = 30
PACE = 1e-3  # speeds take so little part in the excess that y stays off zero and no more
PROOF = 1e-6  # excess from which on a program proves: well above the solver's tolerance


@dataclass(frozen=True)
class _Rows:
    """(y, u, w) @ slope <= room + weight * excess, at one side of the limits of a point."""

    slope: np.ndarray  # (K', M, 3)
    room: np.ndarray  # (K', M)
    weight: np.ndarray  # (M,)
    labels: tuple[Label, ...]  # (M,)


def passing(held: Grid, found: Terms, grading: Grading) -> np.ndarray:
    """Coefficients (n,) of a motion strictly within the limits.

    Raises:
        InfeasiblePlan: there is none, or none was found; says which.
    """
    with np.errstate(divide="ignore"):
        most = ceiling(found) / grading.at(held.points[0].space.knots)[1] ** 2
    ends = [p for p in held.sure if p.place != 0.5]
    x, excess, where = _least_excess([(p, _quantities(p, found, None, most)) for p in ends])
    if excess > PROOF:
        raise _infeasible(found, where, f"whatever the speed, {100 * excess:.3g} % over its limit", excess, True)
    for _ in range(STEPS):
        x, excess, where = _least_excess([(p, _quantities(p, found, x)) for p in held.points])
        if excess < 0 and within(held.points, x) and np.isfinite(Time(held.points[0].space, 1.0).value(x)):
            return x
    how = "over its limit in every motion that was tried; none is known that keeps it"
    raise _infeasible(found, where, how, excess, False)


def _quantities(point: Point, found: Terms, x: np.ndarray | None, top: np.ndarray | None = None) -> list[_Rows]:
    """Both sides of a point's limits, at a motion x (n,), or, without one, so that no motion is lost.

    `top` (K + 1,): y at the knots that none exceeds.
    """
    rows, sides = point.rows, []
    m = rows.gamma.shape[1]
    labels = (*found.labels * ((m - 1) // max(len(found.labels), 1)), ("velocity", ""))
    weight = np.where(np.arange(m) == m - 1, PACE, 1.0)
    most = 2 / rows.linear[:, -1:, 0] if m else np.ones((len(rows.gamma), 1))
    if top is not None:
        first = point.first + round(point.place)
        most = np.clip(top[first : first + len(most), None], 1e-9 * most, most)
    y = most / 4 if x is None else np.maximum(point.motion(x)[:, :1], 1e-9 * most)
    for sign in (1.0, -1.0):
        delta = sign * rows.delta
        chord = (delta > 0) if x is None else np.zeros_like(delta, bool)
        slope = np.zeros((*rows.gamma.shape, 3))
        slope[..., :2] = sign * rows.linear
        slope[..., 0] += delta * np.where(chord, 1 / np.sqrt(most), 0.5 / np.sqrt(y))
        room = 1 - sign * rows.gamma - delta * np.where(chord, 0.0, np.sqrt(y) / 2)
        sides.append(_Rows(slope, room, weight, labels[:m] if m else ()))
        if x is not None and rows.jerk.shape[1]:  # |jerk| sqrt(y) <= 1 at y, scaled by sqrt(y)
            jerk = sign * rows.jerk * np.sqrt(y)[..., None]
            jerk[..., 0] += 0.5 / y
            k = rows.jerk.shape[1]
            sides.append(_Rows(jerk, np.full(jerk.shape[:2], 1.5), np.ones(k), found.jerk_labels))
    return sides


def _least_excess(program: list[tuple[Point, list[_Rows]]]) -> tuple[np.ndarray, float, tuple[int, Label]]:
    """The motion with the least excess, the excess, and the knot and the limit that hold it there."""
    space = program[0][0].space
    values, columns, borders, rooms, knots, labels = [], [], [], [], [], []
    for point, sides in program:
        for side in sides:
            count, m = side.room.shape
            places = space.windows(np.arange(space.size))[point.first : point.first + count]
            values.append((side.slope @ point.basis).reshape(-1, 3))
            columns.append(np.repeat(places, m, axis=0))
            borders.append(np.tile(side.weight, count))
            rooms.append(side.room.ravel())
            knots.append(np.repeat(point.first + np.arange(count) + round(point.place), m))
            labels += list(side.labels) * count
    table, at, border = np.concatenate(values), np.concatenate(columns), np.concatenate(borders)
    rows = np.repeat(np.arange(len(table)), 3)
    everything = np.concatenate([table.ravel(), -border])
    index = np.concatenate([rows, np.arange(len(table))]), np.concatenate([at.ravel(), np.full(len(table), space.size)])
    A = coo_array((everything, index), shape=(len(table), space.size + 1)).tocsr()
    found = linprog(
        np.append(np.zeros(space.size), 1.0), A_ub=A, b_ub=np.concatenate(rooms),
        bounds=[(None, None)] * space.size + [(-ROOM, None)], method="highs",
    )  # fmt: skip
    if found.x is None:
        raise SolverFailed(f"no answer to whether the limits allow a motion: {found.message}", str(found.status))
    force = np.where(border == 1.0, -found.ineqlin.marginals, -1.0)
    row = int(force.argmax())
    return found.x[:-1], float(found.x[-1]), (int(np.concatenate(knots)[row]), labels[row])


def _infeasible(found: Terms, where: tuple[int, Label], how: str, excess: float, proved: bool) -> InfeasiblePlan:
    knot, (kind, name) = where
    still = ""
    if (kind, name) in found.labels:
        share = float(np.abs(found.c[knot, found.labels.index((kind, name))]))
        still = f" (at standstill {100 * (share - 1):.3g} % over)" if share > 1 else ""
    s = float(found.s[knot])
    return InfeasiblePlan(
        f"no motion along the path keeps the limits: at s = {s:.4f} the {kind} of {name!r} is {how}{still}; raise the limit "
        "or move the path", s, (kind, name), excess, proved,
    )  # fmt: skip
