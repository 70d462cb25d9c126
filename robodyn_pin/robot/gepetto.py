"""Gepetto's description of closed loops, a YAML file beside a URDF, as ours.

Gepetto's YAML (toolbox-parallel-robots, example-parallel-robots): `closed_loop`, pairs of frames; `type`, 3d or 6d for
each; `name_mot`, what the names of the motors contain; `joint_name` and `joint_type`, joints of kinds that a URDF does not have.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import Strict, of_schema, read_text
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.urdf_tree import read_urdf


class GepettoFile(Strict):
    """The keys of Gepetto's YAML."""

    closed_loop: list[tuple[str, str]]
    type: list[str] | None = None  # 3d: a ball, 6d: a weld; default 6d
    name_mot: str | list[str] = "mot"
    joint_name: list[str] = []
    joint_type: list[str] = []  # SPHERICAL, CARDAN, UJOINT_ZY, ..., FIXED
    rotule_name: str = ""  # of older files; not used, as Lidmot and Lidvmot
    Lidmot: list[int] = []
    Lidvmot: list[int] = []


def from_gepetto(file: GepettoFile, path: Path) -> tuple[RobotFile, str, Path]:
    """Return our robot file, the text of the URDF beside Gepetto's file, and its path; raises as `describe`."""
    beside = [path.with_suffix(".urdf")] if path.with_suffix(".urdf").exists() else sorted(path.parent.glob("*.urdf"))
    if len(beside) != 1:
        raise BadFile(f"{path}: expected one URDF beside it, {path.stem}.urdf, found {len(beside)}")
    kinds = ["6d"] * len(file.closed_loop) if file.type is None else [kind.lower() for kind in file.type]
    for key, values, names in (
        ("type", kinds, file.closed_loop),
        ("joint_type", file.joint_type, file.joint_name),
    ):
        if len(values) != len(names):
            raise BadFile(
                f"{path}: {key!r} has {len(values)} entries, expected {len(names)}, one for each pair or joint"
            )
    closures = []
    for kind, ends in zip(kinds, file.closed_loop, strict=True):
        if kind not in ("3d", "6d"):
            raise BadFile(f"{path}: type {kind!r} of the loop {' - '.join(ends)} is neither 3d nor 6d")
        closures.append({"name": "C".join(ends), "kind": "point" if kind == "3d" else "frame", "between": ends})
    root = read_urdf(read_text(beside[0]), beside[0])
    joints = {str(joint.get("name")): joint for joint in root.findall("joint")}
    for name, kind in zip(file.joint_name, file.joint_type, strict=True):
        if name not in joints:
            raise UnknownName("joint", name, f"{beside[0]}, joint_name", joints)
        _replace(root, joints[name], name, kind, path)
    moving = [str(joint.get("name")) for joint in root.findall("joint") if joint.get("type") != "fixed"]
    contents: dict[str, Any] = {"urdf": beside[0].name, "closures": closures, "motors": _motors(file, moving, path)}
    return of_schema(contents, RobotFile, str(path)), ET.tostring(root, encoding="unicode"), beside[0]


def _motors(file: GepettoFile, joints: Sequence[str], path: Path) -> list[str]:
    """Return the joints whose names contain a motor's; those of that very name first, so that a list gives the order."""
    found = []
    for part in [file.name_mot] if isinstance(file.name_mot, str) else file.name_mot:
        named = sorted((name for name in joints if part in name), key=lambda name: name != part)
        if not named:
            raise UnknownName("joint that contains", part, f"{path}, name_mot", joints)
        found += named
    return list(dict.fromkeys(found))


def _replace(root: ET.Element, joint: ET.Element, name: str, kind: str, path: Path) -> None:
    """Make a joint fixed, or a chain of hinges about the axes of its frame with massless links between."""
    if kind == "FIXED":
        joint.set("type", "fixed")
        return
    letters = {"SPHERICAL": "XYZ", "CARDAN": "XY"}.get(kind, kind.removeprefix("UJOINT_"))
    if not letters or set(letters) - set("XYZ"):
        raise BadFile(f"{path}: joint_type {kind!r} of {name!r} is none of SPHERICAL, CARDAN, UJOINT_.., FIXED")
    parent, child = joint.find("parent"), joint.find("child")
    if parent is None or child is None:
        raise BadFile(f"{path}: joint {name!r} of the URDF has no parent or no child")
    last = str(child.get("link"))
    root.remove(joint)
    for k, letter in enumerate(letters):
        end = last if k == len(letters) - 1 else f"{name}_{letter}_link"
        hinge = ET.SubElement(root, "joint", name=f"{name}_{letter}", type="revolute")
        origin = joint.find("origin")
        if k == 0 and origin is not None:
            hinge.append(origin)
        if k > 0:
            parent = ET.Element("parent", link=f"{name}_{letters[k - 1]}_link")
        hinge.append(parent)
        ET.SubElement(hinge, "child", link=end)
        ET.SubElement(hinge, "axis", xyz=" ".join("1" if letter == axis else "0" for axis in "XYZ"))
        ET.SubElement(hinge, "limit", lower="-1e9", upper="1e9", effort="1e9", velocity="1e9")
        if end != last:
            ET.SubElement(root, "link", name=end)
