"""Coefficients of friction and the like that no row of the fit logs contains, as those of a motor that stands still."""

import numpy as np

from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior

MOST = 6  # that are named


def not_shown(layout: Layout, wls: BaseEstimate, prior: Prior) -> str:
    """A caution that names them; empty where there are none, or where the prior knows them."""
    if prior.scalar_weight > 0 and len(prior.scalars):
        return ""
    seen = np.abs(wls.base.matrix).max(axis=0, initial=0.0) > 0
    names = [label for k, label in enumerate(layout.labels) if k >= layout.first_scalar and not seen[k]]
    if not names:
        return ""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return (
        f"the fit logs do not show {', '.join(names[:MOST])}{more}: zero stands for what is unknown; give logs in which that axis moves, or "
        "keep the robot file's values with 'prior: {friction: 0.01}'"
    )
