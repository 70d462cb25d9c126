"""Friction of a motor that turns freely, from logs that hold one speed after the other: points, curves, files.

Protocol: hold each speed, slow to fast, in both directions, long enough that the torque settles (1 s and longer, one
turn and longer), while the other motors stand still. `robodyn simulate` takes such a motion as `speeds:`.
Motors that carry a load, or cannot turn freely, sweep past a reference angle instead: sweeps.py.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, RobodynError
from robodyn_pin.files import resolve
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.friction_tests.result import FrictionResult, fit_curves, simplest
from robodyn_pin.friction_tests.strokes import (
    check_motors,
    check_travel,
    even_motion,
    even_text,
    settled,
    strokes,
    told,
    travel_range,
    unit_of,
    width_of,
)
from robodyn_pin.friction_tests.wrong_columns import Stretch, wrong_columns
from robodyn_pin.identification.friction_curve import Points, stretch_point
from robodyn_pin.identification.steady_motion import resolution
from robodyn_pin.logs.late_torques import late_log
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.parts import read_rows
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import Milestone, tell

ONE_TURN = 2 * np.pi
CREEPING = 1e-3  # of the fastest speed

Progress = Callable[[str], None]


def measure(run: FrictionFile, folder: Path, robot: Robot, progress: Progress = tell) -> FrictionResult:
    """Points and curves of the logs that a file names; paths start from `folder`.

    Raises:
        BadFile: the file names no 'motor'. UnknownName: no such motor.
        RobodynError: it cannot turn freely; too few speeds for the model.
        BadLog: nowhere a constant speed.
    """
    if run.motor is None:
        raise BadFile("the friction file names no 'motor' that turns freely")
    check_motors(robot, [run.motor])
    _check_free(robot, run.motor)
    k, even, unit = robot.motors.names.index(run.motor), even_motion(run), unit_of(robot, run.motor)
    turn = np.inf if robot.slides(robot.motors.S)[k] else ONE_TURN
    found: list[tuple[tuple[float, float, float, float, int], np.ndarray]] = []
    stretches: list[Stretch] = []
    said, simulated = Counter[str](), False
    for log, grain in logs_of(run, folder, robot, progress):
        simulated |= log.simulated
        seen = strokes(log, grain, k, even, robot.motors.names)
        said += seen.left_out
        for part in map(settled, seen.even):
            whole = _whole_turns(log.q[part, k], turn)
            spread = seen.spread(log.q[part, k][:whole], log.rate, float(grain[k]))
            found.append((stretch_point(float(spread.mean()), log.efforts[part, k][:whole]), spread))
            stretches.append((float(spread.mean()), log.efforts[part][:whole].mean(axis=0)))
    fastest = max((abs(point[0]) for point, _ in found), default=0.0)
    slowest = run.steady.slowest or CREEPING * fastest
    kept = sorted((f for f in found if abs(f[0][0]) >= slowest), key=lambda f: f[0][0])
    if len(kept) < len(found):
        said[f"because they are slower than {slowest:.3g} {unit.speed} and taken for creeping ('steady: slowest')"] += (
            len(found) - len(kept)
        )
    if not kept:
        raise BadLog(
            f"{', '.join(str(named.file) for named in run.logs)}: motor {run.motor!r} moves nowhere for "
            f"{run.steady.shortest:g} s at a constant speed: {even_text(even, unit)}{''.join(f'; {s}' for s in told(said))}; hold each "
            "speed longer, or ask for less"
        )
    columns = np.array([point for point, _ in kept]).T
    points = replace(Points(*columns), spread=np.array([spread for _, spread in kept]))
    width = width_of(run, robot, run.motor, float(np.abs(points.speed).min()))
    try:
        fits, left_out = fit_curves(run.model, points, width, swept=False)
    except RobodynError as error:
        files = ", ".join(str(named.file) for named in run.logs)
        raise RobodynError(f"{files}: motor {run.motor!r}: {'; '.join([str(error), *told(said)])}") from None
    model, about = simplest(run.model, fits, points)
    warnings = (*_one_sided(points), *about, *told(said))
    mistakes = wrong_columns(robot, run.motor, stretches)
    return FrictionResult(
        robot.name, run.motor, unit, model, width, points, fits, left_out, warnings, even, simulated, mistakes=mistakes
    )


def logs_of(
    run: FrictionFile, folder: Path, robot: Robot, progress: Progress = tell
) -> Iterator[tuple[Log, np.ndarray]]:
    """The rows of the logs that a file names, on uniform clocks, and the steps of the motors' encoders (n,).

    Raises:
        BadFile: it names none. BadLog: as `read_rows`.
    """
    if not run.logs:
        raise BadFile(
            "the friction file names no 'logs'; record the sweeps (`robodyn friction RUN.yaml --protocol` plans them) and name "
            "their log"
        )
    for done, named in enumerate(run.logs):
        progress(Milestone(f"reading {named.file}", "logs", done / len(run.logs)))
        log, begin, end = read_rows(run, resolve(folder, named.file), robot, named)
        log = log.section(begin, end)
        check_travel(robot, log, run.units)
        yield _fresh(log), resolution(log.q)


def _fresh(log: Log) -> Log:
    """The log on a uniform clock, each motor from samples that are new: those that repeat position and effort are not."""
    new = np.ones(log.q.shape, bool)
    new[1:-1] = (np.diff(log.q, axis=0) != 0)[:-1] | (np.diff(log.efforts, axis=0) != 0)[:-1]
    if new.all():
        return uniform(log)
    clock = log.t[0] + np.arange(log.size) / log.rate
    q, tau = (
        np.stack([np.interp(clock, log.t[n], column[n]) for n, column in zip(new.T, x.T, strict=True)], axis=1)
        for x in (log.q, log.efforts)
    )
    return late_log(replace(log, t=clock, q=q, tau=tau), log.delay)


def _one_sided(points: Points) -> list[str]:
    if not ((points.speed > 0).all() or (points.speed < 0).all()):
        return []
    side = "positive" if (points.speed > 0).all() else "negative"
    return [
        f"all speeds are {side}: whether friction is the same in the other direction is unknown, and a constant load "
        "(gravity, an offset of the torque sensor) cannot be told from Coulomb friction"
    ]


def _whole_turns(q: np.ndarray, turn: float) -> int:
    """Samples of q (N,) that are whole turns, so that what repeats averages out; all where there is not one."""
    turned = np.abs(q - q[0])
    turns = np.floor(turned[-1] / turn)
    return int(np.searchsorted(turned, turns * turn)) if turns else len(q)


def _check_free(robot: Robot, motor: str) -> None:
    span = travel_range(robot, motor)
    if span < ONE_TURN and unit_of(robot, motor).position == "rad":
        raise RobodynError(
            f"motor {motor!r} of robot {robot.name!r} cannot turn freely: its limits are {span:.3g} rad apart, so that it "
            "holds no speed for long and carries more than friction; sweep it past a reference angle ('sweeps: {at: {"
            f"{motor}: ANGLE}}}}'), or `robodyn identify` finds its friction from a rich motion"
        )
