"""Compare measurement campaigns: how well each choice of measurements determines the springs, Stiff-6660 table 2 and figure 4."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robodyn_pin.elastic.deviation import deviation_at
from robodyn_pin.elastic.inference import InferenceSettings, estimate_stiffness, stiffness_covariance, stiffness_of
from robodyn_pin.elastic.measurements import AXES, Measurements, unloaded_poses
from robodyn_pin.elastic.springs import Springs
from robodyn_pin.errors import BadFile

PRIOR_ONLY = "prior only"


@dataclass(frozen=True)
class Campaign:
    """The stiffness inferred from some of the measurements, and how well it predicts the validation measurements."""

    name: str
    rows: tuple[int, ...]  # numbers of its measurements in the file; empty for the prior alone
    stiffness: np.ndarray  # (n,) [N m/rad]
    covariance: np.ndarray  # (n, n) of the stiffness
    undetermined: dict[str, str]  # springs that keep their prior, with the reason
    predicted: np.ndarray | None  # (V, 3) predicted deviations of the validation poses [m]
    rms: dict[str, float] | None  # rms error of the predicted deviations, by axis and `all` [m]

    @property
    def trace(self) -> float:
        """Trace of the covariance [(N m/rad)²]."""
        return float(np.trace(self.covariance))


def compare_campaigns(
    springs: Springs, m: Measurements, settings: InferenceSettings, chosen: Mapping[str, list[int]],
    validation: Measurements | None,
) -> list[Campaign]:  # fmt: skip
    """Infer the stiffness from each choice of measurements separately; the last campaign is the prior alone.

    Args:
        chosen: names of the campaigns and the numbers of their measurements.

    Raises:
        BadFile: a campaign names no measurement, or one that the file lacks; a pose is out of reach.
    """
    for name, rows in chosen.items():
        check_rows(m, rows, f"campaign {name!r}")
    estimates = {name: estimate_stiffness(springs, m.subset(rows), settings) for name, rows in chosen.items()}
    poses = None if validation is None else unloaded_poses(validation, springs)
    campaigns = []
    for name in [*estimates, PRIOR_ONLY]:
        estimate = estimates.get(name)
        theta = estimate.posterior if estimate else settings.weighted_prior
        k, predicted, rms = stiffness_of(theta.mean, settings.form), None, None
        if validation is not None and poses is not None:
            predicted = deviation_at(springs, poses, validation.force, k, settings.model).values
            rms = rms_errors(predicted - validation.deviation)
        used = estimate.measurements.rows if estimate else ()
        undetermined = estimate.undetermined if estimate else {}
        covariance = stiffness_covariance(theta, settings.form)
        campaigns.append(Campaign(name, used, k, covariance, undetermined, predicted, rms))
    return campaigns


def check_rows(m: Measurements, rows: list[int], asker: str) -> None:
    """Raise BadFile if `asker` names no measurement, one that the file lacks, or one twice."""
    if not rows:
        raise BadFile(f"{asker} names no measurement")
    for row in rows:
        if row not in m.rows:
            raise BadFile(f"{asker}: no measurement {row} in {m.name}; it has 1 to {max(m.rows)}")
    if repeated := {row for row in rows if rows.count(row) > 1}:
        raise BadFile(f"{asker} names measurement {min(repeated)} more than once; each counts once")


def rms_errors(error: np.ndarray) -> dict[str, float]:
    """Root mean square of error vectors (V, 3): of each axis, and under `all` of their length."""
    by_axis = dict(zip(AXES, np.sqrt((error**2).mean(axis=0)).tolist(), strict=True))
    return by_axis | {"all": float(np.sqrt((error**2).sum(axis=1).mean()))}
