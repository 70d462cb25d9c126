"""Identical bodies that were estimated separately: how equal they came out, base parameter by base parameter."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import INERTIAL, Layout

SIGNIFICANT = 0.01  # less likely differences are not the noise's
SAME = 1e-4  # relative: weights of the regrouping that agree


@dataclass(frozen=True)
class Comparison:
    """One base parameter of all copies that have it."""

    label: str  # as the first copy's
    bodies: tuple[str, ...]
    values: np.ndarray  # (n,) [kg, kg m or kg m^2]
    deviations: np.ndarray  # (n,)
    chi_square: float  # of the differences, n - 1 degrees of freedom; nan where equal bodies may differ in it
    probability: float  # that the noise alone makes equal bodies differ as much

    @property
    def tested(self) -> bool:
        return not np.isnan(self.chi_square)

    @property
    def significant(self) -> bool:
        """The copies are not equal."""
        return self.probability < SIGNIFICANT


def compare_copies(layout: Layout, estimate: BaseEstimate) -> tuple[Comparison, ...]:
    """How much the base parameters of the layout's copies differ, against their covariance.

    The chi-square is that of the differences, d' cov(d)^-1 d. Where copies are regrouped unlike each other (one with the
    base, one with a platform) equal bodies have unequal base parameters, and there is none.
    """
    base, labels = estimate.base, estimate.base.labels(layout.labels)
    row = {int(column): i for i, column in enumerate(base.columns)}
    equal = _of_equal_bodies(layout, base)
    found = []
    for group in layout.copies:
        for k in range(len(INERTIAL)):
            bodies = [i for i in group if 10 * i + k in row]
            rows = np.array([row[10 * i + k] for i in bodies], int)
            if len(rows) < 2:
                continue
            alike = np.abs(equal[rows] - equal[rows[0]]).max() <= SAME * np.abs(equal[rows[0]]).max()
            chi_square = _chi_square(estimate.values[rows], estimate.covariance[np.ix_(rows, rows)])
            test = (chi_square, float(chdtrc(len(rows) - 1, chi_square))) if alike else (np.nan, np.nan)
            names = tuple(layout.bodies[i] for i in bodies)
            found.append(Comparison(labels[rows[0]], names, estimate.values[rows], estimate.deviations[rows], *test))
    return tuple(found)


def _of_equal_bodies(layout: Layout, base: BaseSet) -> np.ndarray:
    """Base parameters (r, p) by the parameters of bodies whose copies are equal to the first one of them."""
    expand = np.eye(layout.size)
    for first, *others in layout.copies:
        for i in others:
            expand[10 * i : 10 * i + 10] = expand[10 * first : 10 * first + 10]
    return base.of(expand)


def _chi_square(x: np.ndarray, covariance: np.ndarray) -> float:
    differences = np.diff(np.eye(len(x)), axis=0)
    d = differences @ x
    return float(d @ np.linalg.solve(differences @ covariance @ differences.T, d))
