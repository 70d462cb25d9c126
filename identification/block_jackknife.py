"""How sure an estimate is, from the estimates that leave out one piece of the data each: residuals may be coloured.

Least squares whose rows are called independent is too sure of itself by a factor of 3 to 15 on measured logs: residuals are
friction that the model lacks, alike for as long as a joint goes one way. Left out in pieces longer than that, they tell how
sure the estimate is whatever they are like within a piece: with G pieces and x_g the estimate without piece g,

    V = (G - 1) / G  sum_g (x_g - x)(x_g - x)',          t = x / sqrt(V) has about G - 1 degrees of freedom.

Where neighbouring pieces still are alike (correlation rho of their x_g - x), V grows by (1 + rho) / (1 - rho), and G pieces
count as G (1 - rho) / (1 + rho). What a piece assumes: errors of different pieces are independent, also those of the model.

Source: MacKinnon, Nielsen & Webb, J. Applied Econometrics 38(5), 2023 (cluster jackknife CV3, t with G - 1 degrees of
freedom); Kuensch, Annals of Statistics 17(3), 1989 (jackknife of time series by blocks).
"""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.identification.fold import Factor, merge_factors

SINGULAR = 1e-8  # of the largest singular value of columns scaled to length one
SHOWN = 1e-3  # share of a parameter in a direction that the other pieces do not show


def without_each(pieces: Sequence[Factor]) -> np.ndarray:
    """Estimates (G, r) by the rows [A, y] of all pieces but one; NaN where these do not show a parameter.

    Args:
        pieces: the rows of each, in units of their noise, r columns that are independent over all pieces.
    """
    length = np.linalg.norm(merge_factors(pieces).R[:, :-1], axis=0)
    found = []
    for g in range(len(pieces)):
        R = merge_factors([*pieces[:g], *pieces[g + 1 :]]).R
        U, size, directions = np.linalg.svd(R[:, :-1] / length, full_matrices=False)
        seen = size > SINGULAR * size[0]
        x = (directions[seen].T @ ((U[:, seen].T @ R[:, -1]) / size[seen])) / length
        x[(np.abs(directions[~seen]) > SHOWN).any(axis=0)] = np.nan
        found.append(x)
    return np.array(found)


def spread(off: np.ndarray) -> np.ndarray:
    """Standard deviations (k,) of estimates that move by `off` (G, k) when a piece is left out; neighbours independent."""
    many = len(off)
    return np.sqrt((many - 1) / many * np.sum(off**2, axis=0))


def likeness(off: np.ndarray) -> float:
    """Correlation of neighbouring pieces, 0 where it is negative: of `off` (G, k), each column in units of its spread."""
    x = off / np.maximum(spread(off), 1e-300)
    return float(np.clip(np.sum(x[1:] * x[:-1]) / max(np.sum(x**2), 1e-300), 0.0, 0.9))
