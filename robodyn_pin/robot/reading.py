"""A robot's file read, whatever its kind: URDF, MJCF, our YAML, Gepetto's YAML."""

from pathlib import Path

from robodyn_pin.files import parse_yaml, read_text, resolve
from robodyn_pin.robot.gepetto import GepettoFile, _gepetto, _not_named
from robodyn_pin.robot.mjcf import read_mjcf
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.urdf_tree import read_xml


def describe(path: Path) -> tuple[RobotFile, str, Path]:
    """What a file says of a robot: robot file, text of the URDF, path for messages and meshes.

    A URDF or MJCF alone, one of our YAML files beside either, or Gepetto's YAML beside a URDF. What our YAML
    says counts more than what MJCF says; closures of both count, and efforts of MJCF that the YAML does not name.

    Raises:
        BadFile, UnknownName: the file does not exist or contradicts itself.
    """
    if path.suffix in (".yaml", ".yml"):
        text = read_text(path)
        if any(line.startswith("closed_loop:") for line in text.splitlines()):
            return _gepetto(parse_yaml(text, GepettoFile, str(path)), path)
        file = parse_yaml(text, RobotFile, str(path))
        tree = resolve(path.parent, file.urdf)
    else:
        file, tree = RobotFile(urdf=Path(path.name)), path
    text = read_text(tree)
    if tree.suffix != ".xml" or read_xml(text, tree).tag == "robot":
        return file, text, tree
    found, urdf = read_mjcf(tree)
    said = {key: getattr(file, key) for key in file.model_fields_set}
    said["closures"] = [*found.closures, *file.closures]
    said["efforts"] = [*file.efforts, *_not_named(found.efforts, file)]
    said["sources"] = found.sources | file.sources
    return found.model_copy(update=said), urdf, tree
