"""A planned motion of a simulated robot under a controller, as in Gnad et al. (IRB 360), Fig. 17."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_pin.dynamics.equations import accelerations
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.kinematics import end_effector, frame_accelerations
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.closed_loop import Tracking, controlled, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile


@dataclass(frozen=True)
class SimulatedPlan:
    """A planned motion as the simulated robot made it under its controller."""

    tracking: Tracking
    motors: tuple[str, ...]
    # The accelerations are of the path's coordinates; if these are the motors, of the end-effector along x, y, z.
    names: tuple[str, ...]  # (k,)
    units: tuple[str, ...]
    planned: np.ndarray  # (N, k) planned accelerations [m/s^2 or rad/s^2]
    accelerations: np.ndarray  # (N, k) those of the simulated robot

    @property
    def t(self) -> np.ndarray:
        """Times (N,) [s]."""
        return self.tracking.t

    def summary(self) -> dict[str, Any]:
        """Return what `result.json` holds of the simulation."""
        error = np.sqrt(np.mean((self.accelerations - self.planned) ** 2, axis=0))
        return {
            "simulated": True,
            "largest error [rad or m]": dict(zip(self.motors, self.tracking.largest.tolist(), strict=True)),
            "samples at a torque limit": int(self.tracking.saturated.any(axis=1).sum()),
            "rms acceleration error": {
                f"{name} [{unit}]": x for name, unit, x in zip(self.names, self.units, error.tolist(), strict=True)
            },
        }


def simulate_planned(
    robot: Robot,
    course: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    spec: ControllerFile,
    model: Robot | None = None,
    progress: Callable[[float], None] = lambda share: None,
    settings: TrackFile | None = None,
) -> SimulatedPlan:
    """Simulate a robot under a controller that follows a planned motion.

    Args:
        robot: with its load, in the path's coordinates. course: t (N,), c, c', c'' (N, d) of the plan at the controller's cycle.
        model: the robot model inside the controller; default: the robot with its load. settings: of the estimator of law adaptive.

    Raises:
        Diverged, BadFile: as `track` and `controlled`.
    """
    controller = controlled(robot, model or robot, course, spec, settings)
    tracking = track_motion(robot, controller, progress=progress)
    S, offset = robot.coordinates.S, robot.coordinates.offset
    c, cd = tracking.joints @ S.T + offset, tracking.rates @ S.T
    ends = [*(stage.begin for stage in tracking.stages[1:]), len(c)]
    cdd = np.concatenate(
        [_accelerations(tracking, slice(x.begin, end), c, cd) for x, end in zip(tracking.stages, ends, strict=True)]
    )
    names = robot.coordinates.names
    units = tuple("m/s²" if slides else "rad/s²" for slides in robot.slides(S))
    frame = end_effector(robot)
    if names != robot.motors.names or frame is None:
        return SimulatedPlan(tracking, robot.motors.names, names, units, course[3], cdd)
    states = (robot.close(*course[1:]), robot.close(c, cd, cdd))
    moves = (frame_accelerations(robot, state, frame) for state in states)
    names, units = tuple(f"{frame} {axis}" for axis in "xyz"), ("m/s²",) * 3
    return SimulatedPlan(tracking, robot.motors.names, names, units, *moves)


def _accelerations(found: Tracking, part: slice, c: np.ndarray, cd: np.ndarray) -> np.ndarray:
    robot = next(stage.robot for stage in found.stages if stage.begin == part.start)
    state = robot.close(c[part], cd[part], 0 * c[part])
    return accelerations(robot, state, (found.tau + found.disturbance)[part])
