"""Where a limit does not even allow standing still: a motion that passes there with momentum, or the proof that none does.

The phase plane is the proof, or has motions that keep all limits but the jerk's at the knots, with more and more room. What is
near one of them and keeps all limits is where a plan can start from; best where it keeps them between the points, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import InfeasiblePlan
from robodyn_pin.planning.grid import Grid, Knots
from robodyn_pin.planning.interior_point import within
from robodyn_pin.planning.limit_check import Check, room
from robodyn_pin.planning.limits import said
from robodyn_pin.planning.nearby_start import Label, Missed, nearer
from robodyn_pin.planning.phase_plane import CELLS, course, tube
from robodyn_pin.planning.problem import CLOSE, Problem
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms

HALVINGS = 6  # of how much room a motion leaves
TRIES = 4  # with limits tightened at the knots, for a motion that keeps them between
BISECTIONS = 5
ENOUGH = 0.01  # share of the limits that a start leaves free
LITTLE = 1e-3  # excess to begin with, where the limits allow standing still
SUSPECTS = 3  # limits that may block the way alone
CONFIRM = 4  # knots to an interval, of a proof
FASTER = 3.0  # times the rate
FINER = ((4, 4000), (16, 1000))  # and cells, of proofs that take longer
MEMORY = 5_000_000  # cells at all knots
DOUBLINGS = 60  # of an excess, at most


@dataclass(frozen=True)
class Start:
    """A motion that passes with momentum."""

    x: np.ndarray  # (n,) coefficients
    seen: Check  # by the model itself


@dataclass(frozen=True)
class _Impasse:
    """A knot to which no speed leads, and what was looked at."""

    knots: Knots
    found: Terms
    cells: int
    knot: int

    @classmethod
    def of(cls, knots: Knots, found: Terms, cells: int) -> "_Impasse | None":
        """None: there are speeds that lead to every knot."""
        blocked = tube(knots, cells=cells).blocked
        return None if blocked is None else cls(knots, found, cells, blocked)

    def refused(self, exact: bool) -> InfeasiblePlan:
        """How much wider all limits must be, and the one that alone, or most of all, blocks the way."""
        knots, found, cells, knot = self.knots, self.found, self.cells, self.knot
        low, high = 0.0, max(float(_standing(found, knot).max()) - 1, LITTLE)
        for _ in range(DOUBLINGS):
            if tube(knots, 1 + high, cells).blocked is None:
                break
            low, high = high, 2 * high
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            now = tube(knots, 1 + middle, cells).blocked
            low, high, knot = (low, middle, knot) if now is None else (middle, high, now)
        order = np.argsort(-_standing(found, knot))[:SUSPECTS]
        alone = (k for k in order if tube(knots.without(k), 1.0, cells).blocked is None)
        where = knot, found.labels[next(alone, order[0])]
        how = f"over its limit at every speed that can be reached and left; with {100 * high:.2g} % more there may be a way"
        return _infeasible(found, where, how, high, exact)


def passing(problem: Problem, held: Grid) -> Start:
    """A motion strictly within the limits at points: if one is found, between them, too.

    Raises:
        InfeasiblePlan: there is none, or none was found; says which.
    """
    found = problem.terms
    here = _Impasse.of(held.knots, found, CELLS)
    if here and _finer(problem, CONFIRM, CELLS):
        raise here.refused(problem.exact or _faster(problem))
    best, missed = _roomy(problem, held, found)
    if best is None:
        for factor, cells in FINER:
            if there := _finer(problem, factor, cells):
                raise there.refused(problem.exact)
        how = "over its limit in every motion that was tried"
        raise _infeasible(found, missed.where, how, missed.excess, False)
    start: Start | None = best
    for _ in range(TRIES):
        if start is None or best.seen.worst < 0:
            break
        found = found.tightened(*room(start.seen, found))
        start, _ = _roomy(problem, problem.grid(found, problem.inner), found)
        if start is not None and start.seen.worst < best.seen.worst and within(held.points, start.x):
            best = start
    return best


def _faster(problem: Problem) -> bool:
    """Whether there is the same impasse with quantities known about a higher rate, at which all friction has saturated."""
    faster = replace(problem, rate=FASTER * problem.rate)
    return faster.exact and _finer(faster, CONFIRM, CELLS) is not None


def _finer(problem: Problem, factor: int, cells: int) -> _Impasse | None:
    """Where no speed leads from one knot to the next, with `factor` knots to an interval; None: there are some everywhere."""
    found, held = problem.finer(factor)
    return _Impasse.of(held.knots, found, min(cells, MEMORY // len(found.s)))


def _roomy(problem: Problem, held: Grid, found: Terms) -> tuple[Start | None, Missed]:
    """The motion that leaves most room between the points, or has enough; and how near others came that broke the limits at them."""
    knot, k = np.unravel_index(np.abs(found.c).argmax(), found.c.shape)
    missed = Missed(max(float(np.abs(found.c).max()) - 1, 0.0), (int(knot), found.labels[k]))  # where none is tried
    starts = []
    for flat in _courses(held.knots):
        near = nearer(held.points, found, flat)
        if isinstance(near, Missed):
            missed = near
            continue
        seen = problem.check(Profile(problem.grading, problem.space, near), CLOSE)
        if np.isfinite(seen.worst):
            starts.append(Start(near, seen))
        if seen.worst < -ENOUGH:
            break
    return min(starts, key=lambda start: start.seen.worst, default=None), missed


def _courses(knots: Knots) -> Iterator[np.ndarray]:
    """A motion with all the limits, then ones with the more and more room that a bisection finds."""
    low, high = 0.0, 1.0
    scale = high
    for _ in range(HALVINGS):
        speeds = tube(knots, scale)
        x = course(knots, speeds, scale) if speeds.blocked is None else None
        if x is not None:
            yield x
        elif scale == 1.0:
            return
        low, high = (low, scale) if x is not None else (scale, high)
        scale = (low + high) / 2


def _infeasible(found: Terms, where: tuple[int, Label], how: str, excess: float, proved: bool) -> InfeasiblePlan:
    knot, label = where
    share = float(_standing(found, knot)[found.labels.index(label)]) if label in found.labels else 0.0
    still = f" (at standstill {100 * (share - 1):.3g} % over)" if share > 1 else ""
    s = float(found.s[knot])
    none, more = ("along the path keeps", "") if proved else ("is known that keeps", "take more points, ")
    return InfeasiblePlan(
        f"no motion {none} the limits: at s = {s:.4f} {said(label)} is {how}{still}; {more}raise the limit or move the path",
        s, label, excess, proved,
    )  # fmt: skip


def _standing(found: Terms, knot: int) -> np.ndarray:
    """Shares of the limits (m,) that standing still uses; friction helps or hinders only between the ends."""
    ends = {0: found.still[0], len(found.c) - 1: found.still[1]}
    return np.abs(ends.get(knot, found.c[knot]))
