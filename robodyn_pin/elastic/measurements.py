"""Measured deviations of the tool: CSV in, checked; and simulated ones, which say so."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.elastic.deviation import deviation_at
from robodyn_pin.elastic.springs import Placed, Springs, coordinates_of, place
from robodyn_pin.errors import BadLog
from robodyn_pin.logs.table import column, read_table
from robodyn_pin.logs.writing import write_table
from robodyn_pin.robot.robot import Robot

AXES = "xyz"
FORCE, DEVIATION = [f"f{axis}" for axis in AXES], [f"d{axis}" for axis in AXES]
FAR = 0.05  # [m] no robot that is fit for work yields as far; millimetres read as metres do
WOUND = 4 * np.pi  # [rad] no arm's joint turns as far; degrees read as radians do
ASTRAY = 4.0  # standard deviations: a tool that moves as far against its force does not by chance


@dataclass(frozen=True)
class Measurements:
    """N loaded poses."""

    name: str
    q: np.ndarray  # (N, n_motors) motor positions without force [rad or m]
    force: np.ndarray  # (N, 3) on the tool [N], axes of the base
    deviation: np.ndarray  # (N, 3) of the tool [m], axes of the base
    sigma: np.ndarray  # (N,) standard deviation of each component [m]
    rows: tuple[int, ...]  # 1, 2, ... as the file has them below its header
    simulated: bool

    def taken(self, which: list[int]) -> "Measurements":
        """Some of them, by row number."""
        i = [self.rows.index(row) for row in which]
        parts = {name: getattr(self, name)[i] for name in ("q", "force", "deviation", "sigma")}
        return replace(self, rows=tuple(which), **parts)

    def row(self, i: int) -> str:
        """How to call measurement i in a message."""
        return f"measurement {self.rows[i]} of {self.name}"


def motor_headers(robot: Robot) -> list[str]:
    """Columns of motor positions, in the robot's order."""
    return [f"q{k + 1}" for k in range(len(robot.motors.names))]


def read_measurements(path: Path, robot: Robot, sigma: float | None) -> Measurements:
    """Read q1.. (motors, in the robot's order), fx fy fz [N], dx dy dz [m], axes of the base, and sigma [m].

    Args:
        sigma: where the file has no such column.

    Raises:
        BadLog, UnknownName: names the file, the row and what is wrong with it.
    """
    table, notes = read_table(path)
    first_row = notes.count("\n") + 2
    if not len(table):
        raise BadLog(f"{path}: no measurements below the header")
    q, force, moved = (
        np.stack([column(table, header, path, first_row) for header in part], axis=1)
        for part in (motor_headers(robot), FORCE, DEVIATION)
    )
    if "sigma" in table.columns:
        noise = column(table, "sigma", path, first_row)
    elif sigma is not None:
        noise = np.full(len(table), sigma)
    else:
        raise BadLog(
            f"{path}: no column 'sigma' [m], the sensor's standard deviation; add it, or 'sigma' in the run file"
        )
    rows = tuple(range(1, len(table) + 1))
    found = Measurements(path.name, q, force, moved, noise, rows, "simulated" in notes.lower())
    for i in range(len(rows)):
        if noise[i] <= 0:
            raise BadLog(f"{found.row(i)}: sigma is {noise[i]:g} m; a sensor has a positive standard deviation")
        if (far := np.abs(moved[i]).max()) > FAR:
            raise BadLog(f"{found.row(i)}: a deviation of {far:g} m; deviations are in metres, is this in millimetres?")
        if (turned := np.abs(q[i]).max()) > WOUND:
            raise BadLog(f"{found.row(i)}: a motor at {turned:g} rad; positions are in radians, is this in degrees?")
    return found


def placed(m: Measurements, springs: Springs) -> Placed:
    """The robot at the measured poses, unloaded.

    Raises:
        ClosureFailed, BadFile: a pose out of reach; names the limit.
    """
    at = place(springs, coordinates_of(springs, m.q))
    check_positions(springs.robot, at.q, m.row)
    return at


def on_the_tool(m: Measurements, springs: Springs, tool_mass: float = 0.0, frame: str | None = None) -> Measurements:
    """Forces on the tool in the axes of the base, from a sensor that carries the tool.

    Args:
        tool_mass: [kg] that hangs on the sensor, which shows force on the tool plus its weight. Zero where the sensor was
            zeroed with the tool on.
        frame: of the robot, whose axes the file's forces have; default: the base's.

    Raises:
        UnknownName: no such frame. BadLog: no force, or a deviation against it, which no spring gives.
    """
    force = m.force
    if frame is not None:
        force = np.einsum("nij,nj->ni", _axes(m, springs, frame), force)
    force = force - tool_mass * np.asarray(springs.robot.model.gravity.linear)
    for i in np.flatnonzero(np.linalg.norm(force, axis=1) < 1e-6).tolist():
        after = " once the tool's weight is taken out" if tool_mass else ""
        raise BadLog(f"{m.row(i)}: the force is zero{after}; a pose without force says nothing about stiffness")
    work = (force * m.deviation).sum(axis=1) / (np.linalg.norm(force, axis=1) * m.sigma)
    for i in np.flatnonzero(work < -ASTRAY).tolist():
        cosine = force[i] @ m.deviation[i] / np.linalg.norm(force[i]) / np.linalg.norm(m.deviation[i])
        raise BadLog(
            f"{m.row(i)}: the tool moved against its force ({np.degrees(np.arccos(cosine)):.0f} degrees off), which no spring does; "
            "force on the tool and deviation must both be in the axes of the base ('force_frame' in the run file names the "
            "frame of the robot whose axes the force has, if not the base's)"
        )
    return replace(m, force=force)


def _axes(m: Measurements, springs: Springs, frame: str) -> np.ndarray:
    """Axes (N, 3, 3) of a frame at the measured poses."""
    named = springs.with_tool(springs.tool.model_copy(update={"frame": frame}))
    return place(named, coordinates_of(springs, m.q)).turn


def simulated(
    springs: Springs, name: str, q: np.ndarray, force: np.ndarray, k: np.ndarray, sigma: float, seed: int
) -> Measurements:
    """What a sensor would show of springs k (n,), loaded model, with normal noise sigma [m]."""
    at = place(springs, coordinates_of(springs, q))
    moved = deviation_at(springs, at, force, k, "loaded").values
    noisy = moved + np.random.default_rng(seed).normal(0, sigma, moved.shape)
    n = len(q)
    return Measurements(name, q, force, noisy, np.full(n, sigma), tuple(range(1, n + 1)), True)


def write_measurements(path: Path, m: Measurements, robot: Robot, note: str) -> None:
    """Write a file that `read_measurements` reads, raises as `write_table`."""
    named = dict(zip([*motor_headers(robot), *FORCE, *DEVIATION],
                     np.concatenate([m.q, m.force, m.deviation], axis=1).T, strict=True))  # fmt: skip
    write_table(path, named | {"sigma": m.sigma}, note)
