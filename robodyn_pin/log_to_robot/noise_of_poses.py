"""The noise of torques, from logs in which the robot stands still: Gnad et al. (IRB 360), section 6.2.1, on any robot."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.files import resolve
from robodyn_pin.identification.least_squares import noise_of_poses
from robodyn_pin.identification.steady_motion import WINDOW, still_parts
from robodyn_pin.log_to_robot.run_file import PosesSpec, RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.parts import read_rows
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.robot.robot import Robot

SHORTEST = 0.2  # [s] of a pose that is found


@dataclass(frozen=True)
class StillPose:
    """A stretch of a log in which the robot stands still."""

    log: str
    begin: int
    end: int
    tau: np.ndarray  # (n, d) torques along the coordinates, or of the motors where these are more [N m or N]


def poses_of(robot: Robot, log: Log, rows: tuple[int, int] | None = None, before_gear: bool = False) -> list[StillPose]:
    """The poses of a log: the given rows as one, else every stretch that stands still.

    Args:
        before_gear: torques of the log are those of the motors, before the gear of the robot file.

    Raises:
        BadLog: nothing stands still. BadFile: gear asked for where the robot file has none.
    """
    parts = [slice(*rows)] if rows else still_parts(log.q, log.rate, SHORTEST)
    if not parts:
        raise BadLog(
            f"{log.name}: the robot stands still nowhere for {SHORTEST + 2 * WINDOW:g} s; hold each pose longer, or name its "
            "samples: 'poses: [{file: ..., rows: [begin, end]}]'"
        )
    gear = _gear(robot) if before_gear else np.ones(len(robot.motors.names))
    return [StillPose(log.name, p.start, p.stop, _torques(robot, log, p, gear)) for p in parts]


def _gear(robot: Robot) -> np.ndarray:
    names, known = robot.motors.names, robot.file.gear
    if missing := [name for name in names if name not in known]:
        raise BadFile(f"'before_gear: true' needs the gear of {', '.join(missing)} in the file of robot {robot.name!r}")
    return np.array([abs(known[name]) for name in names])


def _torques(robot: Robot, log: Log, part: slice, gear: np.ndarray) -> np.ndarray:
    """B'tau (n, d) at the mean position of a part; with more motors than coordinates the motors' own (n, n_motors)."""
    if len(robot.motors.names) > len(robot.coordinates.names):
        return log.efforts[part] * gear
    q = log.q[part].mean(axis=0, keepdims=True)
    state = close_motors(robot, q, 0 * q, 0 * q, label=lambda i: log.row(part.start))
    return (log.efforts[part] * gear) @ motor_map(robot, state)[0]


def read_poses(robot: Robot, run: RunFile, folder: Path, spec: PosesSpec) -> list[StillPose]:
    """All poses of the logs that a run file names.

    Raises:
        BadFile, BadLog: what is wrong in the files.
    """
    files = spec.poses if isinstance(spec.poses, list) else [LogSpec(file=spec.poses)]
    found = []
    for named in files:
        log, begin, end = read_rows(run, resolve(folder, named.file), robot, named)
        found += poses_of(robot, log, (begin, end) if named.rows else None, spec.before_gear)
    return found


def noise_along(robot: Robot, poses: list[StillPose]) -> dict[str, float]:
    """Standard deviation of one sample along each coordinate, or of each motor where these are more [N m or N].

    Raises:
        BadLog: a torque that is the same in all samples of a pose.
    """
    names = max(robot.coordinates.names, robot.motors.names, key=len)
    sigma = noise_of_poses([pose.tau for pose in poses], np.ones(len(names)))
    if silent := [name for name, s in zip(names, sigma, strict=True) if s == 0]:
        raise BadLog(
            f"{poses[0].log}: the torque of {', '.join(silent)} is the same in all samples of a pose; no noise is seen"
        )
    return dict(zip(names, sigma.tolist(), strict=True))
