"""Friction over speed: one point for each constant speed, and the curve through the points.

At constant speed a motor that turns freely overcomes friction alone. Source: Gnad et al. (IRB 360), section 6.3.1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

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
    spread: np.ndarray | None = (
        None  # (n, m) own speeds of the moments that a point is the mean of; none: all as `speed`
    )


@dataclass(frozen=True)
class CurveFit:
    """A friction model through the points."""

    coefficients: np.ndarray  # (k,) [N m, N m s, ...], none below zero but an offset, the last where there is one
    shape: float | None  # speed at which the curve bends [rad/s or m/s]
    covariance: np.ndarray  # (u, u) of the coefficients and, last, of the shape; infinite: the points do not show it
    freedom: int  # points less unknowns
    rmse: float  # [N m or N] of the points
    error: np.ndarray  # (n,) standard deviations of the points, up to a common factor
    sizes: np.ndarray  # (u,) rms that one of each unknown adds to the efforts [N m or N]
    predicted: np.ndarray  # (n,)
    has_offset: bool  # what both directions hold alike is the last coefficient

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the coefficients (k,)."""
        return np.sqrt(np.diag(self.covariance)[: len(self.coefficients)])

    @property
    def shape_deviation(self) -> float | None:
        """Standard deviation of the shape."""
        return None if self.shape is None else float(np.sqrt(self.covariance[-1, -1]))

    @property
    def friction(self) -> np.ndarray:
        """Of the predicted efforts (n,), what is no offset."""
        return self.predicted - (self.coefficients[-1] if self.has_offset else 0.0)


def stretch_point(speed: float, torque: np.ndarray) -> tuple[float, float, float, float, int]:
    """A point of `Points` from the torques (n,) of one stretch."""
    return speed, float(torque.mean()), float(torque.std(ddof=1)), mean_error(torque), len(torque)


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
    offset: bool = False,
) -> CurveFit:
    """Fit effort = columns(speed, shape) @ coefficients (+ offset); coefficients not negative, an offset of any sign.

    Variable projection: for each shape the coefficients are the linear solution, so that only the shape is searched.

    Args:
        columns: speeds (n,), shape -> (n, k). shaped: the columns bend with the shape. names: of the coefficients.
        relative: the points' errors grow with the effort, so that its logarithm is known alike everywhere; else a point's
            variance is that of its mean and one that all have alike: Paule & Mandel, J. Res. NBS 87(5), 1982.
        offset: what both directions hold alike is fitted too, as the last coefficient.

    Raises:
        RobodynError: too few speeds for the model.
    """
    from scipy.optimize import least_squares, nnls

    w, y = points.speed, points.effort
    _enough(w, [*names, *(["speed"] if shaped else [])], len(names) + shaped + offset)
    bounds = np.log(np.abs(w).min() / REACH), np.log(np.abs(w).max() * REACH)
    size = np.ones_like(y)

    spread = w[:, None] if points.spread is None else points.spread

    def averaged(shape: float) -> np.ndarray:
        return columns(spread.ravel(), shape).reshape(*spread.shape, -1).mean(axis=1)

    def solved(shape: float) -> tuple[np.ndarray, np.ndarray]:
        A = averaged(shape)
        A = np.column_stack([A, np.ones_like(w)]) if offset else A
        both = np.column_stack([A, -A[:, -1]]) if offset else A
        x = nnls(both / size[:, None], y / size)[0]
        return A, np.append(x[:-2], x[-2] - x[-1]) if offset else x

    def left(at: np.ndarray) -> np.ndarray:
        A, x = solved(float(np.exp(at[0])))
        return (A @ x - y) / size

    at, predicted = np.zeros(1), y
    freedom = len(y) - len(names) - shaped - offset
    for k in range(PASSES):
        if relative and predicted.any():  # a curve of zeros, where there is no friction, has no relative error
            size = np.maximum(np.abs(predicted), LEAST * np.abs(predicted).max())
        elif k and not relative:
            size = _sizes(predicted - y, points.error, freedom)
        if shaped:
            starts = np.linspace(*bounds, STARTS + 2)[1:-1, None]
            start = min(starts, key=lambda s: float(np.sum(left(s) ** 2)))
            at = least_squares(left, start, bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-14).x
        shape = float(np.exp(at[0]))
        A, x = solved(shape)
        predicted = A @ x
    J = A
    if shaped:
        h, k = 1e-4 * shape, len(names)
        J = np.column_stack([A, (averaged(shape + h) - averaged(shape - h)) @ x[:k] / (2 * h)])
    rest = (predicted - y) / size
    covariance = _covariance(J / size[:, None], rest)
    if shaped and np.abs(at - bounds).min() < 1e-3:
        covariance[-1, -1] = np.inf
    rms, sizes = float(np.sqrt(np.mean((predicted - y) ** 2))), np.sqrt(np.mean(J**2, axis=0))
    return CurveFit(x, shape if shaped else None, covariance, freedom, rms, size, sizes, predicted, offset)


def _sizes(rest: np.ndarray, error: np.ndarray, freedom: int) -> np.ndarray:
    """Standard deviations (n,) of points: their own errors (n,), and a common one that explains the rest of the residuals."""
    from scipy.optimize import brentq

    def excess(common: float) -> float:
        return float(np.sum(rest**2 / (error**2 + common**2))) - freedom

    least, most = 1e-6 * (np.abs(rest).max() + error.max()), 10 * np.abs(rest).max() + error.max()
    if most == 0 or excess(least) <= 0 or excess(most) >= 0:
        return np.maximum(error, least or 1.0)
    return np.hypot(error, brentq(excess, least, most, rtol=1e-3))


def _covariance(J: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Covariance of the unknowns from what is left (n,), infinite where the points do not show one.

    Each point counts with its own residual, over 1 - leverage as if it had not been fitted, because not all are known alike:
    MacKinnon & White, Journal of Econometrics 29(3), 1985, HC3.
    """
    length = np.linalg.norm(J, axis=0)
    length[length <= 1e-9 * length.max()] = np.inf
    R = J / length
    left, stretched, along = np.linalg.svd(R, full_matrices=False)
    seen = stretched > 1e-6 * stretched.max()
    unseen = np.isinf(length) | (np.abs(along[~seen]) > 1e-3).any(axis=0)
    along, inverse = along[seen], 1 / stretched[seen]
    leverage = np.sum(left[:, seen] ** 2, axis=1)
    scores = (along.T * inverse) @ (left[:, seen] * (rest / np.maximum(1 - leverage, 1e-6))[:, None]).T
    found = scores @ scores.T
    found = found / np.outer(length, length)
    found[unseen], found[:, unseen] = 0.0, 0.0
    found[unseen, unseen] = np.inf
    return found


def _enough(w: np.ndarray, unknown: Sequence[str], count: int) -> None:
    """`count`: all unknowns, of which `unknown` need speeds of their own."""
    order = np.sort(np.abs(w))
    different = 1 + int((np.diff(order) > SAME * order[1:]).sum())
    if different < len(unknown) or len(w) <= count:
        raise RobodynError(
            f"{len(w)} points at {different} different speeds are too few for {count} unknowns ({', '.join(unknown)}"
            f"{', offset' * (count > len(unknown))}); hold more speeds, slow and fast, in both directions"
        )
