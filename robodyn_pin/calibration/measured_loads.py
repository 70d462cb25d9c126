"""Loads on the tool at measured poses: what the run file says of drives and loads, and the columns of the file of measurements."""

from pathlib import Path

import numpy as np
from pydantic import Field

from robodyn_pin.calibration.targets import Vector
from robodyn_pin.calibration.yielding_drives import YieldingDrives
from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.files import Positive, Strict
from robodyn_pin.logs.numbers_of_cells import column
from robodyn_pin.logs.table import check_header, open_table
from robodyn_pin.robot.frames import frame_number
from robodyn_pin.robot.kinematics import forward_kinematics
from robodyn_pin.robot.robot import Robot

FORCE, MOMENT, MASS = ("fx", "fy", "fz"), ("mx", "my", "mz"), "mass"
SURE = 10.0  # standard deviations of the loads' scale from zero before it is called wrong
AGAINST = -0.3
KILO = (300.0, 3000.0)  # between them lies a factor that is kN for N


class DriveSpringsSpec(Strict):
    """Springs in the drives, one on each coordinate."""

    stiffness: dict[str, Positive] = Field(
        min_length=1
    )  # [N m/rad, N/m where it slides] drawn, the centre of the prior
    weight: bool = True  # the bodies of the robot's files push the drives, too


class MeasuredLoadSpec(Strict):
    """Where loads act; their columns are fx fy fz, mx my mz and mass, forces and moments or a mass that hangs there, or both."""

    frame: str  # frame of the robot that carries them
    at: Vector = (0.0, 0.0, 0.0)  # where in that frame [m]
    axes: str | None = None  # frame of the robot along whose axes forces are measured; default: the robot's base


def yielding_drives(springs: DriveSpringsSpec, load: MeasuredLoadSpec, robot: Robot) -> YieldingDrives:
    """The drives of a robot, its coordinates the axes that are read.

    Raises:
        UnknownName, BadFile: no such coordinate or frame, a coordinate without a stiffness, or more motors than coordinates.
    """
    names = robot.coordinates.names
    for name in springs.stiffness:
        if name not in names:
            raise UnknownName("coordinate", name, "'drives.stiffness'", names)
    if missing := [name for name in names if name not in springs.stiffness]:
        raise BadFile(f"'drives.stiffness' says nothing of {', '.join(missing)}; give each drive a value [N m/rad]")
    if len(robot.motors.names) > len(names):
        raise BadFile(
            f"robot {robot.name!r} has {len(robot.motors.names)} motors for {len(names)} degrees of freedom: what each spring carries "
            "depends on how they share the load; calibrate it without 'drives'"
        )
    if others := [name for name in names if name not in robot.motors.names]:
        raise BadFile(
            f"springs are in the drives of motors, and coordinate {others[0]!r} is none of {robot.name!r}; name motors under 'coordinates'"
        )
    frame_number(robot.model, load.frame, f"robot {robot.name!r}")
    return YieldingDrives(np.array([springs.stiffness[name] for name in names]), load.frame, load.at, springs.weight)


def read_loads(
    path: Path, load: MeasuredLoadSpec, robot: Robot, q: np.ndarray, newton: float, needed: bool = True
) -> np.ndarray:
    """Force and moment (N, 6) [N, N m] at the loaded point of each pose of a file, axes of the robot's base.

    Args:
        q: closed positions of the drawn robot (N, joints). newton: unit of forces (and moments) in the file [N].
        needed: whether a file without any such columns is refused; else nothing loads its poses.

    Raises:
        BadLog, UnknownName: a column is missing, a cell is empty or no number, or a mass without gravity.
    """
    table = open_table(path)
    there = [name for name in (*FORCE, *MOMENT, MASS) if name in table.headers]
    if not there and not needed:
        return np.zeros((len(q), 6))
    if not there:
        raise BadLog(
            f"{path} has no columns fx, fy, fz [N] or mass [kg], which 'load' asks for; add them, with zeros where there is no load"
        )
    for three in (FORCE, MOMENT):
        if (some := [name for name in three if name in there]) and len(some) < 3:
            raise BadLog(
                f"{path}: a load without its direction: it has {', '.join(some)} and no "
                f"{', '.join(name for name in three if name not in there)}; give all three components, zeros among them"
            )
    for name in there:
        check_header(table, name)
    cells, read = table.read(there), dict[str, np.ndarray]()
    for name in there:
        read[name] = column(cells[name], str(path), table.line, gaps=True, unit=1.0 if name == MASS else newton)
        if (empty := np.flatnonzero(np.isnan(read[name]))).size:
            raise BadLog(
                f"{path}: {name} is empty in {empty.size} rows, first at line {table.line(int(empty[0]))}; write 0 where there is no load"
            )
    wrench = np.zeros((len(q), 6))
    for begin, three in ((0, FORCE), (3, MOMENT)):
        if three[0] in there:
            wrench[:, begin : begin + 3] = np.stack([read[name] for name in three], axis=1)
    if load.axes is not None:
        wrench = _turned(wrench, robot, q, load.axes)
    if MASS in there:
        wrench[:, :3] += _weights(path, read[MASS], robot)
    return wrench


def _turned(wrench: np.ndarray, robot: Robot, q: np.ndarray, frame: str) -> np.ndarray:
    """Along the axes of the base, from those of a frame of the drawn robot: a milliradian of error turns a force by its thousandth."""
    frame_number(robot.model, frame, f"robot {robot.name!r}")
    c = q @ robot.coordinates.S.T + robot.coordinates.offset
    axes = forward_kinematics(robot, c, frame)[:, :3, :3]
    return np.concatenate([np.einsum("nij,nj->ni", axes, part) for part in (wrench[:, :3], wrench[:, 3:])], axis=1)


def _weights(path: Path, mass: np.ndarray, robot: Robot) -> np.ndarray:
    if (mass < 0).any():
        raise BadLog(f"{path}: a mass of {mass.min():g} kg; masses are positive, or zero where nothing hangs")
    if mass.any() and not np.any(robot.model.gravity.linear):
        raise BadLog(
            f"{path}: a mass is a load without a direction here: gravity of {robot.name!r} is zero; give fx, fy, fz [N]"
        )
    return np.asarray(mass[:, None] * np.asarray(robot.model.gravity.linear))


def check_scale(name: str, r: np.ndarray, J: np.ndarray, moved: np.ndarray) -> None:
    """See that all loads together move what is measured as they should, not the other way nor a thousand times as far.

    Args:
        r: measured minus predicted without loads (k,) in standard deviations. J: slopes by errors of the geometry per tolerance
            (k, n). moved: by how much the loads move the predictions (k,).

    Raises:
        BadLog: the loads are in another unit, or point the other way.
    """
    if not moved.any():
        return
    A = np.column_stack([J, moved])
    M = A.T @ A + np.diag([1.0] * J.shape[1] + [0.0])
    scale = float(np.linalg.solve(M, A.T @ r)[-1])
    spread = float(np.sqrt(np.linalg.inv(M)[-1, -1]))
    if scale < AGAINST and -scale > SURE * spread:
        raise BadLog(
            f"{name}: the tool moves against its loads, {scale:.2g} times as the springs say; forces act on the robot, along the axes of "
            "its base: turn their sign, or name the frame whose axes they have ('load: {axes: FRAME}')"
        )
    if KILO[0] < scale < KILO[1] and scale > SURE * spread:
        raise BadLog(
            f"{name}: the tool yields {scale:.0f} times as far as its loads and 'drives.stiffness' say: forces are in kN, expected N; add "
            "'units: {force: kN}' to the run file"
        )
