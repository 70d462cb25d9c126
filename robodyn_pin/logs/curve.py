"""A smoothing spline: quintic, fourth derivative penalised, through samples at any times.

On a uniform clock such a spline passes 1 / (1 + (w / w_c)^8) of an oscillation, as a Butterworth filter of order 4 does that
runs forward and backward, but its ends are free; it forgets within a few 1 / w_c, so that a log can be smoothed block by block.
"""

import numpy as np
from numpy.polynomial import polynomial

DEGREE = 5
ORDER = 4  # of the derivative that is penalised
SLOWEST = np.sin(np.pi / (2 * ORDER))  # real part of the slowest pole of 1 / (1 + s^8), times w_c
KNOTS = (
    0.5  # [rad] phase of the cut-off frequency from knot to knot: narrower ones change nothing, but spoil the condition
)
DIFFERENCE = (1.0, -4.0, 6.0, -4.0, 1.0)  # of this order, of coefficients
# On uniform knots every stretch has the same six B-splines (columns): coefficients of 1, u, ... u^5, with u from 0 to 1 along it.
PIECES = np.array([
    [1, 26, 66, 26, 1, 0], [-5, -50, 0, 50, 5, 0], [10, 20, -60, 20, 10, 0],
    [-10, 20, 0, -20, 10, 0], [5, -20, 30, -20, 5, 0], [-1, 5, -10, 10, -5, 1],
]) / 120  # fmt: skip
UNTOLD = 1e-13  # of the largest entry: holds coefficients near the mean that neither samples nor neighbours tell


class SmoothCurve:
    """Smoothing spline of one cut-off [rad per sample] through columns q (N, k) at times x (N,) in samples, in any order.

    `scipy.interpolate.BSpline` says the same; its import takes longer than what a log asks of it.
    """

    def __init__(self, x: np.ndarray, q: np.ndarray, cutoff: float) -> None:
        self.step = max(1, int(KNOTS / cutoff))
        # Uniform knots beyond both ends, so that ends are as free as the middle (P-splines, Eilers & Marx 1996).
        self.first = int(np.floor(x.min())) // self.step
        self.size = -(-int(np.ceil(x.max())) // self.step) - self.first + DEGREE + 1  # coefficients
        at, basis = self._basis(x)
        self.offset = q.mean(axis=0)
        normal = _roughness(self.size) / (self.step ** (2 * ORDER - 1) * cutoff ** (2 * ORDER))
        right = np.zeros((q.shape[1], self.size))
        for k, column in enumerate(basis):
            for below, other in enumerate(basis[k:]):
                normal[below] += np.bincount(at + k, column * other, self.size)
            right += [np.bincount(at + k, column * y, self.size) for y in (q - self.offset).T]
        self.coefficients = _solved(normal, right.T)

    def _basis(self, x: np.ndarray, order: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """The first (N,) of the six coefficients that count at times x, and what they count (6, N), or derivatives by the sample."""
        at = np.clip((x // self.step).astype(int) - self.first, 0, self.size - DEGREE - 1)
        along = (x - self.step * (at + self.first)) / self.step
        return at, polynomial.polyval(along, polynomial.polyder(PIECES, order) / self.step**order)

    def at(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """The curve (N, k) at times x (N,), or its derivative of an order, by the sample."""
        at, basis = self._basis(x, order)
        found = np.zeros((len(x), len(self.offset)))
        for k, share in enumerate(basis):
            found += share[:, None] * self.coefficients[at + k]
        return found + self.offset if order == 0 else found


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
