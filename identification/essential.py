"""Essential parameters: the base parameters that the rows show well; the others are left out one after the other.

Source: Briot, Krut & Gautier, ASME J. Dyn. Syst. Meas. Control 137(11), 2015 (ratio 10 there).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate, weighted_least_squares


@dataclass(frozen=True)
class EssentialEstimate:
    """A model of fewer parameters."""

    estimate: BaseEstimate  # its base has the columns that are left
    removed: np.ndarray  # (k,) columns that were left out, in that order
    spread: float  # largest relative deviation of those left over the smallest
    ratio: float  # what was asked of it


def relative_deviations(estimate: BaseEstimate) -> np.ndarray:
    """Standard deviations (r,) over the parameters' sizes; infinite where a parameter is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(estimate.deviations / np.abs(estimate.values), nan=np.inf, posinf=np.inf)


def essential(
    groups: Sequence[Factor], base: BaseSet | None = None, ratio: float = 10.0, independent: float = 1.0
) -> EssentialEstimate:
    """Leave out the parameter with the largest relative deviation, estimate anew, until largest <= ratio * smallest.

    Of equal deviations the first column goes: the same rows give the same parameters.

    Args:
        groups: folded rows per motor. base: where to start; default: the base set of the rows.
        ratio: 10 to 30, the larger, the more parameters stay.
        independent: share of the rows that carry noise of their own.

    Raises:
        RobodynError: fewer rows than base parameters.
    """
    estimate = weighted_least_squares(groups, base, independent)
    removed: list[int] = []
    while True:
        relative = relative_deviations(estimate)
        worst, best = int(np.argmax(relative)), float(relative.min())
        if len(relative) == 1 or relative[worst] <= ratio * best:
            spread = relative[worst] / best if best > 0 else 1.0
            return EssentialEstimate(estimate, np.array(removed, int), float(spread), ratio)
        removed.append(int(estimate.base.columns[worst]))
        whole = estimate.base  # the condition number stays that of the whole set
        columns, regroup = np.delete(whole.columns, worst), np.delete(whole.regroup, worst, axis=0)
        left = BaseSet(columns, whole.dropped, regroup, whole.condition)
        estimate = weighted_least_squares(groups, left, independent)
