"""What may be measured: poses within limits at a place, tool within a cone, forces within bounds; and what that tells.

Inputs u of a design: coordinates of its poses (G d), then forces of its measurements, parts of the largest.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from robodyn_pin.elastic.design_file import DesignFile, Direction
from robodyn_pin.elastic.deviation import bent_levers
from robodyn_pin.elastic.elastic_file import Form
from robodyn_pin.elastic.inference import stiffness_of
from robodyn_pin.elastic.pose_rules import Where, room, where_of
from robodyn_pin.elastic.springs import Placed, Springs, place
from robodyn_pin.identification.bayes import Gaussian
from robodyn_pin.identification.experiment_design import Problem

BASES: dict[Direction, np.ndarray] = {
    "x": np.eye(3)[:, :1],
    "y": np.eye(3)[:, 1:2],
    "z": np.eye(3)[:, 2:],
    "any": np.eye(3),
}


@dataclass(frozen=True)
class Setting:
    """What all designs of a run have in common: the springs as believed, the sensor, and where the tool may be."""

    springs: Springs
    prior: Gaussian  # of theta, gamma included
    unit: np.ndarray  # (n,) of theta, in which its covariance is measured
    form: Form
    sigma: float  # [m]
    largest: float  # [N]
    where: Where

    @property
    def believed(self) -> np.ndarray:
        """Stiffness (n,) that designs are made for."""
        return stiffness_of(self.prior.mean, self.form)

    @property
    def precision(self) -> np.ndarray:
        """Of the prior (n, n), theta in its unit."""
        return np.linalg.inv(self.prior.covariance / np.outer(self.unit, self.unit))


@dataclass(frozen=True)
class Plan:
    """Which measurement takes place in which pose."""

    directions: tuple[Direction, ...]  # (m,)
    pose: tuple[int, ...]  # (m,)

    @property
    def poses(self) -> int:
        """Of the robot."""
        return max(self.pose) + 1

    @property
    def widths(self) -> list[int]:
        """Inputs that each force has."""
        return [BASES[name].shape[1] for name in self.directions]


def setting_of(run: DesignFile, springs: Springs, prior: Gaussian) -> Setting:
    """The setting that a run file describes; prior of theta, gamma included.

    Raises:
        BadFile: a cone without a direction, limits without room.
    """
    unit = np.full(len(springs.names), 1e6 if run.form == "stiffness" else 1e-6)
    where = where_of(springs, run.position, run.region, run.cone, run.margin)
    return Setting(springs, prior, unit, run.form, run.sigma, run.experiments.largest, where)


def told(setting: Setting, L: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Slopes (..., 3, n) of a deviation for theta in its unit, in units of the noise; L (..., 3, n), force (..., 3)."""
    return _weight(setting) * L * np.einsum("...xs,...x->...s", L, force)[..., None, :]


def _weight(setting: Setting) -> np.ndarray:
    k = setting.believed
    return np.asarray((-1.0 if setting.form == "stiffness" else k**2) * setting.unit / setting.sigma)


def forces(setting: Setting, plan: Plan, u: np.ndarray) -> np.ndarray:
    """Forces (m, 3) [N] of inputs u (n,)."""
    parts = np.split(u[len(u) - sum(plan.widths) :], np.cumsum(plan.widths)[:-1])
    return setting.largest * np.array([BASES[name] @ s for name, s in zip(plan.directions, parts, strict=True)])


def problem(setting: Setting, plan: Plan) -> Problem:
    """The design problem of a plan."""
    d, G, widths = len(setting.where.low), plan.poses, plan.widths
    n = G * d + sum(widths)

    @lru_cache(maxsize=4)  # the solver asks for objective and constraints one after the other
    def placed(inputs: bytes) -> Placed:
        return place(setting.springs, np.frombuffer(inputs)[: G * d].reshape(G, d))

    def rows(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L, dL = bent_levers(setting.springs, placed(u.tobytes()), setting.believed)
        F, weight = forces(setting, plan, u), _weight(setting)
        slopes, at = np.zeros((len(F), 3, len(weight), n)), G * d
        for m, (g, name) in enumerate(zip(plan.pose, plan.directions, strict=True)):
            moment = L[g].T @ F[m]
            slopes[m, :, :, g * d : (g + 1) * d] = dL[g] * moment[:, None] + L[g][:, :, None] * np.einsum(
                "xsj,x->sj", dL[g], F[m]
            )
            for unit in setting.largest * BASES[name].T:
                slopes[m, :, :, at] = L[g] * (L[g].T @ unit)
                at += 1
        p = len(weight)
        return told(setting, L[list(plan.pose)], F).reshape(-1, p), (slopes * weight[:, None]).reshape(-1, p, n)

    def equal(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = placed(u.tobytes())
        return (at.point - setting.where.position).ravel(), _spread(at.J, n)

    def above(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = room(setting.where, placed(u.tobytes()))
        return values.ravel(), _spread(slopes, n)

    low = np.concatenate([np.tile(setting.where.low, G), -np.ones(sum(widths))])
    high = np.concatenate([np.tile(setting.where.high, G), np.ones(sum(widths))])
    return Problem(rows, setting.precision, low, high, None if setting.where.position is None else equal, above)


def _spread(blocks: np.ndarray, n: int) -> np.ndarray:
    """Slopes (N r, n) for all inputs from those of each pose (N, r, d) for its own."""
    N, r, d = blocks.shape
    out = np.zeros((N, r, n))
    for g in range(N):
        out[g, :, g * d : (g + 1) * d] = blocks[g]
    return out.reshape(N * r, n)


def inputs(c: np.ndarray, s: np.ndarray) -> np.ndarray:
    """u from coordinates (G, d) and forces, parts of the largest."""
    return np.concatenate([c.ravel(), s])
