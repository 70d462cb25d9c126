"""The limits of a path on a grid: at both ends and in the middle of every interval between the knots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.limit_rows import ConstraintSet, LimitRows, MiddleCoefficientSet, rows_at
from robodyn_pin.planning.parabolas import ALL, SplineSpace
from robodyn_pin.planning.search_limits import SearchLimits
from robodyn_pin.planning.terms import PerLimit, Terms, dry_friction_range, standstill_range

NO_LIMIT = "nothing limits the motion; give velocities, accelerations, torques or jerks"
CAP = 1e6  # times the y that is usual for the path: only a motion that nothing limits gets near it


@dataclass(frozen=True)
class KnotLimits:
    """The quantities' limits at all knots, for the sweeps over the phase plane."""

    rows: LimitRows  # (K + 1,) the speed is their last quantity
    friction_spread: np.ndarray  # (K + 1, m) half of the range of gamma, with and without dry friction at the ends
    middles: "KnotLimits | None" = None  # of the outer intervals (2,): at the outer knots no limit contains u

    def without(self, k: int) -> "KnotLimits":
        """Return the limits without the k-th quantity."""
        linear, gamma, delta, spread = (
            np.delete(x, k, axis=1) for x in (self.rows.linear, self.rows.gamma, self.rows.delta, self.friction_spread)
        )
        rows = replace(self.rows, linear=linear, gamma=gamma, delta=delta)
        return KnotLimits(rows, spread, self.middles.without(k) if self.middles else None)


@dataclass(frozen=True)
class Grid:
    """All limits of a path on the intervals between its knots."""

    constraints: tuple[ConstraintSet, ...]
    slow_y: float  # constant y [1/s^2] that keeps all of them; zero where a limit forbids standstill
    y_cap: float  # upper bound of y where no limit gives one
    knot_limits: KnotLimits

    @cached_property
    def search_limits(self) -> SearchLimits:
        """The same limits as a search evaluates them."""
        return SearchLimits(self.constraints)


def make_grid(terms: Terms, grading: Grading, space: SplineSpace, momentum: bool) -> Grid:
    """Return the limits on the intervals between the knots of `terms`.

    With smoothness 0 quantities jump at a knot, so both sides of it are limited; with smoothness 1 only the jerk jumps
    there.

    Where dry friction reverses in an interval, both of its ends are limited with the friction of before and with that
    of after, so that slow motion keeps the limits wherever in the interval the friction reverses. A motion that can
    pass only with `momentum` would be refused by this; it has limits inside such intervals instead (see
    `Problem.grid`), and a constraint that keeps y positive, as no slow motion does.

    Raises:
        RobodynError: nothing limits the motion.
    """
    K, begin, middle, end = space.intervals, 0.0, 0.5, 1.0
    knots = rows_at(terms, grading, space.knots)
    middles = rows_at(terms.at_midpoints(), grading, (np.arange(K) + middle) / K)
    constant_y, between = knots.constant_y(), middles.constant_y()
    if not np.isfinite(constant_y).any():
        raise RobodynError(NO_LIMIT)
    usual = constant_y[np.isfinite(constant_y) & (constant_y > 0)]
    cap = CAP * float(np.median(usual)) if len(usual) else CAP
    knots, middles = knots.with_speed(cap), middles.with_speed(cap)
    left, right = knots.at(slice(None, -1)), knots.at(slice(1, None))
    outer_intervals, outer_knots = np.array([0, K - 1]), knots.at(np.array([0, K]))
    constraints = [ConstraintSet(space, ALL, begin, left), ConstraintSet(space, ALL, middle, middles)]
    if space.smoothness == 0:
        constraints += [ConstraintSet(space, ALL, end, right)]
    else:
        last = outer_intervals[1:]
        constraints += [ConstraintSet(space, ALL, end, right.without_quantities())]
        constraints += [ConstraintSet(space, last, end, right.at(last))]
    standing = ConstraintSet(space, outer_intervals, np.array([begin, end]), outer_knots.standing(terms.standstill))
    constraints += [standing]
    knot_limits = _knot_limits(terms, knots, middles)
    if momentum:
        positive = MiddleCoefficientSet(space, ALL, middle, middles.only_speed(cap))
        return Grid((*constraints, positive), 0.0, cap, knot_limits)
    reversing = _reversing(terms, knots, space)
    at_standstill = (part.rows.without_speed().constant_y() for part in (standing, *reversing))
    slow_y = min(float(y.min()) for y in (constant_y, between, *at_standstill))
    return Grid((*constraints, *reversing), slow_y, cap, knot_limits)


def _reversing(terms: Terms, knots: LimitRows, space: SplineSpace) -> list[ConstraintSet]:
    """Return the limits at both ends of intervals with a friction reversal, for the friction before and after it."""
    k = terms.reversals
    if not len(k):
        return []
    at, places = np.concatenate([k, k + 1]), np.repeat([0.0, 1.0], len(k))
    low, high = standstill_range(terms)
    return [ConstraintSet(space, np.tile(k, 2), places, knots.at(at).with_gammas(low[at], high[at]))]


def _knot_limits(terms: Terms, knots: LimitRows, middles: LimitRows) -> KnotLimits:
    """Return the limits at the knots, with friction or without at both ends of the path and in the outer intervals."""
    low, high = dry_friction_range(terms)
    least, most = (np.stack([pick(x[:2], axis=0), pick(x[-2:], axis=0)]) for pick, x in ((np.min, low), (np.max, high)))
    outer = middles.at(np.array([0, len(middles.gamma) - 1]))
    return replace(_spread(knots, low, high), middles=_spread(outer, least, most))


def _spread(rows: LimitRows, low: np.ndarray, high: np.ndarray) -> KnotLimits:
    """Return the limits with gamma between two bounds (N, m); the last quantity, the speed, has no friction."""
    gamma = np.column_stack([(low + high) / 2, rows.gamma[:, -1]])
    return KnotLimits(replace(rows, gamma=gamma), np.column_stack([(high - low) / 2, np.zeros(len(low))]))


def used_shares(constraints: Sequence[ConstraintSet], x: np.ndarray, terms: Terms) -> PerLimit:
    """Return the largest shares of the limits that a motion x (n,) uses in the two intervals beside each knot."""
    K, m, k = len(terms.s) - 1, len(terms.labels), len(terms.jerk_labels)
    most = np.zeros((K, m + k + 1))
    for part in constraints:
        motion = part.motion(x)
        y = motion[:, :1]
        value, jerk = part.values(motion)
        jerk = jerk * np.sqrt(y)
        shares = np.zeros((len(value), m + k + 1))
        for j in range(0, value.shape[1] - 1, max(m, 1)):  # the quantities occur once for each friction
            shares[:, :m] = np.maximum(shares[:, :m], np.abs(value[:, j : j + m]))
        shares[:, m : m + jerk.shape[1]] = np.abs(jerk)
        shares[:, -1] = np.sqrt(y[:, 0] / part.rows.max_y)
        np.maximum.at(most, np.arange(K)[part.intervals], shares)
    beside = beside_knots(most)
    return beside[:, :m], beside[:, m:-1], beside[:, -1]


def beside_knots(most: np.ndarray) -> np.ndarray:
    """Return the larger value (K + 1, m) of the two intervals beside each knot, from values of the intervals (K, m)."""
    return np.vstack([most[:1], np.maximum(most[1:], most[:-1]), most[-1:]])
