"""What exporters leave of loops and motors in a URDF and beside it.

onshape-to-robot: frames `closing_NAME_1` and `closing_NAME_2`, the mate's axis along z of both. solidworks_urdf_exporter2:
loop_closures.yaml in the package, hinges by point and axis in the base link as exported. ROS: <transmission>, <ros2_control>.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import Strict, parse_yaml, read_text
from robodyn_pin.numbers import parsed
from robodyn_pin.robot.cut_joints import Cut
from robodyn_pin.robot.robot_file import Vector

BESIDE = ("loop_closures.yaml", "../loop_closures.yaml", "../config/loop_closures.yaml", "config/loop_closures.yaml")
MOTOR_WORDS = ("motor", "mot", "actuated", "actuator", "act", "drive", "servo", "active")


class HingeSpec(Strict):
    """One cut hinge of loop_closures.yaml."""

    link_a: str
    link_b: str
    point: Vector  # [m] in the base link, all joints at zero
    axis: Vector  # likewise


class LoopClosuresFile(Strict):
    """The keys of loop_closures.yaml."""

    closures: list[HingeSpec]
    dependent: list[str] = []
    independent: list[str] = []


def closing_frames(model: pin.Model, home: np.ndarray) -> list[Cut]:
    """Return the cuts that frames closing_NAME_1 and closing_NAME_2 mark; `home` (nv,) as drawn.

    Raises:
        BadFile: one of the two is missing.
    """
    data = model.createData()
    pin.framesForwardKinematics(model, data, home)
    names = [f.name for f in model.frames if f.type == pin.FrameType.BODY and f.name.startswith("closing_")]
    cuts = []
    for first in names:
        if not first.endswith(("_1", "_2")):
            continue
        one, two = f"{first[:-2]}_1", f"{first[:-2]}_2"
        if missing := [name for name in (one, two) if name not in names]:
            raise BadFile(
                f"the frame {first!r} says that a loop closes there, but {missing[0]!r} is missing; export both, or rename it"
            )
        if first == one:
            z = data.oMf[frame_id(model, one)].rotation[:, 2]
            cuts.append(Cut(one.removeprefix("closing_")[:-2], (one, two), axes=(z,)))
    return cuts


def hinges_beside(model: pin.Model, tree: Path) -> tuple[list[Cut], list[str], Path | None]:
    """Return the cuts of a loop_closures.yaml in the package of a URDF, the joints that move by themselves, and the file.

    Raises:
        BadFile, UnknownName: the file contradicts itself or the URDF.
    """
    path = next((tree.parent / name for name in BESIDE if (tree.parent / name).is_file()), None)
    if path is None:
        return [], [], None
    file = parse_yaml(read_text(path), LoopClosuresFile, str(path))
    joints, links = list(model.names)[1:], [f.name for f in model.frames if f.type == pin.FrameType.BODY]
    for name in (*file.dependent, *file.independent):
        if not model.existJointName(name):
            raise UnknownName("joint", name, f"{tree.name}, which {path.name} names", joints)
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.zeros(model.nv))
    cuts = []
    for k, hinge in enumerate(file.closures):
        for link in (hinge.link_a, hinge.link_b):
            if link not in links:
                raise UnknownName("link", link, f"{tree.name}, which {path.name} names", links)
        if not any(hinge.axis):
            raise BadFile(f"{path}: the axis of the hinge of {hinge.link_a!r} and {hinge.link_b!r} is zero")
        placed = [data.oMf[frame_id(model, name)] for name in (hinge.link_a, hinge.link_b)]
        at = tuple(frame.actInv(np.array(hinge.point)) for frame in placed)
        axis = np.array(hinge.axis) / np.linalg.norm(hinge.axis)
        cuts.append(Cut(f"loop_{k + 1}", (hinge.link_a, hinge.link_b), (at[0], at[1]), (axis,)))
    moving = file.independent or [name for name in joints if name not in file.dependent]
    return cuts, moving, path


@dataclass(frozen=True)
class Driven:
    """Joints that have a motor, and why they are thought to have one."""

    joints: tuple[str, ...]
    why: str
    gear: dict[str, float]
    unread: str = ""  # a ratio that is no number


def driven_joints(urdf: str, joints: list[str]) -> Driven | None:
    """Return the joints that transmissions, ros2_control or their names say are driven; None where nothing does."""
    root = ET.fromstring(urdf)
    found: dict[str, float] = {}
    unread = ""
    for part in root.findall("transmission"):
        said = (part.findtext(".//mechanicalReduction") or "").strip()
        ratio = parsed(said) if said else 1.0
        unread = said if ratio is None else unread  # the name of a macro that was not expanded
        found |= {str(j.get("name")): ratio or 1.0 for j in part.findall("joint") if j.get("name") in joints}
    if found:
        return Driven(tuple(found), "those with a <transmission>", {j: r for j, r in found.items() if r != 1.0}, unread)
    commanded = [
        str(joint.get("name"))
        for joint in root.iterfind("ros2_control/joint")
        if joint.find("command_interface") is not None and joint.get("name") in joints
    ]
    if commanded:
        return Driven(tuple(dict.fromkeys(commanded)), "those with a <command_interface> under <ros2_control>", {})
    named = [j for j in joints if set(_words(j)) & set(MOTOR_WORDS)]
    if named and len(named) < len(joints):
        return Driven(tuple(named), "those whose names say motor, drive or the like", {})
    active = [j for j in joints if not {"passive", "free", "dummy", "unactuated"} & set(_words(j))]
    if active and len(active) < len(joints):
        return Driven(tuple(active), "those whose names do not say passive", {})
    return None


def _words(name: str) -> list[str]:
    """Return the words of a name, digits apart: motor_1L -> motor, l; KneeDrive -> knee, drive."""
    spaced = "".join(c if c.isalpha() else " " for c in re.sub("([a-z])([A-Z])", r"\1 \2", name))
    return spaced.lower().split()
