"""What is wrong with a log whose torques are predicted badly, or at whose positions the loops do not close."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robodyn_pin.errors import BadLog, ClosureFailed
from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.log_to_robot.from_memory import all_samples
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.likely_mistakes import mistakes_of_log
from robodyn_pin.log_to_robot.not_closed import telling_why
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.verdict import Coordinates, unexplained
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.logs.torque_errors import relative_error
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import motor_units

BAD = 0.3  # error over rms torque, mean over the motors, from which mistakes are looked for


def not_explained(robot: Robot, log: Log, run: RunFile | None, found: Accuracy) -> list[str]:
    """Sentences on a prediction and its log; none where it explains each motor, and its error is no more than `BAD`.

    Args:
        run: as the robot was identified; None: its bodies are those of its files, which other logs need not show. found: of the prediction.
    """
    names, units = robot.motors.names, motor_units(robot)
    several = len(names) > len(robot.coordinates.names)  # a motor's own torque may be one that moves nothing
    reasons, _ = unexplained(found, Coordinates(names, list(units.values()), log.quality.still), "the prediction", "")
    reasons = [] if several else reasons
    if not reasons and relative_error(found) <= BAD:
        return []
    return [*reasons, *filter(None, [mistakes_named(robot, log, run)])]


def mistakes_named(robot: Robot, log: Log, run: RunFile | None) -> str:
    """The usual mistakes that explain the log's torques clearly better, in words; empty if none does. `run` as in `not_explained`."""
    told = [
        m
        for x in _samples(robot, log)
        for m in mistakes_of_log(robot, x, _asked(robot, log, run), known=run is not None)
    ]
    said = [m.said for m in told if run or m.of_log]
    return f"{log.name}: {'; or '.join(said)}" if said else ""


@contextmanager
def why_open(robot: Robot, log: Log, run: RunFile | None) -> Iterator[None]:
    """Where the loops do not close at positions of the log, say why as an identification does, if the log has the torques that tell."""
    try:
        yield
    except ClosureFailed as failed:
        samples = [] if log.tau is None else _samples(robot, log)
        if not samples:
            raise
        with telling_why(robot, samples, _asked(robot, log, run)):
            raise failed


def _samples(robot: Robot, log: Log) -> list[AnyLog]:
    """The log as an identification looks at it; none if it is too short for its delay."""
    try:
        return windows([all_samples(robot, log)])
    except BadLog:
        return []


def _asked(robot: Robot, log: Log, run: RunFile | None) -> RunFile:
    return run or RunFile(robot=robot.name, fit=[LogSpec(file=Path(log.name))])
