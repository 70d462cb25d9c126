"""Estimates beside the usual ones, where the run file asks for them: fewer parameters, correlated noise, a second opinion."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.essential import EssentialEstimate, essential, relative_deviations
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.gauss_markov import (
    GaussMarkovEstimate,
    JointFactor,
    fold_joint,
    gauss_markov,
    merge_joint,
)
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.log_cholesky_fit import LogCholeskyEstimate, fit_log_cholesky
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.validation import apart
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.pieces import Pieces
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_blocks
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each


@dataclass(frozen=True)
class Further:
    """Estimates that the run file asked for; None: it did not."""

    gauss_markov: GaussMarkovEstimate | None = None
    essential: EssentialEstimate | None = None
    log_cholesky: LogCholeskyEstimate | None = None
    distance: float = 0.0  # between the predictions of log-Cholesky and the feasible fit, in units of the noise
    missing: str = ""  # why an estimate that was asked for is not there

    def vectors(self, size: int) -> dict[str, np.ndarray]:
        """Parameters (size,) of each, as `Result.scored` names them."""
        found = {}
        if self.gauss_markov:
            found["Gauss-Markov"] = self.gauss_markov.estimate.full(size)
        if self.essential:
            found["essential"] = self.essential.estimate.full(size)
        if self.log_cholesky:
            found["log-Cholesky"] = self.log_cholesky.values
        return found

    def summary(self, names: list[str], coordinates: list[str]) -> dict[str, object]:
        """What `result.json` holds of them."""
        found: dict[str, object] = {}
        if self.gauss_markov:
            found["gauss_markov"] = {
                "parameters": _base_parameters(self.gauss_markov.estimate, names),
                "along": coordinates, "covariance": self.gauss_markov.noise.tolist(),
                "correlation": self.gauss_markov.correlation.tolist(),
            }  # fmt: skip
        if self.essential:
            found["essential"] = {
                "parameters": _base_parameters(self.essential.estimate, names),
                "left_out": [names[i] for i in self.essential.removed],
                "ratio": self.essential.ratio, "reached": self.essential.spread,
            }  # fmt: skip
        if self.log_cholesky:
            found["log_cholesky"] = {
                "parameters": dict(zip(names, self.log_cholesky.values.tolist(), strict=True)),
                "steps": self.log_cholesky.steps, "variables": self.log_cholesky.free,
                "distance_to_feasible": self.distance, "distance_unit": "rms of the predictions' difference over the noise",
            }  # fmt: skip
        return found


def _base_parameters(estimate: BaseEstimate, names: list[str]) -> list[dict[str, object]]:
    columns = (estimate.values, estimate.deviations, np.minimum(relative_deviations(estimate), 1e9))
    return [
        {"label": label, "value": value, "deviation": deviation, "relative": relative}
        for label, value, deviation, relative in zip(
            estimate.base.labels(names), *(column.tolist() for column in columns), strict=True
        )
    ]


@dataclass(frozen=True)
class Estimates:
    """What was estimated, and what it was held to."""

    ols: BaseEstimate
    wls: BaseEstimate
    pieces: Pieces  # how sure it is, whatever its residuals are like
    feasible: FeasibleEstimate
    further: Further  # estimates that the run file asked for
    bounds: Bounds
    prior: Prior


def further_estimates(
    fitted: Fitted, logs: Sequence[AnyLog], groups: Sequence[Factor], wls: BaseEstimate, feasible: FeasibleEstimate,
    bounds: Bounds, prior: Prior,
) -> Further:  # fmt: skip
    """What `essential`, `gauss_markov` and `second_opinion` of the run file ask for.

    Args:
        logs: the fit logs, as `fitted` folded them. groups: their rows per coordinate.

    Raises:
        RobodynError: noise without a covariance; bounds that log-Cholesky variables cannot express.
    """
    run, second, distance, missing = fitted.settings.run, None, 0.0, ""
    if run.second_opinion:
        try:
            second = fit_log_cholesky(groups, wls.sigma, fitted.settings.layout, bounds, prior)
            distance = apart(groups, wls.sigma, second.values, feasible.values)
        except SolverFailed as error:
            missing = f"there is no second opinion on the feasible fit: {error}"
    return Further(
        gauss_markov(_whole_samples(fitted, logs), None, wls.base, fitted.independent) if run.gauss_markov else None,
        None if run.essential is None else essential(groups, wls.base, run.essential, fitted.independent),
        second, distance, missing,
    )  # fmt: skip


def _whole_samples(fitted: Fitted, logs: Sequence[AnyLog]) -> JointFactor:
    """Fold the fitted rows again, with the rows of one sample side by side."""
    return reduce(merge_joint, each(partial(_samples_of, fitted.settings.robot, fitted.settings.run), logs))


def _samples_of(robot: Robot, run: RunFile, log: AnyLog) -> JointFactor:
    factor = None
    for _, _, W, y in fitted_blocks(robot, run, log):
        factor = fold_joint(factor, W, y)
    assert factor is not None
    return factor
