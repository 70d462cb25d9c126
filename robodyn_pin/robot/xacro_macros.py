"""xacro, a recipe for a URDF: expanded where the package xacro is installed (with ROS, or the extra `xacro`)."""

from pathlib import Path

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.packages import package_folder, places_said
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
    from xacro import substitution_args

    lost: list[str] = []

    def find(package: str) -> str:
        folder = package_folder(package, path)
        if folder is None:
            lost.append(package)
        return str(folder)

    substitution_args._eval_find = find  # xacro's own asks an installation of ROS
    try:
        with quiet():
            return str(xacro.process_file(str(path)).toprettyxml(indent="  "))
    except Exception as error:  # xacro evaluates what the file says, and anything can go wrong there
        if lost:
            raise BadFile(
                f"{path}: it takes parts of the package {lost[0]!r}, which was not found in the folders above it, and in {places_said()}: "
                "put the folder of that name there, or expand the file where ROS is, xacro FILE.xacro > FILE.urdf"
            ) from None
        raise BadFile(
            f"{path}: xacro does not understand it: {' '.join(str(error).split())}; correct it there, or expand the file where ROS is, xacro FILE.xacro > FILE.urdf"
        ) from None
