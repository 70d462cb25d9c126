"""A payload identified: its quantities, with how well the logs show them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.simple_bodies import QUANTITIES, about_centre
from robodyn_pin.robot.robot import Payload, Robot

ALONE = 1e-6  # smallest weight with which another parameter counts in a combination, as in the labels


@dataclass(frozen=True)
class PayloadQuantity:
    """One number of a payload, in the frame of the link that it is fixed to."""

    name: str
    unit: str
    feasible: float
    wls: float | None  # None: the logs do not show it by itself; the feasible value then leans on the prior
    deviation: float | None  # standard deviation of `wls`


def check_sign(payload: Payload, first: int, wls: BaseEstimate) -> None:
    """Refuse a payload of negative mass, which swapped logs give; its parameters begin at column `first`.

    Raises:
        BadLog: the mass, or the moment of inertia where no mass is seen, is below zero by more than two of its standard
            deviations.
    """
    alone = _alone(wls.base)
    for name, entry in {"mass": 0, "Izz": 9, "Iyy": 6, "Ixx": 4}.items():
        if (row := alone.get(first + entry)) is None:
            continue
        if wls.values[row] < -2 * wls.deviations[row]:
            found = f"{wls.values[row]:.3g} {'kg' if name == 'mass' else 'kg m²'}"
            raise BadLog(f"{payload.name} {name} is negative ({found}): are loaded and unloaded logs swapped?")
        return


def payload_quantities(robot: Robot, feasible: np.ndarray, wls: BaseEstimate) -> list[PayloadQuantity]:
    """What an identification says of the payload; feasible (p,)."""
    columns, alone = robot.payload_columns, _alone(wls.base)
    own = [(c - columns.start, row) for c, row in alone.items() if columns.start <= c < columns.stop]
    seen, rows = np.array(own, int).reshape(-1, 2).T
    x, covariance = np.full(10, np.nan), np.zeros((10, 10))
    x[seen] = wls.values[rows]
    covariance[np.ix_(seen, seen)] = wls.covariance[np.ix_(rows, rows)]
    values, J = about_centre(x), _slope(x)
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", J, covariance, J))
    found = zip(QUANTITIES.items(), about_centre(feasible[columns]), values, deviations, strict=True)
    return [
        PayloadQuantity(name, unit, float(f), *((None, None) if np.isnan(w) else (float(w), float(s))))
        for (name, unit), f, w, s in found
    ]


def payload_summary(
    robot: Robot, labels: Sequence[str], base: BaseSet, found: Sequence[PayloadQuantity]
) -> dict[str, object] | None:
    """What `result.json` holds of the payload; labels (r,) of the base parameters."""
    if robot.payload is None:
        return None
    own = range(*robot.payload_columns.indices(robot.payload_columns.stop))
    return {
        "name": robot.payload.name, "link": robot.payload.link, "frame": robot.payload.link,
        "shown": [label for column, label in zip(base.columns, labels, strict=True) if column in own],
        "quantities": {
            q.name: {"unit": q.unit, "feasible": q.feasible, "wls": q.wls, "deviation": q.deviation} for q in found
        },
    }  # fmt: skip


def _slope(x: np.ndarray) -> np.ndarray:
    """Jacobian (10, 10) of `about_centre`, exact: an imaginary step causes no cancellation."""
    step = 1e-30
    return np.stack([about_centre(x + 1j * step * unit).imag / step for unit in np.eye(10)], axis=1)


def _alone(base: BaseSet) -> dict[int, int]:
    """Columns that are base parameters without any other column, each with the number of its base parameter."""
    lonely = ~(np.abs(base.regroup) > ALONE).any(axis=1)
    return {int(c): k for k, c in enumerate(base.columns) if lonely[k]}
