"""The limits at places of the intervals, as functions of y = r'^2, u = r'' and w, where r''' = r' w.

    quantity   |beta y + alpha u + gamma + delta sqrt(y)| <= 1
    jerk       |e3 y + 3 e2 u + e1 w| <= 1 / sqrt(y)
    velocity   0 <= y <= max_y

The slack of every limit is a concave function of the motion plus a convex one (sqrt(y) and 1 / sqrt(y), each on one
side of the limit). With its tangent in place of the convex part a limit is convex and at least as tight: sequential
convexification, in which every iterate is feasible.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.parabolas import Intervals, SplineSpace
from robodyn_pin.planning.terms import Terms

ENTRIES = ((0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2))  # of a symmetric matrix (3, 3): row, column
WITHOUT_W = 3  # so many of them come first


@dataclass(frozen=True)
class LimitRows:
    """Coefficients of the limits at N places: of m quantities, k jerks and the velocities."""

    linear: np.ndarray  # (N, m, 2) beta, alpha
    gamma: np.ndarray  # (N, m)
    delta: np.ndarray  # (N, m)
    jerk: np.ndarray  # (N, k, 3) e3, 3 e2, e1
    max_y: np.ndarray  # (N,)

    def at(self, places: Intervals) -> "LimitRows":
        """Return the rows at some of the places."""
        return LimitRows(*(x[places] for x in vars(self).values()))

    def without_quantities(self) -> "LimitRows":
        """Return the rows of the jerks alone."""
        return replace(self, linear=self.linear[:, :0], gamma=self.gamma[:, :0], delta=self.delta[:, :0])

    def only_speed(self, cap: float) -> "LimitRows":
        """Return nothing but the row 0 <= y <= cap."""
        none = replace(self.without_quantities(), jerk=self.jerk[:, :0], max_y=np.full_like(self.max_y, cap))
        return none.with_speed(cap)

    def with_speed(self, cap: float) -> "LimitRows":
        """Return the rows with 0 <= y <= min(max_y, cap) as one more quantity, the last one."""
        max_y = np.minimum(self.max_y, cap)
        linear = np.hstack([self.linear, np.stack([2 / max_y, 0 * max_y], axis=-1)[:, None]])
        gamma, delta = (
            np.column_stack([x, np.full_like(max_y, v)]) for x, v in ((self.gamma, -1.0), (self.delta, 0.0))
        )
        return LimitRows(linear, gamma, delta, self.jerk, max_y)

    def without_speed(self) -> "LimitRows":
        """Return the rows without the quantity that `with_speed` added."""
        return replace(self, linear=self.linear[:, :-1], gamma=self.gamma[:, :-1], delta=self.delta[:, :-1])

    def standing(self, gamma: np.ndarray) -> "LimitRows":
        """Return the rows for standstill at the ends of the path: `gamma` (N, m), no viscous friction, no jerks."""
        return replace(self.with_gammas(gamma), delta=0 * self.delta)

    def with_gammas(self, *gammas: np.ndarray) -> "LimitRows":
        """Return the quantities once for each of `gammas` (N, m), then the speed row; no jerks."""
        gamma = np.hstack([*gammas, self.gamma[:, -1:]])
        linear, delta = (np.hstack([*[x[:, :-1]] * len(gammas), x[:, -1:]]) for x in (self.linear, self.delta))
        return LimitRows(linear, gamma, delta, self.jerk[:, :0], self.max_y)

    def constant_y(self) -> np.ndarray:
        """Return a y (N,) at each place such that a constant y (u = w = 0) up to it keeps all limits there."""
        room, b, d = np.maximum(1 - np.abs(self.gamma), 0.0), np.abs(self.linear[..., 0]), np.abs(self.delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = 2 * room / (d + np.sqrt(d**2 + 4 * b * room))  # the v with b v^2 + d v = room
            quantity = np.where(room > 0, np.where(b + d > 0, root, np.inf), 0.0) ** 2
            jerk = np.abs(self.jerk[..., 0]) ** (-2 / 3)
        return np.asarray(np.minimum(self.max_y, np.hstack([quantity, jerk]).min(axis=1, initial=np.inf)))


@dataclass(frozen=True)
class ConstraintSet:
    """The limits at one place in each of K' intervals, as constraints on the spline's coefficients x (n,)."""

    space: SplineSpace
    intervals: Intervals  # (K',)
    place: float | np.ndarray  # in the intervals, from 0 to 1: one for all, or (K',)
    rows: LimitRows

    @cached_property
    def basis(self) -> np.ndarray:
        """The matrix (3, 3), or (K', 3, 3), that maps an interval's coefficients to y, u, w."""
        if isinstance(self.place, float):
            return self.space.basis(self.place)
        places, which = np.unique(self.place, return_inverse=True)
        return np.stack([self.space.basis(place) for place in places.tolist()])[which]

    @property
    def nearest_knots(self) -> np.ndarray:
        """The knot nearest to each place (K',)."""
        return np.arange(self.space.intervals)[self.intervals] + np.round(self.place).astype(int)

    @cached_property
    def _index(self) -> np.ndarray:
        """Which coefficients (3, K') the places depend on."""
        return np.ascontiguousarray(self.space.local(np.arange(self.space.size))[self.intervals].T)

    @cached_property
    def _maps(self) -> np.ndarray:
        """`basis` of every place, places last: (3, 3, K')."""
        return np.ascontiguousarray(np.broadcast_to(self.basis, (self._index.shape[1], 3, 3)).transpose(1, 2, 0))

    @cached_property
    def _pair_maps(self) -> np.ndarray:
        """(6, 6, K'): what each entry of a Hessian by y, u, w adds to each entry of that by the coefficients; ENTRIES."""
        M = self._maps
        pairs = [[M[i, a] * M[j, b] + (M[j, a] * M[i, b] if i != j else 0.0) for a, b in ENTRIES] for i, j in ENTRIES]
        return np.array(pairs).reshape(len(ENTRIES), len(ENTRIES), -1)

    @cached_property
    def _band_index(self) -> np.ndarray:
        """Where these entries are in the lower bands (3, n), flattened: (6, K')."""
        return np.stack([(a - b) * self.space.size + self._index[b] for a, b in ENTRIES])

    def motion(self, x: np.ndarray) -> np.ndarray:
        """Return y, u, w (K', 3) of coefficients x (n,), or their change for a change of the coefficients."""
        return np.asarray((self._maps * x[self._index]).sum(axis=1)).T

    def scatter(self, total: np.ndarray, local: np.ndarray) -> None:
        """Add a gradient by y, u, w (K', 3) to the gradient by the coefficients (n,)."""
        by_coefficients = (self._maps * local.T[:, None]).sum(axis=0)
        total += np.bincount(self._index.ravel(), by_coefficients.ravel(), len(total))

    def scatter_bands(self, bands: np.ndarray, entries: np.ndarray) -> None:
        """Add a Hessian by y, u, w to the lower bands (3, n) of the one by the coefficients; its ENTRIES (6, K'), or those without w (3, K')."""
        by_coefficients = (self._pair_maps[: len(entries)] * entries[:, None]).sum(axis=0)
        bands += np.bincount(self._band_index.ravel(), by_coefficients.ravel(), bands.size).reshape(bands.shape)

    def values(self, motion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the quantities (K', m) and the left sides of the jerk limits (K', k) of y, u, w (K', 3)."""
        linear = (self.rows.linear @ motion[:, :2, None])[..., 0]
        value = linear + self.rows.gamma + self.rows.delta * np.sqrt(motion[:, :1])
        return value, (self.rows.jerk @ motion[..., None])[..., 0]


@dataclass(frozen=True)
class MiddleCoefficientSet(ConstraintSet):
    """Constraints on the middle coefficient of each interval instead of y: y > 0 all over if all coefficients are."""

    @cached_property
    def basis(self) -> np.ndarray:
        """The matrix (3, 3) that takes the middle coefficient for y."""
        return np.outer([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])


def rows_at(terms: Terms, grading: Grading, r: np.ndarray) -> LimitRows:
    """Return the limits at places r (N,), from the terms there."""
    s1, s2, s3 = (x[:, None] for x in grading.at(r)[1:])
    linear = np.stack([terms.a * s2 + terms.b * s1**2, terms.a * s1], axis=-1)
    e3 = terms.q3 * s1**3 + 3 * terms.q2 * s1 * s2 + terms.q1 * s3
    jerk = np.stack([e3, 3 * (terms.q2 * s1**2 + terms.q1 * s2), terms.q1 * s1], axis=-1)
    with np.errstate(divide="ignore"):
        return LimitRows(linear, terms.c, terms.d * s1, jerk, terms.max_z / s1[:, 0] ** 2)
