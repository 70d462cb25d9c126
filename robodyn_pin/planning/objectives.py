"""What a motion minimises: its travel time or, for comparison, the objective of Gnad et al. (IRB 360)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.parabolas import WIDTH, SplineSpace

GAUSS = ((1 - 1 / np.sqrt(3)) / 2, (1 + 1 / np.sqrt(3)) / 2)  # quadrature points in an interval, of equal weight
TIME_SHARE = 0.02  # weight of the travel time in the other objective


@dataclass(frozen=True)
class TravelTime:
    """The integral of 1 / sqrt(y) over r, by two Gauss points in each interval. It is convex."""

    space: SplineSpace
    weight: float  # of each Gauss point

    @cached_property
    def _basis(self) -> np.ndarray:
        """y at the Gauss points of an interval from its coefficients, (2, 3)."""
        return np.stack([self.space.basis(place)[0] for place in GAUSS])

    def value(self, x: np.ndarray) -> float:
        """Return the objective at coefficients x (n,); inf where y is not positive."""
        y = self._basis @ self.space.local(x).T
        return float(self.weight * (1 / np.sqrt(y)).sum()) if (y > 0).all() else np.inf

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient (n,) and the lower bands of the Hessian (3, n)."""
        gradient, bands = np.zeros_like(x), np.zeros((WIDTH, len(x)))
        y = self._basis @ self.space.local(x).T
        slope = self.weight / (y * np.sqrt(y))
        pairs = (self._basis[:, :, None] * self._basis[:, None]).reshape(len(GAUSS), -1)
        self.space.scatter(gradient, -0.5 * (slope.T @ self._basis))
        self.space.scatter_bands(bands, 0.75 * ((slope / y).T @ pairs).reshape(-1, WIDTH, WIDTH))
        return gradient, bands


@dataclass(frozen=True)
class SpeedIntegral:
    """Minus the integral of z = (ds/dt)^2 over s: Gnad et al. (IRB 360), eq. (43).

    This integral alone leaves y free to go to zero at the ends of the path, where sigma' = 0. A small share of the
    travel time keeps it positive. Both terms are in units of a slow motion.
    """

    weights: np.ndarray  # (n,) of the coefficients in the integral
    time: TravelTime

    def value(self, x: np.ndarray) -> float:
        """Return the objective at coefficients x (n,)."""
        return TIME_SHARE * self.time.value(x) - float(self.weights @ x)

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient (n,) and the lower bands of the Hessian (3, n)."""
        gradient, bands = self.time.derivatives(x)
        return TIME_SHARE * gradient - self.weights, TIME_SHARE * bands


Objective = TravelTime | SpeedIntegral


def objective_of(kind: Literal["time", "speed"], space: SplineSpace, grading: Grading, slow_y: float) -> Objective:
    """Return the objective "time" or "speed"; `slow_y` [1/s^2], y of a slow motion, is the unit of the second one."""
    time = TravelTime(space, 0.5 / space.intervals)
    if kind == "time":
        return time
    weights = np.zeros(space.size)
    for place in GAUSS:
        slope = grading.at((np.arange(space.intervals) + place) / space.intervals)[1]
        space.scatter(weights, time.weight / slow_y * slope[:, None] ** 3 * space.basis(place)[0])
    return SpeedIntegral(weights, replace(time, weight=time.weight * slow_y**0.5))
