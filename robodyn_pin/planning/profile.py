"""The velocity profile y(r) = (dr/dt)^2 of a motion with s = sigma(r), and its time law in closed form."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.parabolas import SplineSpace

TINY = 1e-8  # below it arctan(g) / g, sin(g) / g and their hyperbolic sisters are 1 to round-off


@dataclass(frozen=True)
class Profile:
    """y(r) on K intervals. With smoothness 0 the acceleration jumps at knots, with smoothness 1 only the jerk."""

    grading: Grading
    space: SplineSpace
    x: np.ndarray  # (n,) coefficients of y [1/s^2]

    @property
    def intervals(self) -> int:
        """Number K of intervals."""
        return self.space.intervals

    @property
    def r(self) -> np.ndarray:
        """Knots (K + 1,)."""
        return self.space.knots

    @cached_property
    def monomials(self) -> np.ndarray:
        """p (K, 3) [1/s^2] with y = p0 + p1 x + p2 x^2 on each interval, x from 0 to 1 on it."""
        return self.space.monomials(self.x)

    @cached_property
    def times(self) -> np.ndarray:
        """Times (K + 1,) [s] at which the motion passes the knots: the exact integral of 1 / sqrt(y)."""
        durations = _duration(self.monomials, np.ones(self.intervals)) / self.intervals
        return np.append(0.0, np.cumsum(durations))

    @property
    def time(self) -> float:
        """How long the motion takes [s]."""
        return float(self.times[-1])

    @cached_property
    def s(self) -> np.ndarray:
        """Path parameter at the knots (K + 1,)."""
        return self.grading.at(self.r)[0]

    @cached_property
    def z_knots(self) -> np.ndarray:
        """(ds/dt)^2 at the knots (K + 1,)."""
        return self.rates(self.r)[0] ** 2

    def z(self, s: np.ndarray) -> np.ndarray:
        """Return (ds/dt)^2 at s (N,)."""
        return self.rates_at(s)[0] ** 2

    def rates_at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ds/dt and its first and second derivative by time, at s (N,)."""
        return self.rates(self.grading.inverse(s))

    def at_time(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return s and its first three derivatives by time, at times t (N,) clipped to [0, time]."""
        t = np.clip(np.asarray(t, float), 0.0, self.time)
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, self.intervals - 1)
        x = _position(self.monomials[k], (t - self.times[k]) * self.intervals)
        r = np.where(t == self.time, 1.0, (k + x) / self.intervals)
        return (self.grading.at(r)[0], *self.rates(r))

    def scaled(self, factor: float) -> "Profile":
        """Return the same motion `factor` times as fast."""
        return Profile(self.grading, self.space, self.x * factor**2)

    def rates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ds/dt and its first and second derivative by time, at r (N,)."""
        k = np.clip((r * self.intervals).astype(int), 0, self.intervals - 1)
        return self.rates_in(k, r * self.intervals - k)

    def rates_in(self, k: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `rates`, at places x (N,) from 0 to 1 in the intervals k (N,), which tells both sides of a knot apart."""
        p = self.monomials[k]
        y = p[:, 0] + x * (p[:, 1] + x * p[:, 2])
        u = self.intervals * (p[:, 1] + 2 * x * p[:, 2]) / 2
        w = self.intervals**2 * p[:, 2]
        _, s1, s2, s3 = self.grading.at((k + x) / self.intervals)
        rd = np.sqrt(y)
        return s1 * rd, s2 * y + s1 * u, rd * (s3 * y + 3 * s2 * u + s1 * w)


def _duration(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the integral of (p0 + p1 x + p2 x^2)^(-1/2) from 0 to x (N,), for p (N, 3).

    With m = 2 x / (sqrt(y(0)) + sqrt(y(x))) and g^2 = |p2| m^2 / 4 it is m artanh(g) / g for positive p2 and
    m arctan(g) / g for negative p2. This form subtracts no large numbers as p2 goes to zero.
    """
    begin, end = np.sqrt(p[:, 0]), np.sqrt(p[:, 0] + x * (p[:, 1] + x * p[:, 2]))
    m = 2 * x / (begin + end)
    signed = p[:, 2] * m**2 / 4
    g = np.sqrt(np.abs(signed))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(signed > 0, np.arctanh(np.minimum(g, 1.0)) / g, np.arctan(g) / g)
    return np.asarray(m * np.where(g < TINY, 1.0, ratio))


def _position(p: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return x (N,) after the time t (N,), for p (N, 3): x' = sqrt(y), so x'' = p1 / 2 + p2 x, in closed form."""
    speed, acceleration = np.sqrt(p[:, 0]), p[:, 1] / 2
    signed = p[:, 2] * t**2
    g = np.sqrt(np.abs(signed))
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.where(signed > 0, np.sinh(g), np.sin(g)) / g
        half = np.where(signed > 0, np.sinh(g / 2), np.sin(g / 2)) / (g / 2)
    small = g < TINY
    whole, half = np.where(small, 1.0, whole), np.where(small, 1.0, half)
    return np.clip(speed * t * whole + acceleration * t**2 / 2 * half**2, 0.0, 1.0)
