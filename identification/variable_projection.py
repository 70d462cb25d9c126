"""Shape parameters that bend the columns, by variable projection: the linear parameters are solved anew for each shape.

min over theta > 0 and x of ||(W(theta) x - y) / sigma||. With P the projection onto what W cannot explain, P y is what is
left, and its derivative, with Kaufman's approximation, -P (dW/dtheta) x: the gradient is exact, as it cuts only terms
that W explains. Gauss-Newton steps go in log theta, in a box that shrinks until the cost falls; weights follow the residuals.

Source: Golub & Pereyra, SIAM J. Numer. Anal. 10(2), 1973; Kaufman, BIT 15(1), 1975.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import SolverFailed, UnseenShape
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.fold import Factor, triangle, weighted
from robodyn_pin.identification.least_squares import BaseEstimate, span

SETTLED = 1e-6  # relative step that changes nothing any more
NOISE = 0.01  # likewise in standard deviations
LONGEST = 1.0  # of one step in log theta: no shape changes by more than a factor e
SHORTER = 8  # times that a step is cut to a quarter
STEPS = 50
SEEN = 1e-7  # of a derivative's length that W must leave, or the rows do not show the shape

Weigh = Callable[[Sequence[Factor]], BaseEstimate]


@dataclass(frozen=True)
class Slopes:
    """The derivatives that a factor [W, dW, y] holds beside its p linear columns: one for each pair of shape and column."""

    names: tuple[str, ...]  # of the shapes, for messages
    shape: np.ndarray  # (k,) which shape parameter
    column: np.ndarray  # (k,) which column of W


@dataclass(frozen=True)
class ShapeEstimate:
    """Where the steps settled."""

    values: np.ndarray  # (s,)
    covariance: np.ndarray  # (s, s), the linear parameters unknown as well
    rows: tuple[Factor, ...]  # [W, dW, y] there
    steps: int

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (s,)."""
        return np.sqrt(np.diag(self.covariance))


def fit_shapes(
    start: np.ndarray,
    fold: Callable[[np.ndarray], list[Factor]],
    slopes: Slopes,
    weigh: Weigh,
    independent: float = 1.0,
    progress: Callable[[np.ndarray], None] = lambda theta: None,
) -> ShapeEstimate:
    """The shapes (s,) that leave least of the rows unexplained.

    Args:
        start: (s,) positive. fold: rows [W, dW, y] of each row group at shapes (s,), called once or more a step.
        weigh: weighted least squares of rows [W, y]. independent: share of the rows that carry noise of their own.

    Raises:
        UnseenShape: rows that do not show a shape; names it.
        SolverFailed: no end of the steps.
    """
    from scipy.optimize import lsq_linear

    theta = np.array(start, float)
    groups = fold(theta)
    for count in range(STEPS):
        progress(theta)
        estimate = weigh([_linear(g, len(slopes.column)) for g in groups])
        left, bend = _projected(groups, estimate, slopes, theta)
        step = lsq_linear(bend, left, (-LONGEST, LONGEST)).x
        covariance = np.linalg.pinv(bend.T @ bend) / independent
        found = ShapeEstimate(theta, covariance * np.outer(theta, theta), tuple(groups), count)
        if (np.abs(step) <= np.maximum(SETTLED, NOISE * np.sqrt(np.diag(covariance)))).all():
            return found
        for _ in range(SHORTER):
            groups = fold(theta * np.exp(step))
            remaining = _unexplained(weighted(groups, estimate.sigma), estimate.base)[0]
            if remaining @ remaining < left @ left:
                break
            longest = np.abs(step).max() / 4
            step = lsq_linear(bend, left, (-longest, longest)).x
        else:  # the gradient is exact: only round-off is left to gain
            return found
        theta = theta * np.exp(step)
    raise SolverFailed(
        f"the shape parameters {', '.join(slopes.names)} do not settle in {STEPS} steps; start nearer, or fit fewer",
        "steps",
    )


def with_unknown_shapes(estimate: BaseEstimate, found: ShapeEstimate, slopes: Slopes) -> BaseEstimate:
    """The linear estimate with the covariance that it has because the shapes are estimated as well."""
    R = weighted(found.rows, estimate.sigma)
    p = R.shape[1] - len(slopes.column) - 1
    A = R[:, estimate.base.columns]
    length = np.linalg.norm(A, axis=0)
    follows = -np.linalg.lstsq(A / length, _bend(R, p, estimate, slopes, len(found.values)), rcond=None)[0]
    follows /= length[:, None]  # dx/dtheta
    return replace(estimate, covariance=estimate.covariance + follows @ found.covariance @ follows.T)


def _linear(group: Factor, k: int) -> Factor:
    """Rows [W, y] of rows [W, dW, y] with k derivatives."""
    p = group.R.shape[1] - k - 1
    return Factor(triangle(np.delete(group.R, np.s_[p : p + k], axis=1)), group.rows, group.energy)


def _unexplained(R: np.ndarray, base: BaseSet) -> tuple[np.ndarray, np.ndarray]:
    """y less its projection on the base columns of rows [W, dW, y], and an orthonormal basis Q of these columns."""
    Q = span(R[:, base.columns])
    return R[:, -1] - Q @ (Q.T @ R[:, -1]), Q


def _projected(
    groups: Sequence[Factor], estimate: BaseEstimate, slopes: Slopes, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """P y and P (dW/d log theta) x in units of the noise, (n,) and (n, s).

    Raises:
        UnseenShape: a column of the latter is zero.
    """
    R = weighted(groups, estimate.sigma)
    p = R.shape[1] - len(slopes.column) - 1
    left, Q = _unexplained(R, estimate.base)
    bend = _bend(R, p, estimate, slopes, len(theta)) * theta
    projected = bend - Q @ (Q.T @ bend)
    unseen = np.linalg.norm(projected, axis=0) <= SEEN * np.linalg.norm(bend, axis=0)
    if unseen.any():
        which = int(np.argmax(unseen))
        raise UnseenShape(
            f"the log does not show the shape parameter {slopes.names[which]}: its coefficient is zero, "
            "or other columns bend alike; take it out of 'fit', or give a log with slower and faster motion",
            which,
        )
    return left, projected


def _bend(R: np.ndarray, p: int, estimate: BaseEstimate, slopes: Slopes, shapes: int) -> np.ndarray:
    """(dW/dtheta) x of rows [W, dW, y] with p columns W: (n, shapes)."""
    bend = np.zeros((shapes, len(R)))
    np.add.at(bend, slopes.shape, (R[:, p:-1] * estimate.full(p)[slopes.column]).T)
    return bend.T
