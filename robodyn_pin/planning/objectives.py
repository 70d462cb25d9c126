"""What a motion is to minimise: its time, or, for comparison, the objective of Gnad et al."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.parabolas import WIDTH, Space

GAUSS = ((1 - 1 / np.sqrt(3)) / 2, (1 + 1 / np.sqrt(3)) / 2)  # places in an interval
SHARE = 0.02  # of the time in the other objective


@dataclass(frozen=True)
class Time:
    """The integral of 1 / sqrt(y) by two Gauss points an interval: convex."""

    space: Space
    weight: float

    def value(self, x: np.ndarray) -> float:
        """At coefficients x (n,); inf where y is not positive."""
        y = np.concatenate([self.space.windows(x) @ self.space.basis(place)[0] for place in GAUSS])
        return float(self.weight * (y**-0.5).sum()) if (y > 0).all() else np.inf

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (n,) and lower bands of the Hessian (3, n)."""
        gradient, bands = np.zeros_like(x), np.zeros((WIDTH, len(x)))
        for place in GAUSS:
            b = self.space.basis(place)[0]
            y = self.space.windows(x) @ b
            self.space.add(gradient, (-0.5 * self.weight * y**-1.5)[:, None] * b)
            self.space.add_bands(bands, (0.75 * self.weight * y**-2.5)[:, None, None] * np.outer(b, b))
        return gradient, bands


@dataclass(frozen=True)
class Speed:
    """The integral of z over s, to be large: Gnad et al. (IRB 360), eq. (43).

    At rest z counts for nothing and may come as near to zero as it likes: a small part of the time keeps it from there.
    Both are counted in units of a slow motion.
    """

    weights: np.ndarray  # (n,)
    time: Time

    def value(self, x: np.ndarray) -> float:
        """At coefficients x (n,)."""
        return SHARE * self.time.value(x) - float(self.weights @ x)

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (n,) and lower bands of the Hessian (3, n)."""
        gradient, bands = self.time.derivatives(x)
        return SHARE * gradient - self.weights, SHARE * bands


Objective = Time | Speed


def objective(kind: Literal["time", "speed"], space: Space, grading: Grading, slow: float) -> Objective:
    """The objective of a kind; `slow` is some y of the path [1/s^2]."""
    time = Time(space, 0.5 / space.intervals)
    if kind == "time":
        return time
    weights = np.zeros(space.size)
    for place in GAUSS:
        slope = grading.at((np.arange(space.intervals) + place) / space.intervals)[1]
        space.add(weights, time.weight / slow * slope[:, None] ** 3 * space.basis(place)[0])
    return Speed(weights, replace(time, weight=time.weight * slow**0.5))
