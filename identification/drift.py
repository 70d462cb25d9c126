"""Slow drift of parameters over hours: a straight line through means of blocks of time, memory constant."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

FEWEST = 12  # blocks that a line needs before its spread says anything


@dataclass(frozen=True)
class Slope:
    """Straight lines through the history of n parameters."""

    per_hour: np.ndarray  # (n,)
    deviations: np.ndarray  # (n,) standard deviations of these; NaN while there are too few blocks
    blocks: int

    @property
    def significant(self) -> np.ndarray:
        """Which slopes are more than four of their standard deviations, (n,)."""
        return np.abs(self.per_hour) > 4 * self.deviations


class Trend:
    """Means over blocks of `block` seconds, and the line through them.

    The scatter of the means about the line says how sure it is. Means of neighbouring blocks may be alike, most of all
    where little is excited and an estimate wanders: their correlation r, from the steps between neighbours (von Neumann),
    widens the deviation by sqrt((1 + r) / (1 - r)).
    """

    def __init__(self, n: int, block: float):
        self.block = block
        self._begin = np.nan
        self._sum, self._count = np.zeros(n), 0
        # Over the blocks, time in units of a block: number, sums of t, t t, x, t x, x x about the first block's mean.
        self._n, self._t, self._tt = 0, 0.0, 0.0
        self._first, self._x, self._tx, self._xx = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self._before, self._steps = np.zeros(n), np.zeros(n)  # the block before; squares of the steps between blocks
        self._origin = np.nan

    def add(self, t: float, values: np.ndarray) -> None:
        """Take the estimate values (n,) at time t [s]."""
        if not t < self._begin + self.block:  # also the first time
            self._close()
            self._begin = t
        self._sum += values
        self._count += 1

    def _close(self) -> None:
        if not self._count:
            return
        mean = self._sum / self._count
        if self._n == 0:
            self._first, self._origin = mean, self._begin
        t, x = (self._begin - self._origin) / self.block, mean - self._first
        self._n, self._t, self._tt = self._n + 1, self._t + t, self._tt + t * t
        self._x, self._tx, self._xx = self._x + x, self._tx + t * x, self._xx + x * x
        self._steps = self._steps + (x - self._before) ** 2 if self._n > 1 else self._steps
        self._before = x
        self._sum, self._count = np.zeros_like(self._sum), 0

    def shift(self, change: np.ndarray) -> None:
        """Parameters jumped by change (n,), as with a payload: the line shall not see it."""
        self._first = self._first + change
        self._sum = self._sum + self._count * change

    def slope(self) -> Slope:
        """The lines through all finished blocks."""
        n, hour = self._n, 3600 / self.block
        spread = self._tt - self._t**2 / max(n, 1)
        if n < FEWEST or spread <= 0:
            return Slope(np.zeros_like(self._x), np.full_like(self._x, np.nan), n)
        slope = (self._tx - self._t * self._x / n) / spread
        left = np.maximum(self._xx - self._x**2 / n - slope**2 * spread, 0.0)
        steps = np.maximum(self._steps - n * slope**2, 0.0)
        alike = np.clip(1 - steps / np.maximum(2 * left, 1e-300), 0.0, 1 - 1 / n)
        return Slope(slope * hour, np.sqrt(left / (n - 2) / spread * (1 + alike) / (1 - alike)) * hour, n)

    def state(self) -> dict[str, np.ndarray]:
        """All that the future depends on."""
        numbers = np.array([self.block, self._begin, self._count, self._n, self._t, self._tt, self._origin])
        return {
            "numbers": numbers,
            "sums": np.array([self._sum, self._first, self._x, self._tx, self._xx, self._before, self._steps]),
        }

    @classmethod
    def restored(cls, state: Mapping[str, np.ndarray]) -> "Trend":
        """The trend that a state was taken from."""
        sums = np.array(state["sums"])
        block, begin, count, n, t, tt, origin = (float(x) for x in state["numbers"])
        found = cls(sums.shape[1], block)
        found._begin, found._count, found._n, found._t, found._tt, found._origin = (
            begin,
            int(count),
            int(n),
            t,
            tt,
            origin,
        )
        found._sum, found._first, found._x, found._tx, found._xx, found._before, found._steps = sums
        return found
