"""Internal torques, encoder misses and conditioning in the logs of a robot with more motors than degrees of freedom.

Torques in the null space of B' move nothing (Briot et al. (DualV), equations 26 and 50), so no model predicts them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.singularity import lever
from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.equations import internal_torques, motor_map
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.workers import each

BLOCK = 20_000  # samples closed at once
ILL = 10.0  # condition number from which a projection amplifies noise enough to be named
WEAK = 0.2  # share of the strongest coordinate's acceleration below which a coordinate is called hardly moved
FAR = 0.02  # [rad or m] miss of the encoders that is larger than the zero offsets of a sound robot


@dataclass(frozen=True)
class Overconstraint:
    """Found in the fit logs; none of it depends on parameters."""

    motors: tuple[str, ...]
    miss: np.ndarray  # (n_motors,) [rad or m] rms by which encoders miss the loops
    internal_rms: float  # of the norm of all motors' internal torque [unit]
    internal_max: float
    torque_rms: float  # of the norm of all motors' torque
    units: tuple[str, str]  # of positions and torques of the motors
    pose: tuple[str, ...]  # coordinates of the robot file
    pose_condition: np.ndarray  # (2,) median and worst condition number of the motors' map to them
    moved: np.ndarray  # (d,) their rms accelerations over the largest one, metres in units of the robot's length
    chosen: tuple[str, ...]  # coordinates that torques were projected onto
    chosen_condition: np.ndarray  # (2,) the same of these: of the sub-robot that only they drive

    def summary(self) -> dict[str, object]:
        """What `result.json` holds of it."""
        keys = ("median", "worst")
        return {
            "encoders_miss_loops_rms": dict(zip(self.motors, self.miss.tolist(), strict=True)),
            "internal_torque": {"rms": self.internal_rms, "max": self.internal_max, "of_torque_rms": self.torque_rms},
            "condition": {
                " ".join(names): dict(zip(keys, x.tolist(), strict=True))
                for names, x in ((self.pose, self.pose_condition), (self.chosen, self.chosen_condition))
            },
            "moved": dict(zip(self.pose, self.moved.tolist(), strict=True)),
        }

    def text(self) -> list[str]:
        """For readers: the internal torque, the encoders, the conditioning."""
        names, (middle, worst), (position, effort) = ", ".join(self.chosen), self.chosen_condition, self.units
        lines = [
            f"the internal torque in the fit logs has an rms of {self.internal_rms:.3g} {effort} and a maximum of {self.internal_max:.3g} "
            f"{effort}, noise included; the rms of the whole torque is {self.torque_rms:.3g} {effort}. It moves nothing, and no model "
            "predicts it",
            f"the encoders differ from the closed loops by {self.miss.max():.2g} {position} rms at most",
            f"the map from the pose {', '.join(self.pose)} to the motors has a condition number of {self.pose_condition[0]:.3g} (median) and "
            f"{self.pose_condition[1]:.3g} (worst); the weakest acceleration of the motion, that of {self.pose[int(self.moved.argmin())]}, is "
            f"{100 * self.moved.min():.3g} % of the strongest",
        ]
        if self.chosen != self.pose:
            lines.append(
                f"the same for the sub-robot driven by {names}: condition number {middle:.3g} (median) and {worst:.3g} (worst)"
            )
        return lines

    def cautions(self) -> list[str]:
        """Reasons that lie in the motion or the encoders."""
        cautions, effect = [], "parameters may come out wrong for this reason"
        if self.chosen_condition[1] > ILL and self.chosen != self.pose:
            cautions.append(
                f"poor motion for the coordinates {', '.join(self.chosen)}: the sub-robot that they drive comes near a singularity "
                f"(condition number up to {self.chosen_condition[1]:.3g}), where the noise of its torques grows; {effect}; choose "
                f"others, as {', '.join(self.pose)}, or a motion that stays clear of it"
            )
        if self.pose_condition[1] > ILL:
            cautions.append(
                f"poor motion: the robot comes near a singularity (condition number up to {self.pose_condition[1]:.3g}); {effect}"
            )
        for name, share in zip(self.pose, self.moved, strict=True):
            if share < WEAK:
                cautions.append(
                    f"poor motion: {name} hardly accelerates, {100 * share:.2g} % of the strongest coordinate; {effect}"
                )
        if self.miss.max() > FAR:
            worst = int(self.miss.argmax())
            cautions.append(
                f"the encoders differ from the closed loops by up to {self.miss[worst]:.2g} {self.units[0]} rms ({self.motors[worst]}): check zero "
                "offsets, units and the motors' order"
            )
        return cautions


def overconstraint(robot: Robot, logs: Sequence[AnyLog], preparation: Preparation) -> Overconstraint | None:
    """Examine the fit logs; None if the robot has no more motors than degrees of freedom."""
    from robodyn_pin.robot.units import effort_unit

    if len(robot.motors.names) == len(robot.coordinates.names):
        return None
    pose = robot.with_coordinates(robot.file.coordinates or robot.coordinates.names)
    length = lever(robot.loops, robot.home)
    scale = np.where(robot.slides(pose.coordinates.S), length, 1.0)
    found = each(partial(_of_log, robot, pose, scale, preparation), logs)
    squares, moved, torque = (np.sum(of_logs, axis=0) for of_logs in zip(*(x[:3] for x in found), strict=True))
    count, peak = sum(x.samples for x in found), max(x.peak for x in found)
    both = np.concatenate([x.conditions for x in found])
    spread = np.stack([np.median(both, axis=0), both.max(axis=0)])
    accelerations = np.sqrt(moved / count) / scale
    efforts = {effort_unit(robot.model, row) for row in robot.motors.S}
    effort = efforts.pop() if len(efforts) == 1 else "N m or N"
    units = {"N m": "rad", "N": "m"}.get(effort, "rad or m"), effort
    return Overconstraint(
        robot.motors.names, np.sqrt(squares / count), float(np.sqrt(torque[0] / count)), float(np.sqrt(peak)),
        float(np.sqrt(torque[1] / count)), units, pose.coordinates.names, spread[:, 0],
        accelerations / max(accelerations.max(), 1e-300), robot.coordinates.names, spread[:, 1],
    )  # fmt: skip


class _OfLog(NamedTuple):
    """Sums over a log's samples, and what is largest."""

    squares: np.ndarray  # (n_motors,) of the encoders' misses
    moved: np.ndarray  # (d,) squares of the pose's accelerations
    torque: np.ndarray  # (2,) squares of the internal and of the whole torque
    samples: int
    peak: float  # largest square of the internal torque
    conditions: np.ndarray  # (N, 2) as `_conditions`


def _of_log(robot: Robot, pose: Robot, scale: np.ndarray, preparation: Preparation, log: AnyLog) -> _OfLog:
    squares, moved, torque, peak = np.zeros(len(robot.motors.names)), np.zeros(len(scale)), np.zeros(2), 0.0
    rates, conditions = rates_of(log, preparation), []
    for part in along_log(pose, log, preparation, BLOCK):
        state, keep, tau = part.state, part.keep, part.log.tau
        q = rates.motion(part.log)[0]
        squares += np.sum((state.q @ robot.motors.S.T + robot.motors.offset - q)[keep] ** 2, axis=0)
        moved += np.sum((state.a @ pose.coordinates.S.T)[keep] ** 2, axis=0)
        conditions.append(_conditions(robot, pose, state, scale)[keep])
        if tau is not None:
            inner = np.sum(internal_torques(pose, state, tau)[keep] ** 2, axis=1)
            torque += inner.sum(), np.sum(tau[keep] ** 2)
            peak = max(peak, float(inner.max()))
    return _OfLog(squares, moved, torque, log.size, peak, np.concatenate(conditions))


def _conditions(robot: Robot, pose: Robot, state: State, scale: np.ndarray) -> np.ndarray:
    """Condition numbers (N, 2) of the motors' and of the chosen coordinates' rates per rate of the pose, metres scaled."""
    if robot.coordinates.names == pose.coordinates.names:
        of_pose = np.linalg.cond(motor_map(pose, state) * scale)
        return np.stack([of_pose, of_pose], axis=1)
    maps = motor_map(pose, state), robot.coordinates.S @ state.T
    return np.stack([np.linalg.cond(B * scale) for B in maps], axis=1)
