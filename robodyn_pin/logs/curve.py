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


class SmoothCurve:
    """Smoothing spline of one cut-off [rad per sample] through columns q (N, k) at times x (N,) in samples, in any order."""

    def __init__(self, x: np.ndarray, q: np.ndarray, cutoff: float) -> None:
        from scipy.interpolate import BSpline
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import spsolve

        step = max(1, int(KNOTS / cutoff))
        # Uniform knots beyond both ends, so that ends are as free as the middle (P-splines, Eilers & Marx 1996).
        first = int(np.floor(x.min())) // step - DEGREE
        last = -(-int(np.ceil(x.max())) // step) + DEGREE + 1
        knots = step * np.arange(first, last + 1, dtype=float)
        design = BSpline.design_matrix(x, knots, DEGREE).tocsc()
        size = len(knots) - DEGREE - 1
        difference = diags_array(
            [1.0, -4.0, 6.0, -4.0, 1.0], offsets=[0, 1, 2, 3, 4], shape=(size - ORDER, size)
        ).tocsc()
        weight = 1 / (step ** (2 * ORDER - 1) * cutoff ** (2 * ORDER))
        self.offset = q.mean(axis=0)
        found = spsolve((design.T @ design + weight * difference.T @ difference).tocsc(), design.T @ (q - self.offset))
        self.spline = BSpline(knots, found.reshape(size, -1), DEGREE)

    def at(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """The curve (N, k) at times x (N,), or its derivative of an order, by the sample."""
        return np.asarray(self.spline(x) + self.offset if order == 0 else self.spline(x, order))
