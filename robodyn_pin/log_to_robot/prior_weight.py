"""How much the prior weighs: the largest of some weights that costs next to nothing on unseen torques of the fit logs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.validation import cross_validated
from robodyn_pin.log_to_robot.fit_data import Choice, Fitted, judged_rows
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.telling import Milestone

NEXT_TO_NOTHING = 1.005  # a cross-validated error this much above the least counts as equal


def choose_weight(fitted: Fitted, progress: Callable[[str], None]) -> tuple[Fitted, Choice]:
    """The fit data with the weight that `choose: prior_weight` finds: light bodies that the log hardly shows then stay reasonable."""
    run = fitted.settings.run
    weights, scores = run.choose.prior_weight, []
    for done, weight in enumerate(weights):
        progress(Milestone(f"choosing prior_weight: {weight:g}", "prior_weight", done / len(weights)))
        scores.append(unseen_error(fitted, replace(prior_of(run, fitted.settings.robot), weight=weight)))
    chosen = strongest(weights, scores)
    return weighing(fitted, chosen), Choice("prior_weight", tuple(weights), tuple(scores), chosen)


def strongest(weights: Sequence[float], scores: Sequence[float]) -> float:
    """The largest weight whose error counts as equal to the least one."""
    good = np.array(scores) <= NEXT_TO_NOTHING * min(scores)
    return float(np.array(weights)[good].max())


def weighing(fitted: Fitted, weight: float) -> Fitted:
    """The fit data with a weight of the prior."""
    run = fitted.settings.run
    changed = run.model_copy(update={"prior": run.prior.model_copy(update={"weight": weight})})
    return replace(fitted, settings=replace(fitted.settings, run=changed))


def unseen_error(fitted: Fitted, prior: Prior) -> float:
    """Cross-validated percentage error of the feasible fit."""
    settings = fitted.settings
    bounds = bounds_of(settings.run, settings.robot)

    def feasible(groups: list[Factor]) -> np.ndarray:
        sigma = fitted.weigh(groups, None, 1.0).sigma
        return fit_feasible(groups, sigma, settings.layout, bounds, prior).values

    return cross_validated(fitted.rows, judged_rows(fitted), feasible, settings.run.score.measure)
