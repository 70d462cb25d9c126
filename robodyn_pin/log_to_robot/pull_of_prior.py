"""Whether the prior moves what the log shows: the feasible fit once more, with a tenth of the prior's weight."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.feasible import fit_feasible, with_noise_taken
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.log_to_robot.further_estimates import Estimates
from robodyn_pin.log_to_robot.verdict import short

LESS = 0.1
FAR = 3.0  # standard deviations; what the log hardly shows moves by one or two under any prior


def pull_of_prior(groups: Sequence[Factor], layout: Layout, found: Estimates) -> np.ndarray:
    """Return by how much the prior moves each base parameter (r,), in its standard deviations by weighted least squares.

    Args:
        groups: the fitted rows of each coordinate.

    Raises:
        SolverFailed: the fit with the lighter prior found no optimum.
    """
    prior, wls = found.prior, with_noise_taken(groups, found.wls)
    lighter = replace(prior, weight=LESS * prior.weight, scalar_weight=LESS * prior.scalar_weight)
    less = fit_feasible(groups, wls.sigma, layout, found.bounds, lighter)
    return wls.base.of(found.feasible.values - less.values) / wls.deviations


def moved_by_prior(groups: Sequence[Factor], layout: Layout, found: Estimates) -> str:
    """A sentence on the base parameter that the prior moves most; empty if it moves none far, or if no lighter one can be fitted."""
    try:
        pull = pull_of_prior(groups, layout, found)
    except SolverFailed:
        return ""
    most, many = int(np.argmax(np.abs(pull))), int(np.sum(np.abs(pull) > FAR))
    if not many:
        return ""
    label, weight = short(found.wls.base.labels(layout.labels)[most]), found.prior.weight
    return (
        f"the prior moves {many} of {len(pull)} base parameters away from what the log shows, most of all {label}, by "
        f"{abs(pull[most]):.3g} standard deviations, which leave this bias out: masses and radii of 'prior' are far from the robot's, or "
        f"its weight of {weight:g} is too large; 'choose: {{prior_weight: [{LESS * weight:g}, {weight:g}]}}' tells whether unseen "
        "torques ask for less"
    )
