"""Instrumental variables: a second look at least squares where the regressor itself is noisy.

Noise in positions enters W through differentiation; least squares then shrinks what goes with accelerations. Instruments
Z, rows of a motion that does not have this noise, give pi = (Z'W)^-1 Z'y, right on average whatever noise W has, as long
as Z shares none of it. Rows [Z, W, y] are folded into one triangle like all others: with its blocks, pi = R_zw^-1 R_zy
and no product of long matrices is formed.

Source: Janot, Vandanjon & Gautier, IEEE T-CST 22(1), 2014; test: Hausman, Econometrica 46(6), 1978.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from robodyn_pin.identification.fold import Factor, triangle, weighted

UNLIKELY = 0.01
MATERIAL = 1.0  # standard deviations; a bias as large as that makes a 95 % interval hold the truth 83 times of 100
SAME = 1e-9  # of an instrument's length: what it has beside W; less is round-off


@dataclass(frozen=True)
class InstrumentalEstimate:
    """Base parameters with and without instruments, on the same rows."""

    values: np.ndarray  # (r,) with instruments
    covariance: np.ndarray  # (r, r) of them
    least_squares: np.ndarray  # (r,) without
    least_squares_deviations: np.ndarray  # (r,)
    statistic: float  # chi-square of the disagreement
    freedom: int  # its degrees of freedom

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (r,) with instruments."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def probability(self) -> float:
        """Chance of a disagreement at least as large if the regressor had no noise."""
        return float(chdtrc(self.freedom, max(self.statistic, 0.0))) if self.freedom else 1.0

    @property
    def biased(self) -> bool:
        """Whether noise in the regressor moves an estimate by more than its own uncertainty, and not by chance."""
        return self.probability < UNLIKELY and bool(np.abs(self.shifts).max(initial=0.0) > MATERIAL)

    @property
    def shifts(self) -> np.ndarray:
        """Differences (r,) in standard deviations of the estimate with instruments."""
        return (self.least_squares - self.values) / self.deviations


def instrumental(groups: Sequence[Factor], sigma: np.ndarray, independent: float = 1.0) -> InstrumentalEstimate:
    """Estimate from folded rows [Z, W, y] of the base columns, one factor per motor.

    The disagreement is what y still shows along Z once W is taken out: chi-square with as many degrees of freedom as
    parameters if W has no noise. Its scale is the residual that W and Z together leave.

    Args:
        sigma: (groups,) noise of each. independent: share of the rows that carry noise of their own.
    """
    R = weighted(groups, sigma)
    r, rows = len(R) // 2, sum(g.rows for g in groups)
    length = np.linalg.norm(R[:, :-1], axis=0)
    R = R / np.append(length, 1.0)
    scale = length[r : 2 * r]
    inverse = np.linalg.inv(R[:r, r : 2 * r])
    values = inverse @ R[:r, -1]
    left = np.sum((R[:, r : 2 * r] @ values - R[:, -1]) ** 2) / (rows - r)
    covariance = inverse @ inverse.T * left / independent / np.outer(scale, scale)

    beside = triangle(R[:, [*range(r, 2 * r), *range(r), 2 * r]])
    new = np.abs(np.diag(beside)[r : 2 * r]) > SAME
    noise = beside[-1, -1] ** 2 / (rows - 2 * r)
    plain = np.linalg.inv(beside[:r, :r])
    spread = np.sqrt(np.sum(plain**2, axis=1) * np.sum(beside[r:, -1] ** 2) / (rows - r) / independent)
    statistic = float(np.sum(beside[r : 2 * r, -1][new] ** 2) / noise * independent)
    least_squares = plain @ beside[:r, -1] / scale
    return InstrumentalEstimate(values / scale, covariance, least_squares, spread / scale, statistic, int(new.sum()))
