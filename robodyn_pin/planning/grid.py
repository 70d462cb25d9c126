"""The limits of a path on a grid: at both ends and in the middle of every interval."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.limit_rows import Coefficient, Point, Rows, rows_at
from robodyn_pin.planning.parabolas import ALL, Space
from robodyn_pin.planning.terms import Terms, rests

NO_LIMIT = "nothing limits the motion; give velocities, accelerations, torques or jerks"
CAP = 1e6  # times the y that is usual for the path: so fast that nothing limits the motion


@dataclass(frozen=True)
class Knots:
    """The quantities at all knots, for sweeps over the phase plane."""

    rows: Rows  # (K + 1,) paced
    spread: np.ndarray  # (K + 1, m) to both sides, where the motion begins and ends: friction may be there or not
    middles: "Knots | None" = None  # of the first and of the last interval (2,), whose outer ends know no acceleration

    def without(self, k: int) -> "Knots":
        """Without the k-th quantity."""
        linear, gamma, delta, spread = (
            np.delete(x, k, axis=1) for x in (self.rows.linear, self.rows.gamma, self.rows.delta, self.spread)
        )
        rows = replace(self.rows, linear=linear, gamma=gamma, delta=delta)
        return Knots(rows, spread, self.middles.without(k) if self.middles else None)


@dataclass(frozen=True)
class Grid:
    """All limits of a path on the intervals between its knots."""

    points: tuple[Point, ...]
    slow: float  # y (the same all over) that surely keeps them [1/s^2]; zero where standing still does not
    cap: float  # y that holds where no limit does
    knots: Knots


def grid(terms: Terms, grading: Grading, space: Space, momentum: bool) -> Grid:
    """The limits on the intervals between the knots of `terms`, at both ends and in the middle.

    Where y' does not jump at the knots quantities are the same on both sides; the jerk jumps there. Both ends
    of intervals in which friction turns know the friction of before and of after: slow motion keeps the limits. Where it cannot
    and the motion passes with `momentum` that would be too much, and y must be told to stay above zero.

    Raises:
        RobodynError: nothing limits the motion.
    """
    K, (knots, kept), (middles, between) = space.intervals, *_places(terms, grading, space)
    if not np.isfinite(kept).any():
        raise RobodynError(NO_LIMIT)
    usual = kept[np.isfinite(kept) & (kept > 0)]
    cap = CAP * float(np.median(usual)) if len(usual) else CAP
    knots, middles = knots.paced(cap), middles.paced(cap)
    begin, middle, end = 0.0, 0.5, 1.0
    left, right = knots.part(slice(None, -1)), knots.part(slice(1, None))
    points = [Point(space, ALL, begin, left), Point(space, ALL, middle, middles)]
    ends, outer = np.array([0, K - 1]), knots.part(np.array([0, K]))
    if space.smoothness == 0:
        points += [Point(space, ALL, end, right)]
    else:
        points += [Point(space, ALL, end, right.jerks_only()), Point(space, ends[1:], end, right.part(ends[1:]))]
    rest = Point(space, ends, np.array([begin, end]), outer.at_rest(terms.still))
    points += [rest]
    if momentum:
        return Grid(
            (*points, Coefficient(space, ALL, middle, middles.speeds_only(cap))),
            0.0,
            cap,
            _knots(terms, knots, middles),
        )
    turned = _turned(terms, knots, space)
    slow = min(float(x.min()) for x in (kept, between, *(point.rows.unpaced().uniform() for point in (rest, *turned))))
    return Grid(tuple(points + turned), slow, cap, _knots(terms, knots, middles))


def _turned(terms: Terms, knots: Rows, space: Space) -> list[Point]:
    """Both ends of intervals in which dry friction turns, with the friction of before and of after."""
    if not len(terms.turns):
        return []
    at, places = np.concatenate([terms.turns, terms.turns + 1]), np.repeat([0.0, 1.0], len(terms.turns))
    low, high = rests(terms)
    return [Point(space, np.tile(terms.turns, 2), places, knots.part(at).with_rest(low[at], high[at]))]


def _knots(terms: Terms, knots: Rows, middles: Rows) -> Knots:
    """With the friction of standing still at both ends, too, and in the middle of the outer intervals any in between."""
    low, high = terms.c.copy(), terms.c.copy()
    low[[0, -1]], high[[0, -1]] = np.minimum(low[[0, -1]], terms.still), np.maximum(high[[0, -1]], terms.still)
    first, last = slice(0, 2), slice(-2, None)
    least, most = (
        np.stack([pick(x[first], axis=0), pick(x[last], axis=0)]) for pick, x in ((np.min, low), (np.max, high))
    )
    outer = middles.part(np.array([0, len(middles.gamma) - 1]))
    return replace(_between(knots, low, high), middles=_between(outer, least, most))


def _between(rows: Rows, low: np.ndarray, high: np.ndarray) -> Knots:
    """With friction between bounds (N, m); the last quantity is y itself."""
    gamma = np.column_stack([(low + high) / 2, rows.gamma[:, -1]])
    return Knots(replace(rows, gamma=gamma), np.column_stack([(high - low) / 2, np.zeros(len(low))]))


def used(points: Sequence[Point], x: np.ndarray, terms: Terms) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of the limits that a motion x (n,) uses in the intervals beside the knots: (K + 1, m), jerks (K + 1, k), speeds (K + 1,)."""
    K, m, k = len(terms.s) - 1, len(terms.labels), len(terms.jerk_labels)
    most = np.zeros((K, m + k + 1))
    for point in points:
        motion, rows = point.motion(x), point.rows
        y = motion[:, :1]
        value = (rows.linear @ motion[:, :2, None])[..., 0] + rows.gamma + rows.delta * np.sqrt(y)
        jerk = (rows.jerk @ motion[..., None])[..., 0] * np.sqrt(y)
        here = np.zeros((len(value), m + k + 1))
        for j in range(0, value.shape[1] - 1, max(m, 1)):  # quantities once for each friction
            here[:, :m] = np.maximum(here[:, :m], np.abs(value[:, j : j + m]))
        here[:, m : m + jerk.shape[1]] = np.abs(jerk)
        here[:, -1] = np.sqrt(y[:, 0] / rows.most)
        np.maximum.at(most, np.arange(K)[point.intervals], here)
    beside = np.vstack([most[:1], np.maximum(most[1:], most[:-1]), most[-1:]])
    return beside[:, :m], beside[:, m:-1], beside[:, -1]


def _places(terms: Terms, grading: Grading, space: Space) -> tuple[tuple[Rows, np.ndarray], tuple[Rows, np.ndarray]]:
    """Limits at the knots and in the middle of the intervals, each with y (N,) that surely keeps them if the same all over."""
    middles = (np.arange(space.intervals) + 0.5) / space.intervals
    knots, between = rows_at(terms, grading, space.knots), rows_at(terms.between(), grading, middles)
    return (knots, knots.uniform()), (between, between.uniform())
