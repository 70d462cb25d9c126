"""An estimator that takes one sample after the other: arrays in, estimates out, memory constant; it knows no robot.

Parameters are divided by `scale` and rows by their noise, so that an eigenvalue L of the information R says that the
parameters are known to 1 / sqrt(L) of their scale along its eigenvector.

Source: Abed Azad et al. (3-dof Delta), appendix 1.3, for least squares in the directions that the data excite, its
equation (106) with the pseudo-inverse.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from robodyn_pin.errors import ShapeMismatch

REFRESH = 10  # samples after which eigenvalues are looked at anew: the one step that costs n^3
SLOW = 0.1  # of a step along directions that are not excited: enough to keep an estimate from wandering off within days
TINY = 1e-12  # of an eigenvalue: round-off


@dataclass(frozen=True)
class Look:
    """One sample as the estimate before it sees it, in units of the noise."""

    A: np.ndarray  # (d, n) rows per scaled parameter
    gain: np.ndarray  # (n, d) R^-1 A'
    spread: np.ndarray  # (d, d) A R^-1 A'
    error: np.ndarray  # (d,) y - W p

    @property
    def variance(self) -> np.ndarray:
        """Of each error (d,): noise, and what the estimate does not know."""
        return 1 + self.spread.diagonal()


class DampedLeastSquares:
    """Least squares with exponential forgetting whose information never falls below what `spread` stands for.

        R <- l R + W'W,   p <- p + R^-1 W'(y - W p),   every REFRESH samples R <- V max(L, 1 / spread^2) V'

    with the eigenvalues L and eigenvectors V of R. Directions with L above 1 / spread^2 are excited: the data of the last
    1 / (1 - l) samples tell them to better than `spread` of their scale. Along the others the estimate counts as known to
    `spread`, as at the start: nothing is forgotten, the gain is bounded by spread^2 whatever the data do, and of a step only
    the share SLOW is made. What the data never touch stays as it was; what they touch slightly is pulled to the truth slowly:
    without that pull it would wander off, kicked each time that the excited directions turn.

    Rows W (d, n) and efforts y (d,) of one sample are both in units of the noise.

    Args:
        values, scale: (n,) SI, where it starts and how large parameters are. forgetting: per sample.
        spread: standard deviation of the start, in parts of the scale.

    Raises:
        ShapeMismatch: it cannot start like this.
    """

    def __init__(self, values: np.ndarray, scale: np.ndarray, forgetting: float = 0.995, spread: float = 0.05):
        check_settings(values, scale, forgetting, spread)
        self.scale, self.forgetting, self.spread = np.array(scale, float), float(forgetting), float(spread)
        self._x = np.array(values, float) / self.scale
        n = len(scale)
        self._R, self._Q = np.eye(n) / spread**2, np.eye(n) / spread**2  # Q: covariance of R times the error
        self._count, self._V = 0, np.zeros((n, 0))

    @property
    def values(self) -> np.ndarray:
        """The estimate (n,), SI."""
        return self._x * self.scale

    @values.setter
    def values(self, values: np.ndarray) -> None:
        self._x = np.asarray(values, float) / self.scale

    @property
    def samples(self) -> int:
        """How many were taken."""
        return self._count

    @property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues (n,) of the scaled information, ascending, and eigenvectors (n, n) in its columns."""
        eigenvalues, vectors = np.linalg.eigh(self._R)
        return eigenvalues, vectors

    @property
    def excited(self) -> np.ndarray:
        """The scaled directions (n, k) that are excited."""
        return self._V

    def step(self, W: np.ndarray, y: np.ndarray, forgetting: float | None = None) -> None:
        """Take one sample; `forgetting` for this step alone, where the sampling time is another."""
        self.take(self.look(W, y), forgetting)

    def look(self, W: np.ndarray, y: np.ndarray) -> Look:
        """What the estimate makes of a sample, before it is taken or refused."""
        A = W * self.scale
        gain = dposv(self._R, A.T)[1]
        return Look(A, gain, A @ gain, y - A @ self._x)

    def take(self, look: Look, forgetting: float | None = None) -> None:
        """Take the sample that was looked at last."""
        l = self.forgetting if forgetting is None else forgetting
        damped = look.spread.copy()  # (l R + W'W)^-1 W' without solving once more
        damped.ravel()[:: len(damped) + 1] += l
        step = look.gain @ dposv(damped, look.error)[1]
        new = look.A.T @ look.A
        self._R *= l
        self._R += new
        self._Q *= l * l
        self._Q += new
        self._count += 1
        if self._count % REFRESH == 0 or self._count < REFRESH:
            self._keep()
        self._x = self._x + SLOW * step + (1 - SLOW) * self._V @ (self._V.T @ step)

    def _keep(self) -> None:
        """Give back what was forgotten below `spread`, and note which directions are above."""
        enough = 1 / self.spread**2
        eigenvalues, vectors = np.linalg.eigh(self._R)
        low = int(np.searchsorted(eigenvalues, enough * (1 + TINY)))
        self._V = vectors[:, low:]
        U, share = vectors[:, :low], enough / eigenvalues[:low]
        self._R += (U * (enough - eigenvalues[:low])) @ U.T
        grow = np.eye(len(self._x)) + (U * (share - 1)) @ U.T  # the error stays, so R times the error grows with R
        self._Q = grow @ self._Q @ grow

    def covariance(self) -> np.ndarray:
        """R^-1 Q R^-1 (n, n), SI: what white noise of size one leaves, and a start that is wrong by `spread` in every direction.

        In a steady state Q = R / (1 + l) along excited directions: against least squares of all N samples the covariance is
        N (1 - l) / (1 + l) times as large.
        """
        half = np.linalg.solve(self._R, self._Q)
        return np.asarray(np.linalg.solve(self._R, half.T) * np.outer(self.scale, self.scale))

    def state(self) -> dict[str, np.ndarray]:
        """All that the future depends on, as arrays."""
        settings = np.array([self.forgetting, self.spread, self._count])
        return {"x": self._x, "R": self._R, "Q": self._Q, "V": self._V, "scale": self.scale, "settings": settings}

    @classmethod
    def restored(cls, state: Mapping[str, np.ndarray]) -> "DampedLeastSquares":
        """The estimator that a state was taken from."""
        forgetting, spread, count = state["settings"]
        scale = np.asarray(state["scale"])
        found = cls(state["x"] * scale, scale, float(forgetting), float(spread))
        found._x, found._R, found._Q, found._V = (np.array(state[k]) for k in ("x", "R", "Q", "V"))
        found._count = int(count)
        return found

    def merged(self, other: "DampedLeastSquares") -> "DampedLeastSquares":
        """What both know together, as of two robots of one design, or of logs taken apart and at once.

        Each counts by its information; where neither knows more than at its start the result is their mean.

        Raises:
            ShapeMismatch: other parameters, scales or settings.
        """
        alike = self._x.shape == other._x.shape and np.array_equal(self.scale, other.scale)
        if not alike or (self.forgetting, self.spread) != (other.forgetting, other.spread):
            raise ShapeMismatch("states of different parameters, scales or settings cannot be merged")
        found = DampedLeastSquares(self.values, self.scale, self.forgetting, self.spread)
        found._R, found._Q = self._R + other._R, self._Q + other._Q
        found._x = self._x + np.linalg.solve(found._R, other._R @ (other._x - self._x))
        found._count = self._count + other._count
        found._keep()
        return found


def check_settings(values: np.ndarray, scale: np.ndarray, forgetting: float, spread: float) -> None:
    """Raise ShapeMismatch unless an estimator can start like this."""
    if np.shape(values) != np.shape(scale) or np.ndim(scale) != 1 or not np.all(np.asarray(scale) > 0):
        raise ShapeMismatch("values and scales must be (n,) both, scales positive")
    if not 0 < forgetting <= 1:
        raise ShapeMismatch(
            f"forgetting is {forgetting:g}; it must lie above 0 and not above 1 (1: nothing is forgotten)"
        )
    if not spread > 0:
        raise ShapeMismatch(f"spread is {spread:g}; it must be positive")
