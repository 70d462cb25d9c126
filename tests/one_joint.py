"""One kilogram, or an arm, on a straight path of one joint."""

import numpy as np

from robodyn_pin.planning.limits import symmetric
from robodyn_pin.planning.path import Path, lines
from robodyn_pin.robot.limits import Limits


def straight(begin: float, end: float) -> Path:
    return lines(("q",), np.array([[begin], [end]]), np.array([False]), 0.0)


def limits(**most: float) -> Limits:
    return Limits(tuple(symmetric(kind, ("q",), np.array([value])) for kind, value in most.items()))


def mass(q, v, a):
    """One kilogram."""
    return a
