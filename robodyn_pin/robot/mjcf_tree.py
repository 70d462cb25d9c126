"""An MJCF file made simple, so that Pinocchio reads all of it: one body in the world, one joint a body, all named."""

import math
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.files import read_text
from robodyn_pin.robot.mjcf_inertia import weigh
from robodyn_pin.robot.mjcf_places import in_degrees, numbers, turn_to_quaternions, write_defaults
from robodyn_pin.robot.mjcf_tendons import check_tendons
from robodyn_pin.robot.urdf_tree import OTHERS, read_xml

PLACEMENT = ("pos", "quat")
LEAVES = ("joint", "freejoint", "inertial", "geom", "site")  # of a body: none of them holds another
REFUSED = ("deformable", "frame", "replicate", "attach", "composite", "flexcomp")
NUMBERS = {  # attribute -> how many numbers, at least and at most
    **dict.fromkeys(("pos", "zaxis", "euler", "axis", "gravity", "diaginertia", "anchor"), (3, 3)),
    **dict.fromkeys(("quat", "axisangle"), (4, 4)), **dict.fromkeys(("xyaxes", "fromto", "fullinertia"), (6, 6)),
    **dict.fromkeys(("mass", "density", "viscosity", "group", "settotalmass", "boundmass", "boundinertia"), (1, 1)),
    **dict.fromkeys(("frictionloss", "armature", "gravcomp", "ref", "springref"), (1, 1)),
    **dict.fromkeys(("range", "inertiagrouprange", "springdamper"), (2, 2)), **dict.fromkeys(("size", "damping", "stiffness"), (1, 3)),
    "relpose": (7, 7), "polycoef": (0, 5), "qpos": (0, 10**6),
}  # fmt: skip
READ = ("joint", "geom", "body", "inertial", "site", "compiler", "option", "key", "connect", "weld")
KINDS = ("hinge", "slide", "ball")  # of joints; free ones are refused before
OF_BALLS = ("damping", "stiffness", "armature", "frictionloss")  # along the axes of the body, which no hinge has
SHELL = "world_base"  # the one body of the world that holds all others


def simple_tree(path: Path) -> tuple[ET.Element, bool]:
    """Return the XML with includes and repeated sections merged and bodies made simple, and whether ball joints became three hinges.

    Raises:
        BadFile: not MJCF, or something that this package cannot hold: free joints, spatial tendons, ...
    """
    root = _merged(path)
    _check(root, path)
    turn_to_quaternions(root, path)
    write_defaults(root, path)
    weigh(root, path)
    _check_balls(root, path)
    return root, _simplify(root)


def _merged(path: Path) -> ET.Element:
    """Return the file with its includes in place and every section once."""
    root = read_xml(read_text(path), path)
    if root.tag != "mujoco":
        raise BadFile(
            f"{path}: expected MJCF, <mujoco>, or a URDF, <robot>; found <{root.tag}>{OTHERS.get(root.tag, '')}"
        )
    within = {path.resolve()}  # each file is included once, as MuJoCo asks
    while (parent := root.find(".//include/..")) is not None:
        k, include = next((k, x) for k, x in enumerate(parent) if x.tag == "include")
        included = path.parent / include.get("file", "")
        if not included.is_file():
            raise BadFile(
                f"{path} includes {include.get('file', '')!r}, which is not there; take the <include> out, or bring that file"
            )
        if included.resolve() in within:
            raise BadFile(f"{path} includes {include.get('file', '')!r} twice, or in a circle; take one <include> out")
        within.add(included.resolve())
        parent[k : k + 1] = list(read_xml(read_text(included), included))
    for section in list(root):
        first = root.find(section.tag)
        if first is not None and first is not section:
            first.attrib.update(section.attrib)
            first.extend(section)
            root.remove(section)
    return root


def _check(root: ET.Element, path: Path) -> None:
    _check_numbers(root, path)
    if root.find("worldbody") is None:
        raise BadFile(f"{path}: no <worldbody>; where it is a part of another file, load the one that includes it")
    compiler = root.find("compiler")
    if compiler is not None and compiler.get("coordinate") == "global":
        raise BadFile(
            f"{path}: its coordinates are global, which MuJoCo itself reads up to 2.3.3 only; let that version write the file anew "
            "(mujoco.mj_saveLastXML), which makes them local"
        )
    world = root.findall("worldbody")
    misplaced = next((x for part in world for x in part if x.tag in ("joint", "freejoint", "inertial")), None)
    if misplaced is not None:
        called = f" {misplaced.get('name')!r}" if misplaced.get("name") else ""
        raise BadFile(
            f"{path}: <{misplaced.tag}>{called} stands in <worldbody>, which does not move; put it into a <body>"
        )
    for leaf in (x for part in world for x in part.iter() if x.tag in LEAVES):
        if (inner := next((x for x in leaf if x.tag in (*LEAVES, "body")), None)) is not None:
            raise BadFile(
                f"{path}: <{inner.tag}> stands inside <{leaf.tag}> {leaf.get('name', 'without a name')!r}; put it into the <body>"
            )
    named = {tag: [x for part in world for x in part.iter(tag)] for tag in ("body", "joint", "site", "geom")}
    named |= {tag: list(root.iterfind(f"{tag}/*")) for tag in ("actuator", "equality")}
    for kind, elements in named.items():
        for name, count in Counter(x.get("name") for x in elements if x.get("name")).items():
            if count > 1:
                raise BadFile(f"{path}: {kind} {name!r} stands {count} times; give each a name of its own")
    for body in root.iter("body"):
        for joint in (*body.findall("freejoint"), *body.findall("joint[@type='free']")):
            name = joint.get("name")
            what = f"joint {name!r}" if name else f"the joint of body {body.get('name', 'without a name')!r}"
            raise BadFile(
                f"{path}: {what} is free; take it out where the base stands still, else write it as three slides and three hinges, "
                "so that the pose can be chosen as coordinates"
            )
    for joint in (x for part in world for x in part.iter("joint")):
        if joint.get("type", "hinge") not in KINDS:
            raise BadFile(
                f"{path}: joint {joint.get('name', 'without a name')!r} has type {joint.get('type')!r}, expected one of "
                f"{', '.join(KINDS)}; a body that stands fast on another one has no joint: take it out"
            )
    for tag in REFUSED:
        if root.find(f".//{tag}") is not None:
            raise BadFile(
                f"{path}: <{tag}> is not read; loops are made of <connect>, <weld> and <joint> under <equality>"
            )
    check_tendons(root, path)
    _check_forces(root, path)


def _check_forces(root: ET.Element, path: Path) -> None:
    """Refuse forces that are not read, and say what they would take instead."""
    for joint in root.iter("joint"):
        what = f"joint {joint.get('name', 'of a default class')!r}"
        if any(numbers(joint, "springdamper")):
            raise BadFile(
                f"{path}: 'springdamper' of {what} is not read; give 'stiffness' and 'damping', as MuJoCo computes and writes them "
                "(mujoco.mj_saveLastXML)"
            )
        for key, of in (("damping", "the rate"), ("stiffness", "the position")):
            if any(numbers(joint, key)[1:]):
                raise BadFile(f"{path}: {key!r} of {what} is a polynomial of {of}; one number is read: keep the first")
    for body in root.iter("body"):
        if any(numbers(body, "gravcomp")):
            raise BadFile(
                f"{path}: 'gravcomp' of body {body.get('name', 'without a name')!r} is not read: no force here takes a share of a "
                "body's weight; take it out, and the motors carry all of the weight"
            )
    option = root.find("option")
    for key in ("density", "viscosity"):
        if option is not None and any(numbers(option, key)):
            raise BadFile(f"{path}: {key!r} of <option> is not read: there are no forces of a fluid here; take it out")
    for actuator in (*root.iterfind("actuator/*"), *root.iterfind(".//default/*")):
        if actuator.tag in ("joint", "tendon"):
            continue
        for key in ("armature", "damping"):
            if any(numbers(actuator, key)):
                name = actuator.get("name", "without a name")
                raise BadFile(f"{path}: {key!r} of actuator {name!r} is not read; give it to the joint that it drives")


def _check_balls(root: ET.Element, path: Path) -> None:
    """Refuse forces of ball joints, whose classes are written out already."""
    for ball in root.iterfind("worldbody//joint[@type='ball']"):
        for key in OF_BALLS:
            if any(numbers(ball, key)):
                raise BadFile(
                    f"{path}: {key!r} of ball joint {ball.get('name', 'without a name')!r} is not read: three hinges take its place, whose "
                    "rates are not its turning; take it out, and name what the hinges have under 'efforts' of a robot file"
                )


def _check_numbers(root: ET.Element, path: Path) -> None:
    """Check that numbers are numbers, and as many as there should be."""
    for element in root.iter():
        for key in NUMBERS.keys() & element.attrib.keys() if element.tag in READ else ():
            least, most = NUMBERS[key]
            try:
                found = numbers(element, key)
                fine = least <= len(found) <= most and all(map(math.isfinite, found))
            except ValueError:
                fine = False
            if not fine:
                count = f"{least} number{'s' if least > 1 else ''}" if least == most else "numbers"
                raise BadFile(
                    f"{path}: {key} of <{element.tag}> {element.get('name', '')!r} is {element.get(key)!r}, expected {count}"
                )


def _simplify(root: ET.Element) -> bool:
    """Keep one body in the world and one joint a body, name everything, and return whether ball joints were replaced."""
    world = root.find("worldbody")
    assert world is not None
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
        site.tag, site.attrib = "body", {k: v for k, v in site.attrib.items() if k in ("name", *PLACEMENT)}
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
    """Return the joints in MuJoCo's order, a body's own before those of its children, and their positions as drawn [rad or m]."""
    degree = np.pi / 180 if in_degrees(root) else 1.0
    names, drawn = [], []

    def walk(body: ET.Element) -> None:
        for joint in body.findall("joint"):
            names.append(str(joint.get("name")))
            drawn.append(float(joint.get("ref", 0)) * (1 if joint.get("type") == "slide" else degree))
        for child in body.findall("body"):
            walk(child)

    for world in root.findall("worldbody"):
        walk(world)
    for name in names:
        if names.count(name) > 1:
            raise BadFile(f"{path}: joint {name!r} stands twice")
    return names, np.array(drawn)


def springs_of(root: ET.Element) -> list[dict[str, object]]:
    """Return the springs of the joints as efforts: stiffness, and where they are at rest."""
    degree = np.pi / 180 if in_degrees(root) else 1.0
    found: list[dict[str, object]] = []
    for joint in root.iterfind("worldbody//joint[@stiffness]"):
        if stiffness := (numbers(joint, "stiffness") or [0.0])[0]:
            rest = numbers(joint, "springref", "0")[0] * (1.0 if joint.get("type") == "slide" else degree)
            found.append({"of": joint.get("name"), "model": "spring", "initial": stiffness, "rest": rest})
    return found
