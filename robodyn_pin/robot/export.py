"""Identified parameters as files that anybody can load: a URDF with bodies, a robot file with what a URDF cannot hold."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import yaml

from robodyn_pin.errors import NotPhysical
from robodyn_pin.identification.parameters import Layout, smallest_eigenvalues
from robodyn_pin.robot.axes import parallel
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import RUBBING, EffortSpec
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.urdf_tree import body_joints, body_name, parse_urdf
from robodyn_pin.robot.urdf_writer import inertial

ROUND_OFF = 1e-9  # relative change that the way through text may cost


def identified_urdf(robot: Robot, layout: Layout, values: np.ndarray, eigenvalue: float) -> str:
    """Return the robot's URDF with identified bodies, without its payload, reloaded and compared before it is returned.

    Raises:
        NotPhysical: a reloaded body differs, or its pseudo-inertia is below `eigenvalue` (units of 1 kg and 0.1 m).
    """
    bodies = dict(zip(robot.body_groups, values[: layout.first_scalar].reshape(-1, 10), strict=True))
    payload = robot.payload and robot.payload.name
    wanted = {name: x for group, x in bodies.items() for name in group if name != payload}
    return urdf_with(robot, wanted, eigenvalue)


def urdf_with(robot: Robot, wanted: dict[str, np.ndarray], eigenvalue: float) -> str:
    """Return the robot's URDF with other bodies (10,), by name, reloaded and compared before it is returned.

    Raises:
        NotPhysical: as `identified_urdf`.
    """
    root = ET.fromstring(robot.urdf_xml)
    # Links on fixed joints are merged into the body that carries them: their inertia is already in it.
    bodies = [f for f in robot.model.frames if f.type == pin.FrameType.BODY and f.parentJoint > 0]
    merged = {f.name for f in bodies if body_name(robot.model, f.parentJoint) in wanted}
    for link in root.findall("link"):
        old = link.find("inertial")
        if link.get("name") in merged and old is not None:
            link.remove(old)
        if link.get("name") in wanted:
            link.insert(0, inertial(pin.Inertia.FromDynamicParameters(wanted[str(link.get("name"))])))
    ET.indent(root)
    text = '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
    _check_reloaded(text, wanted, eigenvalue)
    return text


def _check_reloaded(text: str, wanted: dict[str, np.ndarray], eigenvalue: float) -> None:
    model, _ = parse_urdf(text, Path("the new URDF"))
    found = {body_name(model, j): model.inertias[j].toDynamicParameters() for j in body_joints(model)}
    for name, x in wanted.items():
        if name not in found or np.abs(found[name] - x).max() > ROUND_OFF * np.abs(x).max():
            raise NotPhysical(f"body {name!r} does not survive being written to a URDF; nothing was kept")
        smallest = smallest_eigenvalues(found[name][None])[0]
        if smallest < eigenvalue:
            raise NotPhysical(
                f"body {name!r} of the new URDF has a pseudo-inertia eigenvalue of {smallest:.3g}, below {eigenvalue:.3g}; "
                "nothing was kept"
            )


def identified_file(robot: Robot, layout: Layout, values: np.ndarray, simulated: bool) -> RobotFile:
    """Return the robot file with identified efforts; its URDF is NAME_identified.urdf beside it."""
    efforts, k = [], layout.first_scalar
    for effort in robot.efforts:
        spec = effort.spec
        if not spec.known:
            count = len(effort.labels)
            found = values[k : k + count].tolist()
            key = "coefficients" if spec.coefficients is not None else "initial"
            spec = spec.model_copy(update={key: found[0] if count == 1 and key == "initial" else found})
            k += count
        efforts.append(spec)
    origin = "simulated logs" if simulated else "measured logs"
    now = {"masses, centres of mass, inertias and efforts that are not known: true": f"identified from {origin}"}
    sources = now | {f"before identification: {what}": source for what, source in robot.file.sources.items()}
    urdf = Path(f"{robot.name}_identified.urdf")
    return robot.file.model_copy(update={"urdf": urdf, "efforts": efforts, "sources": sources})


def identified_robot_file(robot: Robot, layout: Layout, values: np.ndarray, simulated: bool) -> str:
    """Return the text of NAME_identified.yaml."""
    file = identified_file(robot, layout, values, simulated)
    content = file.model_dump(mode="json", exclude_defaults=True)
    kind = "SIMULATED" if simulated else "measured"
    note = f"# {robot.name}, identified from {kind} logs; see result.json beside it.\n"
    return note + yaml.safe_dump(content, sort_keys=False, width=120)


def identified_robot(robot: Robot, layout: Layout, values: np.ndarray, eigenvalue: float, simulated: bool) -> Robot:
    """Return the identified robot, built from the texts that a result folder holds."""
    file = identified_file(robot, layout, values, simulated)
    urdf = identified_urdf(robot, layout, values, eigenvalue)
    return build(f"{robot.name}_identified", file, urdf, Path(file.urdf))


def robot_with_friction(robot: Robot, found: list[dict[str, object]], simulated: bool) -> str:
    """Return the text of NAME_friction.yaml: the robot file with measured friction on the motors that it is of, known from now on unless it says otherwise."""
    motors = robot.motors
    replaced = motors.S[[motors.names.index(str(entry["of"])) for entry in found]]
    kept = [spec for effort in robot.efforts if (spec := _elsewhere(effort, replaced)) is not None]
    measured = [EffortSpec.model_validate({"known": True} | entry) for entry in found]
    origin = "simulated" if simulated else "measured"
    sources = {"friction that is known: true": f"derived: from {origin} logs of constant speeds"} | robot.file.sources
    file = robot.file.model_copy(
        update={"urdf": Path(f"{robot.name}_friction.urdf"), "efforts": [*measured, *kept], "sources": sources}
    )
    content = file.model_dump(mode="json", exclude_defaults=True)
    note = f"# {robot.name} with friction from {origin.upper() if simulated else origin} logs; see friction.json beside it.\n"
    return note + yaml.safe_dump(content, sort_keys=False, width=120)


def _elsewhere(effort: Effort, rows: np.ndarray) -> EffortSpec | None:
    """Return what is left of an effort without friction along rows (k, nv), whatever names and gears it uses for them."""
    spec = effort.spec
    if spec.model not in RUBBING or effort.closures or spec.warmth:
        return spec
    stays = [k for k, row in enumerate(effort.rows) if not any(parallel(row, other) for other in rows)]
    if len(stays) == len(effort.rows):
        return spec
    listed = spec.of if isinstance(spec.of, list) else [spec.of]
    return spec.model_copy(update={"of": [listed[k] for k in stays]}) if stays else None
