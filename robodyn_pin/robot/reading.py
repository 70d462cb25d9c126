"""A robot's file read, whatever its kind: URDF, MJCF, SDF, our YAML, Gepetto's YAML."""

from collections.abc import Sequence
from pathlib import Path

from robodyn_pin.files import parse_yaml, read_text, resolve
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.gepetto import GepettoFile, from_gepetto
from robodyn_pin.robot.mjcf import read_mjcf
from robodyn_pin.robot.robot_file import MotorSpec, RobotFile
from robodyn_pin.robot.sdf import read_sdf
from robodyn_pin.robot.urdf_tree import read_xml

CONTAINED = {
    "stribeck": ("viscous", "coulomb"),
    "saturating": ("viscous", "coulomb"),
    "directional": ("viscous", "coulomb"),
    "position": ("coulomb",),
}  # friction that is both


def describe(path: Path, text: str | None = None) -> tuple[RobotFile, str, Path]:
    """Return what a file says of a robot: robot file, text of the URDF, path for messages and meshes.

    A URDF, MJCF or SDF alone, one of our YAML files beside it, or Gepetto's YAML beside a URDF. What our YAML says
    counts more than what MJCF or SDF says; closures of both count, and efforts of these that the YAML does not name.

    Args:
        text: of a URDF that will be written to `path`.

    Raises:
        BadFile, UnknownName: the file does not exist or contradicts itself.
    """
    if path.suffix in (".yaml", ".yml"):
        said = read_text(path)
        if is_gepetto(said):
            return from_gepetto(parse_yaml(said, GepettoFile, str(path)), path)
        file = parse_yaml(said, RobotFile, str(path))
        tree = resolve(path.parent, file.urdf)
    else:
        file, tree = RobotFile(urdf=Path(path.name)), path
    text = read_text(tree) if text is None else text
    kind = read_xml(text, tree).tag if tree.suffix != ".urdf" else "robot"
    if kind == "robot":
        return file, text, tree
    found, urdf = read_sdf(tree) if kind == "sdf" else read_mjcf(tree)
    changes = {key: getattr(file, key) for key in file.model_fields_set}
    changes["closures"] = [*found.closures, *file.closures]
    changes["efforts"] = [*file.efforts, *_not_named(found.efforts, file)]
    changes["sources"] = found.sources | file.sources
    return found.model_copy(update=changes), urdf, tree


def is_gepetto(text: str) -> bool:
    """Return whether a YAML is Gepetto's description of loops, not a robot file of ours."""
    return any(line.startswith("closed_loop:") for line in text.splitlines())


def _not_named(efforts: Sequence[EffortSpec], file: RobotFile) -> list[EffortSpec]:
    """Return the efforts of the joints of MJCF whose kind a robot file does not name along that joint, whatever it calls it."""
    motors = {motor.name: list(motor.of) for motor in file.motors or [] if isinstance(motor, MotorSpec)}
    named: set[tuple[str, str]] = set()
    for spec in file.efforts:
        along = spec.of if isinstance(spec.of, list | dict) else [spec.of]
        joints = [joint for name in along for joint in motors.get(name, [name])]
        named |= {(kind, joint) for kind in CONTAINED.get(spec.model, (spec.model,)) for joint in joints}
    return [spec for spec in efforts if (spec.model, str(spec.of)) not in named]
