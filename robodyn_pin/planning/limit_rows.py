"""The limits at places of intervals, as functions of y = r'^2, u = r'' and w with r''' = r' w.

    quantity   |beta y + alpha u + gamma + delta sqrt(y)| <= 1
    jerk       |e3 y + 3 e2 u + e1 w| <= 1 / sqrt(y)
    velocity   0 <= y <= most

The slacks are convex functions of the motion plus concave ones. Where the convex part is replaced by its tangent, what is
left is convex and holds no motion that the limits forbid: sequential convexification with feasible iterates.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.parabolas import Intervals, Space
from robodyn_pin.planning.terms import Terms


@dataclass(frozen=True)
class Rows:
    """Coefficients of the limits at N places; m quantities, k jerks."""

    linear: np.ndarray  # (N, m, 2) beta, alpha
    gamma: np.ndarray  # (N, m)
    delta: np.ndarray  # (N, m)
    jerk: np.ndarray  # (N, k, 3) e3, 3 e2, e1
    most: np.ndarray  # (N,) of y

    def part(self, at: Intervals) -> "Rows":
        """Some of the places."""
        return Rows(self.linear[at], self.gamma[at], self.delta[at], self.jerk[at], self.most[at])

    def jerks_only(self) -> "Rows":
        """Without the quantities."""
        return replace(self, linear=self.linear[:, :0], gamma=self.gamma[:, :0], delta=self.delta[:, :0])

    def speeds_only(self, cap: float) -> "Rows":
        """Only 0 <= y <= cap."""
        none = replace(self.jerks_only(), jerk=self.jerk[:, :0], most=np.full_like(self.most, cap))
        return none.paced(cap)

    def paced(self, cap: float) -> "Rows":
        """With 0 <= y <= most as one more quantity; `cap` holds y where no velocity is limited."""
        most = np.minimum(self.most, cap)
        linear = np.hstack([self.linear, np.stack([2 / most, 0 * most], axis=-1)[:, None]])
        gamma, delta = (np.column_stack([x, np.full_like(most, v)]) for x, v in ((self.gamma, -1.0), (self.delta, 0.0)))
        return Rows(linear, gamma, delta, self.jerk, most)

    def unpaced(self) -> "Rows":
        """Without the quantity that `paced` added."""
        return replace(self, linear=self.linear[:, :-1], gamma=self.gamma[:, :-1], delta=self.delta[:, :-1])

    def at_rest(self, still: np.ndarray) -> "Rows":
        """At an end where the quantities (1, m) are `still` before and after the motion: the jerk apart."""
        return replace(self.with_rest(still), delta=0 * self.delta)

    def with_rest(self, *rests: np.ndarray) -> "Rows":
        """Quantities that are `rests` (N, m) without speed and acceleration, each of them in turn: the jerk apart."""
        gamma = np.hstack([*rests, self.gamma[:, -1:]])  # the last is y itself
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
    """The limits at a place of each of K' intervals."""

    space: Space
    intervals: Intervals  # (K',)
    place: float | np.ndarray  # (K',) in the intervals, from 0 to 1
    rows: Rows

    @cached_property
    def basis(self) -> np.ndarray:
        """y, u, w of the intervals' coefficients (3, 3), or (K', 3, 3)."""
        if isinstance(self.place, float):
            return self.space.basis(self.place)
        return np.stack([self.space.basis(place) for place in self.place])

    @property
    def knots(self) -> np.ndarray:
        """The nearest ones (K',)."""
        return np.arange(self.space.intervals)[self.intervals] + np.round(self.place).astype(int)

    def motion(self, x: np.ndarray) -> np.ndarray:
        """y, u, w (K', 3), or what a change of the coefficients x (n,) changes of them."""
        windows = self.space.windows(x)[self.intervals]
        return windows @ self.basis.T if self.basis.ndim == 2 else (self.basis @ windows[..., None])[..., 0]

    def add(self, total: np.ndarray, local: np.ndarray) -> None:
        """Add what is known by y, u, w (K', 3) to the coefficients (n,)."""
        self.space.add(total, (local[:, None] @ self.basis)[:, 0], self.intervals)

    def add_bands(self, bands: np.ndarray, local: np.ndarray) -> None:
        """Add what is known by y, u, w (K', 3, 3) to the lower bands (3, n) of a matrix."""
        self.space.add_bands(bands, np.swapaxes(self.basis, -1, -2) @ local @ self.basis, self.intervals)

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
class Coefficient(Point):
    """The middle one of an interval's coefficients in the place of y: where all are positive y is, between the points, too."""

    @cached_property
    def basis(self) -> np.ndarray:
        """(3, 3)"""
        return np.outer([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])


def rows_at(terms: Terms, grading: Grading, r: np.ndarray) -> Rows:
    """The limits at places r (N,)."""
    s1, s2, s3 = (x[:, None] for x in grading.at(r)[1:])
    linear = np.stack([terms.a * s2 + terms.b * s1**2, terms.a * s1], axis=-1)
    third = terms.q3 * s1**3 + 3 * terms.q2 * s1 * s2 + terms.q1 * s3
    jerk = np.stack([third, 3 * (terms.q2 * s1**2 + terms.q1 * s2), terms.q1 * s1], axis=-1)
    with np.errstate(divide="ignore"):
        return Rows(linear, terms.c, terms.d * s1, jerk, terms.fastest / s1[:, 0] ** 2)
