"""An MJCF file made simple, so that Pinocchio reads all of it: one body in the world, one joint a body, all named."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.files import read_text

PLACEMENT = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "childclass")
REFUSED = ("tendon", "deformable", "frame", "replicate", "attach", "composite", "flexcomp")
SHELL = "world_base"  # the one body of the world that holds all others


def simple_tree(path: Path) -> tuple[ET.Element, bool]:
    """The XML, includes and repeated sections merged, bodies simple; and whether ball joints became three hinges.

    Raises:
        BadFile: not MJCF, or something that this package cannot hold: free joints, tendons, joint springs, ...
    """
    root = _merged(path)
    _check(root, path)
    return root, _simplify(root, path)


def numbers(element: ET.Element, key: str, default: str = "") -> list[float]:
    """The numbers of an attribute."""
    return [float(x) for x in element.get(key, default).split()]


def in_degrees(root: ET.Element) -> bool:
    """Whether angles are in degrees, as they are by default."""
    compiler = root.find("compiler")
    return compiler is None or compiler.get("angle") != "radian"


def _merged(path: Path) -> ET.Element:
    """The file with its includes in place and every section once."""
    try:
        root = ET.fromstring(read_text(path))
        if root.tag != "mujoco":
            raise BadFile(f"{path}: expected MJCF, <mujoco>, or a URDF, <robot>; found <{root.tag}>")
        while (parent := root.find(".//include/..")) is not None:
            k, include = next((k, x) for k, x in enumerate(parent) if x.tag == "include")
            parent[k : k + 1] = list(ET.fromstring(read_text(path.parent / include.get("file", ""))))
    except ET.ParseError as error:
        raise BadFile(f"{path} is not XML: {error}") from None
    for section in list(root):
        first = root.find(section.tag)
        if first is not None and first is not section:
            first.attrib.update(section.attrib)
            first.extend(section)
            root.remove(section)
    return root


def _check(root: ET.Element, path: Path) -> None:
    for joint in root.iter():
        if joint.tag == "freejoint" or (joint.tag == "joint" and joint.get("type") == "free"):
            raise BadFile(
                f"{path}: joint {joint.get('name', 'without a name')!r} is free; write it as three slides and three "
                "hinges, so that the pose can be chosen as coordinates"
            )
    for tag in REFUSED:
        if root.find(f".//{tag}") is not None:
            raise BadFile(
                f"{path}: <{tag}> is not read; loops are made of <connect>, <weld> and <joint> under <equality>"
            )
    for tag, key in (("joint", "stiffness"), ("joint", "springdamper"), ("body", "gravcomp")):
        for element in root.iter(tag):
            if any(numbers(element, key)):
                what = f"{tag} {element.get('name', 'of a default class')!r}"
                raise BadFile(f"{path}: {key!r} of {what} is not read; give a spring under 'efforts' of a robot file")
    if any("ref" in joint.attrib for joint in root.findall(".//default/joint")):
        raise BadFile(f"{path}: 'ref' of a default class is not read; write it at the joints")


def _simplify(root: ET.Element, path: Path) -> bool:
    """One body in the world, one joint a body, names for all; whether ball joints were replaced."""
    world = root.find("worldbody")
    if world is None:
        raise BadFile(f"{path}: no <worldbody>")
    shell = ET.Element("body", name=SHELL)
    for part in [x for x in world if x.tag in ("body", "site")]:
        world.remove(part)
        shell.append(part)
    world.append(shell)
    for k, body in enumerate(shell.iter("body")):
        body.set("name", body.get("name", f"body_{k}"))
        for i, joint in enumerate(body.findall("joint")):
            joint.set("name", joint.get("name", f"{body.get('name')}_joint{i or ''}"))
    tied = {x.get(key) for x in root.iterfind("equality/*") for key in ("site1", "site2")} - {None}
    for site in [x for x in shell.iter("site") if x.get("name") in tied]:  # as bodies, Pinocchio keeps them everywhere
        site.tag, site.attrib = "body", {k: v for k, v in site.attrib.items() if k in ("name", *PLACEMENT[:-1])}
    balls = False
    for parent in list(shell.iter("body")):
        for k, body in enumerate(list(parent)):
            if body.tag != "body":
                continue
            joints = []
            for joint in body.findall("joint"):
                body.remove(joint)
                ball = joint.get("type") == "ball"
                joints += _three_hinges(joint) if ball else [joint]
                balls |= ball
            outer, inner = body, body
            for joint in reversed(joints):
                if joint is not joints[-1]:
                    outer = ET.Element("body", name=f"{body.get('name')}_{joint.get('name')}")
                    outer.append(inner)
                outer.insert(0, joint)
                inner = outer
            if outer is not body:
                outer.attrib.update({key: body.attrib.pop(key) for key in PLACEMENT if key in body.attrib})
                parent[k] = outer
    return balls


def _three_hinges(ball: ET.Element) -> list[ET.Element]:
    plain = {k: v for k, v in ball.attrib.items() if k not in ("type", "name", "range", "limited")}
    return [
        ET.Element("joint", plain | {"name": f"{ball.get('name')}_{letter}", "type": "hinge", "axis": axis})
        for letter, axis in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1"))
    ]


def joints_as_drawn(root: ET.Element, path: Path) -> tuple[list[str], np.ndarray]:
    """Joints in MuJoCo's order, a body's own before those of its children, and their positions as drawn [rad or m]."""
    degree = np.pi / 180 if in_degrees(root) else 1.0
    names, drawn = [], []

    def walk(body: ET.Element) -> None:
        for joint in body.findall("joint"):
            names.append(str(joint.get("name")))
            drawn.append(float(joint.get("ref", 0)) * (1 if joint.get("type") == "slide" else degree))
        for child in body.findall("body"):
            walk(child)

    walk(root.find("worldbody"))  # type: ignore[arg-type]
    for name in names:
        if names.count(name) > 1:
            raise BadFile(f"{path}: joint {name!r} stands twice")
    return names, np.array(drawn)
