"""Stiffness from measured deviations by Bayesian inference, and which springs the measurements do not determine.

The inferred parameter theta is the compliance 1/k or the stiffness k. The linear model is linear in compliance, so a normal
prior gives a normal posterior, whose ellipsoid has the right coverage. In stiffness the model is curved: under a wide normal
prior the posterior covariance (13) is too small.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from robodyn_pin.elastic.deviation import DeviationModel, deviation_at
from robodyn_pin.elastic.elastic_file import Form, StiffnessPriorSpec
from robodyn_pin.elastic.measurements import Measurements, unloaded_poses
from robodyn_pin.elastic.springs import PoseKinematics, Springs
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.identification.bayes import Gaussian, Model, Observed, Posterior, SamplingCheck, infer, sampling_check

KEEPS_PRIOR = 0.9  # posterior over prior standard deviation from which a spring counts as undetermined
NO_LEVER_ARM = 1e-9  # [m/rad]
NO_MOMENT = 1e-6  # moment over force times lever arm


@dataclass(frozen=True)
class InferenceSettings:
    """How a stiffness is inferred, the same for all choices of measurements."""

    prior: Gaussian  # of theta
    form: Form = "compliance"
    gamma: float = 1.0  # weight of the prior, (11)
    model: DeviationModel = "loaded"

    @property
    def weighted_prior(self) -> Gaussian:
        """The prior with its covariance divided by its weight."""
        return Gaussian(self.prior.mean, self.prior.covariance / self.gamma)


@dataclass(frozen=True)
class StiffnessEstimate:
    """The inferred stiffness of n springs; theta are compliances [rad/(N m)] or stiffnesses [N m/rad], as `form` says."""

    names: tuple[str, ...]
    form: Form
    gamma: float
    prior: Gaussian  # of theta
    posterior: Posterior  # of theta
    check: SamplingCheck | None
    measurements: Measurements
    poses: PoseKinematics  # of the measurements, without force
    residuals: np.ndarray  # (N, 3) measured minus expected deviations [m]
    undetermined: dict[str, str]  # springs that keep their prior, with the reason

    @property
    def stiffness(self) -> np.ndarray:
        """Stiffness (n,) [N m/rad]."""
        return stiffness_of(self.posterior.mean, self.form)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the stiffness (n, n), to first order if compliances were inferred."""
        return stiffness_covariance(self.posterior, self.form)

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Interval of each spring's stiffness (n, 2); its upper end is infinite where the compliance may be zero."""
        reach = ndtri(0.5 + level / 2) * self.posterior.deviations
        ends = self.posterior.mean[:, None] + reach[:, None] * np.array([-1.0, 1.0])
        if self.form == "stiffness":
            return ends
        with np.errstate(divide="ignore"):
            return np.where(ends > 0, 1 / ends, np.inf)[:, ::-1]


def stiffness_of(theta: np.ndarray, form: Form) -> np.ndarray:
    """Convert theta to stiffness, or stiffness to theta: both are the same formula."""
    return theta if form == "stiffness" else 1 / theta


def stiffness_covariance(theta: Gaussian, form: Form) -> np.ndarray:
    """Covariance (n, n) of the stiffness from the distribution of theta, to first order."""
    if form == "stiffness":
        return theta.covariance
    slope = -1 / theta.mean**2
    return theta.covariance * np.outer(slope, slope)


def stiffness_prior(spec: StiffnessPriorSpec, springs: Springs, form: Form) -> Gaussian:
    """The prior of theta; compliance and stiffness have the same relative standard deviation.

    Raises:
        UnknownName, BadFile: as `values_by_spring`.
    """
    spread = spec.spread if isinstance(spec.spread, dict) else dict.fromkeys(springs.names, spec.spread)
    mean = stiffness_of(values_by_spring(spec.stiffness, springs, "prior.stiffness"), form)
    return Gaussian(mean, np.diag((mean * values_by_spring(spread, springs, "prior.spread")) ** 2))


def values_by_spring(values: Mapping[str, float], springs: Springs, key: str) -> np.ndarray:
    """Values (n,) in the order of the springs; `key` of the run file stands in messages.

    Raises:
        UnknownName: the robot has no spring of that name. BadFile: springs have no value.
    """
    for name in values:
        if name not in springs.names:
            raise UnknownName("spring", name, key, springs.names)
    if missing := [name for name in springs.names if name not in values]:
        raise BadFile(f"{key} says nothing of {', '.join(missing)}")
    return np.array([values[name] for name in springs.names], float)


def estimate_stiffness(
    springs: Springs, m: Measurements, settings: InferenceSettings, samples: int = 0, seed: int = 0
) -> StiffnessEstimate:
    """Infer the stiffness of all springs.

    Args:
        samples: number of posterior samples that check the Gaussian approximation; 0: no check.

    Raises:
        ClosureFailed, BadFile: a pose is out of reach. SolverFailed: no most probable stiffness is found.
    """
    poses, prior = unloaded_poses(m, springs), settings.prior
    evidence = Observed(m.deviation.ravel(), np.repeat(m.sigma, 3), prior, settings.gamma)
    predict = deviation_function(springs, poses, m.force, settings.form, settings.model)
    posterior = infer(predict, evidence)
    residuals = m.deviation - predict(posterior.mean)[0].reshape(-1, 3)
    check = None
    if samples:
        predict_all = deviation_function_of_samples(springs, poses, m.force, settings, posterior.mean)
        check = sampling_check(predict_all, evidence, posterior, samples, seed)
    undetermined = undetermined_springs(springs, poses, m.force, settings.weighted_prior, posterior)
    return StiffnessEstimate(
        springs.names, settings.form, settings.gamma, prior, posterior, check, m, poses, residuals, undetermined
    )


def deviation_function(
    springs: Springs, poses: PoseKinematics, force: np.ndarray, form: Form, model: DeviationModel
) -> Model:
    """The function theta -> deviations (3 N,) and their derivatives (3 N, n)."""

    def predict(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = stiffness_of(theta, form)
        found = deviation_at(springs, poses, force, k, model)
        slopes = found.slopes if form == "stiffness" else -found.slopes * k**2
        return found.values.ravel(), slopes.reshape(-1, len(k))

    return predict


def deviation_function_of_samples(
    springs: Springs, poses: PoseKinematics, force: np.ndarray, settings: InferenceSettings, near: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """The function theta (s, n) -> deviations (s, 3 N): the linear model plus what the chosen one adds to it at theta `near`."""

    def linear(theta: np.ndarray) -> np.ndarray:
        k = stiffness_of(theta, settings.form)
        K = np.einsum("psd,ks,pse->kpde", poses.B, k, poses.B)
        torque = np.einsum("pxd,px->pd", poses.J, force)
        deflection = np.linalg.solve(K, np.broadcast_to(torque, K.shape[:3])[..., None])[..., 0]
        return np.einsum("pxd,kpd->kpx", poses.J, deflection).reshape(len(theta), -1)

    predict = deviation_function(springs, poses, force, settings.form, settings.model)
    correction = predict(near)[0] - linear(near[None])[0]
    return lambda theta: linear(theta) + correction


def undetermined_springs(
    springs: Springs, poses: PoseKinematics, force: np.ndarray, prior: Gaussian, posterior: Gaussian
) -> dict[str, str]:
    """Springs that keep their prior, with the reason."""
    lever = _spring_jacobian(poses)
    moment = np.abs(np.einsum("pxs,px->ps", lever, force))
    largest = np.linalg.norm(lever, axis=1) * np.linalg.norm(force, axis=1)[:, None]
    remaining = posterior.deviations / prior.deviations
    found = unobservable_springs(springs, poses)
    for i, name in enumerate(springs.names):
        if name not in found and (moment[:, i] <= NO_MOMENT * largest[:, i]).all():
            found[name] = "keeps its prior: no measured force has a moment about it"
        elif name not in found and remaining[i] > KEEPS_PRIOR:
            found[name] = (
                f"keeps its prior: the measurements leave {100 * remaining[i]:.0f} % of its standard deviation"
            )
    return found


def unobservable_springs(springs: Springs, poses: PoseKinematics) -> dict[str, str]:
    """Springs that no force on the tool's point twists in any of the poses."""
    lever = np.linalg.norm(_spring_jacobian(poses), axis=1).max(axis=0)
    reason = "cannot be observed: the tool's point lies on its axis, so that no force twists it"
    return {name: reason for name, x in zip(springs.names, lever, strict=True) if x < NO_LEVER_ARM}


def _spring_jacobian(poses: PoseKinematics) -> np.ndarray:
    """J B^+ (N, 3, n): velocity of the tool's point per rate of each spring, the lever arm of a force about it [m/rad]."""
    return np.asarray(poses.J @ np.linalg.pinv(poses.B))
