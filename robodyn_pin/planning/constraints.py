"""The limits on a grid, as functions of y = r'^2, u = r'' and w with r''' = r' w, at both ends of every interval.

    quantity   |beta y + alpha u + gamma + delta sqrt(y)| <= 1
    jerk       |e3 y + 3 e2 u + e1 w| <= 1 / sqrt(y)
    velocity   0 <= y <= most

The slacks are convex functions of the motion plus concave ones. Where the convex part is replaced by its tangent, what is
left is convex and holds no motion that the limits forbid: sequential convexification with feasible iterates.
"""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.planning.grading import Grading
from robodyn_pin.planning.spline import Space
from robodyn_pin.planning.terms import Terms

NO_LIMIT = "nothing limits the motion; give velocities, accelerations, torques or jerks"
TURN = 0.02  # share of a limit by which gravity never changes from one knot to the next
CAP = 1e6  # times the y that is usual for the path: so fast that nothing limits the motion


@dataclass(frozen=True)
class Rows:
    """Coefficients of the limits at N places; m quantities, k jerks."""

    linear: np.ndarray  # (N, m, 2) beta, alpha
    gamma: np.ndarray  # (N, m)
    delta: np.ndarray  # (N, m)
    jerk: np.ndarray  # (N, k, 3) e3, 3 e2, e1
    most: np.ndarray  # (N,) of y

    def part(self, at: slice) -> "Rows":
        """Some of the places."""
        return Rows(self.linear[at], self.gamma[at], self.delta[at], self.jerk[at], self.most[at])

    def jerks_only(self) -> "Rows":
        """Without the quantities."""
        return replace(self, linear=self.linear[:, :0], gamma=self.gamma[:, :0], delta=self.delta[:, :0])

    def paced(self, cap: float) -> "Rows":
        """With 0 <= y <= most as one more quantity; `cap` holds y where no velocity is limited."""
        most = np.minimum(self.most, cap)
        linear = np.hstack([self.linear, np.stack([2 / most, 0 * most], axis=-1)[:, None]])
        gamma, delta = (np.column_stack([x, np.full_like(most, v)]) for x, v in ((self.gamma, -1.0), (self.delta, 0.0)))
        return Rows(linear, gamma, delta, self.jerk, most)

    def unpaced(self) -> "Rows":
        """Without the quantity that `paced` added."""
        return replace(self, linear=self.linear[:, :-1], gamma=self.gamma[:, :-1], delta=self.delta[:, :-1])

    def without(self, k: int) -> "Rows":
        """Without the k-th quantity."""
        linear, gamma, delta = (np.delete(x, k, axis=1) for x in (self.linear, self.gamma, self.delta))
        return replace(self, linear=linear, gamma=gamma, delta=delta)

    def at_rest(self, still: np.ndarray) -> "Rows":
        """At an end where the quantities (m,) are `still` before and after the motion: the jerk apart."""
        return replace(self.with_rest(still), delta=0 * self.delta)

    def with_rest(self, *rests: np.ndarray) -> "Rows":
        """Quantities that are `rests` (m,) without speed and acceleration, each of them in turn: the jerk apart."""
        gamma = np.tile(np.concatenate([*rests, [-1.0]]), (len(self.gamma), 1))  # the last is y itself
        linear, delta = (np.hstack([*[x[:, :-1]] * len(rests), x[:, -1:]]) for x in (self.linear, self.delta))
        return Rows(linear, gamma, delta, self.jerk[:, :0], self.most)

    def uniform(self) -> np.ndarray:
        """y (N,) that surely keeps the limits of a place where it is the same all over."""
        room, speed, rate = np.maximum(1 - np.abs(self.gamma), 0.0), np.abs(self.linear[..., 0]), np.abs(self.delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = 2 * room / (rate + np.sqrt(rate**2 + 4 * speed * room))  # v of speed v^2 + rate v = room
            held = np.where(room > 0, np.where(speed + rate > 0, root, np.inf), 0.0) ** 2
            jerked = np.abs(self.jerk[..., 0]) ** (-2 / 3)
        return np.asarray(np.minimum(self.most, np.hstack([held, jerked]).min(axis=1, initial=np.inf)))


@dataclass(frozen=True)
class Point:
    """The limits at one place of K' neighbouring intervals."""

    space: Space
    place: float  # in the interval, from 0 to 1
    first: int  # of the intervals
    rows: Rows

    @property
    def basis(self) -> np.ndarray:
        """y, u, w of the interval's coefficients (3, 3)."""
        return self.space.basis(self.place)

    def motion(self, x: np.ndarray) -> np.ndarray:
        """y, u, w (K', 3), or what a change of the coefficients x (n,) changes of them."""
        return np.asarray(self.space.windows(x)[self.first : self.first + len(self.rows.gamma)] @ self.basis.T)

    def slacks(self, motion: np.ndarray) -> np.ndarray:
        """What is left of every limit (K', 2 (m + k)): upper sides, lower sides, of quantities, then of jerks."""
        y = motion[:, :1]
        value = (self.rows.linear @ motion[:, :2, None])[..., 0] + self.rows.gamma + self.rows.delta * np.sqrt(y)
        jerk = (self.rows.jerk @ motion[..., None])[..., 0]
        most = 1 / np.sqrt(y)
        return np.hstack([1 - value, 1 + value, most - jerk, most + jerk])

    def gradients(self, motion: np.ndarray) -> np.ndarray:
        """Of the slacks by y, u, w: (K', 2 (m + k), 3)."""
        y = motion[:, :1]
        m, k = self.rows.gamma.shape[1], self.rows.jerk.shape[1]
        g = np.zeros((len(y), 2 * (m + k), 3))
        g[:, m : 2 * m, :2] = self.rows.linear
        g[:, m : 2 * m, 0] += self.rows.delta / (2 * np.sqrt(y))
        g[:, :m] = -g[:, m : 2 * m]
        if k:
            g[:, 2 * m : 2 * m + k], g[:, 2 * m + k :] = -self.rows.jerk, self.rows.jerk
            g[:, 2 * m :, 0] -= 0.5 * y**-1.5
        return g

    def curvature(self, motion: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Second derivative by y (K',) of the weighted sum of the concave parts of the slacks, as a positive number."""
        m = self.rows.gamma.shape[1]
        side = np.where(self.rows.delta < 0, weights[:, :m], weights[:, m : 2 * m])
        return np.asarray((np.abs(self.rows.delta) * side).sum(axis=1) * motion[:, 0] ** -1.5 / 4)


@dataclass(frozen=True)
class Grid:
    """All limits of a path on the intervals between its knots."""

    points: tuple[Point, ...]
    slow: float  # y (the same all over) that surely keeps them [1/s^2]; zero where standing still does not
    cap: float  # y that holds where no limit does
    sure: tuple[Point, ...]  # those of the points that no motion may break; the rest is there for safety
    knots: Rows  # (K + 1,)


def grid(terms: Terms, grading: Grading, space: Space) -> Grid:
    """The limits on the intervals between the knots of `terms`, at both ends and in the middle.

    Where y' does not jump at the knots, quantities are held at the knots only; the jerk, which jumps there, all over.

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
    if space.smoothness == 0:
        points = [Point(space, begin, 0, left), Point(space, middle, 0, middles), Point(space, end, 0, right)]
    else:
        points = [
            Point(space, begin, 0, left),
            Point(space, middle, 0, middles),
            Point(space, end, 0, right.jerks_only()),
            Point(space, end, K - 1, right.part(slice(-1, None))),
        ]
    first, last = left.part(slice(0, 1)), right.part(slice(-1, None))
    points += [
        Point(space, begin, 0, first.at_rest(terms.still[0])),
        Point(space, end, K - 1, last.at_rest(terms.still[1])),
    ]
    turning = _turning(terms, knots, space)
    slow = min(float(x.min()) for x in (kept, between, *(point.rows.unpaced().uniform() for point in turning)))
    return Grid(tuple(points + turning), slow, cap, tuple(points), knots)


def _turning(terms: Terms, knots: Rows, space: Space) -> list[Point]:
    """Both ends of intervals where dry friction turns, with the friction of before and of after."""
    turns = np.flatnonzero(np.abs(np.diff(terms.c, axis=0)).max(axis=1, initial=0.0) > TURN)
    runs = np.split(turns, np.flatnonzero(np.diff(turns) > 1) + 1) if len(turns) else []
    found = []
    for run in runs:  # of neighbouring intervals
        first, last = int(run[0]), int(run[-1])
        for place in (0, 1):
            rows = knots.part(slice(first + place, last + place + 1))
            before, after = terms.c[max(first - 1, 0)], terms.c[min(last + 2, space.intervals)]
            found.append(Point(space, float(place), first, rows.with_rest(before, after)))
    return found


def _places(terms: Terms, grading: Grading, space: Space) -> tuple[tuple[Rows, np.ndarray], tuple[Rows, np.ndarray]]:
    """Limits at the knots and in the middle of the intervals, each with y (N,) that surely keeps them if the same all over."""
    middles = (np.arange(space.intervals) + 0.5) / space.intervals
    found = []
    for at, here in ((space.knots, terms), (middles, terms.between())):
        s1, s2, s3 = (x[:, None] for x in grading.at(at)[1:])
        linear = np.stack([here.a * s2 + here.b * s1**2, here.a * s1], axis=-1)
        third = here.q3 * s1**3 + 3 * here.q2 * s1 * s2 + here.q1 * s3
        jerk = np.stack([third, 3 * (here.q2 * s1**2 + here.q1 * s2), here.q1 * s1], axis=-1)
        with np.errstate(divide="ignore"):
            rows = Rows(linear, here.c, here.d * s1, jerk, here.fastest / s1[:, 0] ** 2)
        found.append((rows, rows.uniform()))
    return found[0], found[1]
