"""Parameters that the feasible fit pushes against their bounds. If noise does not explain that, the model lacks an effect."""

import numpy as np
from scipy.special import ndtri

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import Layout

AT_BOUND = 1e-3  # relative distance to its bound below which a mass counts as at the bound
ZERO = 0.01  # of its standard deviation: a smaller value counts as zero, which an interior-point solver never reaches
ALONE = 1e-6  # weight with which another parameter counts in a base parameter
CHANCE = 0.01  # that noise alone makes least squares contradict one of the bounds


def as_good_as_zero(layout: Layout, values: np.ndarray, wls: BaseEstimate) -> np.ndarray:
    """Mask (p,) of the parameters that may not be negative, that least squares determines, and that came out as zero."""
    deviations = np.zeros(layout.size)
    deviations[wls.base.columns] = wls.deviations
    limit = np.concatenate([np.zeros(layout.first_scalar, bool), np.array(layout.nonnegative, bool)])
    return np.asarray(limit & (deviations > 0) & (np.abs(values) <= ZERO * deviations))


def against_bounds(layout: Layout, values: np.ndarray, wls: BaseEstimate, bounds: Bounds) -> list[str]:
    """Coefficients at zero and masses at a bound that unconstrained least squares puts beyond it by more than noise explains."""
    low, high = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    low[layout.first_scalar :] = np.where(np.array(layout.nonnegative, bool), 0.0, -np.inf)
    masses = 10 * np.arange(len(layout.bodies))
    low[masses], high[masses] = bounds.mass.T
    stopped = as_good_as_zero(layout, values, wls)
    stopped[masses] = (np.abs(values[masses, None] - bounds.mass) <= AT_BOUND * bounds.mass).any(axis=1)
    alone = ~(np.abs(wls.base.regroup) > ALONE).any(axis=1)
    columns = wls.base.columns[alone]
    x, deviations = wls.values[alone], wls.deviations[alone]
    beyond = np.maximum(low[columns] - x, x - high[columns])
    far = -ndtri(CHANCE / max(1, int(np.isfinite(beyond).sum()))) * deviations
    return [
        f"{layout.labels[column]} is {values[column] + 0.0:.3g}, least squares gives {x[k]:.3g} +- {deviations[k]:.2g}"
        for k, column in enumerate(columns)
        if stopped[column] and beyond[k] > far[k]
    ]
