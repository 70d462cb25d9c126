"""What is wrong with a log whose torques are predicted badly, or at whose positions the robot cannot be."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robodyn_pin.errors import BadLog, BeyondLimits, ClosureFailed, RobodynError
from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.log_to_robot.from_memory import all_samples
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.likely_mistakes import FEWEST, Mistake, mistakes_of_log
from robodyn_pin.log_to_robot.not_closed import telling_why
from robodyn_pin.log_to_robot.run import select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.verdict import Coordinates, unexplained
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.logs.torque_errors import relative_error
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import motor_units

FAR = 5.0  # standard deviations (rms) of tracked parameters from those that bodies can have
BAD = 0.3  # error over rms torque, mean over the motors, from which mistakes are looked for


def not_explained(robot: Robot, log: Log, run: RunFile | None, found: Accuracy) -> list[str]:
    """Sentences on a prediction and its log; none where it explains each motor, and its error is no more than `BAD`, or of few samples.

    Args:
        run: as the robot was identified; None: its bodies are those of its files, which other logs need not show. found: of the prediction.
    """
    names, units = robot.motors.names, motor_units(robot)
    several = len(names) > len(robot.coordinates.names)  # a motor's own torque may be one that moves nothing
    reasons, _ = unexplained(found, Coordinates(names, list(units.values()), log.quality.still), "the prediction", "")
    reasons = [] if several else reasons
    if found.samples < FEWEST or (not reasons and relative_error(found) <= BAD):
        return []
    return [*reasons, *filter(None, [mistakes_named(robot, log, run)])]


def mistakes_named(robot: Robot, log: Log, run: RunFile | None) -> str:
    """The usual mistakes that explain the log's torques clearly better, in words; empty if none does. `run` as in `not_explained`."""
    asked = _asked(robot, log, run)
    found = [m for samples in _samples(robot, log) for m in mistakes_of_log(robot, samples, asked, run is not None)]
    return _named(log.name, [m for m in found if run or m.of_log])


def mistakes_of_tracked(robot: Robot, logs: Sequence[Path], keys: LogKeys, summary: Mapping[str, Any]) -> list[str]:
    """Mistakes that tracked logs look like having, if the estimate is far from what bodies can have, or explains a torque badly.

    Args:
        keys: as the logs are read. summary: as `online.summary.tracking_summary`.
    """
    away = summary["consistency"].get("distance in deviations", 0.0)
    if away <= FAR and all(each["after"] <= BAD * each["effort"] for each in summary["errors"]):
        return []
    return [text for path in logs if (text := _mistakes_of_file(robot, path, keys))]


def _mistakes_of_file(robot: Robot, path: Path, keys: LogKeys) -> str:
    """Of a log that stays in its file, whatever the robot's bodies are; empty, too, if it cannot be read as one motion."""
    spec, own = LogSpec(file=path), {name: getattr(keys, name) for name in LogKeys.model_fields}
    run = RunFile(robot=robot.name, fit=[spec], **own)
    try:
        [samples] = windows([select(robot, run, Path(), spec)])
    except RobodynError:
        return ""
    return _named(samples.name, [m for m in mistakes_of_log(robot, samples, run, known=False) if m.of_log])


def _named(log: str, told: Sequence[Mistake]) -> str:
    return f"{log}: {'; or '.join(m.said for m in told)}" if told else ""


@contextmanager
def saying_why(robot: Robot, log: Log, run: RunFile | None) -> Iterator[None]:
    """Where the robot cannot be at positions of the log, say which mistake of the log explains it, if its torques tell one.

    Args:
        run: as in `not_explained`.
    """
    try:
        yield
    except ClosureFailed as failed:
        samples = _samples(robot, log)
        if not samples:
            raise
        with telling_why(robot, samples, _asked(robot, log, run)):
            raise failed
    except BeyondLimits as beyond:
        if not (said := mistakes_named(robot, log, run)):
            raise
        raise BeyondLimits(f"{beyond}; {said}") from None


def _samples(robot: Robot, log: Log) -> list[AnyLog]:
    """The log as an identification looks at it; none if it is too short for its delay."""
    try:
        return windows([all_samples(robot, log)])
    except BadLog:
        return []


def _asked(robot: Robot, log: Log, run: RunFile | None) -> RunFile:
    return run or RunFile(robot=robot.name, fit=[LogSpec(file=Path(log.name))])
