"""Gauss-Markov estimate: the motors' noise may be correlated, rows of one sample are whitened together.

Whitening mixes the motors' rows sample by sample, so factors of single motors do not suffice. The rows of all motors
side by side, [W_1 y_1 ... W_d y_d] (N, d (p + 1)), are folded into one triangle: it keeps every cross product, and with
it every covariance can be tried afterwards, exactly. Memory (d (p + 1))^2 numbers, whatever the log's length (IRB 360:
0.8 MB, seven joints with 98 parameters: 3.8 MB); time d times that of the motors' own factors.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.fold import Factor, absorb, triangle
from robodyn_pin.identification.least_squares import ITERATIONS, SETTLED, BaseEstimate, known_noise


@dataclass(frozen=True)
class JointFactor:
    """Samples of all motors' rows side by side, folded."""

    R: np.ndarray  # (d (p + 1), d (p + 1)) upper triangular
    samples: int
    motors: int

    def blocks(self) -> np.ndarray:
        """Rows [W_j, y_j] of each motor, folded together: (d (p + 1), d, p + 1)."""
        return self.R.reshape(len(self.R), self.motors, -1)


@dataclass(frozen=True)
class GaussMarkovEstimate:
    """Base parameters, and the noise that they were weighted with."""

    estimate: BaseEstimate  # its sigma are the square roots of the noise's diagonal
    noise: np.ndarray  # (d, d) covariance of one sample's rows

    @property
    def correlation(self) -> np.ndarray:
        """Of one sample's rows, (d, d)."""
        return self.noise / np.outer(self.estimate.sigma, self.estimate.sigma)

    @property
    def most_correlated(self) -> tuple[int, int] | None:
        """The two motors whose noise is most alike or opposite; None of one motor."""
        if len(self.noise) == 1:
            return None
        i, j = np.unravel_index(np.argmax(np.abs(np.tril(self.correlation, -1))), self.noise.shape)
        return int(j), int(i)


def fold_joint(factor: JointFactor | None, W: np.ndarray, y: np.ndarray) -> JointFactor:
    """The factor with samples W (n, d, p), y (n, d) added; None: the first ones."""
    n, d, p = W.shape
    rows = np.concatenate([W, y[:, :, None]], axis=2).reshape(n, d * (p + 1))
    if factor is None:
        return JointFactor(triangle(rows), n, d)
    return JointFactor(absorb(factor.R, rows), factor.samples + n, d)


def merge_joint(first: JointFactor, second: JointFactor) -> JointFactor:
    """The factor of all samples together."""
    return JointFactor(absorb(first.R, second.R), first.samples + second.samples, first.motors)


def whitened_factor(factor: JointFactor, noise: np.ndarray) -> Factor:
    """Rows of all motors, whitened by the covariance `noise` (d, d): of unit variance, one group for any other fit.

    Raises:
        RobodynError: the covariance is not positive definite.
    """
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(noise))
    except np.linalg.LinAlgError:
        raise RobodynError(
            "the covariance between the motors is not positive definite: one has no noise, or the noise of another; "
            "leave 'gauss_markov' out"
        ) from None
    rows = np.einsum("ij,njk->ink", inverse, factor.blocks())
    return Factor(triangle(rows.reshape(-1, rows.shape[2])), factor.samples * factor.motors)


def residual_covariance(factor: JointFactor, x: np.ndarray, size: int) -> np.ndarray:
    """Covariance (d, d) of the residuals of parameters x (p,), of which `size` were fitted."""
    blocks = factor.blocks()
    e = blocks[:, :, :-1] @ x - blocks[:, :, -1]
    return e.T @ e / (factor.samples - size / factor.motors)


def gauss_markov(
    factor: JointFactor, noise: np.ndarray | None = None, base: BaseSet | None = None, independent: float = 1.0
) -> GaussMarkovEstimate:
    """Least squares in the metric of the noise; without `noise`, from the residuals, iterated until it settles.

    Args:
        noise: (d, d) covariance of one sample's rows [N^2 m^2 or N^2], where it is known.
        independent: share of the samples that carry noise of their own.

    Raises:
        RobodynError: too few samples; a covariance that is not positive definite (a motor without noise).

    Source: Gnad et al. (IRB 360), eq. (9) with the inverse covariance as weight.
    """
    d, p, one = factor.motors, factor.R.shape[1] // factor.motors - 1, np.ones(1)

    def fitted(noise: np.ndarray) -> BaseEstimate:
        found = known_noise([whitened_factor(factor, noise)], one, base, independent)
        return BaseEstimate(found.base, found.values, found.covariance, np.sqrt(np.diag(noise)))

    if noise is not None:
        return GaussMarkovEstimate(fitted(noise), noise)
    estimate = fitted(np.eye(d))
    base = estimate.base
    if factor.samples * d <= base.size + d:
        raise RobodynError(
            f"{factor.samples} samples of {d} motors for {base.size} base parameters; give a longer log or decimate less"
        )
    noise = residual_covariance(factor, estimate.full(p), base.size)
    for _ in range(ITERATIONS):
        estimate = fitted(noise)
        new = residual_covariance(factor, estimate.full(p), base.size)
        done = np.abs(new - noise).max() <= SETTLED * np.abs(new).max()
        noise = new
        if done:
            break
    return GaussMarkovEstimate(estimate, noise)
