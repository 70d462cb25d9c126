"""Where a limit forbids even standstill: a motion that passes there with momentum, or the proof that no motion does.

The phase plane decides. Either its sweeps block a knot, which is the proof, or they yield motions that keep all limits
but the jerk's at the knots, with more and more room. A feasible motion near one of those is where the search for the
fastest begins; best if it keeps the limits between the knots, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import InfeasiblePlan
from robodyn_pin.planning.grid import Grid, KnotLimits, make_grid
from robodyn_pin.planning.interior_point import strictly_feasible
from robodyn_pin.planning.limit_check import LimitCheck, tightening_factors
from robodyn_pin.planning.limits import limit_phrase
from robodyn_pin.planning.nearby_start import Label, Miss, nearby_start
from robodyn_pin.planning.phase_plane import CELLS, motion_within, speed_range
from robodyn_pin.planning.problem import CLOSE, Problem
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms

ROOM_BISECTIONS = 6  # for how much room a motion can leave at the knots
TRIES = 4  # with limits tightened at the knots, for a start that keeps them between the knots
ENOUGH = 0.01  # share of the limits that a start leaves free, after which none with more room is sought
FIRST_EXCESS = 1e-3  # the first widening of the limits that is tried, where standstill keeps them
DOUBLINGS = 60  # of the widening, at most
BISECTIONS = 5  # for the widening that opens the way
SUSPECTS = 3  # limits of which each is left out to see whether it alone blocks the way
CONFIRMING = (4, CELLS)  # times as many knots, and cells at each: the grid that confirms a blocked knot
FINER = ((4, 4000), (16, 1000))  # likewise: the grids of proofs that take longer
FASTER = 3.0  # times the reference rate
MEMORY = 5_000_000  # cells at all knots together, at most


@dataclass(frozen=True)
class MomentumStart:
    """A feasible motion that passes with momentum."""

    x: np.ndarray  # (n,) coefficients
    checked: LimitCheck


@dataclass(frozen=True)
class _Blocked:
    """A knot that no motion passes, and the limits and cells that prove it."""

    limits: KnotLimits
    terms: Terms
    cells: int
    knot: int

    def error(self, exact: bool) -> InfeasiblePlan:
        """Return the error: how much wider all limits must be, and which limit blocks the way alone, or most of all.

        `exact`: the terms are exact at all speeds, so that this is a proof.
        """
        limits, terms, cells, knot = self.limits, self.terms, self.cells, self.knot
        low, high = 0.0, max(float(_standstill_shares(terms, knot).max()) - 1, FIRST_EXCESS)
        for _ in range(DOUBLINGS):
            if speed_range(limits, 1 + high, cells).blocked is None:
                break
            low, high = high, 2 * high
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            blocked = speed_range(limits, 1 + middle, cells).blocked
            low, high, knot = (low, middle, knot) if blocked is None else (middle, high, blocked)
        suspects = np.argsort(-_standstill_shares(terms, knot))[:SUSPECTS]
        alone = (k for k in suspects if speed_range(limits.without(k), 1.0, cells).blocked is None)
        label = terms.labels[next(alone, suspects[0])]
        how = "over its limit at every speed that can be reached and left; "
        how += f"with {100 * high:.2g} % more there may be a way"
        return _at_knot(terms, Miss(high, knot, label), how, exact)


def momentum_start(problem: Problem, grid: Grid) -> MomentumStart:
    """Return a motion strictly within the limits at the knots and, if one is found, between them, too.

    Raises:
        InfeasiblePlan: no motion exists, or none was found; it says which.
    """
    terms = problem.terms
    blocked = _blocked(grid.knot_limits, terms, CELLS)
    if blocked and _blocked_on_finer_grid(problem, *CONFIRMING):
        raise blocked.error(problem.exact or _blocked_at_higher_rate(problem))
    best, miss = _roomiest_start(problem, grid, terms)
    if best is None:
        for factor, cells in FINER:
            if blocked := _blocked_on_finer_grid(problem, factor, cells):
                raise blocked.error(problem.exact)
        raise _at_knot(terms, miss, "over its limit in every motion that was tried", proved=False)
    start: MomentumStart | None = best
    for _ in range(TRIES):
        if start is None or best.checked.worst < 0:
            break
        terms = terms.tightened(tightening_factors(start.checked, terms))
        start, _ = _roomiest_start(problem, problem.grid(terms, problem.reversal_limits), terms)
        better = start is not None and start.checked.worst < best.checked.worst
        if start is not None and better and strictly_feasible(grid.search_limits, start.x):
            best = start
    return best


def _blocked(limits: KnotLimits, terms: Terms, cells: int) -> _Blocked | None:
    """Return the knot that no motion passes; None: there are speeds at every knot."""
    knot = speed_range(limits, cells=cells).blocked
    return None if knot is None else _Blocked(limits, terms, cells, knot)


def _blocked_on_finer_grid(problem: Problem, factor: int, cells: int) -> _Blocked | None:
    """As `_blocked`, with `factor` times as many knots."""
    finer = problem.refined(factor)
    limits = make_grid(finer.terms, finer.grading, finer.space, momentum=True).knot_limits
    return _blocked(limits, finer.terms, min(cells, MEMORY // len(finer.terms.s)))


def _blocked_at_higher_rate(problem: Problem) -> bool:
    """Return whether terms about a higher rate, where all friction has saturated, are exact and block the way, too."""
    faster = replace(problem, reference_rate=FASTER * problem.reference_rate)
    return faster.exact and _blocked_on_finer_grid(faster, *CONFIRMING) is not None


def _roomiest_start(problem: Problem, grid: Grid, terms: Terms) -> tuple[MomentumStart | None, Miss]:
    """Return a motion with the most room between the knots, or enough; and the last miss of those that broke limits."""
    knot, k = np.unravel_index(np.abs(terms.c).argmax(), terms.c.shape)
    miss = Miss(max(float(np.abs(terms.c).max()) - 1, 0.0), int(knot), terms.labels[k])  # where no motion is tried
    starts = []
    for motion in _motions_with_more_room(grid.knot_limits):
        near = nearby_start(grid, terms, motion)
        if isinstance(near, Miss):
            miss = near
            continue
        checked = problem.check(Profile(problem.grading, problem.space, near), CLOSE)
        if np.isfinite(checked.worst):
            starts.append(MomentumStart(near, checked))
        if checked.worst < -ENOUGH:
            break
    return min(starts, key=lambda start: start.checked.worst, default=None), miss


def _motions_with_more_room(limits: KnotLimits) -> Iterator[np.ndarray]:
    """Yield a motion within the limits at the knots, then those that a bisection finds within a share of the limits."""
    low, high = 0.0, 1.0
    share = high
    for _ in range(ROOM_BISECTIONS):
        speeds = speed_range(limits, share)
        x = motion_within(limits, speeds, share) if speeds.blocked is None else None
        if x is not None:
            yield x
        elif share == 1.0:
            return
        low, high = (low, share) if x is not None else (share, high)
        share = (low + high) / 2


def _at_knot(terms: Terms, miss: Miss, how: str, proved: bool) -> InfeasiblePlan:
    """Return the error for a limit that is missed at a knot; it tells how much of the limit standstill uses there."""
    label, share = miss.label, 0.0
    if label in terms.labels:
        share = float(_standstill_shares(terms, miss.knot)[terms.labels.index(label)])
    standing = f" (at standstill {100 * (share - 1):.3g} % over)" if share > 1 else ""
    return infeasible(float(terms.s[miss.knot]), label, miss.excess, how + standing, proved)


def infeasible(s: float, label: Label, excess: float, how: str, proved: bool) -> InfeasiblePlan:
    """Return the error for a task without motion: none exists (`proved`), or none was found."""
    none, more = ("along the path keeps", "") if proved else ("is known that keeps", "take more points, ")
    reason = f"no motion {none} the limits: at s = {s:.4f} {limit_phrase(label)} is {how}"
    return InfeasiblePlan(f"{reason}; {more}raise the limit or move the path", s, label, excess, proved)


def _standstill_shares(terms: Terms, knot: int) -> np.ndarray:
    """Return the shares of the limits (m,) that standstill uses, with dry friction except at the ends of the path."""
    ends = {0: terms.standstill[0], len(terms.c) - 1: terms.standstill[1]}
    return np.abs(ends.get(knot, terms.c[knot]))
