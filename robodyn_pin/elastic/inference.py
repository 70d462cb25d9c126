"""Stiffness from measured deviations: what is inferred, in which form, and what the measurements cannot say.

In compliance 1/k the linear model is linear, so that a normal prior leaves a normal posterior and its ellipsoid holds what
it says. In stiffness k the model bends: a normal prior with a wide spread makes the posterior (13) too sure of itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from robodyn_pin.elastic.deviation import Model as Deviating
from robodyn_pin.elastic.deviation import deviation_at
from robodyn_pin.elastic.elastic_file import Form, PriorSpec
from robodyn_pin.elastic.measurements import Measurements, placed
from robodyn_pin.elastic.springs import Placed, Springs
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.identification.bayes import Evidence, Gaussian, Model, Posterior, SamplingCheck, infer, sampling_check

UNTOLD = 0.9  # part of a prior's spread that is left where measurements say next to nothing of a spring
NO_LEVER = 1e-9  # [m/rad]
NO_MOMENT = 1e-6  # of force times lever


@dataclass(frozen=True)
class Estimate:
    """Stiffness of n springs. theta: their compliances [rad/(N m)] or stiffnesses [N m/rad], as `form` says."""

    names: tuple[str, ...]
    form: Form
    gamma: float
    prior: Gaussian  # of theta
    posterior: Posterior  # of theta
    check: SamplingCheck | None
    measurements: Measurements
    untold: dict[str, str]  # springs that keep their prior, and why

    @property
    def stiffness(self) -> np.ndarray:
        """(n,) [N m/rad]."""
        return stiffness_of(self.posterior.mean, self.form)

    @property
    def covariance(self) -> np.ndarray:
        """Of the stiffness (n, n), to first order where compliances were inferred."""
        return covariance_of(self.posterior, self.form)

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Least and greatest stiffness of each spring (n, 2), infinite where a compliance may be zero."""
        reach = norm.ppf(0.5 + level / 2) * self.posterior.deviations
        ends = self.posterior.mean[:, None] + reach[:, None] * np.array([-1.0, 1.0])
        if self.form == "stiffness":
            return ends
        with np.errstate(divide="ignore"):
            return np.where(ends > 0, 1 / ends, np.inf)[:, ::-1]


def stiffness_of(theta: np.ndarray, form: Form) -> np.ndarray:
    """Stiffness k of theta, either way round."""
    return theta if form == "stiffness" else 1 / theta


def covariance_of(distribution: Gaussian, form: Form) -> np.ndarray:
    """Covariance (n, n) of the stiffness, to first order."""
    if form == "stiffness":
        return distribution.covariance
    slope = -1 / distribution.mean**2
    return distribution.covariance * np.outer(slope, slope)


def prior_of(spec: PriorSpec, springs: Springs, form: Form) -> Gaussian:
    """The prior of theta: the same relative spread in either form.

    Raises:
        UnknownName, BadFile: springs without a value, values without a spring.
    """
    spread = spec.spread if isinstance(spec.spread, dict) else dict.fromkeys(springs.names, spec.spread)
    mean = stiffness_of(by_spring(spec.stiffness, springs, "prior.stiffness"), form)
    return Gaussian(mean, np.diag((mean * by_spring(spread, springs, "prior.spread")) ** 2))


def by_spring(given: Mapping[str, float], springs: Springs, where: str) -> np.ndarray:
    """Values (n,) in the order of the springs.

    Raises:
        UnknownName, BadFile: a value without a spring, springs without a value.
    """
    for name in given:
        if name not in springs.names:
            raise UnknownName("spring", name, where, springs.names)
    if missing := [name for name in springs.names if name not in given]:
        raise BadFile(f"{where} says nothing of {', '.join(missing)}")
    return np.array([given[name] for name in springs.names], float)


def estimate(
    springs: Springs, m: Measurements, prior: Gaussian, form: Form, gamma: float = 1.0, model: Deviating = "loaded",
    samples: int = 0, seed: int = 0,
) -> Estimate:  # fmt: skip
    """Infer the stiffness of all springs.

    Args:
        samples: of the posterior, to check its Gaussian approximation; none: no check.

    Raises:
        ClosureFailed, BadFile: a pose out of reach. SolverFailed: no most probable stiffness.
    """
    at = placed(m, springs)
    evidence = Evidence(m.deviation.ravel(), np.repeat(m.sigma, 3), prior, gamma)
    posterior = infer(expected(springs, at, m.force, form, model), evidence)
    check = None
    if samples:
        many = expected_of_many(springs, at, m.force, form, model, posterior.mean)
        check = sampling_check(many, evidence, posterior, samples, seed)
    weighed = Gaussian(prior.mean, prior.covariance / gamma)
    return Estimate(
        springs.names, form, gamma, prior, posterior, check, m, untold(springs, at, m.force, weighed, posterior)
    )


def expected(springs: Springs, at: Placed, force: np.ndarray, form: Form, model: Deviating) -> Model:
    """theta -> deviations (3 N,) and their slopes (3 N, n)."""

    def of(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = stiffness_of(theta, form)
        found = deviation_at(springs, at, force, k, model)
        slopes = found.slopes if form == "stiffness" else -found.slopes * k**2
        return found.values.ravel(), slopes.reshape(-1, len(k))

    return of


def expected_of_many(
    springs: Springs, at: Placed, force: np.ndarray, form: Form, model: Deviating, near: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """theta (s, n) -> deviations (s, 3 N): linear in the force, with what the model adds to that at theta `near`."""

    def linear(theta: np.ndarray) -> np.ndarray:
        k = stiffness_of(theta, form)
        K = np.einsum("psd,ks,pse->kpde", at.B, k, at.B)
        torque = np.einsum("pxd,px->pd", at.J, force)
        step = np.linalg.solve(K, np.broadcast_to(torque, K.shape[:3])[..., None])[..., 0]
        return np.einsum("pxd,kpd->kpx", at.J, step).reshape(len(theta), -1)

    more = expected(springs, at, force, form, model)(near)[0] - linear(near[None])[0]
    return lambda theta: linear(theta) + more


def untold(springs: Springs, at: Placed, force: np.ndarray, prior: Gaussian, posterior: Gaussian) -> dict[str, str]:
    """Springs that keep their prior, and why."""
    L = _levers(at)
    moment = np.abs(np.einsum("pxs,px->ps", L, force))
    most = np.linalg.norm(L, axis=1) * np.linalg.norm(force, axis=1)[:, None]
    left = posterior.deviations / prior.deviations
    found = unobservable(springs, at)
    for i, name in enumerate(springs.names):
        if name not in found and (moment[:, i] <= NO_MOMENT * most[:, i]).all():
            found[name] = "keeps its prior: no measured force has a moment about it"
        elif name not in found and left[i] > UNTOLD:
            found[name] = f"keeps its prior: the measurements leave {100 * left[i]:.0f} % of its spread"
    return found


def unobservable(springs: Springs, at: Placed) -> dict[str, str]:
    """Springs that no force on the tool's point turns at any of the given poses."""
    lever = np.linalg.norm(_levers(at), axis=1).max(axis=0)
    why = "cannot be observed: the tool's point lies on its axis, where no force turns it"
    return {name: why for name, x in zip(springs.names, lever, strict=True) if x < NO_LEVER}


def _levers(at: Placed) -> np.ndarray:
    """How the tool moves as a spring turns (N, 3, n) [m/rad]."""
    return np.asarray(at.J @ np.linalg.pinv(at.B))
