"""Kinds of motion that a further log could have: how much each would improve the base parameters follows from its regressor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.base_parameters import bodies_base
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.memory import saturated
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.fold import Factor, triangle, weighted
from robodyn_pin.identification.identifiability import Gain, Identifiable, gains, identifiability
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

LOOKED_AT = 20_000  # samples of the log whose poses, speeds and accelerations the motions keep to
USUAL = 0.99  # share of the samples that are not faster than the speed of the log
STATES = 300  # of each kind of motion
AGAIN = "the same motion once more"


@dataclass(frozen=True)
class KnownParameters:
    """What a log tells of every parameter of a robot."""

    base: BaseSet  # of the robot: what its log and the motions together show
    parameters: list[Identifiable]
    gain: Gain


def known(
    robot: Robot, log: AnyLog, preparation: Preparation, groups: Sequence[Factor], estimate: BaseEstimate,
    independent: float, noise: np.ndarray | None = None,
) -> KnownParameters:  # fmt: skip
    """Identifiability of every parameter, and for each base parameter the motion that would improve it most.

    Motions are compared at the log's own poses, none faster than the log (99 of 100 samples): each adds as many rows as
    the log has. They are kinds of motion, not trajectories: the gain says nothing about an optimal motion.
    """
    kinds = motions(robot, log, preparation, noise)
    rows = {
        name: (W / estimate.sigma[:, None]).reshape(-1, W.shape[2]) for name, W in kinds.items()
    }  # in units of the noise
    R = weighted(groups, estimate.sigma)[:, :-1]
    size = np.linalg.norm(R) or 1.0
    shown = triangle(np.concatenate([R / size, *(W / (np.linalg.norm(W) or 1.0) for W in rows.values())]))
    base = base_set(bodies_base(robot).cleaned(shown))
    kept = base.columns
    count = sum(g.rows for g in groups)
    gain = gains(R[:, kept] * np.sqrt(independent), {name: W[:, kept] for name, W in rows.items()}, independent * count)
    return KnownParameters(base, identifiability(base, columns(robot).layout.labels), gain)


def motions(
    robot: Robot, log: AnyLog, preparation: Preparation, noise: np.ndarray | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """Rows (n, d, p) of kinds of motion at the log's poses, with its speeds and accelerations; `noise`: whitened by it."""
    q, cd, cdd = motion_of_first_samples(robot, log, preparation)
    fast, sharp = (np.quantile(np.abs(x), USUAL, axis=0) for x in (cd, cdd))
    picked = np.linspace(0, len(q) - 1, STATES).astype(int)
    q, cd, cdd = q[picked], cd[picked], cdd[picked]
    rng, still = np.random.default_rng(seed), np.zeros_like(cd)
    at_rest = robot.state(q, still, still)
    kinds = {AGAIN: robot.state(q, cd, still).accelerated(cdd), "standing still in many poses": at_rest}
    for i, name in enumerate(robot.coordinates.names):
        alone = np.eye(cd.shape[1])[i] * rng.uniform(-1, 1, cd.shape)
        kinds[f"accelerations of {name} alone"] = at_rest.accelerated(alone * sharp)
        kinds[f"steady speeds of {name} alone"] = robot.state(q, alone * fast, still)
    moving = robot.state(q, rng.uniform(-1, 1, cd.shape) * fast, still)
    kinds["all coordinates fast at once"] = moving.accelerated(rng.uniform(-1, 1, cd.shape) * sharp)
    rows = {}
    for name, state in kinds.items():
        rows[name] = whitened(
            state_regressor(robot, saturated(robot, state), log.loaded), motor_map(robot, state), noise
        )
    return rows


def motion_of_first_samples(
    robot: Robot, log: AnyLog, preparation: Preparation
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joints q (N, nv) and rates c', c'' (N, d) of the coordinates in the log's first samples."""
    part = log.section(0, min(log.size, LOOKED_AT))
    state = close_motors(robot, *rates_of(log, preparation).motion(part), part.row)
    S = robot.coordinates.S
    return state.q, state.v @ S.T, state.a @ S.T
