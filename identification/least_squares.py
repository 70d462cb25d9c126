"""Least squares on folded factors: ordinary, and weighted by the standard deviation of each row group, found or given."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.fold import Factor, weighted

ITERATIONS, SETTLED = 50, 1e-6  # until the noise that weights come from changes by less than this share of itself


@dataclass(frozen=True)
class BaseEstimate:
    """Least-squares estimate of the base parameters."""

    base: BaseSet
    values: np.ndarray  # (r,)
    covariance: np.ndarray  # (r, r)
    sigma: np.ndarray  # (groups,) standard deviation of each row group's residual

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (r,)."""
        return np.sqrt(np.diag(self.covariance))

    def full(self, p: int) -> np.ndarray:
        """A vector (p,) with these base parameters, dropped entries zero: for prediction only, no body is like this."""
        x = np.zeros(p)
        x[self.base.columns] = self.values
        return x


def ordinary(groups: Sequence[Factor], base: BaseSet | None = None) -> BaseEstimate:
    """Ordinary least squares: all rows alike.

    Raises:
        RobodynError: the rows show no parameter.
    """
    R = weighted(groups, np.ones(len(groups)))
    base = base or base_set(R[:, :-1])
    if not base.size:
        raise RobodynError(
            "the logs show none of the parameters: their positions, rates and accelerations need no torque; does the robot move in "
            "them, and are measured rates more than zeros?"
        )
    values, unit = _solve(R, base)
    spread = _residual_deviations(groups, base, values, pooled=True)
    return BaseEstimate(base, values, unit * spread[0] ** 2, spread)


def weighted_least_squares(
    groups: Sequence[Factor], base: BaseSet | None = None, independent: float = 1.0
) -> BaseEstimate:
    """Weighted least squares, sigma of each row group from its residual, iterated until sigma settles.

    Args:
        independent: share of the rows that carry noise of their own; filtered rows repeat their neighbours' noise.

    Raises:
        RobodynError: fewer rows than base parameters.
    """
    estimate = ordinary(groups, base)
    base, sigma = estimate.base, _residual_deviations(groups, estimate.base, estimate.values)
    rows = sum(g.rows for g in groups)
    _enough(rows, base.size)
    few, own = [f.of(base.columns) for f in groups], replace(base, columns=np.arange(base.size))
    for _ in range(ITERATIONS):
        values, covariance = _solve(weighted(few, sigma), own)
        new = _residual_deviations(few, own, values)
        done = np.all(np.abs(new - sigma) <= SETTLED * new)
        sigma = new
        if done:
            break
    return BaseEstimate(base, values, covariance / independent, sigma)


def known_noise(
    groups: Sequence[Factor], sigma: np.ndarray, base: BaseSet | None = None, independent: float = 1.0
) -> BaseEstimate:
    """Weighted least squares with the standard deviation of each row group given, as from static poses.

    Args:
        sigma: (groups,) [N m or N], positive. independent: as in `weighted_least_squares`.
    """
    R = weighted(groups, sigma)
    base = base or base_set(R[:, :-1])
    values, covariance = _solve(R, base)
    return BaseEstimate(base, values, covariance / independent, np.asarray(sigma, float))


def known_ratios(
    groups: Sequence[Factor], ratios: np.ndarray, base: BaseSet | None = None, independent: float = 1.0
) -> BaseEstimate:
    """Weighted least squares where standard deviations are known but for one common factor, which the residuals give.

    Args:
        ratios: (groups,) positive, as the largest torque of each motor. independent: as in `weighted_least_squares`.

    Raises:
        RobodynError: fewer rows than base parameters.
    """
    unit = known_noise(groups, ratios, base, independent)
    rows, size = sum(g.rows for g in groups), unit.base.size
    _enough(rows, size)
    x = unit.full(groups[0].R.shape[1] - 1)
    squares = sum(g.residual(x) / r**2 for g, r in zip(groups, ratios, strict=True))
    factor = np.sqrt(squares / (rows - size))
    return BaseEstimate(unit.base, unit.values, unit.covariance * factor**2, factor * np.asarray(ratios, float))


def noise_of_poses(poses: Sequence[np.ndarray], gear: np.ndarray) -> np.ndarray:
    """Standard deviation (d,) of joint torques from motor torques logged while the robot stands still.

    The variance within the poses, each about its own mean, times gear squared.

    Args:
        poses: motor torques (n, d) of each pose [N m]. gear: (d,) motor turns per joint turn.

    Raises:
        RobodynError: no pose with two samples.

    Source: Gnad et al. (IRB 360), section 6.2.1.
    """
    freedom = sum(len(tau) - 1 for tau in poses)
    if freedom < 1:
        raise RobodynError("the noise of static poses needs a pose with at least two samples")
    squares = sum(((tau - tau.mean(axis=0)) ** 2).sum(axis=0) for tau in poses)
    return np.sqrt(squares / freedom) * np.abs(gear)


def residual_squares(groups: Sequence[Factor], sigma: np.ndarray, columns: np.ndarray) -> float:
    """Sum of squares that least squares on independent columns leaves, in units of the noise sigma (groups,)."""
    return unexplained_squares(weighted(groups, sigma), columns)


def unexplained_squares(R: np.ndarray, columns: np.ndarray) -> float:
    """Sum of squares that least squares on independent columns leaves of weighted rows R = [W, y].

    A cost along which something is searched for needs the same columns everywhere: a rank decided anew makes it jump.
    """
    Q = span(R[:, columns])
    left = R[:, -1] - Q @ (Q.T @ R[:, -1])
    return float(left @ left)


def span(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis (n, r) of independent columns A (n, r), each scaled to length one first."""
    length = np.linalg.norm(A, axis=0)
    return np.linalg.qr(A / np.where(length, length, 1.0))[0]


def _enough(rows: int, size: int) -> None:
    if rows <= size:
        raise RobodynError(f"{rows} rows for {size} base parameters; give a longer log or decimate less")


def _solve(R: np.ndarray, base: BaseSet) -> tuple[np.ndarray, np.ndarray]:
    """Solution and (A'A)^-1 of the base columns of a factor [W, y]."""
    A, y = R[:, base.columns], R[:, -1]
    length = np.linalg.norm(A, axis=0)
    Q, triangle = np.linalg.qr(A / length)
    inverse = solve_triangular(triangle, np.eye(len(length))) / length[:, None]
    return inverse @ (Q.T @ y), inverse @ inverse.T


def _residual_deviations(
    groups: Sequence[Factor], base: BaseSet, values: np.ndarray, pooled: bool = False
) -> np.ndarray:
    """Standard deviation of each group's residual; the parameters' degrees of freedom are spread over all rows."""
    squares = np.array([np.sum((g.R[:, base.columns] @ values - g.R[:, -1]) ** 2) for g in groups])
    rows = np.array([g.rows for g in groups])
    if pooled:
        squares, rows = np.full(len(groups), squares.sum()), np.full(len(groups), rows.sum())
    share = 1 - base.size / max(np.sum([g.rows for g in groups]), base.size + 1)
    # A motor that is predicted exactly (noise-free data) would get infinite weight.
    floor = 1e-9 * np.array([np.linalg.norm(g.R[:, -1]) / np.sqrt(max(g.rows, 1)) for g in groups]) + 1e-12
    return np.maximum(np.sqrt(squares / np.maximum(rows * share, 1e-9)), floor)
