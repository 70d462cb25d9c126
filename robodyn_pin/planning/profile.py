"""How fast the path is gone along: y = (dr/dt)^2 as a spline of r, s = sigma(r), and its time law in closed form."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.parabolas import Space

TINY = 1e-8  # arctan(g) / g and the like are 1 below this


@dataclass(frozen=True)
class Profile:
    """y(r) on K intervals: smoothness 0, the acceleration jumps at the knots, or 1, the jerk does."""

    grading: Grading
    space: Space
    x: np.ndarray  # (n,) coefficients [1/s^2]

    @property
    def intervals(self) -> int:
        """K."""
        return self.space.intervals

    @property
    def r(self) -> np.ndarray:
        """Knots (K + 1,)."""
        return self.space.knots

    @cached_property
    def powers(self) -> np.ndarray:
        """y = p0 + p1 x + p2 x^2 on each interval, x from 0 to 1: (K, 3) [1/s^2]."""
        return self.space.powers(self.x)

    @cached_property
    def times(self) -> np.ndarray:
        """When the knots are passed (K + 1,) [s]: the exact integral of 1 / sqrt(y)."""
        spent = _passage(self.powers, np.ones(self.intervals)) / self.intervals
        return np.append(0.0, np.cumsum(spent))

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
        """(ds/dt)^2 at s (N,)."""
        return self.rates(self.grading.inverse(s))[0] ** 2

    def at_time(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """s and its three derivatives by time at times t (N,), held to [0, time]; at the last one s = 1 and ds/dt = 0."""
        t = np.clip(np.asarray(t, float), 0.0, self.time)
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, self.intervals - 1)
        x = _position(self.powers[k], (t - self.times[k]) * self.intervals)
        r = np.where(t == self.time, 1.0, (k + x) / self.intervals)
        return (self.grading.at(r)[0], *self.rates(r))

    def scaled(self, factor: float) -> "Profile":
        """The same motion, `factor` times as fast."""
        return Profile(self.grading, self.space, self.x * factor**2)

    def rates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ds/dt, its first and its second derivative by time, at r (N,)."""
        k = np.clip((r * self.intervals).astype(int), 0, self.intervals - 1)
        return self.rates_in(k, r * self.intervals - k)

    def rates_in(self, k: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `rates`, at places x (N,) from 0 to 1 in the intervals k (N,): both sides of a knot can be asked."""
        p = self.powers[k]
        y = p[:, 0] + x * (p[:, 1] + x * p[:, 2])
        u = self.intervals * (p[:, 1] + 2 * x * p[:, 2]) / 2
        w = self.intervals**2 * p[:, 2]
        _, s1, s2, s3 = self.grading.at((k + x) / self.intervals)
        rd = np.sqrt(y)
        return s1 * rd, s2 * y + s1 * u, rd * (s3 * y + 3 * s2 * u + s1 * w)


def _passage(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Integral of (p0 + p1 x + p2 x^2)^(-1/2) from 0 to x (N,), p (N, 3).

    With f = sqrt(y(0)), e = sqrt(y(x)) and m = 2 x / (f + e) it is m times artanh(g)/g or arctan(g)/g, g^2 = |p2| m^2 / 4:
    no difference of large numbers as p2 goes to zero.
    """
    begin, end = np.sqrt(p[:, 0]), np.sqrt(p[:, 0] + x * (p[:, 1] + x * p[:, 2]))
    mean = 2 * x / (begin + end)
    square = p[:, 2] * mean**2 / 4
    g = np.sqrt(np.abs(square))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(square > 0, np.arctanh(np.minimum(g, 1.0)) / g, np.arctan(g) / g)
    return np.asarray(mean * np.where(g < TINY, 1.0, ratio))


def _position(p: np.ndarray, t: np.ndarray) -> np.ndarray:
    """x (N,) after the time t (N,), p (N, 3): x'' = p1 / 2 + p2 x is linear, x' = sqrt(y), in closed form."""
    start, pull = np.sqrt(p[:, 0]), p[:, 1] / 2
    square = p[:, 2] * t**2
    g = np.sqrt(np.abs(square))
    with np.errstate(divide="ignore", invalid="ignore"):
        once = np.where(square > 0, np.sinh(g), np.sin(g)) / g
        half = np.where(square > 0, np.sinh(g / 2), np.sin(g / 2)) / (g / 2)
    near = g < TINY
    once, half = np.where(near, 1.0, once), np.where(near, 1.0, half)
    return np.clip(start * t * once + pull * t**2 / 2 * half**2, 0.0, 1.0)
