"""xacro, a recipe for a URDF: expanded where the package xacro is installed (with ROS, or the extra `xacro`)."""

from pathlib import Path

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.quiet import quiet


def expanded(path: Path) -> str:
    """Return the text of the URDF that a xacro file makes, with the usual values of its arguments.

    Raises:
        BadFile: xacro is not installed, or does not understand the file; says what it says.
    """
    try:
        import xacro
    except ImportError:
        raise BadFile(
            f"{path} is a recipe for a robot in xacro, which is not installed: pip install 'robodyn_pin[xacro]', or expand it where ROS "
            "is, xacro FILE.xacro > FILE.urdf"
        ) from None
    try:
        with quiet():
            return str(xacro.process_file(str(path)).toprettyxml(indent="  "))
    except Exception as error:  # xacro evaluates what the file says, and anything can go wrong there
        raise BadFile(f"{path}: xacro does not understand it: {' '.join(str(error).split())}") from None
