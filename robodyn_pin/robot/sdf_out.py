"""A robot as SDF: what was cut is a joint again, so that a link may have two parents, which Gazebo and Drake read as a loop."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import KINDS, Closure, Coupling
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.exported_parts import Shape, axis_of, losses, massless, no_mass, place_of, shapes_of, slides
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.urdf_tree import body_name
from robodyn_pin.robot.urdf_writer import UNLIMITED, text

VERSION = "1.9"
WORLD = "world"
LIGHT = 1e-12  # [kg], and a hundredth of it in kg m^2: SDF takes a link without <inertial> for one of 1 kg
JOINTS = {"point": "ball", "planar_point": "ball", "revolute": "revolute", "prismatic": "prismatic", "frame": "fixed",
          "universal": "universal"}  # fmt: skip
ASSEMBLED = 1e-9  # [m or rad] of gaps at zero


def sdf_of(robot: Robot) -> tuple[str, list[str]]:
    """Return the text of an SDF file, and what of the robot it does not hold, a sentence each.

    A `planar_point` becomes a ball, whose other turns the plane holds; a coupling of two joints a <mimic>.

    Raises:
        BadFile: loops that are open where all joints are at zero, or a closure that SDF has no joint for; names it.
    """
    _check_assembled(robot)
    model, lost = robot.model, list[str]()
    root = ET.Element("sdf", version=VERSION)
    world = ET.SubElement(root, "world", name="default")
    ET.SubElement(world, "gravity").text = text(model.gravity.linear)
    drawn = ET.SubElement(world, "model", name=robot.name)
    damped = losses(robot, lost, ("viscous", "coulomb"))
    lost += [f"the motors {', '.join(robot.motors.names)}: SDF has none"]
    names = {0: _base(robot)} | {joint: body_name(model, joint) for joint in range(1, model.njoints)}
    links = {joint: _link(drawn, robot, joint, name) for joint, name in names.items() if joint or name != WORLD}
    lost += massless([names[j] for j in range(1, model.njoints) if no_mass(model, j)], LIGHT)
    for k, (joint, shape) in enumerate(shapes_of(robot, lost)):
        if joint in links:
            links[joint].append(_visual(f"shape_{k}", shape))
    if names[0] != WORLD:
        fixed = ET.SubElement(drawn, "joint", name=f"fix_{names[0]}", type="fixed")
        _ends(fixed, WORLD, names[0])
    joints = {model.names[j]: _joint(drawn, robot, j, names, damped.get(j, {})) for j in range(1, model.njoints)}
    for closure in robot.loops.closures:
        if isinstance(closure, Coupling):
            _mimic(robot, joints, closure)
        else:
            _loop(drawn, robot, closure, names)
    ET.indent(root)
    return '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n", lost


def _check_assembled(robot: Robot) -> None:
    at_zero = robot.loops.evaluate(np.zeros((1, robot.model.nv)))
    gaps = np.abs(at_zero.phi[0])
    if gaps.max(initial=0.0) > ASSEMBLED:
        k = int(gaps.argmax())
        raise BadFile(
            f"robot {robot.name!r}: closure {robot.loops.row_owner[k]!r} is open by {gaps[k]:.3g} where all joints are at zero; "
            "SDF has loops as they are drawn: draw the URDF assembled at zero, or write MJCF"
        )


def _base(robot: Robot) -> str:
    """Return the name of the link that stands still."""
    frames = robot.model.frames
    return next((f.name for f in frames if f.type == pin.FrameType.BODY and f.parentJoint == 0), WORLD)


def _link(drawn: ET.Element, robot: Robot, joint: int, name: str) -> ET.Element:
    element = ET.SubElement(drawn, "link", name=name)
    _pose(element, robot.model.jointPlacements[joint], "" if joint == 0 else _parent(robot, joint))
    body = robot.model.inertias[joint]
    if no_mass(robot.model, joint):
        body = pin.Inertia(LIGHT, np.zeros(3), LIGHT / 100 * np.eye(3))
    inertial = ET.SubElement(element, "inertial")
    _pose(inertial, pin.SE3(np.eye(3), body.lever))
    ET.SubElement(inertial, "mass").text = text([body.mass])
    I, tensor = body.inertia, ET.SubElement(inertial, "inertia")
    for key, (i, k) in {
        "ixx": (0, 0),
        "ixy": (0, 1),
        "ixz": (0, 2),
        "iyy": (1, 1),
        "iyz": (1, 2),
        "izz": (2, 2),
    }.items():
        ET.SubElement(tensor, key).text = text([I[i, k]])
    return element


def _parent(robot: Robot, joint: int) -> str:
    above = robot.model.parents[joint]
    return body_name(robot.model, above) if above else "" if _base(robot) == WORLD else _base(robot)


def _pose(element: ET.Element, place: pin.SE3, relative: str = "") -> None:
    pose = ET.SubElement(element, "pose", {"relative_to": relative} if relative else {})
    pose.text = text([*place.translation, *pin.rpy.matrixToRpy(place.rotation)])


def _ends(joint: ET.Element, parent: str, child: str) -> None:
    ET.SubElement(joint, "parent").text = parent
    ET.SubElement(joint, "child").text = child


def _joint(drawn: ET.Element, robot: Robot, j: int, names: dict[int, str], damped: dict[str, float]) -> ET.Element:
    """Write a joint of the tree; its frame is that of its child."""
    model = robot.model
    element = ET.SubElement(drawn, "joint", name=model.names[j], type="prismatic" if slides(model, j) else "revolute")
    _ends(element, names[model.parents[j]], names[j])
    axis = ET.SubElement(element, "axis")
    ET.SubElement(axis, "xyz").text = text(axis_of(model, j))
    limit = ET.SubElement(axis, "limit")
    low, high = model.lowerPositionLimit[j - 1], model.upperPositionLimit[j - 1]
    effort, velocity = model.upperEffortLimit[j - 1], model.upperVelocityLimit[j - 1]
    for key, value in {"lower": low, "upper": high, "effort": effort, "velocity": velocity}.items():
        ET.SubElement(limit, key).text = text([value]) if abs(value) < UNLIMITED else "-inf" if value < 0 else "inf"
    if damped:
        dynamics = ET.SubElement(axis, "dynamics")
        ET.SubElement(dynamics, "damping").text = text([damped.get("viscous", 0.0)])
        ET.SubElement(dynamics, "friction").text = text([damped.get("coulomb", 0.0)])
    return element


def _loop(drawn: ET.Element, robot: Robot, closure: Closure, names: dict[int, str]) -> None:
    """Write a cut joint between the links of its two ends."""
    if closure.kind not in JOINTS:
        raise BadFile(
            f"robot {robot.name!r}: closure {closure.name!r} is {closure.kind}, which SDF has no joint for; "
            f"{', '.join(JOINTS)} and a coupling of two joints can be written"
        )
    (parent, at_a), (child, at_b) = (place_of(robot, closure, end) for end in "ab")
    element = ET.SubElement(drawn, "joint", name=closure.name, type=JOINTS[closure.kind])
    _ends(element, names[parent], names[child])
    # A universal joint's first axis is of its first link, the second one of its second.
    _pose(
        element,
        at_b if KINDS[closure.kind].key != "axes" else at_a,
        names[parent] if closure.kind == "universal" else names[child],
    )
    across = {"revolute": ("1 0 0",), "prismatic": ("1 0 0",), "universal": ("1 0 0", "0 1 0")}.get(closure.kind, ())
    for tag, direction in zip(("axis", "axis2"), across, strict=False):
        axis = ET.SubElement(element, tag)
        ET.SubElement(axis, "xyz").text = direction
        limit = ET.SubElement(axis, "limit")
        ET.SubElement(limit, "lower").text, ET.SubElement(limit, "upper").text = "-inf", "inf"


def _mimic(robot: Robot, joints: dict[str, ET.Element], closure: Coupling) -> None:
    """Write k q + l p = offset as q mimics p."""
    if len(closure.joints) != 2:
        raise BadFile(
            f"robot {robot.name!r}: closure {closure.name!r} couples {len(closure.joints)} joints, and SDF's <mimic> two; write MJCF, which does more"
        )
    (first, k), (second, other) = closure.joints.items()
    mimic = ET.SubElement(next(joints[first].iter("axis")), "mimic", joint=second)
    for key, value in {"multiplier": -other / k, "offset": closure.offset / k, "reference": 0.0}.items():
        ET.SubElement(mimic, key).text = text([value])


def _visual(name: str, shape: Shape) -> ET.Element:
    kind, sizes, place, colour = shape
    visual = ET.Element("visual", name=name)
    _pose(visual, place)
    drawn = ET.SubElement(ET.SubElement(visual, "geometry"), kind)
    keys = {
        "box": {"size": sizes},
        "sphere": {"radius": sizes[:1]},
        "cylinder": {"radius": sizes[:1], "length": sizes[1:]},
    }
    for key, values in keys[kind].items():
        ET.SubElement(drawn, key).text = text(values)
    material = ET.SubElement(visual, "material")
    for key in ("ambient", "diffuse"):
        ET.SubElement(material, key).text = text(colour)
    return visual
