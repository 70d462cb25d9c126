"""What the feasible fits minimise, as one stack of rows: the measured ones in units of their noise, then the prior's."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.identification.fold import Factor, weighted
from robodyn_pin.identification.parameters import UNIT, Layout
from robodyn_pin.identification.prior import Prior, prior_rows


def stacked_rows(
    groups: Sequence[Factor], sigma: np.ndarray, layout: Layout, prior: Prior
) -> tuple[np.ndarray, np.ndarray]:
    """Rows [A, b] (k, p + 1) of ||A x - b||^2, and the units (p,) of x: pi = units * x.

    Bodies are in units of 1 kg and 0.1 m, scalars in units that give their columns length one; the unit of one that neither rows nor
    prior show is zero, and so is the scalar. The entropic prior has no rows.

    Args:
        groups: folded rows per motor. sigma: (groups,) noise of each.
    """
    n, p = len(layout.bodies), layout.size
    R = weighted(groups, sigma) / np.sqrt(max(sum(g.rows for g in groups), 1))
    length = np.linalg.norm(R[:, 10 * n : p], axis=0)
    units = np.full(len(length), float(prior.scalar_weight > 0 and len(prior.scalars) > 0))
    units[length > 0] = 1 / length[length > 0]
    scale = np.concatenate([np.tile(UNIT, n), units])
    return np.concatenate([R * np.append(scale, 1.0), prior_rows(prior, scale)]), scale
