"""What is wrong where predicted torques are far from those of a log: motors that are not explained, and the mistake of the log."""

from pathlib import Path

from robodyn_pin.errors import BadLog
from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.log_to_robot.from_memory import all_samples
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.likely_mistakes import mistakes_of_log
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.verdict import Coordinates, unexplained
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.torque_errors import relative_error
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import motor_units

BAD = 0.3  # error over rms torque, mean over the motors, from which mistakes are looked for


def what_is_wrong(robot: Robot, log: Log, run: RunFile | None, found: Accuracy) -> list[str]:
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
    asked = run or RunFile(robot=robot.name, fit=[LogSpec(file=Path(log.name))])
    try:
        samples = windows([all_samples(robot, log)])[0]
    except BadLog:  # too short for its delay
        return reasons
    told = mistakes_of_log(robot, samples, asked, known=run is not None)
    said = [m.said for m in told if run or m.of_log]
    return [*reasons, *([f"{log.name}: {'; or '.join(said)}"] if said else [])]
