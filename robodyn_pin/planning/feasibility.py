"""Where a limit does not even allow standing still: a motion that passes there with momentum, or the proof that none does.

Linear programs that minimise how far the quantities are over their limits. Without the jerk, and with sqrt(y) replaced by a
chord or a tangent so that no motion is lost, more than zero is the proof. With tangents at a motion, so that few are won,
they lead to one that keeps the limits. Where they do not, the phase plane is the proof, or shows where to look.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from robodyn_pin.errors import InfeasiblePlan, SolverFailed
from robodyn_pin.planning.constraints import Grid, Point, Rows
from robodyn_pin.planning.grading import Grading
from robodyn_pin.planning.interior import within
from robodyn_pin.planning.phase_plane import Tube, tube
from robodyn_pin.planning.spline import Space
from robodyn_pin.planning.terms import Terms
from robodyn_pin.planning.velocity_curve import ceiling

Label = tuple[str, str]
ROOM = 0.05  # share of the limits that a motion to start from need not leave free
STEPS, FEW = 30, 10
PARTS = (0.05, 0.2, 0.5)  # of the way from the least sqrt(y) to the largest: motions to start from
BISECTIONS = 12
PLACES = np.linspace(0.0, 1.0, 21)  # in an interval, where y is looked at
PACE = 1e-3  # speeds take so little part in the excess that y stays off zero and no more
PROOF = 1e-6  # excess from which on a program proves: well above the solver's tolerance


@dataclass(frozen=True)
class _Rows:
    """(y, u, w) @ slope <= room + weight * excess, at one side of the limits of a point."""

    slope: np.ndarray  # (K', M, 3)
    room: np.ndarray  # (K', M)
    weight: np.ndarray  # (M,)
    labels: tuple[Label, ...]  # (M,)


def passing(held: Grid, found: Terms, grading: Grading) -> tuple[tuple[Point, ...], np.ndarray]:
    """Coefficients (n,) of a motion strictly within the limits at points; all points, or those that no motion may break.

    Raises:
        InfeasiblePlan: there is none, or none was found; says which.
    """
    with np.errstate(divide="ignore"):
        most = ceiling(found) / grading.at(held.points[0].space.knots)[1] ** 2
    ends = [p for p in held.sure if p.place != 0.5]
    x, excess, where = _least_excess([(p, _quantities(p, found, None, most)) for p in ends])
    if excess > PROOF:
        raise _infeasible(found, where, f"whatever the speed, {100 * excess:.3g} % over its limit", excess, True)
    x, excess, where = _nearer(held.points, found, [p.motion(x)[:, :1] for p in held.points], STEPS)
    if excess < 0:
        return held.points, x
    speeds = tube(held.knots, np.minimum(most, held.knots.most))
    if speeds.blocked is not None:
        raise _blocked(held.knots, found, speeds, np.minimum(most, held.knots.most))
    for part in PARTS:
        root = (1 - part) * np.sqrt(speeds.low) + part * np.sqrt(speeds.high)
        try:
            x, least, _ = _nearer(held.sure, found, [_at(p, root) ** 2 for p in held.sure], FEW)
        except SolverFailed:
            continue
        if least < 0:
            return held.sure, x
    how = "over its limit in every motion that was tried; none is known that keeps it"
    raise _infeasible(found, where, how, excess, False)


def _nearer(
    points: tuple[Point, ...], found: Terms, ys: list[np.ndarray], steps: int
) -> tuple[np.ndarray, float, tuple[int, Label]]:
    """A motion from tangents at y (K', 1) of each point, the excess, negative where it keeps the limits, and what holds it."""
    for _ in range(steps):
        x, excess, where = _least_excess([(p, _quantities(p, found, y)) for p, y in zip(points, ys, strict=True)])
        if excess < 0 and within(points, x) and _moves(points[0].space, x):
            return x, excess, where
        ys = [p.motion(x)[:, :1] for p in points]
    return x, max(excess, 0.0), where


def _moves(space: Space, x: np.ndarray) -> bool:
    """Whether y stays above zero between the points, too."""
    return all((space.windows(x) @ space.basis(place)[0] > 0).all() for place in PLACES)


def _at(point: Point, knots: np.ndarray) -> np.ndarray:
    """Values at the knots (K + 1,) where a point is: (K', 1)."""
    n = len(point.rows.gamma)
    begin, end = knots[point.first : point.first + n], knots[point.first + 1 : point.first + 1 + n]
    return ((1 - point.place) * begin + point.place * end)[:, None]


def _blocked(knots: Rows, found: Terms, speeds: Tube, top: np.ndarray) -> InfeasiblePlan:
    """How much wider all limits must be, and the one that alone, or most of all, blocks the way."""
    low, high = 1.0, 2.0
    while tube(knots, top, high).blocked is not None:
        low, high = high, 2 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if (now := tube(knots, top, middle)).blocked is not None else (low, middle)
        speeds = now if now.blocked is not None else speeds
    knot = speeds.blocked or 0
    order = np.argsort(-np.abs(found.c[knot]))
    alone = (k for k in order if tube(knots.without(k), top).blocked is None)
    where = knot, found.labels[next(alone, order[0])]
    how = (
        f"over its limit at every speed that can be reached and left; with {100 * (high - 1):.3g} % more there is a way"
    )
    return _infeasible(found, where, how, high - 1, True)


def _quantities(point: Point, found: Terms, y: np.ndarray | None, top: np.ndarray | None = None) -> list[_Rows]:
    """Both sides of a point's limits, at tangents at y (K', 1), or, without, so that no motion is lost.

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
    free = y is None
    y = most / 4 if y is None else np.maximum(y, 1e-9 * most)
    for sign in (1.0, -1.0):
        delta = sign * rows.delta
        chord = (delta > 0) if free else np.zeros_like(delta, bool)
        slope = np.zeros((*rows.gamma.shape, 3))
        slope[..., :2] = sign * rows.linear
        slope[..., 0] += delta * np.where(chord, 1 / np.sqrt(most), 0.5 / np.sqrt(y))
        room = 1 - sign * rows.gamma - delta * np.where(chord, 0.0, np.sqrt(y) / 2)
        sides.append(_Rows(slope, room, weight, labels[:m] if m else ()))
        if not free and rows.jerk.shape[1]:  # |jerk| sqrt(y) <= 1 at y, scaled by sqrt(y)
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
