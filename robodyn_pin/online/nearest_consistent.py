"""The current estimate, moved to the nearest parameters that bodies can have: a convex programme of its own size."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.identification.prior import Prior
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.online.tracker import Tracker

LEAST = 1e-7  # smallest eigenvalue of pseudo-inertias, units of 1 kg and 0.1 m: thin rods have hardly more
HEAVIEST = 1e4  # [kg]
PRIOR = 1e-4  # weight of the robot file's bodies, where the tracked parameters leave bodies free


@dataclass(frozen=True)
class Consistent:
    """Parameters of bodies that can exist, and how far the estimate is from them."""

    parameters: np.ndarray  # (p,) of all bodies and efforts, SI
    values: np.ndarray  # (r,) tracked parameters of these
    relative: float  # |values - estimate| / |estimate|, parameters divided by their scale
    deviations: float  # rms of the difference in standard deviations of the estimate


def nearest_consistent(tracker: Tracker) -> Consistent:
    """Minimise (p - p^)' C^-1 (p - p^) over bodies that can exist, C the estimate's predicted covariance.

    Raises:
        NotPhysical: a body of the robot file cannot exist. SolverFailed: as `fit_feasible`.
    """
    tracked, estimate = tracker.tracked, tracker.estimator
    p, r = tracked.layout.size, len(tracked.values)
    # In units of the scale: the covariance of large and tiny parameters has no common unit.
    unit = estimate.covariance() / np.outer(tracked.scale, tracked.scale)
    whiten = np.linalg.inv(np.linalg.cholesky(unit)) / tracked.scale
    rows = np.zeros((r, p + 1))
    rows[:, tracked.structure.free] = whiten @ tracked.base.matrix
    rows[:, p] = whiten @ estimate.values
    factor = Factor(triangle(rows), r, float(rows[:, p] @ rows[:, p]))
    found = fit_feasible([factor], np.ones(1), tracked.layout, _bounds(tracked), _prior(tracked)).values
    values = tracked.base.of(found[tracked.structure.free])
    away = values - estimate.values
    size = np.linalg.norm(estimate.values / tracked.scale)
    return Consistent(
        found, values, float(np.linalg.norm(away / tracked.scale) / size), float(np.linalg.norm(whiten @ away) / r**0.5)
    )


def _bounds(tracked: Tracked) -> Bounds:
    bodies = len(tracked.layout.bodies)
    return Bounds(np.tile([0.0, HEAVIEST], (bodies, 1)), LEAST, equalities=tracked.equalities)


def _prior(tracked: Tracked) -> Prior:
    first = tracked.layout.first_scalar
    return Prior(tracked.parameters[:first].reshape(-1, 10), PRIOR)
