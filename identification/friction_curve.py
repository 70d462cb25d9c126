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
    deviations: np.ndarray  # (k,)
    shape: float | None  # speed at which the curve bends [rad/s or m/s]
    shape_deviation: float | None  # infinite: the points do not show it
    rmse: float  # [N m or N] of the points
    predicted: np.ndarray  # (n,)


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
        means = [block.mean() for block in np.array_split(samples, min(BLOCKS, len(samples)))]
        error = np.std(means, ddof=1) / np.sqrt(len(means))
        rows.append([speed, samples.mean(), samples.std(ddof=1), error, len(samples)])
    return Points(*np.array(rows).T)


def fit_curve(
    points: Points, columns: Callable[[np.ndarray, float], np.ndarray], shaped: bool, names: Sequence[str]
) -> CurveFit:
    """Fit effort = columns(speed, shape) @ coefficients, all points alike; coefficients not negative.

    Variable projection: for each shape the coefficients are the linear solution, so that only the shape is searched.

    Args:
        columns: speeds (n,), shape -> (n, k). shaped: the columns bend with the shape. names: of the coefficients.

    Raises:
        RobodynError: too few speeds for the model.
    """
    w, y = points.speed, points.effort
    _enough(w, [*names, *(["speed"] if shaped else [])])
    bounds = np.log(np.abs(w).min() / REACH), np.log(np.abs(w).max() * REACH)

    def left(at: np.ndarray) -> np.ndarray:
        A = columns(w, float(np.exp(at[0])))
        return A @ nnls(A, y)[0] - y

    at = np.zeros(1)
    if shaped:
        starts = np.linspace(*bounds, STARTS + 2)[1:-1, None]
        start = min(starts, key=lambda s: float(np.sum(left(s) ** 2)))
        at = least_squares(left, start, bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-14).x
    shape = float(np.exp(at[0]))
    A = columns(w, shape)
    x = nnls(A, y)[0]
    rest = A @ x - y
    J = A
    if shaped:
        h = 1e-4 * shape
        J = np.column_stack([A, (columns(w, shape + h) - columns(w, shape - h)) @ x / (2 * h)])
    deviations = _deviations(J, rest)
    if shaped and np.abs(at - bounds).min() < 1e-3:
        deviations[-1] = np.inf
    return CurveFit(
        coefficients=x,
        deviations=deviations[: len(x)],
        shape=shape if shaped else None,
        shape_deviation=float(deviations[-1]) if shaped else None,
        rmse=float(np.sqrt(np.mean(rest**2))),
        predicted=A @ x,
    )


def _deviations(J: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Standard deviations of the unknowns from what is left (n,); infinite where the points do not show one."""
    length = np.linalg.norm(J, axis=0)
    seen = length > 1e-9 * length.max()
    variance = float(rest @ rest) / (len(rest) - J.shape[1])
    found = np.full(J.shape[1], np.inf)
    R = J[:, seen] / length[seen]
    found[seen] = np.sqrt(variance * np.diag(np.linalg.pinv(R.T @ R))) / length[seen]
    return found


def _enough(w: np.ndarray, unknown: Sequence[str]) -> None:
    order = np.sort(np.abs(w))
    different = 1 + int((np.diff(order) > SAME * order[1:]).sum())
    if different < len(unknown) or len(w) <= len(unknown):
        raise RobodynError(
            f"{len(w)} points at {different} different speeds are too few for {len(unknown)} unknowns ({', '.join(unknown)}); "
            "hold more speeds, slow and fast, in both directions"
        )
