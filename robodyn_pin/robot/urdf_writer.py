"""A Pinocchio tree of one-degree joints as the text of a URDF: links, joints, inertias, simple shapes."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

UNLIMITED = 1e9  # [rad or m, per s, N m or N] what a URDF has to say of a joint without limits


def urdf_text(
    name: str, model: pin.Model, visuals: pin.GeometryModel | None, frames: Mapping[str, tuple[int, pin.SE3]]
) -> str:
    """Return the URDF of a model: one link a joint, at the joint; other bodies and `frames` (joint, placement) fixed to it.

    A body that sits at its joint gives the joint's link its name, another one is a link of its own.
    """
    robot = ET.Element("robot", name=name)
    links, taken = {0: "world"}, {"world", *model.names}
    ET.SubElement(robot, "link", name="world")
    fixed = {f.name: (f.parentJoint, f.placement) for f in model.frames if f.type == pin.FrameType.BODY}
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    for j in range(1, model.njoints):
        body, placement = next((b, at) for b, (parent, at) in fixed.items() if parent == j)
        if placement.isIdentity(1e-12):
            links[j] = body
            fixed.pop(body)
        else:
            links[j] = f"{body}_at_{model.names[j]}"
        taken.add(links[j])
        link = ET.SubElement(robot, "link", name=links[j])
        if np.any(model.inertias[j].toDynamicParameters()):
            link.append(inertial(model.inertias[j]))
        _joint(robot, model, j, links, pin.getJointJacobian(model, data, j, pin.ReferenceFrame.LOCAL))
    for frame, (j, placement) in (*fixed.items(), *frames.items()):
        unique = frame
        while unique in taken:
            unique += "_body"  # Pinocchio would find the joint of that name
        taken.add(unique)
        ET.SubElement(robot, "link", name=unique)
        joint = ET.SubElement(robot, "joint", name=f"fix_{unique}", type="fixed")
        joint_ends(joint, links[j], unique, placement)
    by_name = {str(link.get("name")): link for link in robot.findall("link")}
    for shape in visuals.geometryObjects if visuals else ():
        _visual(by_name[links[shape.parentJoint]], shape)
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"


def inertial(body: pin.Inertia) -> ET.Element:
    """Return an <inertial>, which states the inertia about the centre of mass."""
    element = ET.Element("inertial")
    ET.SubElement(element, "origin", xyz=text(body.lever), rpy="0 0 0")
    ET.SubElement(element, "mass", value=text([body.mass]))
    I = body.inertia
    entries = {"ixx": I[0, 0], "ixy": I[0, 1], "ixz": I[0, 2], "iyy": I[1, 1], "iyz": I[1, 2], "izz": I[2, 2]}
    ET.SubElement(element, "inertia", {key: text([value]) for key, value in entries.items()})
    return element


def loaded_urdf(urdf: str, link: str, name: str, x: np.ndarray, placement: pin.SE3 | None = None) -> str:
    """Return the text of a URDF with one more link, fixed to `link`: a body x (10,) about a frame placed in that link's."""
    root = ET.fromstring(urdf)
    ET.SubElement(root, "link", name=name).append(inertial(pin.Inertia.FromDynamicParameters(x)))
    joint = ET.SubElement(root, "joint", name=f"{name}_fixed", type="fixed")
    joint_ends(joint, link, name, placement or pin.SE3.Identity())
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def text(numbers: Iterable[float]) -> str:
    """Return numbers as text that reads back to the same values."""
    return " ".join(repr(float(x)) for x in numbers)


def _joint(robot: ET.Element, model: pin.Model, j: int, links: dict[int, str], S: np.ndarray) -> None:
    column = S.reshape(6, model.nv)[:, model.joints[j].idx_v]  # with one joint Pinocchio gives a vector
    slides = np.abs(column[:3]).max() > 0.5
    joint = ET.SubElement(robot, "joint", name=model.names[j], type="prismatic" if slides else "revolute")
    joint_ends(joint, links[model.parents[j]], links[j], model.jointPlacements[j])
    ET.SubElement(joint, "axis", xyz=text(column[:3] if slides else column[3:]))
    k = model.joints[j].idx_q
    lower, upper = max(model.lowerPositionLimit[k], -UNLIMITED), min(model.upperPositionLimit[k], UNLIMITED)
    effort, velocity = min(model.upperEffortLimit[k], UNLIMITED), min(model.upperVelocityLimit[k], UNLIMITED)
    limits = {"lower": lower, "upper": upper, "effort": effort, "velocity": velocity}
    ET.SubElement(joint, "limit", {name: text([x]) for name, x in limits.items()})


def joint_ends(joint: ET.Element, parent: str, child: str, placement: pin.SE3) -> None:
    """Write which links a joint ties, and where it lies in the first."""
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    origin(joint, placement)


def origin(element: ET.Element, placement: pin.SE3) -> None:
    """Write an <origin>."""
    rpy = pin.rpy.matrixToRpy(placement.rotation)
    ET.SubElement(element, "origin", xyz=text(placement.translation), rpy=text(rpy))


def _visual(link: ET.Element, shape: pin.GeometryObject) -> None:
    geometry, kind = shape.geometry, type(shape.geometry).__name__
    drawn = ET.Element("geometry")
    if kind == "Box":
        ET.SubElement(drawn, "box", size=text(2 * geometry.halfSide))
    elif kind == "Sphere":
        ET.SubElement(drawn, "sphere", radius=text([geometry.radius]))
    elif kind in ("Cylinder", "Capsule"):
        ET.SubElement(drawn, "cylinder", radius=text([geometry.radius]), length=text([2 * geometry.halfLength]))
    elif Path(shape.meshPath).suffix:
        ET.SubElement(drawn, "mesh", filename=shape.meshPath, scale=text(shape.meshScale))
    else:
        return  # planes and ellipsoids have no URDF shape
    visual = ET.SubElement(link, "visual")
    origin(visual, shape.placement)
    visual.append(drawn)
    material = ET.SubElement(visual, "material", name=f"{shape.name}_colour")
    ET.SubElement(material, "color", rgba=text(shape.meshColor))
