"""A URDF as a Pinocchio tree: read, checked for what Pinocchio loads silently into a wrong model."""

import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile
from robodyn_pin.numbers import LARGEST, plain
from robodyn_pin.robot.quiet import quiet

JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
NUMBERS = {  # attributes that Pinocchio's parser refuses, or reads in part, without saying where
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "box": {"size": 3},
    "mesh": {"scale": 3},
}
DEEPEST = 300  # levels of an XML file: MJCF nests bodies, and no robot is a chain so long
XACRO = "{http://www.ros.org/wiki/xacro}"
PREFIXES = {
    "drake": 'write <robot xmlns:drake="http://drake.mit.edu" ...>, or take its elements out: they are not used here',
    "xacro": "it holds macros: expand them first, xacro FILE.xacro > FILE.urdf",
}
OTHERS = {  # roots of files that are no URDF
    "sdf": "; SDF files end in .sdf",
    "mujoco": "; MJCF files end in .xml",
    "gazebo": "; old Gazebo files are not read: gz sdf -p FILE writes SDF",
}
BALLS = ("spherical", "ball")
BALL = "; write a ball as three revolute joints, about x, y and z, with links without mass between"
ENDLESS = "1e9"  # [rad] limit of a joint that turns for ever


def parse_urdf(text: str, path: Path) -> tuple[pin.Model, str]:
    """Return the tree of a URDF and its text, every moving joint with one degree of freedom; `path` names it in messages.

    Raises:
        BadFile: not a URDF; a link with two parents, a loop, several roots; a joint with several degrees of freedom.
    """
    root = read_urdf(text, path)
    root.set("name", root.get("name") or path.stem)  # which Pinocchio asks for
    _check_tree(root, path)
    for part in (*root.findall("link"), *root.findall("joint")):
        _check_numbers(part, path)
    for link in root.findall("link"):
        _check_inertial(link, path)
    for joint in root.findall("joint"):  # <transmission> has <joint> elements of another kind
        _one_degree_of_freedom(joint, path)
    text = ET.tostring(root, encoding="unicode")
    try:
        with quiet():
            model = pin.buildModelFromXML(text)
    except (ValueError, RuntimeError) as error:
        raise BadFile(f"{path}: Pinocchio cannot load it: {' '.join(str(error).split())}") from None
    if model.nv == 0:
        count = len(root.findall("joint"))
        found = f"its {count} joints are all fixed" if count else "it has no joint"
        found = "its one joint is fixed" if count == 1 else found
        raise BadFile(f"{path}: nothing moves, {found}; a robot here has a revolute, continuous or prismatic joint")
    return model, text


def read_urdf(text: str, path: Path) -> ET.Element:
    """Return the <robot> of a URDF; `path` names it in messages.

    Raises:
        BadFile: not XML, or not a URDF.
    """
    root = read_xml(text, path)
    if root.tag != "robot":
        raise BadFile(f"{path}: expected a URDF <robot>, found <{root.tag}>{OTHERS.get(root.tag, '')}")
    if any(str(element.tag).startswith(XACRO) for element in root.iter()):
        raise BadFile(
            f"{path} holds xacro macros; expand them first: xacro {path.name} > {path.stem.split('.')[0]}_plain.urdf"
        )
    return root


def read_xml(text: str, path: Path) -> ET.Element:
    """Return the root of an XML file.

    Raises:
        BadFile: not XML; says what is wrong where that is known.
    """
    text = text.removeprefix("\ufeff")  # the byte order mark of some editors
    try:
        root = ET.fromstring(text)  # at once: in pieces, a long comment or text is parsed again with each
    except ET.ParseError as error:
        line = error.position[0]
        if "XML or text declaration not at start" in str(error):
            raise BadFile(
                f"{path}: the XML declaration <?xml ...?> stands in line {line}, expected at the very beginning; take out what "
                "stands before it"
            ) from None
        found = re.search(r"[<\s]/?([\w.-]+):", re.split(r"\r\n?|\n", text)[line - 1][error.position[1] :])
        if "unbound prefix" in str(error) and found:
            prefix = found.group(1)
            declare = f'declare it in the first element, xmlns:{prefix}="...", or take its elements out'
            what = PREFIXES.get(prefix, declare)
            raise BadFile(f"{path}: the prefix {prefix + ':'!r} in line {line} is not declared; {what}") from None
        look = (
            "look there for a tag that is not closed, or an & or < in a text"
            if text.lstrip().startswith("<")
            else "is it another kind of file?"
        )
        raise BadFile(f"{path} is not XML: {error}; {look}") from None
    level = [root]
    for _ in range(DEEPEST):
        level = [child for element in level for child in element]
        if not level:
            return root
    raise BadFile(f"{path} is nested more than {DEEPEST} levels deep; is it a robot?")


def number(element: ET.Element, key: str, default: float, where: str, path: Path) -> float:
    """Return the number that an attribute is, or its default.

    Raises:
        BadFile: it is no number.
    """
    text = element.get(key)
    try:
        value = default if text is None else plain(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadFile(f"{path}: {where}: {key} of <{element.tag}> is {text!r}, expected a number")
    return value


def _check_tree(root: ET.Element, path: Path) -> None:
    for part in (*root.findall("link"), *root.findall("joint")):
        if not part.get("name"):
            raise BadFile(f"{path}: a <{part.tag}> has no name; give it one")
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
                nearest = get_close_matches(str(name), [str(link) for link in links], n=1)
                hint = f"did you mean {nearest[0]!r}? Else" if nearest else "correct the name, or"
                raise BadFile(
                    f"{path}: joint {joint.get('name')!r} names a {end} link {name!r} that does not exist; {hint} add that link: where "
                    "the file is a part of another one, take that"
                )
        parents.setdefault(name, []).append(joint.get("name"))  # of the child, which stands last
    for link, above in parents.items():
        if len(above) > 1:
            raise BadFile(
                f"{path}: link {link!r} has {len(above)} parents (joints {', '.join(map(str, above))}); a URDF is a "
                "tree: cut the loop at one of them and describe it under 'closures' in the robot file"
            )
    if not links:
        raise BadFile(f"{path}: no <link> in it; a robot has at least two, and a joint between them")
    roots = [link for link in links if link not in parents]
    if len(roots) != 1:
        raise BadFile(f"{path}: expected one root link, found {len(roots)}: {', '.join(map(str, roots)) or 'a circle'}")


def _check_numbers(part: ET.Element, path: Path) -> None:
    """Check that a link or a joint has numbers where numbers should be, and as many as there should be."""
    for element in part.iter():
        for key, count in NUMBERS.get(element.tag, {}).items():
            text = element.get(key)
            large = LARGEST if element.tag != "limit" else math.inf  # a joint may turn for ever
            try:
                found = [0.0] * count if text is None else [plain(x) for x in text.split()]
                fine = len(found) == count and all(abs(x) <= large for x in found)
            except ValueError:
                fine = False
            if not fine:
                raise BadFile(
                    f"{path}: {part.tag} {part.get('name')!r}: {key} of <{element.tag}> is {text!r}, expected "
                    f"{count} number{'s' if count > 1 else ''}{f' of at most {large:g}' if math.isfinite(large) else ''}"
                    f"{_how_to_write(str(text))}"
                )


def _how_to_write(text: str) -> str:
    """Return what to do about numbers that are none."""
    if "$" in text:
        return "; it is a macro of xacro: write its value"
    return "; write them with spaces between, no commas" if "," in text else "; correct it"


def _check_inertial(link: ET.Element, path: Path) -> None:
    """Check that an <inertial> is whole; where it is not, Pinocchio leaves out the inertia, or everything."""
    inertial = link.find("inertial")
    if inertial is None:
        return
    for parent, tags in ((link, ("inertial",)), (inertial, ("mass", "inertia", "origin"))):
        for tag in tags:
            if (count := len(parent.findall(tag))) > 1:
                raise BadFile(
                    f"{path}: link {link.get('name')!r} has {count} <{tag}>, expected one; keep the right one"
                )
    for tag in ("mass", "inertia"):
        found = inertial.find(tag)
        lacking = [key for key in NUMBERS[tag] if found is None or found.get(key) is None]
        if lacking:
            what = f"no <{tag}>" if found is None else f"a <{tag}> without {', '.join(lacking)}"
            raise BadFile(
                f"{path}: link {link.get('name')!r} has an <inertial> with {what}; give mass and inertia (ixx ... izz), or leave the "
                "<inertial> out"
            )


def _one_degree_of_freedom(joint: ET.Element, path: Path) -> None:
    kind = joint.get("type")
    if kind not in JOINTS:
        raise BadFile(
            f"{path}: joint {joint.get('name')!r} has type {kind!r}, expected one of {', '.join(JOINTS[:4])}{BALL if kind in BALLS else ''}"
        )
    axis = joint.find("axis")
    if kind != "fixed" and axis is not None and not any(map(float, axis.get("xyz", "1 0 0").split())):
        raise BadFile(f"{path}: joint {joint.get('name')!r} has an axis of length zero")
    if kind in ("floating", "planar"):
        raise BadFile(
            f'{path}: joint {joint.get("name")!r} is {kind}; write type="fixed" where the base stands still, else write it as a '
            "chain of prismatic and revolute joints with massless links between, so that the pose can be chosen as coordinates"
        )
    _check_limit(joint, str(kind), path)
    if kind == "continuous":  # Pinocchio would give it two position numbers (cos, sin)
        joint.set("type", "revolute")
        limit = joint.find("limit")
        if limit is None:
            limit = ET.SubElement(joint, "limit", effort="0", velocity="0")
        limit.set("lower", f"-{ENDLESS}")
        limit.set("upper", ENDLESS)


def _check_limit(joint: ET.Element, kind: str, path: Path) -> None:
    """Check that a joint that moves has the limits that a URDF must give it."""
    limit, what = joint.find("limit"), f"{path}: joint {joint.get('name')!r} is {kind}"
    if limit is None and kind in ("revolute", "prismatic"):
        instead = ', or type="continuous" for a joint that turns for ever' if kind == "revolute" else ""
        raise BadFile(
            f"{what} and has no <limit>; give it lower, upper, effort and velocity (0 where the last two are not known){instead}"
        )
    for key in ("effort", "velocity"):
        if limit is not None and limit.get(key) is None:
            raise BadFile(f"{what} and its <limit> has no {key!r}; give it, 0 where it is not known")


def body_joints(model: pin.Model) -> list[int]:
    """Return joints whose body has inertia; links without <inertial> have no parameters."""
    return [j for j in range(1, model.njoints) if np.any(model.inertias[j].toDynamicParameters())]


def body_name(model: pin.Model, joint: int) -> str:
    """Return the name of the link that a joint moves."""
    return next(f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == joint)
