"""The design problem: poses that keep rules, forces within bounds, and what the measurements there say of the springs.

The inputs u of a design are the coordinates of its poses (G d), then the forces of its measurements in parts of the largest.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from robodyn_pin.elastic.design_file import DesignFile, Direction
from robodyn_pin.elastic.deviation import twist_compliance_slopes
from robodyn_pin.elastic.elastic_file import Form
from robodyn_pin.elastic.inference import stiffness_of
from robodyn_pin.elastic.pose_rules import PoseRules, pose_rules, slack
from robodyn_pin.elastic.springs import PoseKinematics, Springs, pose_kinematics
from robodyn_pin.identification.bayes import Gaussian
from robodyn_pin.identification.experiment_design import DesignProblem

BASES: dict[Direction, np.ndarray] = {
    "x": np.eye(3)[:, :1],
    "y": np.eye(3)[:, 1:2],
    "z": np.eye(3)[:, 2:],
    "any": np.eye(3),
}


@dataclass(frozen=True)
class DesignSetting:
    """What all designs of a run have in common: the prior of the springs, the sensor, and the rules for poses."""

    springs: Springs
    prior: Gaussian  # of theta, its weight gamma included
    unit: np.ndarray  # (n,) unit of theta in which its covariance is measured
    form: Form
    sigma: float  # of the sensor [m]
    largest: float  # force component [N]
    rules: PoseRules

    @property
    def prior_stiffness(self) -> np.ndarray:
        """The stiffness (n,) of the prior's mean, which designs are made for [N m/rad]."""
        return stiffness_of(self.prior.mean, self.form)

    @property
    def precision(self) -> np.ndarray:
        """Inverse covariance of the prior (n, n), theta in its unit."""
        return np.linalg.inv(self.prior.covariance / np.outer(self.unit, self.unit))


@dataclass(frozen=True)
class MeasurementPlan:
    """The direction of each measurement's force and the number of its pose."""

    directions: tuple[Direction, ...]  # (m,)
    pose: tuple[int, ...]  # (m,)

    @property
    def poses(self) -> int:
        """Number of poses."""
        return max(self.pose) + 1

    @property
    def widths(self) -> list[int]:
        """Number of inputs of each force."""
        return [BASES[name].shape[1] for name in self.directions]


def design_setting(run: DesignFile, springs: Springs, prior: Gaussian) -> DesignSetting:
    """The setting that a run file describes.

    Args:
        prior: of theta, its weight gamma included.

    Raises:
        BadFile: as `pose_rules`.
    """
    unit = np.full(len(springs.names), 1e6 if run.form == "stiffness" else 1e-6)
    rules = pose_rules(springs, run.position, run.region, run.cone, run.margin)
    return DesignSetting(springs, prior, unit, run.form, run.sigma, run.experiments.largest, rules)


def sensitivities(setting: DesignSetting, L: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Derivatives (..., 3, n) of a deviation with respect to theta in its unit, in units of the noise.

    Args:
        L: (..., 3, n) as `twist_compliance`. force: (..., 3) [N].
    """
    return _weight(setting) * L * np.einsum("...xs,...x->...s", L, force)[..., None, :]


def _weight(setting: DesignSetting) -> np.ndarray:
    k = setting.prior_stiffness
    return np.asarray((-1.0 if setting.form == "stiffness" else k**2) * setting.unit / setting.sigma)


def forces_of(setting: DesignSetting, plan: MeasurementPlan, u: np.ndarray) -> np.ndarray:
    """Forces (m, 3) [N] of inputs u (n,)."""
    parts = np.split(u[len(u) - sum(plan.widths) :], np.cumsum(plan.widths)[:-1])
    return setting.largest * np.array([BASES[name] @ s for name, s in zip(plan.directions, parts, strict=True)])


def design_problem(setting: DesignSetting, plan: MeasurementPlan) -> DesignProblem:
    """The optimisation problem of a plan."""
    rules, d, G, widths = setting.rules, len(setting.rules.low), plan.poses, plan.widths
    n = G * d + sum(widths)

    @lru_cache(maxsize=4)  # the solver asks for objective and constraints one after the other
    def poses(inputs: bytes) -> PoseKinematics:
        return pose_kinematics(setting.springs, np.frombuffer(inputs)[: G * d].reshape(G, d))

    def rows(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L, dL = twist_compliance_slopes(setting.springs, poses(u.tobytes()), setting.prior_stiffness)
        F, weight = forces_of(setting, plan, u), _weight(setting)
        slopes, column = np.zeros((len(F), 3, len(weight), n)), G * d
        for m, (g, name) in enumerate(zip(plan.pose, plan.directions, strict=True)):
            twist = L[g].T @ F[m]
            dtwist = np.einsum("xsj,x->sj", dL[g], F[m])
            slopes[m, :, :, g * d : (g + 1) * d] = dL[g] * twist[:, None] + L[g][:, :, None] * dtwist
            for unit in setting.largest * BASES[name].T:
                slopes[m, :, :, column] = L[g] * (L[g].T @ unit)
                column += 1
        p = len(weight)
        values = sensitivities(setting, L[list(plan.pose)], F)
        return values.reshape(-1, p), (slopes * weight[:, None]).reshape(-1, p, n)

    def position(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = poses(u.tobytes())
        return (at.point - rules.position).ravel(), _block_slopes(at.J, n)

    def inequalities(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = slack(rules, poses(u.tobytes()))
        return values.ravel(), _block_slopes(slopes, n)

    low = np.concatenate([np.tile(rules.low, G), -np.ones(sum(widths))])
    high = np.concatenate([np.tile(rules.high, G), np.ones(sum(widths))])
    return DesignProblem(rows, setting.precision, low, high, None if rules.position is None else position, inequalities)


def _block_slopes(blocks: np.ndarray, n: int) -> np.ndarray:
    """Derivatives (G r, n) with respect to all inputs, from those of each pose with respect to its own (G, r, d)."""
    G, r, d = blocks.shape
    slopes = np.zeros((G, r, n))
    for g in range(G):
        slopes[g, :, g * d : (g + 1) * d] = blocks[g]
    return slopes.reshape(G * r, n)


def design_inputs(c: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The inputs u of coordinates (G, d) and forces in parts of the largest."""
    return np.concatenate([c.ravel(), parts])
