"""Measured deviations of the tool: read from CSV and checked, or simulated and marked as such."""

from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.elastic.deviation import deviation_at
from robodyn_pin.elastic.springs import PoseKinematics, Springs, coordinates_of, pose_kinematics
from robodyn_pin.errors import BadLog
from robodyn_pin.logs.table import columns_of, open_table
from robodyn_pin.logs.writing import write_table
from robodyn_pin.robot.robot import Robot

AXES = "xyz"
FORCE, DEVIATION = [f"f{axis}" for axis in AXES], [f"d{axis}" for axis in AXES]
LARGEST_DEVIATION = 0.05  # [m] no robot fit for work is as soft; the file is in millimetres
LARGEST_ANGLE = 4 * np.pi  # [rad] no arm's joint turns as far; the file is in degrees
AGAINST_FORCE = 4.0  # standard deviations of motion against the force, more than noise gives


@dataclass(frozen=True)
class Measurements:
    """Deviations measured in N poses under load."""

    name: str
    q: np.ndarray  # (N, n_motors) motor positions without force [rad or m]
    force: np.ndarray  # (N, 3) on the tool [N], axes of the base
    deviation: np.ndarray  # (N, 3) of the tool [m], axes of the base
    sigma: np.ndarray  # (N,) standard deviation of each component [m]
    rows: tuple[int, ...]  # numbers of the measurements in the file, from 1
    simulated: bool

    def subset(self, rows: list[int]) -> "Measurements":
        """The measurements with these numbers."""
        i = [self.rows.index(row) for row in rows]
        parts = {name: getattr(self, name)[i] for name in ("q", "force", "deviation", "sigma")}
        return replace(self, rows=tuple(rows), **parts)

    def label(self, i: int) -> str:
        """What a message calls measurement i."""
        return f"measurement {self.rows[i]} of {self.name}"


def motor_headers(robot: Robot) -> list[str]:
    """Names of the columns of motor positions, in the robot's order."""
    return [f"q{k + 1}" for k in range(len(robot.motors.names))]


def read_measurements(path: Path, robot: Robot, sigma: float | None) -> Measurements:
    """Read a file of measurements.

    Its columns are q1, q2, ... (motors in the robot's order), fx fy fz [N], dx dy dz [m] in the axes of the base, and sigma [m].

    Args:
        sigma: used if the file has no such column [m].

    Raises:
        BadLog, UnknownName: the message names the file, the row and what is wrong with it.
    """
    table = open_table(path)
    given = "sigma" in table.headers
    if not given and sigma is None:
        raise BadLog(
            f"{path}: no column 'sigma' [m], the sensor's standard deviation; add it, or 'sigma' in the run file"
        )
    parts = (motor_headers(robot), FORCE, DEVIATION)
    found = columns_of(table, [*chain(*parts), *(["sigma"] if given else [])])
    if not len(found[0]):
        raise BadLog(f"{path}: no measurements below the header")
    q, force, moved = (np.stack([found.pop(0) for _ in part], axis=1) for part in parts)
    noise = found[0] if given else np.full(len(q), sigma)
    rows = tuple(range(1, len(q) + 1))
    m = Measurements(path.name, q, force, moved, noise, rows, "simulated" in table.notes.lower())
    for i in range(len(rows)):
        if noise[i] <= 0:
            raise BadLog(f"{m.label(i)}: sigma is {noise[i]:g} m; a sensor has a positive standard deviation")
        if (largest := np.abs(moved[i]).max()) > LARGEST_DEVIATION:
            raise BadLog(
                f"{m.label(i)}: a deviation of {largest:g} m; deviations are in metres, is this in millimetres?"
            )
        if (largest := np.abs(q[i]).max()) > LARGEST_ANGLE:
            raise BadLog(f"{m.label(i)}: a motor at {largest:g} rad; positions are in radians, is this in degrees?")
    return m


def unloaded_poses(m: Measurements, springs: Springs) -> PoseKinematics:
    """Kinematics of the measured poses without force.

    Raises:
        ClosureFailed, BadFile: a pose is out of reach; the message names the limit.
    """
    poses = pose_kinematics(springs, coordinates_of(springs, m.q))
    check_positions(springs.robot, poses.q, m.label)
    return poses


def with_tool_forces(
    m: Measurements, springs: Springs, tool_mass: float = 0.0, frame: str | None = None
) -> Measurements:
    """Convert the readings of a force sensor that carries the tool to forces on the tool in the axes of the base.

    Args:
        tool_mass: mass of the tool on the sensor, whose weight the readings contain [kg]; zero if the sensor was zeroed with
            the tool on it.
        frame: frame of the robot in whose axes the readings are; default: the base.

    Raises:
        UnknownName: the robot has no such frame. BadLog: a force is zero, or a deviation points against its force, which no
            spring allows.
    """
    force = m.force
    if frame is not None:
        force = np.einsum("nij,nj->ni", _frame_axes(m, springs, frame), force)
    force = force - tool_mass * np.asarray(springs.robot.model.gravity.linear)
    for i in np.flatnonzero(np.linalg.norm(force, axis=1) < 1e-6).tolist():
        after = " once the tool's weight is taken out" if tool_mass else ""
        raise BadLog(f"{m.label(i)}: the force is zero{after}; a pose without force says nothing about stiffness")
    along_force = (force * m.deviation).sum(axis=1) / (np.linalg.norm(force, axis=1) * m.sigma)
    for i in np.flatnonzero(along_force < -AGAINST_FORCE).tolist():
        cosine = force[i] @ m.deviation[i] / np.linalg.norm(force[i]) / np.linalg.norm(m.deviation[i])
        raise BadLog(
            f"{m.label(i)}: the tool moved against its force ({np.degrees(np.arccos(cosine)):.0f} degrees off), which no spring does; "
            "force on the tool and deviation must both be in the axes of the base ('force_frame' in the run file names the "
            "frame of the robot whose axes the force has, if not the base's)"
        )
    return replace(m, force=force)


def _frame_axes(m: Measurements, springs: Springs, frame: str) -> np.ndarray:
    """Axes (N, 3, 3) of a frame at the measured poses."""
    at_frame = springs.with_tool(springs.tool.model_copy(update={"frame": frame}))
    return pose_kinematics(at_frame, coordinates_of(springs, m.q)).rotation


def simulate_measurements(
    springs: Springs, name: str, q: np.ndarray, force: np.ndarray, k: np.ndarray, sigma: float, seed: int
) -> Measurements:
    """Measurements of springs k (n,) by the loaded model, with normal noise sigma [m]."""
    poses = pose_kinematics(springs, coordinates_of(springs, q))
    moved = deviation_at(springs, poses, force, k, "loaded").values
    noisy = moved + np.random.default_rng(seed).normal(0, sigma, moved.shape)
    n = len(q)
    return Measurements(name, q, force, noisy, np.full(n, sigma), tuple(range(1, n + 1)), True)


def write_measurements(path: Path, m: Measurements, robot: Robot, note: str) -> None:
    """Write a file that `read_measurements` reads; raises as `write_table`."""
    headers = [*motor_headers(robot), *FORCE, *DEVIATION]
    columns = dict(zip(headers, np.concatenate([m.q, m.force, m.deviation], axis=1).T, strict=True))
    write_table(path, columns | {"sigma": m.sigma}, note)
