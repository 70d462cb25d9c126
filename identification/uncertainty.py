"""How sure estimates and predictions are: intervals of base parameters, deviations of predicted efforts."""

import numpy as np
from scipy.special import stdtrit

from robodyn_pin.identification.least_squares import BaseEstimate

LEVEL = 0.95


def quantile(freedom: float = np.inf) -> float:
    """How many standard deviations an interval reaches to both sides; Student's where few rows gave the noise."""
    return float(stdtrit(max(freedom, 1.0), (1 + LEVEL) / 2))


def freedom(estimate: BaseEstimate, rows: int, independent: float = 1.0) -> float:
    """Degrees of freedom that the residuals have left."""
    return independent * rows - estimate.base.size


def intervals(estimate: BaseEstimate, freedom: float = np.inf) -> np.ndarray:
    """Lower and upper ends (r, 2) of the base parameters, from the covariance.

    Args:
        freedom: degrees of freedom of the residuals; infinite where the noise was given.
    """
    reach = quantile(freedom) * estimate.deviations
    return estimate.values[:, None] + np.outer(reach, [-1.0, 1.0])


def prediction_deviations(estimate: BaseEstimate, W: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Standard deviations (N, d) of measured efforts about the predicted ones, from the parameters and from the noise.

    Args:
        W: (N, d, p) rows as predicted. noise: (d,) standard deviation of one measured effort.
    """
    of_parameters = np.sum((W[:, :, estimate.base.columns] @ _root(estimate.covariance)) ** 2, axis=2)
    return np.sqrt(of_parameters + noise**2)


def _root(covariance: np.ndarray) -> np.ndarray:
    """L with L L' = covariance, which round-off may have left without full rank."""
    size = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    return size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
