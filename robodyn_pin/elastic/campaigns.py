"""Which measurements are worth how much: campaigns side by side, Stiff-6660 table 2 and figure 4."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robodyn_pin.elastic.deviation import Model, deviation_at
from robodyn_pin.elastic.elastic_file import Form
from robodyn_pin.elastic.inference import Estimate, covariance_of, estimate, stiffness_of
from robodyn_pin.elastic.measurements import AXES, Measurements, placed
from robodyn_pin.elastic.springs import Springs
from robodyn_pin.errors import BadFile
from robodyn_pin.identification.bayes import Gaussian

PRIOR_ONLY = "prior only"


@dataclass(frozen=True)
class Campaign:
    """What some of the measurements give."""

    name: str
    rows: tuple[int, ...]  # of the file; none: the prior alone
    stiffness: np.ndarray  # (n,) [N m/rad]
    covariance: np.ndarray  # (n, n) of the stiffness
    untold: dict[str, str]  # springs that keep their prior, and why
    predicted: np.ndarray | None  # (V, 3) deviations of the validation poses [m]
    rms: dict[str, float] | None  # error of the predicted deviation, by axis and `all` [m]

    @property
    def trace(self) -> float:
        """Of the covariance [(N m/rad)²]."""
        return float(np.trace(self.covariance))


def campaigns(
    springs: Springs,
    m: Measurements,
    prior: Gaussian,
    form: Form,
    gamma: float,
    model: Model,
    chosen: Mapping[str, list[int]],
    validation: Measurements | None,
) -> list[Campaign]:
    """Infer from each choice of measurements alone, the prior alone last.

    Raises:
        BadFile: a row that the file has not, or none; poses out of reach.
    """
    for name, rows in chosen.items():
        check_rows(m, rows, f"campaign {name!r}")
    found: list[tuple[str, Estimate | None]] = [
        (name, estimate(springs, m.taken(rows), prior, form, gamma, model)) for name, rows in chosen.items()
    ]
    at = None if validation is None else placed(validation, springs)
    out = []
    for name, e in [*found, (PRIOR_ONLY, None)]:
        belief = e.posterior if e else Gaussian(prior.mean, prior.covariance / gamma)
        k, predicted, rms = stiffness_of(belief.mean, form), None, None
        if validation is not None and at is not None:
            predicted = deviation_at(springs, at, validation.force, k, model).values
            rms = errors(predicted - validation.deviation)
        used = e.measurements.rows if e else ()
        out.append(Campaign(name, used, k, covariance_of(belief, form), e.untold if e else {}, predicted, rms))
    return out


def check_rows(m: Measurements, rows: list[int], where: str) -> None:
    """Raise BadFile for rows that the file has not, or that stand twice."""
    if not rows:
        raise BadFile(f"{where} names no measurement")
    for row in rows:
        if row not in m.rows:
            raise BadFile(f"{where}: no measurement {row} in {m.name}; it has 1 to {max(m.rows)}")
    if twice := {row for row in rows if rows.count(row) > 1}:
        raise BadFile(f"{where} names measurement {min(twice)} more than once; each counts once")


def errors(off: np.ndarray) -> dict[str, float]:
    """Root mean square of vectors (V, 3) by axis, and of their length."""
    by_axis = dict(zip(AXES, np.sqrt((off**2).mean(axis=0)).tolist(), strict=True))
    return by_axis | {"all": float(np.sqrt((off**2).sum(axis=1).mean()))}
