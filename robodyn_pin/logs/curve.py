"""A smoothing spline: quintic, fourth derivative penalised, through samples at any times.

On a uniform clock such a spline passes 1 / (1 + (w / w_c)^8) of an oscillation, as a Butterworth filter of order 4 does that
runs forward and backward, but its ends are free; it forgets within a few 1 / w_c, so that a log can be smoothed block by block.
"""

import numpy as np

DEGREE = 5
ORDER = 4  # of the derivative that is penalised
SLOWEST = np.sin(np.pi / (2 * ORDER))  # real part of the slowest pole of 1 / (1 + s^8), times w_c
KNOTS = (
    0.5  # [rad] phase of the cut-off frequency from knot to knot: narrower ones change nothing, but spoil the condition
)
DIFFERENCE = (1.0, -4.0, 6.0, -4.0, 1.0)  # of this order, of coefficients
UNTOLD = 1e-13  # of the largest entry: holds coefficients near the mean that neither samples nor neighbours tell


class SmoothCurve:
    """Smoothing spline of one cut-off [rad per sample] through columns q (N, k) at times x (N,) in samples, in any order."""

    def __init__(self, x: np.ndarray, q: np.ndarray, cutoff: float) -> None:
        from scipy.interpolate import BSpline

        step = max(1, int(KNOTS / cutoff))
        # Uniform knots beyond both ends, so that ends are as free as the middle (P-splines, Eilers & Marx 1996).
        first = int(np.floor(x.min())) // step - DEGREE
        last = -(-int(np.ceil(x.max())) // step) + DEGREE + 1
        knots = step * np.arange(first, last + 1, dtype=float)
        design = BSpline.design_matrix(x, knots, DEGREE)
        basis, at = design.data.reshape(len(x), -1), design.indices[:: DEGREE + 1]  # (N, 6) from column `at` on
        size = len(knots) - DEGREE - 1
        self.offset = q.mean(axis=0)
        normal = _roughness(size) / (step ** (2 * ORDER - 1) * cutoff ** (2 * ORDER))
        right = np.zeros((q.shape[1], size))
        for k, column in enumerate(basis.T):
            for below, other in enumerate(basis.T[k:]):
                normal[below] += np.bincount(at + k, column * other, size)
            right += [np.bincount(at + k, column * y, size) for y in (q - self.offset).T]
        self.spline = BSpline(knots, _solved(normal, right.T), DEGREE)

    def at(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """The curve (N, k) at times x (N,), or its derivative of an order, by the sample."""
        return np.asarray(self.spline(x) + self.offset if order == 0 else self.spline(x, order))


def _roughness(size: int) -> np.ndarray:
    """D'D of the differences D of so many coefficients: the diagonal and what is below it (DEGREE + 1, size)."""
    bands = np.zeros((DEGREE + 1, size))
    for i, a in enumerate(DIFFERENCE):
        for below, b in enumerate(DIFFERENCE[i:]):
            bands[below, i : i + size - ORDER] += a * b
    return bands


def _solved(normal: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Coefficients (size, k) of normal equations in bands (DEGREE + 1, size)."""
    from scipy.linalg import solveh_banded

    try:
        return np.asarray(solveh_banded(normal, right, lower=True))
    except np.linalg.LinAlgError:  # the middle of a gap of a thousand samples
        normal[0] += UNTOLD * normal[0].max()
        return np.asarray(solveh_banded(normal, right, lower=True))
