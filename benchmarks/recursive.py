"""Recursive least squares as others do it: what `DampedLeastSquares` is compared with.

Source: Cao & Schwartz, Automatica 36(11), 2000, for directional forgetting.
"""

import numpy as np
from scipy.linalg.lapack import dposv

TINY = 1e-12  # share of the largest eigenvalue below which a direction of the rows is round-off


class RecursiveLeastSquares:
    """Recursive least squares with exponential forgetting; with `forgetting` 1 without.

    P <- (P - K W P) / l, K = P W'(l + W P W')^-1. Where data stop exciting, P grows without bound.
    """

    def __init__(self, values: np.ndarray, scale: np.ndarray, forgetting: float = 0.995, spread: float = 0.05):
        self.scale, self.forgetting, self._x = scale, forgetting, values / scale
        self._P = spread**2 * np.eye(len(scale))

    @property
    def values(self) -> np.ndarray:
        """The estimate (n,), SI."""
        return self._x * self.scale

    def step(self, W: np.ndarray, y: np.ndarray) -> None:
        """Take one sample of rows W (d, n) and efforts y (d,), both in units of the noise."""
        A = W * self.scale
        PA = self._P @ A.T
        K = np.linalg.solve(self.forgetting * np.eye(len(y)) + A @ PA, PA.T).T
        self._x = self._x + K @ (y - A @ self._x)
        P = (self._P - K @ PA.T) / self.forgetting
        self._P = (P + P.T) / 2


class DirectionalForgetting:
    """Recursive least squares that forgets only along what the sample says: the information of the rest stays.

    R <- R - (1 - l) R W'(W R W')^+ W R + W'W,   p <- p + R^-1 W'(y - W p).
    """

    def __init__(self, values: np.ndarray, scale: np.ndarray, forgetting: float = 0.995, spread: float = 0.05):
        self.scale, self.forgetting, self._x = scale, forgetting, values / scale
        self._R = np.eye(len(scale)) / spread**2

    @property
    def values(self) -> np.ndarray:
        """The estimate (n,), SI."""
        return self._x * self.scale

    def step(self, W: np.ndarray, y: np.ndarray) -> None:
        """Take one sample of rows W (d, n) and efforts y (d,), both in units of the noise."""
        A = W * self.scale
        RA = self._R @ A.T
        lost = (1 - self.forgetting) * RA @ np.linalg.pinv(A @ RA, rcond=TINY, hermitian=True) @ RA.T
        R = self._R - lost + A.T @ A
        self._R = (R + R.T) / 2
        self._x = self._x + dposv(self._R, A.T @ (y - A @ self._x))[1]

    def covariance(self) -> np.ndarray:
        """Predicted covariance (n, n) of the estimate, SI."""
        return np.asarray(np.linalg.inv(self._R) * np.outer(self.scale, self.scale))
