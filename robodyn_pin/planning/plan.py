"""A planned motion: how fast the path is gone along, which limits hold it, and what it uses of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.planning.limit_check import Check
from robodyn_pin.planning.path_dynamics import Curve, Model, posture_at
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms, values
from robodyn_pin.planning.velocity_curve import maximum_velocity
from robodyn_pin.robot.limits import Limits

ACTIVE = 0.99  # share of a limit from which on it counts as the one that holds the motion


@dataclass(frozen=True)
class Plan:
    """The fastest motion along a path that keeps all limits."""

    model: Model
    path: Curve
    limits: Limits
    profile: Profile
    terms: Terms  # at the knots of the profile
    dense: Check  # by the model itself on a ten times finer grid
    scaling_cost: float  # share of the time that keeping the limits between the points took in the end
    history: tuple[
        float, ...
    ]  # objective of the iterates, of time [s]; each keeps the limits at the points of the path
    converged: bool

    @property
    def time(self) -> float:
        """How long the motion takes [s]."""
        return self.profile.time

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Kind and axis of every limited quantity."""
        return self.limits.labels

    @property
    def ranges(self) -> np.ndarray:
        """Least and greatest value (m, 2) of every limited quantity."""
        return self.limits.ranges

    @property
    def excess(self) -> dict[tuple[str, str], float]:
        """Largest share over each limit on the dense grid; negative where there is room."""
        return self.dense.excess

    @cached_property
    def active(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The limits that hold the motion at each knot."""
        return tuple(tuple(self.labels[k] for k in np.flatnonzero(row >= ACTIVE)) for row in self.dense.at_knots)

    @cached_property
    def max_velocity(self) -> np.ndarray:
        """Largest (ds/dt)^2 at each knot (K + 1,) for which any acceleration keeps the limits (without the jerk's)."""
        return maximum_velocity(self.terms, self.profile.z_knots)

    def quantities(self, s: np.ndarray) -> np.ndarray:
        """All limited quantities (N, m), columns as `labels`, of the motion at s (N,), by the model itself."""
        jerk = any(b.kind == "jerk" for b in self.limits.bounds)
        rates = self.profile.rates(self.profile.grading.inverse(s))
        return values(self.model, posture_at(self.model, self.path, s, jerk), self.limits, rates)
