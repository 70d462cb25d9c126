"""A robot as a URDF, and the robot file that its loops, motors and friction need beside it."""

from pathlib import Path

import yaml

from robodyn_pin.robot.robot import Robot


def urdf_and_file(robot: Robot, name: str) -> tuple[dict[str, str], list[str]]:
    """Return the texts of NAME.urdf and NAME.yaml by suffix; together they hold the robot. Meshes stay where they are."""
    urdf = robot.urdf_xml if robot.urdf_xml.startswith("<?xml") else '<?xml version="1.0"?>\n' + robot.urdf_xml
    file = robot.file.model_copy(update={"urdf": Path(f"{name}.urdf")})
    content = file.model_dump(mode="json", exclude_defaults=True)
    return {".urdf": urdf, ".yaml": yaml.safe_dump(content, sort_keys=False, width=120)}, []
