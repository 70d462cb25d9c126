"""Parameters on which most logs agree: those with the least sum of the logs' rms errors, not of their squares.

They are least absolute deviations, with one deviation a log, by reweighting.
"""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.identification.fold import Factor

ROUNDS, SETTLED = 30, 0.01
LEAST = 1e-3  # of the median error, below which a log weighs no more
TINY = np.finfo(float).tiny


def by_majority(rows: Sequence[Sequence[Factor]], x: np.ndarray) -> np.ndarray:
    """Parameters (r,) on which most logs agree; x (r,) to begin with.

    Args:
        rows: of each log, a factor along each coordinate.
    """
    weights = np.ones(len(rows))
    for _ in range(ROUNDS):
        before, each = weights, errors_of_logs(rows, x)
        sigma = usual(each)
        far = np.sqrt(np.mean((each / sigma) ** 2, axis=1))
        weights = 1 / np.sqrt(np.maximum(far, LEAST * np.median(far)))
        x = least_squares_of_logs(rows, weights, sigma)
        if np.allclose(weights / weights.max(), before / before.max(), rtol=SETTLED):
            break
    return x


def least_squares_of_logs(rows: Sequence[Sequence[Factor]], weights: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Weighted least squares (r,) over logs with weights (logs,) and coordinates with noise (d,)."""
    A = np.concatenate(
        [w / s * g.R for factors, w in zip(rows, weights, strict=True) for g, s in zip(factors, sigma, strict=True)]
    )
    R = np.asarray(np.linalg.qr(A, mode="r"))
    scale = np.maximum(np.linalg.norm(R[:, :-1], axis=0), TINY)
    return np.asarray(np.linalg.lstsq(R[:, :-1] / scale, R[:, -1], rcond=None)[0] / scale)


def errors_of_logs(rows: Sequence[Sequence[Factor]], x: np.ndarray) -> np.ndarray:
    """Errors (logs, d) of parameters x (r,)."""
    return np.sqrt([[g.residual(x) / max(g.rows, 1) for g in factors] for factors in rows])


def usual(each: np.ndarray) -> np.ndarray:
    """Of each coordinate (d,) the median over the logs of errors (logs, d)."""
    return np.maximum(np.median(each, axis=0), TINY)
