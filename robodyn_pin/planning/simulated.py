"""A planned motion under a controller: does the end-effector follow? Gnad et al. (IRB 360), Fig. 17, with a simulated robot."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_pin.closed_loop import Tracking, controlled, track
from robodyn_pin.control import ControllerFile
from robodyn_pin.dynamics import accelerations
from robodyn_pin.planning.planned import Planned
from robodyn_pin.planning.table import motion_at
from robodyn_pin.robot import Robot

STILL = 0.02  # [s] that are simulated after the motion's end


@dataclass(frozen=True)
class Simulated:
    """A planned motion as the controlled robot made it. Simulated."""

    tracking: Tracking
    motors: tuple[str, ...]
    planned: np.ndarray  # (N, d) accelerations of the path's coordinates [m/s^2 or rad/s^2]
    accelerations: np.ndarray  # (N, d) the same of the robot

    @property
    def t(self) -> np.ndarray:
        """(N,) [s]"""
        return self.tracking.t

    def summary(self) -> dict[str, Any]:
        """What `result.json` holds."""
        missed = np.sqrt(np.mean((self.accelerations - self.planned) ** 2, axis=0))
        return {
            "simulated": True,
            "largest error [rad or m]": dict(zip(self.motors, self.tracking.largest.tolist(), strict=True)),
            "samples at a torque limit": int(self.tracking.saturated.any(axis=1).sum()),
            "rms acceleration error [m/s^2 or rad/s^2]": missed.tolist(),
        }


def simulate_planned(
    planned: Planned, spec: ControllerFile, model: Robot | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Simulated:  # fmt: skip
    """Simulate the robot of a plan under a controller that follows it.

    Args:
        model: that the controller knows; default: the robot with its load.

    Raises:
        Diverged, BadFile: as `track` and `controlled`.
    """
    robot, path, profile = planned.task.robot, planned.task.path, planned.plan.profile
    t = np.arange(int(np.ceil((profile.time + STILL) * spec.rate)) + 1) / spec.rate
    motion = motion_at(robot, path, profile, t)
    controller = controlled(robot, model or robot, (t, motion.c, motion.cd, motion.cdd), spec)
    tracking = track(robot, controller, progress=progress)
    S, offset = robot.coordinates.S, robot.coordinates.offset
    c, cd = tracking.joints @ S.T + offset, tracking.rates @ S.T
    state = robot.close(c, cd, 0 * c)
    found = accelerations(robot, state, tracking.tau + tracking.disturbance)
    return Simulated(tracking, robot.motors.names, motion.cdd, found)
