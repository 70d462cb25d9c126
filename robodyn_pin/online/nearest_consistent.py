"""The physically consistent parameters that are nearest to the current estimate, by convex optimisation."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.identification.prior import Prior
from robodyn_pin.online.tracked import Tracked
from robodyn_pin.online.tracker import Tracker

LEAST_EIGENVALUE = 1e-7  # of pseudo-inertias, units of 1 kg and 0.1 m: thin rods have hardly more
HEAVIEST = 1e4  # [kg]
PRIOR_WEIGHT = 1e-4  # of the robot file's bodies, where the tracked parameters do not determine them


@dataclass(frozen=True)
class ConsistentParameters:
    """Physically consistent parameters, and their distance from the estimate."""

    parameters: np.ndarray  # (p,) of all bodies and efforts, SI
    values: np.ndarray  # (r,) the tracked parameters that follow from them
    relative: float  # |values - estimate| / |estimate|, each parameter divided by its scale
    deviations: float  # rms of the difference, in standard deviations of the estimate


def nearest_consistent(tracker: Tracker) -> ConsistentParameters:
    """Minimise (p - p^)' C^-1 (p - p^) over physically consistent bodies, with p^ the estimate and C its predicted covariance.

    Raises:
        NotPhysical: a body of the robot file is not physically consistent. SolverFailed: as `fit_feasible`.
    """
    tracked, estimate = tracker.tracked, tracker.estimator
    p, r = tracked.layout.size, len(tracked.values)
    # Parameters are divided by their scale, because they have no common unit.
    scaled = estimate.covariance() / np.outer(tracked.scale, tracked.scale)
    variance, axes = np.linalg.eigh(scaled)
    # Rounding may take below zero what a log without noise leaves; the solver tells no deviation from one a hundred thousand times as large.
    whiten = axes.T / np.sqrt(np.maximum(variance, 1e-10 * variance[-1]))[:, None] / tracked.scale
    rows = np.zeros((r, p + 1))
    rows[:, tracked.structure.free] = whiten @ tracked.base.matrix
    rows[:, p] = whiten @ estimate.values
    factor = Factor(triangle(rows), r, float(rows[:, p] @ rows[:, p]))
    found = fit_feasible([factor], np.ones(1), tracked.layout, _bounds(tracked), _prior(tracked)).values
    values = tracked.base.of(found[tracked.structure.free])
    difference = values - estimate.values
    relative = np.linalg.norm(difference / tracked.scale) / np.linalg.norm(estimate.values / tracked.scale)
    return ConsistentParameters(found, values, float(relative), float(np.linalg.norm(whiten @ difference) / r**0.5))


def _bounds(tracked: Tracked) -> Bounds:
    bodies = len(tracked.layout.bodies)
    return Bounds(np.tile([0.0, HEAVIEST], (bodies, 1)), LEAST_EIGENVALUE, equalities=tracked.equalities)


def _prior(tracked: Tracked) -> Prior:
    first = tracked.layout.first_scalar
    return Prior(tracked.parameters[:first].reshape(-1, 10), PRIOR_WEIGHT)
