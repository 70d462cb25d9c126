"""Piecewise parabolas y(r) on equal intervals of [0, 1]: with jumps of the slope at the knots, or without."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

Smoothness = Literal[0, 1]  # derivatives that are continuous
Intervals = slice | np.ndarray  # which of them

# Powers 1, x, x^2 (columns) of the functions (rows) that are not zero on an interval, x from 0 to 1 on it. Smoothness 0: values at
# both ends and the control value between them (Bernstein); 1: B-splines. In both y is their mean where all coefficients are alike.
FUNCTIONS = {
    0: np.array([[1.0, -2.0, 1.0], [0.0, 2.0, -2.0], [0.0, 0.0, 1.0]]),
    1: np.array([[0.5, -1.0, 0.5], [0.5, 1.0, -1.0], [0.0, 0.0, 0.5]]),
}
STRIDE = {0: 2, 1: 1}  # coefficients from one interval to the next
WIDTH = 3  # coefficients that an interval knows
ALL = slice(None)


@dataclass(frozen=True)
class Space:
    """All such y on K intervals, given by n coefficients."""

    intervals: int  # K
    smoothness: Smoothness

    @property
    def size(self) -> int:
        """n."""
        return STRIDE[self.smoothness] * (self.intervals - 1) + WIDTH

    @property
    def knots(self) -> np.ndarray:
        """Ends of the intervals (K + 1,)."""
        return np.linspace(0.0, 1.0, self.intervals + 1)

    def windows(self, x: np.ndarray) -> np.ndarray:
        """Coefficients of the intervals (K, 3) out of all x (n,)."""
        return x[self._places]

    @cached_property
    def _places(self) -> np.ndarray:
        return STRIDE[self.smoothness] * np.arange(self.intervals)[:, None] + np.arange(WIDTH)

    def powers(self, x: np.ndarray) -> np.ndarray:
        """Of the place in the interval, from 0 to 1: (K, 3)."""
        return np.asarray(self.windows(x) @ FUNCTIONS[self.smoothness])

    def basis(self, place: float) -> np.ndarray:
        """y, y'/2 and y''/2 by r, at a place from 0 to 1 in an interval, of its coefficients: (3, 3)."""
        return _basis(self.intervals, self.smoothness, place)

    def add(self, total: np.ndarray, local: np.ndarray, intervals: Intervals = ALL) -> None:
        """Add local (K', 3) of some intervals to the coefficients (n,)."""
        for i in range(WIDTH):
            _add(total, self._at(i, intervals), local[:, i])

    def add_bands(self, bands: np.ndarray, local: np.ndarray, intervals: Intervals = ALL) -> None:
        """Add symmetric local (K', 3, 3) of some intervals to the lower bands (3, n) of a matrix."""
        for i in range(WIDTH):
            for j in range(i + 1):
                _add(bands[i - j], self._at(j, intervals), local[:, i, j])

    def _at(self, i: int, intervals: Intervals) -> Intervals:
        """Where the i-th coefficient of the intervals is."""
        step = STRIDE[self.smoothness]
        if isinstance(intervals, slice):
            first, end, _ = intervals.indices(self.intervals)
            return slice(step * first + i, step * (end - 1) + i + 1, step)
        return step * intervals + i


def _add(total: np.ndarray, at: Intervals, values: np.ndarray) -> None:
    if isinstance(at, slice):
        total[at] += values
    else:  # an interval may be there more than once
        np.add.at(total, at, values)


@cache
def _basis(intervals: int, smoothness: Smoothness, place: float) -> np.ndarray:
    F = FUNCTIONS[smoothness]
    rows = F @ [1, place, place**2], intervals / 2 * (F @ [0, 1, 2 * place]), intervals**2 * F[:, 2]
    found = np.stack(rows)
    found.flags.writeable = False
    return found
