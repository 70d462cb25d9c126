"""Whether a robot's files give the masses that torques depend on."""

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.tools import check_weighed


def check_known(robot: Robot) -> None:
    """Check that the robot's files give what its torques need.

    Raises:
        BadFile: the robot carries a tool of unknown inertia, or its files say nothing that asks for torques.
    """
    check_weighed(robot.file, robot.name)
    if not any_parameter(robot):
        raise BadFile(
            f"robot {robot.name!r}: no moving link has an <inertial> and its file names no efforts, so its torques are not "
            "known and there is nothing to identify; give the links their <inertial>"
        )


def any_parameter(robot: Robot) -> bool:
    """Return whether the robot has a body with inertia, or an effort."""
    return bool(robot.bodies or robot.efforts)
