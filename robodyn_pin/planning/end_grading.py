"""The path parameter s as a polynomial of r, flat at the ends, so that a motion from rest to rest has dr/dt > 0 all over.

From rest, s grows with t^2 where the acceleration may jump and with t^3 where it must start at zero. With s ~ r^2 or r^3 at
that end r grows with t, y = (dr/dt)^2 is smooth and positive there, and 1 / sqrt(y) has no singularity (the one of Gnad
et al. (IRB 360), eq. (45)). Equal steps in r are about equal in time where the motion is slow.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial

End = Literal["free", "rest"]  # of the acceleration at an end: free, or zero
ORDER: dict[str, int] = {"free": 2, "rest": 3}


@dataclass(frozen=True)
class Grading:
    """s = sigma(r), both from 0 to 1: sigma' is in proportion to r^(m-1) (1 - r)^(n-1)."""

    ends: tuple[End, End]

    @cached_property
    def _sigma(self) -> tuple[Polynomial, ...]:
        m, n = (ORDER[end] for end in self.ends)
        slope = Polynomial([0, 1]) ** (m - 1) * Polynomial([1, -1]) ** (n - 1)
        sigma = slope.integ()
        sigma = sigma / sigma(1)
        return sigma, sigma.deriv(1), sigma.deriv(2), sigma.deriv(3)

    def at(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """s and its three derivatives by r, at r (N,)."""
        s, s1, s2, s3 = (f(r) for f in self._sigma)
        return np.where(r == 1.0, 1.0, np.clip(s, 0.0, 1.0)), s1, s2, s3

    def inverse(self, s: np.ndarray) -> np.ndarray:
        """r (N,) of s (N,) in [0, 1]: by Newton's method from the leading terms, kept in its bracket by bisection."""
        s = np.clip(np.asarray(s, float), 0.0, 1.0)
        sigma, slope = self._sigma[:2]
        low, high, r = np.zeros_like(s), np.ones_like(s), s.copy()
        for _ in range(60):
            gap = sigma(r) - s
            low, high = np.where(gap < 0, r, low), np.where(gap > 0, r, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = r - gap / slope(r)
            moved = np.where((step > low) & (step < high), step, (low + high) / 2)
            moved = np.where(gap == 0, r, moved)
            if np.abs(moved - r).max(initial=0.0) < 1e-16:
                break
            r = moved
        return np.where(s == 0, 0.0, np.where(s == 1, 1.0, r))
