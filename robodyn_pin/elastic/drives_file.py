"""What the file of `simulate --drives` (YAML) may say, and the springs that it means."""

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.elastic.stiffness_file import StiffnessFile
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import NotNegative, Positive, Strict, parse_json, read_text, read_yaml, resolve
from robodyn_pin.robot.elastic_drives import Drives, rotor_inertias
from robodyn_pin.robot.robot import Robot


class DrivesFile(Strict):
    """Springs between motors and joints, all values behind the gears."""

    stiffness: dict[str, Positive] | str  # by motor [N m/rad or N/m]; or file of `stiffness` (its prior) or its results
    damping: dict[str, NotNegative] | NotNegative = 0.0  # by motor [N m s/rad or N s/m]; or a share of critical damping
    rotors: dict[str, Positive] = {}  # inertias of motors [kg m^2 or kg]; default: `armature` of the robot file


def read_drives(path: Path, robot: Robot) -> Drives:
    """The drives of a robot that a file describes; paths in it start from its folder.

    Raises:
        BadFile: a motor without spring or rotor; springs that are not on the motors. UnknownName: no such motor.
    """
    file = read_yaml(path, DrivesFile)
    given, source = (
        (file.stiffness, path) if isinstance(file.stiffness, dict) else _of(resolve(path.parent, file.stiffness))
    )
    stiffness = _by_motor(given, robot, f"'stiffness' of {source}", "a spring")
    inertias = rotor_inertias(robot) if not file.rotors else np.zeros(len(robot.motors.names))
    own = {name: value for name, value in zip(robot.motors.names, inertias.tolist(), strict=True) if value > 0}
    rotors = _by_motor(own | file.rotors, robot, f"'rotors' of {path}", "a rotor inertia")
    if isinstance(file.damping, dict):
        damping = _by_motor(file.damping, robot, f"'damping' of {path}", "a damping")
    else:
        damping = 2 * file.damping * np.sqrt(stiffness * rotors)
    return Drives(stiffness, damping, rotors)


def _of(path: Path) -> tuple[dict[str, float], Path]:
    """Stiffness by motor of a stiffness file or of a result folder, and the file that says it."""
    if path.is_dir():
        path = path / "result.json"
        content = _result(path)
        layout, found = content["springs"], {row["spring"]: float(row["stiffness"]) for row in content["stiffness"]}
    else:
        file = read_yaml(path, StiffnessFile)
        layout, found = file.springs, dict(file.prior.stiffness)
    if layout != "motors":
        raise BadFile(
            f"{path} has springs on the relative angles of the joints; drives need them on the motors, 'springs: motors'"
        )
    return found, path


def _result(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(read_text(path))
        if {"springs", "stiffness"} <= set(content):
            return dict(content)
    except (ValueError, TypeError):
        pass
    raise BadFile(
        f"{path} is no result of 'robodyn stiffness'; name its result folder, its run file, or the stiffness by motor"
    )


def _by_motor(given: dict[str, float], robot: Robot, where: str, what: str) -> np.ndarray:
    for name in given:
        if name not in robot.motors.names:
            raise UnknownName("motor", name, where, robot.motors.names)
    if missing := [name for name in robot.motors.names if name not in given]:
        raise BadFile(
            f"{where} gives no value for {', '.join(missing)}; every motor of robot {robot.name!r} needs {what}"
        )
    return np.array([given[name] for name in robot.motors.names])
