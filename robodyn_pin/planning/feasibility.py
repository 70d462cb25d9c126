"""Where a limit does not even allow standing still: a motion that passes there with momentum, or the proof that none does.

The phase plane is the proof, or has motions that keep all limits but the jerk's at the knots, with more and more room. What is
near one of them and keeps all limits is where a plan can start from; best where it keeps them between the points, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import InfeasiblePlan
from robodyn_pin.planning.check import Check, room
from robodyn_pin.planning.constraints import Grid, Knots
from robodyn_pin.planning.grading import Grading
from robodyn_pin.planning.limits import said
from robodyn_pin.planning.nearby import Label, Missed, nearer
from robodyn_pin.planning.phase_plane import CELLS, Tube, course, tube
from robodyn_pin.planning.problem import CLOSE, Problem
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms
from robodyn_pin.planning.velocity_curve import ceiling

HALVINGS = 6  # of how much room a motion leaves
TRIES = 4  # with limits tightened at the knots, for a motion that keeps them between
BISECTIONS = 5
ENOUGH = 0.01  # share of the limits that a start leaves free
LITTLE = 1e-3  # excess to begin with, where the limits allow standing still
SUSPECTS = 3  # limits that may block the way alone
FINER = ((1, 4000), (4, 4000), (16, 1000))  # knots to an interval, and cells, of proofs that take longer


@dataclass(frozen=True)
class Start:
    """A motion that passes with momentum."""

    x: np.ndarray  # (n,) coefficients
    seen: Check  # by the model itself


def passing(problem: Problem, held: Grid) -> Start:
    """A motion strictly within the limits at points: if one is found, between them, too.

    Raises:
        InfeasiblePlan: there is none, or none was found; says which.
    """
    found = problem.terms
    _prove(problem, found, held, CELLS)
    best, missed = _roomy(problem, held, found)
    if best is None:
        for factor, cells in FINER:
            _prove(problem, *problem.finer(factor), cells)
        how = "over its limit in every motion that was tried; none is known that keeps it"
        raise _infeasible(found, missed.where, how, missed.excess, False)
    start: Start | None = best
    for _ in range(TRIES):
        if start is None or best.seen.worst < 0:
            break
        found = found.tightened(*room(start.seen, found))
        start, _ = _roomy(problem, problem.grid(found, problem.inner), found)
        best = min(best, start or best, key=lambda start: start.seen.worst)
    return best


def _prove(problem: Problem, found: Terms, held: Grid, cells: int) -> None:
    """Raise InfeasiblePlan where no speed leads from one knot to the next."""
    top = _top(held, found, problem.grading)
    speeds = tube(held.knots, top, cells=cells)
    if speeds.blocked is not None:
        raise _blocked(held.knots, found, speeds, top, cells)


def _roomy(problem: Problem, held: Grid, found: Terms) -> tuple[Start | None, Missed]:
    """The motion that leaves most room between the points, or has enough; and how near others came that broke the limits at them."""
    top, missed = _top(held, found, problem.grading), Missed(np.inf, (0, found.labels[0]))
    starts = []
    for flat in _courses(held.knots, top):
        near = nearer(held.points, found, flat)
        if isinstance(near, Missed):
            missed = min(missed, near, key=lambda missed: missed.excess)
            continue
        seen = problem.check(Profile(problem.grading, problem.space, near), CLOSE)
        starts += [Start(near, seen)] * bool(np.isfinite(seen.worst))
        if seen.worst < -ENOUGH:
            break
    return min(starts, key=lambda start: start.seen.worst, default=None), missed


def _top(held: Grid, found: Terms, grading: Grading) -> np.ndarray:
    """y (K + 1,) at the knots that no motion exceeds."""
    slope = grading.at(held.points[0].space.knots)[1]
    with np.errstate(divide="ignore"):
        return np.minimum(ceiling(found) / slope**2, held.knots.rows.most)


def _courses(knots: Knots, top: np.ndarray) -> Iterator[np.ndarray]:
    """A motion with all the limits, then ones with the more and more room that a bisection finds."""
    low, high = 0.0, 1.0
    scale = high
    for _ in range(HALVINGS):
        speeds = tube(knots, top, scale)
        x = course(knots, speeds, scale) if speeds.blocked is None else None
        if x is not None:
            yield x
        elif scale == 1.0:
            return
        low, high = (low, scale) if x is not None else (scale, high)
        scale = (low + high) / 2


def _blocked(knots: Knots, found: Terms, speeds: Tube, top: np.ndarray, cells: int = CELLS) -> InfeasiblePlan:
    """How much wider all limits must be, and the one that alone, or most of all, blocks the way."""
    held = _standing(found, speeds.blocked or 0)
    low, high = 0.0, max(float(held.max()) - 1, LITTLE)
    while tube(knots, top, 1 + high, cells).blocked is not None:
        low, high = high, 2 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        now = tube(knots, top, 1 + middle, cells)
        low, high, speeds = (low, middle, speeds) if now.blocked is None else (middle, high, now)
    knot = speeds.blocked or 0
    order = np.argsort(-_standing(found, knot))[:SUSPECTS]
    alone = (k for k in order if tube(knots.without(k), top, 1.0, cells).blocked is None)
    where = knot, found.labels[next(alone, order[0])]
    how = f"over its limit at every speed that can be reached and left; with {100 * high:.2g} % more there is a way"
    return _infeasible(found, where, how, high, True)


def _infeasible(found: Terms, where: tuple[int, Label], how: str, excess: float, proved: bool) -> InfeasiblePlan:
    knot, label = where
    share = float(_standing(found, knot)[found.labels.index(label)]) if label in found.labels else 0.0
    still = f" (at standstill {100 * (share - 1):.3g} % over)" if share > 1 else ""
    s = float(found.s[knot])
    return InfeasiblePlan(
        f"no motion along the path keeps the limits: at s = {s:.4f} {said(label)} is {how}{still}; raise the limit "
        "or move the path", s, label, excess, proved,
    )  # fmt: skip


def _standing(found: Terms, knot: int) -> np.ndarray:
    """Shares of the limits (m,) that standing still uses; friction helps or hinders only between the ends."""
    ends = {0: found.still[0], len(found.c) - 1: found.still[1]}
    return np.abs(ends.get(knot, found.c[knot]))
