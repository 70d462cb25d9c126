"""The path parameter as a polynomial s = sigma(r) that is flat at both ends, so that r moves even where s rests.

A motion that starts from rest has s ~ t^2 if its acceleration may jump, and s ~ t^3 if its acceleration starts at zero.
With sigma ~ r^2 or r^3 at that end, r ~ t: y = (dr/dt)^2 is smooth and positive there, and the travel time, the
integral of 1 / sqrt(y), has no singularity (the one of Gnad et al. (IRB 360), eq. (45)). Equal steps in r take about
equal times where the motion is slow.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial

End = Literal["rest", "free"]  # the acceleration at an end of the path: zero, or free
ORDER: dict[str, int] = {"free": 2, "rest": 3}  # of r in s at that end


@dataclass(frozen=True)
class Grading:
    """s = sigma(r) from [0, 1] onto [0, 1], with sigma' in proportion to r^(m-1) (1 - r)^(n-1)."""

    ends: tuple[End, End]

    @property
    def _sigma(self) -> tuple[Polynomial, ...]:
        return _polynomials(self.ends)

    def at(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return s and its first three derivatives by r, at r (N,)."""
        s, s1, s2, s3 = (f(r) for f in self._sigma)
        return np.where(r == 1.0, 1.0, np.clip(s, 0.0, 1.0)), s1, s2, s3

    def inverse(self, s: np.ndarray) -> np.ndarray:
        """Return r (N,) for s (N,) in [0, 1]: Newton's method, with bisection where a step leaves the bracket."""
        s = np.clip(np.asarray(s, float), 0.0, 1.0)
        sigma, slope = self._sigma[:2]
        low, high, r = np.zeros_like(s), np.ones_like(s), s.copy()
        for _ in range(60):
            error = sigma(r) - s
            low, high = np.where(error < 0, r, low), np.where(error > 0, r, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = r - error / slope(r)
            following = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            following = np.where(error == 0, r, following)
            if np.abs(following - r).max(initial=0.0) < 1e-16:
                break
            r = following
        return np.where(s == 0, 0.0, np.where(s == 1, 1.0, r))


@cache
def _polynomials(ends: tuple[End, End]) -> tuple[Polynomial, ...]:
    """sigma and its first three derivatives."""
    m, n = (ORDER[end] for end in ends)
    slope = Polynomial([0, 1]) ** (m - 1) * Polynomial([1, -1]) ** (n - 1)
    sigma = slope.integ()
    sigma = sigma / sigma(1)
    return sigma, sigma.deriv(1), sigma.deriv(2), sigma.deriv(3)
