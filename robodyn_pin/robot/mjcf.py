"""MuJoCo's MJCF as a URDF and a robot file of ours.

Pinocchio reads the tree; but of the world only the first body, several joints of one body as one, equalities without
their names, none between joints, and anchors beside their place where a joint does not sit at the origin of its body.
So the tree is made simple before Pinocchio reads it, and the equalities are read here.
"""

import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import of_schema
from robodyn_pin.robot.mjcf_places import in_degrees, numbers
from robodyn_pin.robot.mjcf_tendons import held_length, sum_of
from robodyn_pin.robot.mjcf_tree import SHELL, joints_as_drawn, simple_tree, springs_of
from robodyn_pin.robot.quiet import quiet
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.urdf_writer import urdf_text


def read_mjcf(path: Path) -> tuple[RobotFile, str]:
    """Return motors, closures, joint losses, gravity and home of an MJCF file, and the text of a URDF of its tree.

    Ball joints become three hinges; the first keyframe, if any, is home.

    Raises:
        BadFile: not MJCF, or something that this package cannot hold: free joints, spatial tendons, ...
        UnknownName: an equality or an actuator of something that does not exist.
    """
    root, balls = simple_tree(path)
    names, q0 = joints_as_drawn(root, path)
    if not names:
        raise BadFile(f"{path}: nothing moves, no body has a joint; a robot here has a hinge or a slide")
    model, visuals = _read(root, path)
    for j in range(1, model.njoints):
        if model.joints[j].nq != 1:
            kind = model.joints[j].shortname().removeprefix("JointModel")
            raise BadFile(
                f"{path}: joint {model.names[j]!r} is {kind}; hinges and slides are what a loop is made of here"
            )
    order = [model.joints[model.getJointId(name)].idx_q for name in names]
    start = np.zeros(model.nq)
    start[order] = q0
    # Pinocchio takes the ranges of slides for degrees too, and counts ranges from the pose as drawn, positions not.
    slides = np.array(["JointModelP" in model.joints[model.getJointId(name)].shortname() for name in names], bool)
    scale = np.where(slides & in_degrees(root), 180 / np.pi, 1.0)
    model.lowerPositionLimit[order] = (model.lowerPositionLimit[order] + q0) * scale
    model.upperPositionLimit[order] = (model.upperPositionLimit[order] + q0) * scale
    closures, frames = _equalities(root, path, model, start, dict(zip(names, q0, strict=True)))
    key = root.find("keyframe/key[@qpos]")
    home = q0 if key is None or balls else numbers(key, "qpos")
    if len(home) != len(names):
        raise BadFile(
            f"{path}: the first keyframe has {len(home)} positions, expected {len(names)}, one for each joint"
        )
    off = _switched_off(root)
    kinds = {"armature": model.armature, "viscous": model.damping, "coulomb": model.upperDryFrictionLimit}
    losses = [
        {"of": model.names[j], "model": kind, "initial": float(values[model.joints[j].idx_v])}
        for kind, values in kinds.items()
        for j in range(1, model.njoints)
        if values[model.joints[j].idx_v] and kind not in off
    ]
    losses += [] if "spring" in off else springs_of(root)
    file = {
        "urdf": path.name,
        "motors": _motors(root, path, names),
        "home": {name: value for name, value in zip(names, map(float, home), strict=True) if value},
        "closures": [] if "equality" in off else closures,
        "efforts": losses,
        "gravity": (0, 0, 0) if "gravity" in off else _gravity(root),
        "sources": {"everything": f"converted from {path.name}"},
    }
    return of_schema(file, RobotFile, str(path)), urdf_text(root.get("model", path.stem), model, visuals, frames)


SWITCHES = {  # flag of <option> -> what acts no more
    "gravity": {"gravity"}, "damper": {"viscous"}, "spring": {"spring"}, "frictionloss": {"coulomb"}, "equality": {"equality"},
    "passive": {"viscous", "spring"}, "constraint": {"coulomb", "equality"},
}  # fmt: skip


def _switched_off(root: ET.Element) -> set[str]:
    """Return what the flags of the file switch off."""
    flags = [(key, value) for flag in root.iterfind("option/flag") for key, value in flag.attrib.items()]
    return set().union(*(SWITCHES.get(key, set()) for key, value in flags if value == "disable"))


def _gravity(root: ET.Element) -> tuple[float, ...]:
    option = root.find("option")
    return (0.0, 0.0, -9.81) if option is None else tuple(numbers(option, "gravity", "0 0 -9.81"))


def _read(root: ET.Element, path: Path) -> tuple[pin.Model, pin.GeometryModel | None]:
    """Return Pinocchio's tree, and its shapes; meshes are among them where their files are found."""
    kept = ET.Element("mujoco", root.attrib)
    parts = (root.find(tag) for tag in ("compiler", "asset", "worldbody"))
    kept.extend(part for part in parts if part is not None)
    compiler = kept.find("compiler")
    if compiler is None:
        compiler = ET.SubElement(kept, "compiler")
    folder = compiler.get("meshdir", compiler.get("assetdir", ""))
    compiler.set("meshdir", str((path.parent / folder).resolve()))
    with tempfile.TemporaryDirectory() as scratch:
        simple, *drawn = (Path(scratch) / name for name in ("simple.xml", "drawn.xml", "plain.xml"))
        drawn[0].write_bytes(ET.tostring(kept))
        _without_shapes(kept, "geom[@mesh]")
        drawn[1].write_bytes(ET.tostring(kept))
        _without_shapes(kept, "geom")  # else Pinocchio weighs the shapes of bodies without <inertial>
        simple.write_bytes(ET.tostring(kept))
        try:
            with quiet():
                model = pin.buildModelFromMJCF(str(simple))
        except (ValueError, RuntimeError, TypeError) as error:
            raise BadFile(f"{path}: Pinocchio cannot load it: {' '.join(str(error).split())}") from None
        for shapes in drawn:  # dynamics does not need meshes, and where one is lost the other shapes are drawn
            try:
                with quiet():
                    return model, pin.buildGeomFromMJCF(model, str(shapes), pin.GeometryType.VISUAL)
            except (ValueError, RuntimeError):
                continue
        return model, None


def _without_shapes(root: ET.Element, which: str) -> None:
    for body in root.iter("body"):
        for geom in body.findall(which):
            body.remove(geom)


def _motors(root: ET.Element, path: Path, joints: list[str]) -> list[str | dict[str, object]] | None:
    """Return the joints and fixed tendons that actuators drive, once each; None without actuators. Torques are there: gears do not count."""
    driven: list[str] = []
    sums: dict[str, dict[str, object]] = {}
    for actuator in root.iterfind("actuator/*"):
        if (tendon := actuator.get("tendon")) is not None:
            name = actuator.get("name", tendon)
            sums[name] = {"name": name, "of": sum_of(root, tendon, f"{path}, actuator {name!r}", joints)}
            driven.append(name)
            continue
        joint = actuator.get("joint", actuator.get("jointinparent"))
        if joint is None:
            raise BadFile(
                f"{path}: actuator {actuator.get('name', '')!r} drives no joint; motors at joints are read only"
            )
        if joint not in joints:
            raise UnknownName("joint", joint, f"{path}, actuator", joints)
        driven.append(joint)
    return [sums.get(name, name) for name in dict.fromkeys(driven)] or None


def _equalities(
    root: ET.Element, path: Path, model: pin.Model, q: np.ndarray, drawn: dict[str, float]
) -> tuple[list[dict[str, object]], dict[str, tuple[int, pin.SE3]]]:
    """Return the closures of the equalities, and the frames that they tie: name -> joint and placement there."""
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    closures: list[dict[str, object]] = []
    frames: dict[str, tuple[int, pin.SE3]] = {}

    def place(name: str) -> tuple[int, pin.SE3]:
        if not model.existFrame(name, pin.FrameType.BODY):
            bodies = [f.name for f in model.frames if f.type == pin.FrameType.BODY]
            raise UnknownName("body or site", name, f"{path}, equality", bodies)
        k = model.getFrameId(name, pin.FrameType.BODY)
        return model.frames[k].parentJoint, data.oMf[k]

    for k, tie in enumerate(root.iterfind("equality/*")):
        if tie.get("active") == "false":
            continue
        name = tie.get("name", f"{tie.tag}_{k}")
        if tie.tag == "joint":
            closures.append(_coupling(tie, name, path, drawn))
            continue
        if tie.tag == "tendon":
            closures.append(held_length(root, tie, name, path, drawn))
            continue
        if tie.tag not in ("connect", "weld"):
            raise BadFile(
                f"{path}: equality {name!r} is a <{tie.tag}>; <connect>, <weld>, <joint> and <tendon> are read"
            )
        sites = "site1" in tie.attrib
        joint_a, a = place(tie.get("site1" if sites else "body1", ""))
        joint_b, b = place(tie.get("site2" if sites else "body2", SHELL))
        at_a, at_b = a, b
        if not sites and tie.tag == "connect":  # the second point is where the first one is as drawn
            if "anchor" not in tie.attrib:
                raise BadFile(
                    f"{path}: connect {name!r} has no 'anchor', the point where its bodies meet; give it, or two sites"
                )
            at_a = at_b = a * pin.SE3(np.eye(3), np.array(numbers(tie, "anchor")))
        elif not sites:
            relative = np.array(numbers(tie, "relpose", "0 1 0 0 0 0 0"))
            turn = pin.Quaternion(*relative[3:]).normalized().matrix() if relative[3:].any() else None
            at_a = b if turn is None else a * pin.SE3(turn, relative[:3])
        frames[f"{name}_a"] = joint_a, data.oMi[joint_a].actInv(at_a)
        frames[f"{name}_b"] = joint_b, data.oMi[joint_b].actInv(at_b)
        kind = "point" if tie.tag == "connect" else "frame"
        closures.append({"name": name, "kind": kind, "between": [f"{name}_a", f"{name}_b"]})
    return closures, frames


def _coupling(tie: ET.Element, name: str, path: Path, drawn: dict[str, float]) -> dict[str, object]:
    """Return the coupling y - y0 = c0 + c1 (x - x0), with y0 and x0 as drawn."""
    c = np.array([*numbers(tie, "polycoef", "0 1 0 0 0"), 0, 0, 0, 0, 0][:5])
    if c[2:].any():
        raise BadFile(f"{path}: equality {name!r} is not linear; couplings are sums of joints")
    for key in ("joint1", "joint2"):
        if key in tie.attrib and tie.get(key) not in drawn:
            raise UnknownName("joint", str(tie.get(key)), f"{path}, equality {name!r}", drawn)
    y, x = str(tie.get("joint1")), tie.get("joint2")
    of, offset = {y: 1.0}, c[0] + drawn[y]
    if x is not None:
        of[x] = -float(c[1])
        offset -= c[1] * drawn[x]
    return {"name": name, "kind": "coupling", "of": of, "offset": float(offset)}
