"""The look-up table that a controller plays: a planned motion at its cycle, with torques and strut forces.

Gnad et al. (IRB 360), section 5.2: a table with one row per cycle needs no interpolation, the controller plays the
closest row.
"""

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path as FilePath
from typing import Any, Protocol

import numpy as np

from robodyn_pin.dynamics.memory import saturated
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.dynamics.struts import StrutLoads
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.logs.table import columns_of, open_table
from robodyn_pin.logs.writing import write_table
from robodyn_pin.planning.path import Path
from robodyn_pin.planning.path_dynamics import RobotDynamics, joint_path_at, point_blocks, robot_dynamics
from robodyn_pin.robot.robot import Robot

MAX_ROWS = 1_000_000


class TimeLaw(Protocol):
    """When a motion is where on its path."""

    @property
    def time(self) -> float: ...  # [s]

    def at_time(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...  # s, s', s'', s'''


@dataclass(frozen=True)
class PlannedMotion:
    """A planned motion at N times, with the torques and strut forces that it takes."""

    t: np.ndarray  # (N,) [s]
    s: np.ndarray  # (N, 4) path parameter and its first three derivatives by time
    c: np.ndarray  # (N, d) coordinates of the path [rad or m]
    cd: np.ndarray  # (N, d)
    cdd: np.ndarray  # (N, d)
    q: np.ndarray  # (N, n) positions of the motors [rad or m], then their derivatives by time
    dq: np.ndarray  # (N, n)
    ddq: np.ndarray  # (N, n)
    dddq: np.ndarray  # (N, n)
    tau: np.ndarray  # (N, n) motor torques [N m or N]
    joints: tuple[
        np.ndarray, np.ndarray, np.ndarray
    ]  # (N, nv) each: positions of all joints, and their derivatives by time
    struts: StrutLoads | None  # None: the robot file names no struts


def cycle_times(time: float, cycle: float) -> np.ndarray:
    """Return the multiples of the cycle (N,) [s], up to the first one at which a motion of that time is over.

    Raises:
        BadFile: there are more of them than a table may have rows.
    """
    last = np.ceil(time / cycle * (1 - 1e-12))
    if last >= MAX_ROWS:
        raise BadFile(
            f"the motion takes {time:.4g} s, {last + 1:.4g} rows at a cycle of {cycle:g} s, and a table has "
            f"{MAX_ROWS} at most: look for a limit that is too small, or take a longer 'cycle'"
        )
    return np.arange(int(last) + 1) * cycle


def course_at(path: Path, law: TimeLaw, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return s with its derivatives (N, 4) and the coordinates, rates, accelerations (N, d) at t (N,), at rest at the end."""
    s = np.stack(law.at_time(t), axis=1)
    s[t >= law.time * (1 - 1e-12)] = 1.0, 0.0, 0.0, 0.0
    at, (_, s1, s2, _) = path.at(s[:, 0]), s.T[:, :, None]
    return s, at.c, at.c1 * s1, at.c2 * s1**2 + at.c1 * s2


def motion_at(robot: Robot, path: Path, law: TimeLaw, t: np.ndarray) -> PlannedMotion:
    """Return the planned motion at times t (N,), at rest after its end. `robot` has the path's coordinates.

    Raises:
        ClosureFailed: the robot cannot be at a point of the path.
    """
    dynamics = robot_dynamics(robot, (), False)
    return _joined([_motion_at(dynamics, path, law, t[part]) for part in point_blocks(len(t))])


def _motion_at(dynamics: RobotDynamics, path: Path, law: TimeLaw, t: np.ndarray) -> PlannedMotion:
    robot = dynamics.robot
    s, c, cd, cdd = course_at(path, law, t)
    _, s1, s2, s3 = s.T[:, :, None]
    joint_path = joint_path_at(dynamics, path, s[:, 0], third=True)
    state, S = joint_path.state(s[:, 1], s[:, 2]), robot.motors.S
    found = Loads(robot, saturated(robot, state))
    return PlannedMotion(
        t, s, c, cd, cdd, state.q @ S.T + robot.motors.offset, state.v @ S.T, state.a @ S.T,
        (joint_path.q1 * s3 + 3 * joint_path.q2 * s1 * s2 + joint_path.q3 * s1**3) @ S.T, found.tau, (state.q, state.v, state.a),
        found.struts if robot.file.struts else None,
    )  # fmt: skip


def _joined(parts: list[Any]) -> Any:
    """Return arrays, or tuples and dataclasses of arrays, one after the other; all else is the same in every part."""
    first, kind = parts[0], type(parts[0])
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, tuple) and first and isinstance(first[0], np.ndarray):
        return tuple(_joined(list(each)) for each in zip(*parts, strict=True))
    if not is_dataclass(first):
        return first
    return kind(**{f.name: _joined([getattr(part, f.name) for part in parts]) for f in fields(first)})


def table_columns(robot: Robot, motion: PlannedMotion) -> dict[str, np.ndarray]:
    """Return the table's columns (N,) by name; t, q_, dq_, ddq_ and tau_ of the motors are named as in a log."""
    named = {"t": motion.t} | {d + "s": x for d, x in zip(("", "d", "dd", "ddd"), motion.s.T, strict=True)}
    if robot.coordinates.names != robot.motors.names:
        for prefix, x in (("c_", motion.c), ("dc_", motion.cd), ("ddc_", motion.cdd)):
            named |= {prefix + name: x[:, k] for k, name in enumerate(robot.coordinates.names)}
    for prefix in ("q", "dq", "ddq", "dddq", "tau"):
        named |= {f"{prefix}_{name}": getattr(motion, prefix)[:, k] for k, name in enumerate(robot.motors.names)}
    if motion.struts is not None:
        for end in ("upper", "lower"):
            named |= {f"{end}_{name}": getattr(motion.struts, end)[:, k] for k, name in enumerate(motion.struts.names)}
    return named


def write_motion(file: FilePath, robot: Robot, motion: PlannedMotion, note: str) -> None:
    """Write the table as CSV or Parquet; raises as `write_table`."""
    write_table(file, table_columns(robot, motion), note)


@dataclass(frozen=True)
class LookUp:
    """A table as a controller reads it: the closest row, without interpolation."""

    names: tuple[str, ...]
    rows: np.ndarray  # (N, k)
    cycle: float  # [s]

    def at(self, t: float) -> dict[str, float]:
        """Return the row whose time is closest to t [s]."""
        i = min(max(round(t / self.cycle), 0), len(self.rows) - 1)
        return dict(zip(self.names, self.rows[i].tolist(), strict=True))


def read_look_up(file: str | FilePath) -> LookUp:
    """Read a table that `write_motion` wrote.

    Raises:
        BadLog: the file cannot be read, or its times are not the multiples of one cycle.
    """
    table = open_table(FilePath(file))
    rows = np.stack(columns_of(table, table.headers), axis=1)
    t = rows[:, table.headers.index("t")] if "t" in table.headers else np.zeros(0)
    if len(t) < 2 or np.abs(t - np.arange(len(t)) * t[1]).max() > 1e-6 * t[1]:
        raise BadLog(f"{file}: a look-up table has a column t with 0, one cycle, two cycles, ... in at least two rows")
    return LookUp(table.headers, rows, float(t[-1] / (len(t) - 1)))
