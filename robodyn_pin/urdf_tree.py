"""A URDF as a Pinocchio tree: read, checked for what Pinocchio loads silently into a wrong model."""

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile

ENDLESS = "1e9"  # [rad] limit of a joint that turns for ever


def parse_urdf(text: str, path: Path) -> tuple[pin.Model, str]:
    """The tree of a URDF and its text, every moving joint with one degree of freedom; `path` names it in messages.

    Raises:
        BadFile: not a URDF; a link with two parents, a loop, several roots; a joint with several degrees of freedom.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise BadFile(f"{path} is not XML: {error}") from None
    if root.tag != "robot":
        raise BadFile(f"{path}: expected a URDF <robot>, found <{root.tag}>")
    _check_tree(root, path)
    for joint in root.iter("joint"):
        _one_degree_of_freedom(joint, path)
    text = ET.tostring(root, encoding="unicode")
    try:
        model = pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise BadFile(f"{path}: Pinocchio cannot load it: {' '.join(str(error).split())}") from None
    return model, text


def _check_tree(root: ET.Element, path: Path) -> None:
    links = [link.get("name") for link in root.findall("link")]
    joints = [joint for joint in root.findall("joint") if joint.find("child") is not None]
    for what, names in (("link", links), ("joint", [joint.get("name") for joint in joints])):
        for name, count in Counter(names).items():
            if count > 1:
                raise BadFile(f"{path}: {what} {name!r} stands {count} times")
    parents: dict[str | None, list[str | None]] = {}
    for joint in joints:
        for end in ("parent", "child"):
            element = joint.find(end)
            name = None if element is None else element.get("link")
            if name not in links:
                raise BadFile(f"{path}: joint {joint.get('name')!r} names a {end} link {name!r} that does not exist")
        parents.setdefault(joint.find("child").get("link"), []).append(joint.get("name"))  # type: ignore[union-attr]
    for link, above in parents.items():
        if len(above) > 1:
            raise BadFile(
                f"{path}: link {link!r} has {len(above)} parents (joints {', '.join(map(str, above))}); a URDF is a tree: "
                "cut the loop at one of them and describe it under 'closures' in the robot file"
            )
    roots = [link for link in links if link not in parents]
    if len(roots) != 1:
        raise BadFile(f"{path}: expected one root link, found {len(roots)}: {', '.join(map(str, roots)) or 'a circle'}")


def _one_degree_of_freedom(joint: ET.Element, path: Path) -> None:
    kind = joint.get("type")
    if kind in ("floating", "planar"):
        raise BadFile(
            f"{path}: joint {joint.get('name')!r} is {kind}; write it as a chain of prismatic and revolute joints with "
            "massless links between, so that the pose can be chosen as coordinates"
        )
    if kind == "continuous":  # Pinocchio would give it two position numbers (cos, sin)
        joint.set("type", "revolute")
        limit = joint.find("limit")
        if limit is None:
            limit = ET.SubElement(joint, "limit", effort="0", velocity="0")
        limit.set("lower", f"-{ENDLESS}")
        limit.set("upper", ENDLESS)


def body_joints(model: pin.Model) -> list[int]:
    """Joints whose body has inertia; links without <inertial> have no parameters."""
    return [j for j in range(1, model.njoints) if np.any(model.inertias[j].toDynamicParameters())]


def body_name(model: pin.Model, joint: int) -> str:
    """Name of the link that a joint moves."""
    return next(f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == joint)
