"""Piecewise parabolas y(r) on K equal intervals of [0, 1], whose slope jumps at the knots (smoothness 0) or not (1)."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

Smoothness = Literal[0, 1]  # how many derivatives are continuous
Intervals = slice | np.ndarray  # which of the K intervals

# Each row is a basis function that is not zero on an interval, each column its factor of 1, x, x^2, with x from 0 to 1
# on the interval. Smoothness 0 has Bernstein polynomials (the values at both ends and the control value between them),
# smoothness 1 B-splines. Equal coefficients give a constant y of that value in both.
FUNCTIONS = {
    0: np.array([[1.0, -2.0, 1.0], [0.0, 2.0, -2.0], [0.0, 0.0, 1.0]]),
    1: np.array([[0.5, -1.0, 0.5], [0.5, 1.0, -1.0], [0.0, 0.0, 0.5]]),
}
STRIDE = {0: 2, 1: 1}  # how many coefficients the next interval is further on
WIDTH = 3  # coefficients that determine y on an interval
ALL = slice(None)


@dataclass(frozen=True)
class SplineSpace:
    """All piecewise parabolas y on K intervals; n coefficients determine one of them."""

    intervals: int  # K
    smoothness: Smoothness

    @property
    def size(self) -> int:
        """Number n of coefficients."""
        return STRIDE[self.smoothness] * (self.intervals - 1) + WIDTH

    @property
    def knots(self) -> np.ndarray:
        """Ends of the intervals (K + 1,)."""
        return np.linspace(0.0, 1.0, self.intervals + 1)

    def local(self, x: np.ndarray) -> np.ndarray:
        """Return the coefficients of each interval (K, 3), out of all coefficients x (n,)."""
        return x[self._local_index]

    @cached_property
    def _local_index(self) -> np.ndarray:
        return STRIDE[self.smoothness] * np.arange(self.intervals)[:, None] + np.arange(WIDTH)

    def monomials(self, x: np.ndarray) -> np.ndarray:
        """Return p (K, 3) with y = p0 + p1 x + p2 x^2 on each interval, x from 0 to 1 on it."""
        return np.asarray(self.local(x) @ FUNCTIONS[self.smoothness])

    def basis(self, place: float) -> np.ndarray:
        """Return the matrix (3, 3) from an interval's coefficients to y, y'/2, y''/2 by r, at a place 0 to 1 in it."""
        return _basis(self.intervals, self.smoothness, place)

    def scatter(self, total: np.ndarray, local: np.ndarray, intervals: Intervals = ALL) -> None:
        """Add a vector (K', 3) of some intervals' coefficients to the vector (n,) of all coefficients."""
        for i in range(WIDTH):
            _add(total, self._index(i, intervals), local[:, i])

    def scatter_bands(self, bands: np.ndarray, local: np.ndarray, intervals: Intervals = ALL) -> None:
        """Add symmetric matrices (K', 3, 3) of some intervals to the lower bands (3, n) of the matrix (n, n)."""
        for i in range(WIDTH):
            for j in range(i + 1):
                _add(bands[i - j], self._index(j, intervals), local[:, i, j])

    def _index(self, i: int, intervals: Intervals) -> Intervals:
        """Return where the i-th coefficients of the intervals are among all coefficients."""
        step = STRIDE[self.smoothness]
        if isinstance(intervals, slice):
            first, end, _ = intervals.indices(self.intervals)
            return slice(step * first + i, step * (end - 1) + i + 1, step)
        return step * intervals + i


def _add(total: np.ndarray, index: Intervals, values: np.ndarray) -> None:
    if isinstance(index, slice):
        total[index] += values
    else:  # an index may occur more than once
        np.add.at(total, index, values)


@cache
def _basis(intervals: int, smoothness: Smoothness, place: float) -> np.ndarray:
    F = FUNCTIONS[smoothness]
    y, slope, curvature = F @ [1, place, place**2], intervals / 2 * (F @ [0, 1, 2 * place]), intervals**2 * F[:, 2]
    rows = np.stack([y, slope, curvature])
    rows.flags.writeable = False
    return rows
