"""Whether the prior moves what the log shows, and how much it may weigh: the feasible fit once more, with less of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import FeasibleEstimate, fit_feasible, with_noise_taken
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.prior_weight import strongest, unseen_error, weighing
from robodyn_pin.log_to_robot.run_file import USUAL_WEIGHT
from robodyn_pin.log_to_robot.verdict import short

LESS = 0.1
FAR = 3.0  # standard deviations; what the log hardly shows moves by one or two under any prior
WEIGHTS = (0.0001, 0.001, USUAL_WEIGHT)  # that are compared where the usual one moves something far


@dataclass(frozen=True)
class Pull:
    """By how much the prior moves each base parameter (r,), in its standard deviations by weighted least squares."""

    by: np.ndarray
    labels: Sequence[str]

    @property
    def far(self) -> int:
        """How many it moves far."""
        return int(np.sum(np.abs(self.by) > FAR))

    def __str__(self) -> str:
        most = int(np.argmax(np.abs(self.by)))
        return (
            f"{self.far} of {len(self.by)} base parameters away from what the log shows, most of all {short(self.labels[most])}, by "
            f"{abs(self.by[most]):.3g} standard deviations"
        )


def pull_of_prior(
    groups: Sequence[Factor], layout: Layout, wls: BaseEstimate, feasible: FeasibleEstimate, bounds: Bounds, prior: Prior
) -> Pull:  # fmt: skip
    """Return what the prior moves.

    Args:
        groups: the fitted rows of each coordinate.

    Raises:
        SolverFailed: the fit with the lighter prior found no optimum.
    """
    lighter = replace(prior, weight=LESS * prior.weight, scalar_weight=LESS * prior.scalar_weight)
    less = fit_feasible(groups, wls.sigma, layout, bounds, lighter)
    noisy = with_noise_taken(groups, wls)
    return Pull(wls.base.of(feasible.values - less.values) / noisy.deviations, wls.base.labels(layout.labels))


def fit_with_prior(fitted: Fitted, groups: Sequence[Factor], wls: BaseEstimate) -> tuple[Fitted, FeasibleEstimate, str]:
    """The feasible fit, and a sentence where its prior moves what the log shows.

    Where nobody gave the prior's weight and the usual one moves something far, it weighs as much as unseen torques of the fit logs ask for.

    Args:
        groups: the fitted rows of each coordinate.

    Raises:
        SolverFailed: no optimum was found.
    """
    run, robot, layout = fitted.settings.run, fitted.settings.robot, fitted.settings.layout
    bounds, prior = bounds_of(run, robot), prior_of(run, robot)
    feasible = fit_feasible(groups, wls.sigma, layout, bounds, prior)
    try:
        pull = pull_of_prior(groups, layout, wls, feasible, bounds, prior)
    except SolverFailed:
        return fitted, feasible, ""
    if not pull.far:
        return fitted, feasible, ""
    moved = f"the prior moves {pull}, which leave this bias out"
    if run.prior.weight is not None:
        return fitted, feasible, (
            f"{moved}: masses and radii of 'prior' are far from the robot's, or its weight of {prior.weight:g} is too large; "
            f"'choose: {{prior_weight: [{LESS * prior.weight:g}, {prior.weight:g}]}}' tells whether unseen torques ask for less"
        )  # fmt: skip
    scores = {weight: _or_infinite(fitted, replace(prior, weight=weight)) for weight in WEIGHTS}
    weight = strongest(WEIGHTS, list(scores.values()))
    if weight == USUAL_WEIGHT:
        return fitted, feasible, (
            f"{moved}; unseen torques of the fit logs ask for no less than its usual weight of {weight:g}: masses and radii of 'prior' "
            "are far from the robot's, or the model lacks something, and then standard deviations are too small"
        )  # fmt: skip
    lighter = weighing(fitted, weight)
    feasible = fit_feasible(groups, wls.sigma, layout, bounds, replace(prior, weight=weight))
    return lighter, feasible, (
        f"the prior weighs {weight:g}: with its usual {USUAL_WEIGHT:g} it would move {pull}, and the error of unseen torques inside the fit "
        f"logs would be {scores[USUAL_WEIGHT]:.3g} instead of {scores[weight]:.3g} %; masses and radii of 'prior' near the robot's "
        "let it weigh more"
    )  # fmt: skip


def _or_infinite(fitted: Fitted, prior: Prior) -> float:
    """The cross-validated percentage error; infinite where a fit finds no optimum."""
    try:
        return unseen_error(fitted, prior)
    except SolverFailed:
        return np.inf
