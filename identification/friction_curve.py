"""Friction over speed: one point for each constant speed, and the curve through the points.

At constant speed a motor that turns freely overcomes friction alone. Source: Gnad et al. (IRB 360), section 6.3.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, nnls

from robodyn_pin.errors import RobodynError

SAME = 0.02  # speeds that differ by less, relative, are one point
BLOCKS = 10  # whose means show how well the mean is known, noise that lasts from sample to sample included
STARTS = 12  # of the search for a shape
PASSES = 3  # of fits with errors in proportion to what the one before predicts
LEAST = 0.01  # of the largest effort: the least that errors grow with
REACH = 3.0  # times the slowest and fastest speed: no point tells of a bend beyond


@dataclass(frozen=True)
class Points:
    """Steady friction, one point a speed, in order."""

    speed: np.ndarray  # (n,) [rad/s or m/s]
    effort: np.ndarray  # (n,) mean [N m or N]
    deviation: np.ndarray  # (n,) standard deviation of one sample
    error: np.ndarray  # (n,) standard deviation of the mean
    samples: np.ndarray  # (n,) how many


@dataclass(frozen=True)
class CurveFit:
    """A friction model through the points."""

    coefficients: np.ndarray  # (k,) [N m, N m s, ...], none below zero
    shape: float | None  # speed at which the curve bends [rad/s or m/s]
    covariance: np.ndarray  # (u, u) of the coefficients and, last, of the shape; infinite: the points do not show it
    freedom: int  # points less unknowns
    rmse: float  # [N m or N] of the points
    predicted: np.ndarray  # (n,)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the coefficients (k,)."""
        return np.sqrt(np.diag(self.covariance)[: len(self.coefficients)])

    @property
    def shape_deviation(self) -> float | None:
        """Standard deviation of the shape."""
        return None if self.shape is None else float(np.sqrt(self.covariance[-1, -1]))


def friction_points(speeds: Sequence[float], efforts: Sequence[np.ndarray]) -> Points:
    """One point for each speed; parts whose speeds agree are averaged.

    Args:
        speeds: mean speed of each part. efforts: samples (n,) of each part.
    """
    order = np.argsort(speeds)
    groups: list[list[int]] = []
    for i in order:
        first = groups[-1][0] if groups else i
        if groups and abs(speeds[i] - speeds[first]) <= SAME * abs(speeds[first]):
            groups[-1].append(int(i))
        else:
            groups.append([int(i)])
    rows = []
    for group in groups:
        samples = np.concatenate([efforts[i] for i in group])
        weights = [len(efforts[i]) for i in group]
        speed = np.average([speeds[i] for i in group], weights=weights)
        rows.append([speed, samples.mean(), samples.std(ddof=1), mean_error(samples), len(samples)])
    return Points(*np.array(rows).T)


def mean_error(samples: np.ndarray) -> float:
    """Standard deviation of the mean of samples (n,), noise that lasts from one to the next included."""
    means = [block.mean() for block in np.array_split(samples, min(BLOCKS, len(samples)))]
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))


def fit_curve(
    points: Points,
    columns: Callable[[np.ndarray, float], np.ndarray],
    shaped: bool,
    names: Sequence[str],
    relative: bool = False,
) -> CurveFit:
    """Fit effort = columns(speed, shape) @ coefficients; coefficients not negative.

    Variable projection: for each shape the coefficients are the linear solution, so that only the shape is searched.

    Args:
        columns: speeds (n,), shape -> (n, k). shaped: the columns bend with the shape. names: of the coefficients.
        relative: the points' errors grow with the effort, so that its logarithm is known alike everywhere; else all points
            count alike.

    Raises:
        RobodynError: too few speeds for the model.
    """
    w, y = points.speed, points.effort
    _enough(w, [*names, *(["speed"] if shaped else [])])
    bounds = np.log(np.abs(w).min() / REACH), np.log(np.abs(w).max() * REACH)
    size = np.ones_like(y)

    def left(at: np.ndarray) -> np.ndarray:
        A = columns(w, float(np.exp(at[0]))) / size[:, None]
        return A @ nnls(A, y / size)[0] - y / size

    at, predicted = np.zeros(1), y
    for _ in range(PASSES if relative else 1):
        if relative and predicted.any():  # a curve of zeros, where there is no friction, has no relative error
            size = np.maximum(np.abs(predicted), LEAST * np.abs(predicted).max())
        if shaped:
            starts = np.linspace(*bounds, STARTS + 2)[1:-1, None]
            start = min(starts, key=lambda s: float(np.sum(left(s) ** 2)))
            at = least_squares(left, start, bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-14).x
        shape = float(np.exp(at[0]))
        A = columns(w, shape)
        x = nnls(A / size[:, None], y / size)[0]
        predicted = A @ x
    J = A
    if shaped:
        h = 1e-4 * shape
        J = np.column_stack([A, (columns(w, shape + h) - columns(w, shape - h)) @ x / (2 * h)])
    covariance = _covariance(J / size[:, None], (predicted - y) / size, relative)
    if shaped and np.abs(at - bounds).min() < 1e-3:
        covariance[-1, -1] = np.inf
    rmse = float(np.sqrt(np.mean((predicted - y) ** 2)))
    return CurveFit(x, shape if shaped else None, covariance, len(y) - J.shape[1], rmse, predicted)


def _covariance(J: np.ndarray, rest: np.ndarray, own: bool) -> np.ndarray:
    """Covariance of the unknowns from what is left (n,), infinite where the points do not show one.

    Args:
        own: each point counts with its own residual, over 1 - leverage as if it had not been fitted, because not all are
            known alike: MacKinnon & White, Journal of Econometrics 29(3), 1985, HC3. Else one variance for all.
    """
    length = np.linalg.norm(J, axis=0)
    seen = length > 1e-9 * length.max()
    found = np.diag(np.full(J.shape[1], np.inf))
    R = J[:, seen] / length[seen]
    inverse = np.linalg.pinv(R.T @ R)
    if own:
        leverage = np.einsum("ij,jk,ik->i", R, inverse, R)
        scores = (R @ inverse) * (rest / np.maximum(1 - leverage, 1e-6))[:, None]
        inverse = scores.T @ scores
    else:
        inverse = float(rest @ rest) / (len(rest) - J.shape[1]) * inverse
    found[np.ix_(seen, seen)] = inverse / np.outer(length[seen], length[seen])
    return found


def _enough(w: np.ndarray, unknown: Sequence[str]) -> None:
    order = np.sort(np.abs(w))
    different = 1 + int((np.diff(order) > SAME * order[1:]).sum())
    if different < len(unknown) or len(w) <= len(unknown):
        raise RobodynError(
            f"{len(w)} points at {different} different speeds are too few for {len(unknown)} unknowns ({', '.join(unknown)}); "
            "hold more speeds, slow and fast, in both directions"
        )
