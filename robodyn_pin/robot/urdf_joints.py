"""What a URDF says of joints besides their axes, as a robot file says it: mimic joints, damping and friction.

All of it moves from the URDF into the robot file when a robot is built. So it counts once, however often a robot is
built anew from its own parts, with a payload or identified.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pinocchio as pin

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot_file import CouplingSpec, RobotFile
from robodyn_pin.robot.urdf_tree import number, read_urdf

USED = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("parent", "child", "origin", "axis", "limit", "mimic", "dynamics"),
}
LOSSES = {"damping": "viscous", "friction": "coulomb"}  # attribute of <dynamics> -> effort


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: q = multiplier * q of the other + offset."""

    joint: str
    other: str
    multiplier: float
    offset: float  # [rad or m]

    @property
    def coupling(self) -> CouplingSpec:
        """Return the mimic joint as a closure."""
        of = {self.joint: 1.0, self.other: -self.multiplier}
        return CouplingSpec(name=f"{self.joint}_mimics_{self.other}", kind="coupling", of=of, offset=self.offset)


@dataclass(frozen=True)
class JointExtras:
    """What the joints of a URDF say besides their axes, and what nobody here reads."""

    mimics: tuple[Mimic, ...]
    losses: tuple[EffortSpec, ...]
    unused: tuple[str, ...]  # one entry a kind of element


def split(text: str, path: Path) -> tuple[str, JointExtras]:
    """Return the URDF without its <mimic> and <dynamics>, and what these say.

    Raises:
        BadFile: not a URDF; a number that is none; friction below zero; a joint that mimics itself or what is fixed.
        UnknownName: a joint mimics one that does not exist.
    """
    root = read_urdf(text, path)
    unused = _unused(root)
    mimics, losses = [], []
    moving = [str(j.get("name")) for j in root.findall("joint") if j.get("type") != "fixed"]
    for joint in root.findall("joint"):
        name = str(joint.get("name"))
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
            if name in moving:
                mimics.append(_mimic(mimic, name, moving, path))
        for dynamics in joint.findall("dynamics"):
            joint.remove(dynamics)
            if name in moving:
                losses += _losses(dynamics, name, path)
    return ET.tostring(root, encoding="unicode"), JointExtras(tuple(mimics), tuple(losses), unused)


def _mimic(element: ET.Element, name: str, moving: Sequence[str], path: Path) -> Mimic:
    other = element.get("joint", "")
    if other == name:
        raise BadFile(f"{path}: joint {name!r} mimics itself; name the joint that it follows")
    if other not in moving:
        raise UnknownName("moving joint", other, f"{path}, which joint {name!r} mimics", moving)
    factor = number(element, "multiplier", 1.0, f"joint {name!r}", path)
    return Mimic(name, other, factor, number(element, "offset", 0.0, f"joint {name!r}", path))


def _losses(element: ET.Element, name: str, path: Path) -> list[EffortSpec]:
    found = []
    for key, model in LOSSES.items():
        value = number(element, key, 0.0, f"joint {name!r}", path)
        if value < 0:
            raise BadFile(
                f"{path}: joint {name!r}: {key} of <dynamics> is {value:g}, which would drive it; expected 0 or more"
            )
        if value > 0:
            found.append(EffortSpec.model_validate({"of": name, "model": model, "initial": value}))
    return found


def _unused(root: ET.Element) -> tuple[str, ...]:
    """Return elements that nobody here reads, each kind once, with where it stands."""
    found: dict[str, list[str]] = {}
    for part in (root, *root.findall("link"), *root.findall("joint")):
        for element in part:
            if element.tag not in USED[part.tag]:
                owner = "" if part is root else f"{part.tag} {part.get('name')}"
                found.setdefault(_named(str(element.tag)), []).append(owner)
    return tuple(_listed(tag, owners) for tag, owners in found.items())


def _listed(tag: str, owners: list[str]) -> str:
    named = [owner for owner in owners if owner]
    if not named:
        return tag if len(owners) == 1 else f"{tag} ({len(owners)} times)"
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f"{tag} of {named[0]}{more}"


def _named(tag: str) -> str:
    """Return a tag as readers know it: `{http://drake.mit.edu}joint` becomes `<joint> (namespace drake.mit.edu)`."""
    address, _, name = tag.removeprefix("{").rpartition("}")
    namespace = address.removeprefix("http://").removeprefix("https://")
    return f"<{name}> (namespace {namespace})" if namespace else f"<{name}>"


def coupled(file: RobotFile, extras: JointExtras, joints: Sequence[str]) -> tuple[RobotFile, tuple[str, ...]]:
    """Return the robot file with a coupling for each mimic joint, which is no motor by default; and what is not used.

    A coupling of the robot file that names a mimic joint counts instead of what the URDF says of that joint.
    """
    own = {joint for spec in file.closures if isinstance(spec, CouplingSpec) for joint in spec.of}
    mimics = [mimic for mimic in extras.mimics if mimic.joint not in own]
    replaced = [mimic.joint for mimic in extras.mimics if mimic.joint in own]
    unused = [f"<mimic> of joint {joint}, which a closure of the robot file couples" for joint in replaced]
    if not mimics:
        return file, tuple(unused)
    following = {mimic.joint for mimic in mimics}
    changes: dict[str, object] = {"closures": [*file.closures, *(mimic.coupling for mimic in mimics)]}
    if file.motors is None:
        changes["motors"] = [joint for joint in joints if joint not in following]
    return file.model_copy(update=changes | {"home": _home(file, mimics)}), tuple(unused)


def _home(file: RobotFile, mimics: Sequence[Mimic]) -> dict[str, float]:
    """Return home with each mimic joint where the other one puts it, unless the robot file says where it is."""
    home = dict(file.home)
    for _ in mimics:  # one may follow another one that follows
        for mimic in mimics:
            if mimic.joint not in file.home and (at := mimic.multiplier * home.get(mimic.other, 0.0) + mimic.offset):
                home[mimic.joint] = at
    return home


def rubbing(
    model: pin.Model, efforts: Sequence[Effort], extras: JointExtras
) -> tuple[list[EffortSpec], tuple[str, ...]]:
    """Return the damping and friction of the joints that no effort of the robot file acts along; and what is not used of them."""
    taken = {
        str(spec.of): any(effort.rows[:, joint_index(model, str(spec.of))].any() for effort in efforts)
        for spec in extras.losses
    }
    named = [joint for joint, acting in taken.items() if acting]
    unused = [f"<dynamics> of joint {joint}, of which the robot file names efforts" for joint in named]
    return [spec for spec in extras.losses if not taken[str(spec.of)]], tuple(unused)
