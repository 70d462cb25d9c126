"""What may be measured: poses within limits at a place, tool within a cone, forces within bounds; and what that tells.

Inputs u of a design: coordinates of its poses (G d), then forces of its measurements, parts of the largest.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from robodyn_pin.elastic.design_file import DesignFile, Direction
from robodyn_pin.elastic.inference import stiffness_of
from robodyn_pin.elastic.run_file import Form
from robodyn_pin.elastic.springs import Placed, Springs, curvature, place
from robodyn_pin.errors import BadFile
from robodyn_pin.identification.bayes import Gaussian
from robodyn_pin.identification.design import Problem
from robodyn_pin.limits import limits_of

BASES: dict[Direction, np.ndarray] = {
    "x": np.eye(3)[:, :1],
    "y": np.eye(3)[:, 1:2],
    "z": np.eye(3)[:, 2:],
    "any": np.eye(3),
}


@dataclass(frozen=True)
class Cone:
    """Where a direction of the tool may point."""

    axis: np.ndarray  # (3,) in the tool's frame, length 1
    towards: np.ndarray  # (3,) in the base's, length 1
    cosine: float  # least


@dataclass(frozen=True)
class Setting:
    """What all designs of a run have in common: the springs as believed, the sensor, and where the tool may be."""

    springs: Springs
    prior: Gaussian  # of theta, gamma included
    unit: np.ndarray  # (n,) of theta, in which its covariance is measured
    form: Form
    sigma: float  # [m]
    largest: float  # [N]
    position: np.ndarray | None  # (3,) [m]
    region: np.ndarray | None  # (3, 2) [m]
    cone: Cone | None
    low: np.ndarray  # (d,) limits of coordinates
    high: np.ndarray  # (d,)
    rows: np.ndarray  # (r, nv) of joints and motors with limits of their own, not coordinates
    centre: np.ndarray  # (r,)
    half: np.ndarray  # (r,)

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
    """The setting that a run file describes; prior of theta.

    Raises:
        BadFile: a cone without a direction, limits without room.
    """
    robot = springs.robot
    bounds = next((b for b in limits_of(robot, {}, run.margin).bounds if b.kind == "position"), None)
    d = len(robot.coordinates.names)
    low, high, others = np.full(d, -np.pi), np.full(d, np.pi), []
    if bounds is not None:
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        for i, row in enumerate(bounds.S):
            same = np.flatnonzero((row == robot.coordinates.S).all(axis=1))
            offset = robot.coordinates.offset[same]
            low[same] = np.maximum(low[same], bounds.centre[i] - bounds.half[i] + offset)
            high[same] = np.minimum(high[same], bounds.centre[i] + bounds.half[i] + offset)
            others += [] if len(same) else [i]
        low, high = np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
    empty = np.zeros((0, robot.model.nv)), np.zeros(0), np.zeros(0)
    rows, centre, half = (bounds.S[others], bounds.centre[others], bounds.half[others]) if bounds else empty
    unit = np.full(len(springs.names), 1e6 if run.form == "stiffness" else 1e-6)
    return Setting(
        springs, Gaussian(prior.mean, prior.covariance / run.gamma), unit, run.form, run.sigma, run.experiments.largest,
        None if run.position is None else np.array(run.position), None if run.region is None else np.array(run.region),
        _cone(run), low, high, rows, centre, half,
    )  # fmt: skip


def _cone(run: DesignFile) -> Cone | None:
    if run.cone is None:
        return None
    axis = np.array(run.cone.axis or run.tool.at, float)
    if run.cone.towards is None and run.position is None:
        raise BadFile("'cone' needs 'towards', a direction of the base, where 'position' is not given")
    towards = np.array(run.cone.towards or (*run.position[:2], 0.0) if run.position else run.cone.towards, float)
    for name, direction in (("axis", axis), ("towards", towards)):
        if np.linalg.norm(direction) < 1e-9:
            raise BadFile(f"'cone.{name}' has no direction; give three numbers that are not all zero")
    return Cone(
        axis / np.linalg.norm(axis), towards / np.linalg.norm(towards), float(np.cos(np.radians(run.cone.angle)))
    )


def levers(setting: Setting, at: Placed) -> np.ndarray:
    """L = J K^-1 B' (N, 3, n): how the tool moves for a moment in each spring [m/(N m)], springs as believed."""
    k = stiffness_of(setting.prior.mean, setting.form)
    K = np.swapaxes(at.B, 1, 2) @ (k[:, None] * at.B)
    return np.asarray(at.J @ np.linalg.solve(K, np.swapaxes(at.B, 1, 2)))


def _bend(setting: Setting, at: Placed) -> tuple[np.ndarray, np.ndarray]:
    """L (N, 3, n) and its slopes (N, 3, n, d) for the coordinates."""
    k = stiffness_of(setting.prior.mean, setting.form)
    dJ, dB = curvature(setting.springs, at)
    inverse = np.linalg.inv(np.swapaxes(at.B, 1, 2) @ (k[:, None] * at.B))
    P, R = at.J @ inverse, inverse @ np.swapaxes(at.B, 1, 2)  # (N, 3, d), (N, d, n)
    half = np.einsum("nsij,s,nsl->nilj", dB, k, at.B)
    dK = half + np.swapaxes(half, 1, 2)
    slope = np.einsum("nxdj,nds->nxsj", dJ, R) - np.einsum("nxd,ndej,nes->nxsj", P, dK, R)
    return at.J @ R, slope + np.einsum("nxd,nsdj->nxsj", P, dB)


def told(setting: Setting, L: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Slopes (..., 3, n) of a deviation for theta in its unit, in units of the noise; L (..., 3, n), force (..., 3)."""
    return _weight(setting) * L * np.einsum("...xs,...x->...s", L, force)[..., None, :]


def _weight(setting: Setting) -> np.ndarray:
    k = stiffness_of(setting.prior.mean, setting.form)
    return np.asarray((-1.0 if setting.form == "stiffness" else k**2) * setting.unit / setting.sigma)


def forces(setting: Setting, plan: Plan, u: np.ndarray) -> np.ndarray:
    """Forces (m, 3) [N] of inputs u (n,)."""
    parts = np.split(u[len(u) - sum(plan.widths) :], np.cumsum(plan.widths)[:-1])
    return setting.largest * np.array([BASES[name] @ s for name, s in zip(plan.directions, parts, strict=True)])


def problem(setting: Setting, plan: Plan) -> Problem:
    """The design problem of a plan."""
    d, G, widths = len(setting.low), plan.poses, plan.widths
    n = G * d + sum(widths)

    @lru_cache(maxsize=4)  # the solver asks for objective and constraints one after the other
    def placed(inputs: bytes) -> Placed:
        return place(setting.springs, np.frombuffer(inputs)[: G * d].reshape(G, d))

    def rows(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L, dL = _bend(setting, placed(u.tobytes()))
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
        return (at.point - setting.position).ravel(), _spread(at.J, n)

    def above(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, slopes = room(setting, placed(u.tobytes()))
        return values.ravel(), _spread(slopes, n)

    low = np.concatenate([np.tile(setting.low, G), -np.ones(sum(widths))])
    high = np.concatenate([np.tile(setting.high, G), np.ones(sum(widths))])
    return Problem(rows, setting.precision, low, high, None if setting.position is None else equal, above)


def room(setting: Setting, at: Placed) -> tuple[np.ndarray, np.ndarray]:
    """What is left (N, r) to limits of joints that are no coordinates, to the region and to the cone; slopes (N, r, d)."""
    off = at.q @ setting.rows.T - setting.centre
    slope = setting.rows @ at.T
    values, slopes = [setting.half - off, setting.half + off], [-slope, slope]
    if setting.region is not None:
        values += [at.point - setting.region[:, 0], setting.region[:, 1] - at.point]
        slopes += [at.J, -at.J]
    if setting.cone is not None:
        axis = at.turn @ setting.cone.axis
        # The axis turns with the frame: d axis = w x axis, its part towards the cone's middle is w . (axis x towards).
        values.append((axis @ setting.cone.towards - setting.cone.cosine)[:, None])
        swing = np.cross(axis, setting.cone.towards)
        slopes.append(swing[:, None] @ at.tree[:, 3:] @ at.T)
    return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)


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
