"""A planned motion: its velocity profile, the limits that are active along it, and how much of every limit it uses."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.planning.jerk_profile import JerkProfile
from robodyn_pin.planning.limit_check import LimitCheck
from robodyn_pin.planning.path_dynamics import Curve, PathDynamics, joint_path_at
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms, limited_quantities
from robodyn_pin.planning.velocity_curve import maximum_velocity
from robodyn_pin.robot.limits import Limits

ACTIVE = 0.99  # share of a limit from which on the limit counts as active


@dataclass(frozen=True)
class PlanCurves:
    """What pictures show of a plan: speeds at the K + 1 knots, limited quantities at N times."""

    s: np.ndarray  # (K + 1,) path parameter
    z: np.ndarray  # (K + 1,) (ds/dt)^2 [1/s^2]
    max_z: np.ndarray  # (K + 1,) maximum velocity curve
    active: tuple[tuple[tuple[str, str], ...], ...]  # limits that are active at each knot
    t: np.ndarray  # (N,) [s]
    values: np.ndarray  # (N, m) limited quantities, columns as the limits' labels


@dataclass(frozen=True)
class Plan:
    """The fastest motion along a path that keeps all limits."""

    dynamics: PathDynamics
    path: Curve
    limits: Limits
    profile: Profile | JerkProfile
    terms: Terms  # at the knots of the profile
    # Of the limits on a grid ten times finer; in closed form at both sides of the knots, where the largest shares are.
    dense: LimitCheck
    scaling_cost: float  # share of the time by which the whole motion was slowed to keep limits between the knots
    history: tuple[float, ...]  # objective of each iterate, of travel time [s]; all iterates are feasible at the knots
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
        """Least and greatest allowed value (m, 2) of every limited quantity."""
        return self.limits.ranges

    @property
    def excess(self) -> dict[tuple[str, str], float]:
        """Largest violation of each limit on the dense grid, as a share of it; negative where there is room."""
        return self.dense.excess

    @cached_property
    def active(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The limits that are active at each knot."""
        return tuple(tuple(self.labels[k] for k in np.flatnonzero(row >= ACTIVE)) for row in self.dense.at_knots)

    @cached_property
    def max_velocity(self) -> np.ndarray:
        """Maximum velocity curve: largest (ds/dt)^2 at each knot (K + 1,) for any acceleration, without jerk limits."""
        return maximum_velocity(self.terms, self.profile.z_knots)

    def curves(self) -> PlanCurves:
        """Return what pictures show, the quantities at 1201 times."""
        profile, t = self.profile, np.linspace(0.0, self.time, 1201)
        values = self.quantities(profile.at_time(t)[0])
        return PlanCurves(profile.s, profile.z_knots, self.max_velocity, self.active, t, values)

    def quantities(self, s: np.ndarray) -> np.ndarray:
        """Return all limited quantities (N, m) at s (N,), columns as `labels`, by the inverse dynamics themselves."""
        rates = self.profile.rates_at(s)
        joint_path = joint_path_at(self.dynamics, self.path, s, third="jerk" in self.limits.kinds)
        return limited_quantities(self.dynamics, joint_path, self.limits, rates)
