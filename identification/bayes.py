"""Few measurements and a prior: the most probable parameters, their covariance and ellipsoid, Stiff-6660 (8)-(15)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtrc, gammaincinv

from robodyn_pin.errors import SolverFailed

Model = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # theta (p,) -> expected values (m,), their slopes (m, p)
LEAST = 1e-4  # of a parameter's prior mean: parameters are positive, stiffness zero has no compliance
TAIL = 5.0  # degrees of freedom of the t-distribution that is drawn from: heavier tails than any Gaussian's


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution of p parameters."""

    mean: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each parameter (p,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def distances(self, theta: np.ndarray) -> np.ndarray:
        """Squared Mahalanobis distances of parameters (..., p)."""
        s = self.deviations
        off = (theta - self.mean) / s
        return np.asarray(np.einsum("...i,...i->...", off, off @ np.linalg.inv(self.covariance / np.outer(s, s))))

    def inside(self, theta: np.ndarray, level: float = 0.95) -> np.ndarray:
        """Which parameters (..., p) lie in the ellipsoid that holds `level` of the distribution, (15)."""
        return np.asarray(self.distances(theta) <= self._reach(level))

    def ellipsoid(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Half axes (p,) of that ellipsoid, longest first, and their directions (p, p), one a column."""
        values, directions = np.linalg.eigh(self.covariance)
        return np.sqrt(self._reach(level) * values[::-1]), directions[:, ::-1]

    def _reach(self, level: float) -> float:
        """The squared distance within which `level` of the distribution lies: a quantile of chi-square."""
        return float(2 * gammaincinv(len(self.mean) / 2, level))


@dataclass(frozen=True)
class Posterior(Gaussian):
    """What m measured numbers leave of a prior."""

    misfit: float  # squared distance of measurements and prior from the estimate; expected: m
    plausibility: float  # chance of such a misfit or a larger one, if model, noise and prior are right
    at_bound: np.ndarray  # (p,) parameters that the measurements would make negative


@dataclass(frozen=True)
class Observed:
    """Measured numbers, and what was known before: N(mean, covariance / gamma) of the prior, (11)."""

    z: np.ndarray  # (m,)
    sigma: np.ndarray  # (m,) standard deviations of z
    prior: Gaussian
    gamma: float = 1.0


def infer(model: Model, evidence: Observed) -> Posterior:
    """The most probable parameters (12) and their covariance (13).

    Raises:
        SolverFailed: no minimum found.
    """
    from scipy.optimize import least_squares

    z, sigma, prior = evidence.z, evidence.sigma, evidence.prior
    s = prior.deviations
    whiten = np.sqrt(evidence.gamma) * np.linalg.inv(np.linalg.cholesky(prior.covariance / np.outer(s, s)))

    @lru_cache(maxsize=1)  # the solver asks for values and slopes one after the other
    def at(x: bytes) -> tuple[np.ndarray, np.ndarray]:
        return model(prior.mean + s * np.frombuffer(x))

    def residual(x: np.ndarray) -> np.ndarray:
        return np.concatenate([(at(x.tobytes())[0] - z) / sigma, whiten @ x])

    def slope(x: np.ndarray) -> np.ndarray:
        return np.concatenate([at(x.tobytes())[1] * s / sigma[:, None], whiten])

    least = (LEAST - 1) * prior.mean / s
    found = least_squares(residual, np.zeros(len(s)), slope, bounds=(least, np.inf), xtol=1e-12, ftol=1e-14, gtol=1e-12)
    if not found.success:
        raise SolverFailed(f"no most probable parameters found: {found.message}", found.message)
    J, misfit = slope(found.x), 2 * float(found.cost)
    covariance, at_bound = np.linalg.inv(J.T @ J) * np.outer(s, s), found.x < least + 1e-3 * np.abs(least)
    return Posterior(prior.mean + s * found.x, covariance, misfit, float(chdtrc(len(z), misfit)), at_bound)


@dataclass(frozen=True)
class SamplingCheck:
    """The posterior as it is, by weighted samples, beside its Gaussian approximation."""

    mean: np.ndarray  # (p,)
    deviations: np.ndarray  # (p,)
    inside: float  # share of the posterior in the 95 % ellipsoid of the approximation
    effective: float  # samples that the weights are worth

    @property
    def trusted(self) -> bool:
        """Whether there are samples enough to speak of."""
        return self.effective >= 100


def sampling_check(
    many: Callable[[np.ndarray], np.ndarray], evidence: Observed, posterior: Gaussian, size: int, seed: int
) -> SamplingCheck:
    """Weighted samples of the posterior (11), parameters positive, drawn from a t-distribution around its approximation.

    Args:
        many: parameters (size, p) -> expected values (size, m).
    """
    rng, p = np.random.default_rng(seed), len(posterior.mean)
    s = posterior.deviations
    root = s[:, None] * np.linalg.cholesky(posterior.covariance / np.outer(s, s))
    wide = np.sqrt(TAIL / rng.chisquare(TAIL, size))[:, None]
    theta = posterior.mean + (wide * rng.normal(size=(size, p))) @ root.T
    drawn = -0.5 * (TAIL + p) * np.log1p(posterior.distances(theta) / TAIL)
    possible = (theta > 0).all(axis=1)
    theta[~possible] = posterior.mean
    misfit = (((many(theta) - evidence.z) / evidence.sigma) ** 2).sum(axis=1)
    target = -0.5 * misfit - 0.5 * evidence.gamma * evidence.prior.distances(theta)
    weight = np.where(possible, np.exp(target - drawn - (target - drawn)[possible].max()), 0.0)
    weight /= weight.sum()
    mean = weight @ theta
    deviations, inside = np.sqrt(weight @ (theta - mean) ** 2), float(weight @ posterior.inside(theta))
    return SamplingCheck(mean, deviations, inside, effective=float(1 / (weight**2).sum()))
