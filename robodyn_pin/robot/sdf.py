"""Gazebo's SDF as a URDF and a robot file of ours: a link with two parent joints is a loop, cut at the later joint.

Links stand where SDF says, so loops are assembled as drawn. Each link of the tree gets its frame at its joint.
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import of_schema, read_text
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.sdf_joints import Joint, joint_of, losses_of
from robodyn_pin.robot.sdf_poses import Poses, numbers_in, own_pose
from robodyn_pin.robot.urdf_tree import number, read_xml
from robodyn_pin.robot.urdf_writer import UNLIMITED, inertial, joint_ends, origin, text

REFUSED = {
    "model": "nested models are not read; write one model",
    "include": "included models are not read; write one model, gz sdf -p FILE does",
}
CUT = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "point", "universal": "universal", "fixed": "frame"}  # fmt: skip
BASE = "world"


def read_sdf(path: Path) -> tuple[RobotFile, str]:
    """Return closures, joint losses and gravity of an SDF file, and the text of a URDF of its tree.

    The link that no joint moves stands still, also where no joint ties it to the world.

    Raises:
        BadFile: not SDF with one model, or something that this package cannot hold. UnknownName: a joint of no such link.
    """
    root = read_xml(read_text(path), path)
    model = _model(root, path)
    if float(number(root, "version", 1.7, "SDF", path)) < 1.5:
        for axis in model.iterfind("joint/axis"):  # whose default was another one then
            if axis.find("use_parent_model_frame") is None:
                ET.SubElement(axis, "use_parent_model_frame").text = "true"
    poses = Poses(model, path)
    # Old files have a link of that name, which other links stand on: nothing moves it.
    links = {str(link.get("name")): link for link in model.findall("link") if link.get("name") != BASE}
    joints = [joint_of(element, poses, links, path) for element in model.findall("joint")]
    tree, cut = _spanned(joints, list(links), path)
    urdf = ET.Element("robot", name=model.get("name", path.stem))
    ET.SubElement(urdf, "link", name=BASE)
    placed = {BASE: poses.of(BASE)}
    for name in [n for n in links if n not in {j.child for j in tree}]:
        _link(urdf, name, links[name], poses.of(name), poses.of(name), path)
        joint_ends(
            ET.SubElement(urdf, "joint", name=f"fix_{name}", type="fixed"),
            BASE,
            name,
            placed[BASE].actInv(poses.of(name)),
        )
        placed[name] = poses.of(name)
    for joint in tree:
        _moved(urdf, joint, placed, links, poses, path)
    closures = [_closure(urdf, joint, placed) for joint in cut]
    for joint in joints:
        if joint.mimic is not None:
            other, factor, offset = joint.mimic
            of = {joint.name: 1.0, other: -factor}
            closures.append({"name": f"{joint.name}_mimics_{other}", "kind": "coupling", "of": of, "offset": offset})
    following = {joint.name for joint in joints if joint.mimic is not None}
    moving = [name for joint in tree for name in joint.moving if name not in following]
    if not moving:
        raise BadFile(f"{path}: nothing moves, no joint of it turns or slides; a robot here has one that does")
    file: dict[str, Any] = {
        "urdf": path.name, "closures": closures, "efforts": [x for joint in tree for x in losses_of(joint)],
        "motors": None if not following else moving,
        "gravity": numbers_in(root.find("world/gravity"), 3, "0 0 -9.81", "<gravity>", path).tolist(),
        "sources": {"everything": f"converted from {path.name}"},
    }  # fmt: skip
    bare = [name for name, link in links.items() if link.find("inertial") is None]
    if bare:
        file["sources"][f"no mass of {', '.join(bare)}"] = f"assumed: {path.name} gives no <inertial>"
    ET.indent(urdf)
    return of_schema(file, RobotFile, str(path)), ET.tostring(urdf, encoding="unicode") + "\n"


def _model(root: ET.Element, path: Path) -> ET.Element:
    """Return the one model of a file."""
    if root.tag != "sdf":
        raise BadFile(f"{path}: expected SDF, <sdf>, found <{root.tag}>")
    models = [*root.findall("model"), *root.findall("world/model")]
    moving = [model for model in models if model.find("joint") is not None] or models
    if len(moving) != 1:
        names = ", ".join(repr(model.get("name")) for model in moving) or "none"
        raise BadFile(f"{path}: expected one model with joints, found {names}; leave the robot's in the file")
    for tag, advice in REFUSED.items():
        if (found := moving[0].find(tag)) is not None:
            raise BadFile(f"{path}: <{tag}> {found.get('name', found.findtext('uri', ''))!r} in a model: {advice}")
    for tag in ("link", "joint", "frame"):
        given = [part.get("name") for part in moving[0].findall(tag)]
        for name in given:
            if not name or given.count(name) > 1:
                raise BadFile(
                    f"{path}: a <{tag}> has {'the name of another, ' + repr(name) if name else 'no name'}; give it one of its own"
                )
    return moving[0]


def _spanned(joints: list[Joint], links: list[str], path: Path) -> tuple[list[Joint], list[Joint]]:
    """Return the joints of a spanning tree from the base on, turned round where they are passed so, and those that are cut."""
    for joint in joints:
        for name in (joint.parent, joint.child):
            if name != BASE and name not in links:
                raise UnknownName("link", name, f"{path}, joint {joint.name!r}", links)
    children = {joint.child for joint in joints}
    # What no joint ties to the world starts at a link that no joint moves, which stands still.
    starts = [BASE, *sorted(links, key=lambda name: name in children)]
    reached: set[str] = set()
    tree: list[tuple[Joint, int]] = []
    left = list(joints)
    for start in starts:
        reached.add(start)
        while True:
            step = next(((j, 1) for j in left if j.parent in reached and j.child not in reached), None)
            step = step or next(((j, -1) for j in left if j.child in reached and j.parent not in reached), None)
            if step is None:
                break
            left.remove(step[0])
            reached.add(step[0].child if step[1] > 0 else step[0].parent)
            tree.append(step)
    return [j.turned() if sense < 0 else j for j, sense in tree], left


def _moved(
    urdf: ET.Element, joint: Joint, placed: dict[str, pin.SE3], links: dict[str, ET.Element], poses: Poses,
    path: Path,
) -> None:  # fmt: skip
    """Write a joint, or a chain of hinges, and the link that it moves, whose frame lies at the joint."""
    parent, last = joint.parent, len(joint.axes) - 1
    if not joint.axes:
        joint_ends(
            ET.SubElement(urdf, "joint", name=joint.name, type="fixed"),
            parent,
            joint.child,
            placed[parent].actInv(joint.place),
        )
    for k, (name, axis) in enumerate(zip(joint.moving, joint.axes, strict=True)):
        child = joint.child if k == last else f"{name}_link"
        if child != joint.child:
            ET.SubElement(urdf, "link", name=child)
        element = ET.SubElement(urdf, "joint", name=name, type="prismatic" if joint.kind == "prismatic" else "revolute")
        joint_ends(element, parent, child, placed[parent].actInv(joint.place))
        ET.SubElement(element, "axis", xyz=text(axis.direction))
        limit = {"lower": axis.lower, "upper": axis.upper, "effort": axis.effort, "velocity": axis.velocity}
        ET.SubElement(element, "limit", {key: text([np.clip(x, -UNLIMITED, UNLIMITED)]) for key, x in limit.items()})
        placed[child], parent = joint.place, child
    _link(urdf, joint.child, links[joint.child], poses.of(joint.child), joint.place, path)
    placed[joint.child] = joint.place


def _link(urdf: ET.Element, name: str, link: ET.Element, at: pin.SE3, frame: pin.SE3, path: Path) -> None:
    """Write a link that stands at `at`, its URDF frame at `frame`."""
    if name in {str(x.get("name")) for x in urdf.findall("link")}:
        raise BadFile(f"{path}: link {name!r} has the name of another part of the tree; rename it")
    element, shift = ET.SubElement(urdf, "link", name=name), frame.actInv(at)
    body = link.find("inertial")
    if body is not None:
        what = f"link {name!r}"
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        usual = ("1", "0", "0", "1", "0", "1")
        ixx, ixy, ixz, iyy, iyz, izz = (
            float(numbers_in(body.find(f"inertia/{key}"), 1, value, f"<{key}> of {what}", path)[0])
            for key, value in zip(keys, usual, strict=True)
        )
        mass = float(numbers_in(body.find("mass"), 1, "1", f"<mass> of {what}", path)[0])
        centre = shift * own_pose(body, f"the <inertial> of {what}", path)
        I = centre.rotation @ np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]) @ centre.rotation.T
        element.append(inertial(pin.Inertia(mass, centre.translation, I)))
    for visual in link.findall("visual"):
        _visual(element, visual, shift, path)


def _visual(element: ET.Element, visual: ET.Element, shift: pin.SE3, path: Path) -> None:
    """Write a shape that a URDF has; leave out others."""
    what = f"visual {visual.get('name')!r}"
    drawn = ET.Element("geometry")
    for tag, keys in (
        ("box", ("size",)),
        ("sphere", ("radius",)),
        ("cylinder", ("radius", "length")),
        ("mesh", ("uri",)),
    ):
        shape = visual.find(f"geometry/{tag}")
        if shape is None:
            continue
        if tag == "mesh":
            scale = numbers_in(shape.find("scale"), 3, "1 1 1", f"<scale> of {what}", path)
            ET.SubElement(drawn, "mesh", filename=shape.findtext("uri", "").strip(), scale=text(scale))
        else:
            sizes = {
                key: text(numbers_in(shape.find(key), 3 if key == "size" else 1, "", f"<{key}> of {what}", path))
                for key in keys
            }
            ET.SubElement(drawn, tag, sizes)
        out = ET.SubElement(element, "visual")
        origin(out, shift * own_pose(visual, what, path))
        out.append(drawn)


def _closure(urdf: ET.Element, joint: Joint, placed: dict[str, pin.SE3]) -> dict[str, object]:
    """Return a cut joint as a closure, between two frames whose x lies along its axis."""
    frames = []
    turn = np.eye(3)
    if joint.axes:
        x = joint.axes[0].direction
        across = joint.axes[1].direction if len(joint.axes) == 2 else np.eye(3)[np.abs(x).argmin()]
        z = np.cross(x, across)
        z /= np.linalg.norm(z)
        turn = np.stack([x, np.cross(z, x), z], axis=1)
    for link, end in ((joint.parent, "a"), (joint.child, "b")):
        name = f"{joint.name}_{end}"
        ET.SubElement(urdf, "link", name=name)
        at = placed[link].actInv(joint.place * pin.SE3(turn, np.zeros(3)))
        joint_ends(ET.SubElement(urdf, "joint", name=f"fix_{name}", type="fixed"), link, name, at)
        frames.append(name)
    return {"name": joint.name, "kind": CUT[joint.kind], "between": frames}
