"""What changed between two estimates of base parameters from different logs, and whether chance explains it."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, norm

from robodyn_pin.identification.base_parameters import BaseSet

COMMON = 1e-6  # of a combination's size: what the other estimate may lack of it
UNLIKELY = 0.05


@dataclass(frozen=True)
class Change:
    """Base parameters that both estimates know, in the first one's combinations."""

    rows: np.ndarray  # (k,) indices of the first estimate's base parameters
    first: np.ndarray  # (k,)
    second: np.ndarray  # (k,)
    deviations: np.ndarray  # (k,) of the difference
    probability: np.ndarray  # (k,) of a change at least as large by chance, corrected for k looks (Holm 1979)
    statistic: float  # chi-square of all changes together
    joint: float  # its probability

    @property
    def significant(self) -> np.ndarray:
        """Which parameters changed (k,)."""
        return self.probability < UNLIKELY


def changes(
    base: BaseSet,
    first: np.ndarray,
    covariance: np.ndarray,
    other: BaseSet,
    second: np.ndarray,
    other_covariance: np.ndarray,
) -> Change:
    """Compare base parameters first (r,) with second (s,), each with its covariance, of two independent logs.

    Base sets may keep other columns or know less: compared are those combinations of the first that are sums of the
    second's.
    """
    A, B = base.matrix, other.matrix
    size = np.abs(np.concatenate([A, B])).max(axis=0)
    size[size == 0] = 1.0
    M = np.linalg.lstsq((B / size).T, (A / size).T, rcond=None)[0].T  # A = M B for what both know
    missing = np.linalg.norm((A - M @ B) / size, axis=1) / np.linalg.norm(A / size, axis=1)
    rows = np.flatnonzero(missing < COMMON)
    M = M[rows]
    there = M @ second
    total = covariance[np.ix_(rows, rows)] + M @ other_covariance @ M.T
    deviations = np.sqrt(np.diag(total))
    z = (there - first[rows]) / deviations
    correlation = total / np.outer(deviations, deviations)
    statistic = float(z @ np.linalg.solve(correlation, z)) if len(rows) else 0.0
    joint = float(chi2.sf(statistic, len(rows))) if len(rows) else 1.0
    return Change(rows, first[rows], there, deviations, holm(2 * norm.sf(np.abs(z))), statistic, joint)


def holm(p: np.ndarray) -> np.ndarray:
    """Probabilities corrected for as many looks as there are; of all below a level, none is false but for that level."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
