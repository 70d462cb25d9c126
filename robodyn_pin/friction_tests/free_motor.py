"""Friction of a motor that turns freely, from logs that hold one speed after the other: points, curves, files.

Protocol: hold each speed, slow to fast, in both directions, long enough that the torque settles (1 s and longer, one
turn and longer), while the other motors stand still. `robodyn simulate` takes such a motion as `speeds:`.
Motors that carry a load, or cannot turn freely, sweep past a reference angle instead: sweeps.py.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, RobodynError, UnknownName
from robodyn_pin.files import resolve
from robodyn_pin.friction_tests.friction_file import FrictionFile, SteadySpec
from robodyn_pin.friction_tests.result import FrictionResult, bend_warning, fit_curves
from robodyn_pin.identification.friction_curve import Points, friction_points
from robodyn_pin.identification.steady_motion import steady_parts
from robodyn_pin.logs.log import Log, uniform
from robodyn_pin.logs.reading import read_log, rows_of
from robodyn_pin.robot.axes import parallel
from robodyn_pin.robot.friction_models import FRICTION, WIDTH
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot

ONE_TURN = 2 * np.pi


def measure(run: FrictionFile, folder: Path, robot: Robot) -> FrictionResult:
    """Points and curves of the logs that a file names; paths start from `folder`.

    Raises:
        BadFile: the file names no 'motor'. UnknownName: no such motor.
        RobodynError: it cannot turn freely; too few speeds for the model.
        BadLog: nowhere a constant speed.
    """
    if run.motor is None:
        raise BadFile("the friction file names 'sweeps', not a 'motor' that turns freely; see sweeps.measure_sweeps")
    check_motors(robot, [run.motor])
    _check_free(robot, run.motor)
    speeds: list[float] = []
    efforts: list[np.ndarray] = []
    simulated = False
    for log in logs_of(run, folder, robot):
        simulated |= log.simulated
        found = _steady(log, robot.motors.names.index(run.motor), run.steady)
        speeds += [speed for speed, _ in found]
        efforts += [effort for _, effort in found]
    if not speeds:
        raise BadLog(
            f"{', '.join(str(named.file) for named in run.logs)}: motor {run.motor!r} turns nowhere for "
            f"{run.steady.shortest:g} s at a constant speed above {run.steady.slowest:g} per second (change below "
            f"{100 * run.steady.tolerance:g} %); hold each speed longer, or set 'steady: {{shortest, tolerance, slowest}}'"
        )
    points, width = friction_points(speeds, efforts), width_of(run, robot, run.motor)
    fits, left_out = fit_curves(run.model, points, width, relative=False)
    warnings = (*_one_sided(points), *bend_warning(fits[run.model]))
    unit = unit_of(robot, run.motor)
    return FrictionResult(robot.name, run.motor, unit, run.model, width, points, fits, left_out, warnings, simulated)


def logs_of(run: FrictionFile, folder: Path, robot: Robot) -> Iterator[Log]:
    """The rows of the logs that a file names, on uniform clocks.

    Raises:
        BadFile: it names none. BadLog: as `read_log`.
    """
    if not run.logs:
        raise BadFile(
            "the friction file names no 'logs'; record the sweeps (`robodyn friction RUN.yaml --protocol` plans them) and name "
            "their log"
        )
    for named in run.logs:
        path = resolve(folder, named.file)
        log = uniform(read_log(path, robot, run.columns, run.units, scale=run.scale, rate=run.rate))
        yield log.section(*rows_of(named, log.size))


def check_motors(robot: Robot, wanted: list[str]) -> None:
    """Raise UnknownName for a motor that is not there."""
    for name in wanted:
        if name not in robot.motors.names:
            raise UnknownName("motor", name, f"robot {robot.name!r}", robot.motors.names)


def width_of(run: FrictionFile, robot: Robot, motor: str) -> float:
    """Of the change of sign [rad/s or m/s]: as asked, else as the robot file's friction of the motor, else 0.01."""
    own = robot.motors.S[robot.motors.names.index(motor)]
    given = [
        e.spec.width * float(np.linalg.norm(own) / np.linalg.norm(row))
        for e in robot.efforts
        for row in e.rows
        if e.spec.model in FRICTION and e.spec.width is not None and parallel(row, own)
    ]
    return run.width or next(iter(given), WIDTH)


def unit_of(robot: Robot, motor: str) -> str:
    """Of a motor's effort."""
    return "N" if _joint_kind(robot, motor) == "prismatic" else "N m"


def _one_sided(points: Points) -> list[str]:
    if not ((points.speed > 0).all() or (points.speed < 0).all()):
        return []
    side = "positive" if (points.speed > 0).all() else "negative"
    return [
        f"all speeds are {side}: whether friction is the same in the other direction is unknown, and a constant load "
        "(gravity, an offset of the torque sensor) cannot be told from Coulomb friction"
    ]


def _steady(log: Log, k: int, spec: SteadySpec) -> list[tuple[float, np.ndarray]]:
    """Mean speed and torques of each steady part; whole turns where there is one, so that what repeats averages out."""
    q, tau, found = log.q[:, k], log.efforts[:, k], []
    for part in steady_parts(q, log.rate, spec.shortest, spec.tolerance, spec.slowest):
        turned = np.abs(q[part] - q[part.start])
        turns = np.floor(turned[-1] / ONE_TURN)
        end = part.start + int(np.searchsorted(turned, turns * ONE_TURN)) if turns else part.stop
        count = end - part.start
        found.append((float(q[end - 1] - q[part.start]) * log.rate / (count - 1), tau[part.start : end].copy()))
    return found


def _check_free(robot: Robot, motor: str) -> None:
    span = _span(robot, motor)
    if _joint_kind(robot, motor) == "revolute" and span < ONE_TURN:
        raise RobodynError(
            f"motor {motor!r} of robot {robot.name!r} cannot turn freely: its limits are {span:.3g} rad apart, so that it "
            "holds no speed for long and carries more than friction; `robodyn identify` finds its friction from a rich motion"
        )


def _span(robot: Robot, motor: str) -> float:
    """How far a motor may turn by its own limits and those of a joint that it turns alone; infinite without."""
    row, span = robot.motors.S[robot.motors.names.index(motor)], np.inf
    for bounds in limits_of(robot, {}, 0.0).of(["position"]).bounds:
        for axis, half in zip(bounds.S, bounds.half.tolist(), strict=True):
            share = float(axis @ row) / float(axis @ axis)
            if np.allclose(share * axis, row):
                span = min(span, 2 * half * abs(share))
    return span


def _joint_kind(robot: Robot, motor: str) -> str:
    """revolute or prismatic, of the first joint that the motor moves."""
    row = robot.motors.S[robot.motors.names.index(motor)]
    joint = robot.model.joints[1 + int(np.argmax(np.abs(row)))]
    return "prismatic" if "JointModelP" in joint.shortname() else "revolute"
