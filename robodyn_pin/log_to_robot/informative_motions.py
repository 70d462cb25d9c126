"""Kinds of motion that a further log could have: how much each would improve the base parameters follows from its regressor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.base_parameters import bodies_base
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.memory import saturated
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.fold import Factor, triangle, weighted
from robodyn_pin.identification.identifiability import Gain, Identifiable, gains, identifiability
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.log_to_robot.pace import Pace
from robodyn_pin.robot.robot import Robot

AGAIN = "the same motion once more"


@dataclass(frozen=True)
class KnownParameters:
    """What a log tells of every parameter of a robot."""

    base: BaseSet  # of the robot: what its log and the motions together show
    parameters: list[Identifiable]
    gain: Gain


def known(
    robot: Robot, pace: Pace, loaded: bool, groups: Sequence[Factor], estimate: BaseEstimate, independent: float,
    noise: np.ndarray | None = None,
) -> KnownParameters:  # fmt: skip
    """Identifiability of every parameter, and for each base parameter the motion that would improve it most.

    Motions are compared at the log's own poses, none faster than the log (99 of 100 samples): each adds as many rows as
    the log has. They are kinds of motion, not trajectories: the gain says nothing about an optimal motion.
    """
    kinds = motions(robot, pace, loaded, noise)
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
    robot: Robot, pace: Pace, loaded: bool, noise: np.ndarray | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """Rows (n, d, p) of kinds of motion at the log's poses, with its speeds and accelerations; `noise`: whitened by it."""
    q, cd, cdd, fast, sharp = pace.q, pace.cd, pace.cdd, pace.fast, pace.sharp
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
        rows[name] = whitened(state_regressor(robot, saturated(robot, state), loaded), motor_map(robot, state), noise)
    return rows
