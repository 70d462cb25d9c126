"""A robot as MuJoCo's MJCF: loops as <equality>, motors as actuators.

A body of MJCF may move by several joints, so links without inertia go into the next body: MuJoCo refuses to move what has no mass.
"""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Coupling
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.exported_parts import (
    axis_of,
    joint_chains,
    losses,
    massless,
    no_mass,
    place_of,
    shapes_of,
    slides,
)
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.urdf_tree import body_name
from robodyn_pin.robot.urdf_writer import UNLIMITED, text

LIGHT = 1e-12  # [kg], and a hundredth of it in kg m^2: what MuJoCo moves at least, and no torque shows
ROUND_OFF = 1e-12  # [rad or m] of positions that closing the loops found
EQUALITIES = {"point": "connect", "planar_point": "connect", "revolute": "connect", "frame": "weld"}


def mjcf_of(robot: Robot) -> tuple[str, list[str]]:
    """Return the text of an MJCF file, and what of the robot it does not hold, a sentence each.

    A `planar_point` becomes a <connect>, whose third equation the plane fulfils; a `revolute` two of them, at its point and a
    metre along its axis; a coupling of more than two joints, and a motor of several, a fixed tendon.

    Raises:
        BadFile: a closure that MJCF has no equality for; names it.
    """
    root, lost = ET.Element("mujoco", model=robot.name), list[str]()
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    ET.SubElement(root, "option", gravity=text(robot.model.gravity.linear))
    bodies, damped = {0: ET.SubElement(root, "worldbody")}, losses(robot, lost, ("viscous", "coulomb", "armature"))
    order: list[int] = []
    for chain in joint_chains(robot):
        order += chain
        bodies[chain[-1]] = _body(robot, bodies[robot.model.parents[chain[0]]], chain, damped)
    lost += massless([str(body.get("name")) for j, body in bodies.items() if j and no_mass(robot.model, j)], LIGHT)
    for joint, shape in shapes_of(robot, lost):
        if joint in bodies:
            bodies[joint].append(_geom(shape))
    _ties(robot, root, bodies)
    _actuators(robot, root)
    home = robot.home[[joint - 1 for joint in order]]
    home[np.abs(home) < ROUND_OFF] = 0.0
    if home.any():
        ET.SubElement(ET.SubElement(root, "keyframe"), "key", name="home", qpos=text(home))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n", lost


def _body(robot: Robot, parent: ET.Element, chain: list[int], damped: dict[int, dict[str, float]]) -> ET.Element:
    """Return the body at the end of a chain of joints, all in it."""
    model, placed = robot.model, pin.SE3.Identity()
    at = {}
    for joint in chain:
        placed = placed * model.jointPlacements[joint]
        at[joint] = placed
    place = {"pos": text(placed.translation), "quat": _quaternion(placed)}
    element = ET.SubElement(parent, "body", {"name": body_name(model, chain[-1]), **place})
    for joint in chain:
        seen, kind = placed.actInv(at[joint]), "slide" if slides(model, joint) else "hinge"
        moved = ET.SubElement(
            element, "joint", name=model.names[joint], type=kind, pos=text(seen.translation),
            axis=text(seen.rotation @ axis_of(model, joint)),
        )  # fmt: skip
        low, high = model.lowerPositionLimit[joint - 1], model.upperPositionLimit[joint - 1]
        if -UNLIMITED < low < high < UNLIMITED:
            moved.set("range", text([low, high]))
        for kind, key in (("viscous", "damping"), ("coulomb", "frictionloss"), ("armature", "armature")):
            if value := damped.get(joint, {}).get(kind):
                moved.set(key, text([value]))
    body = model.inertias[chain[-1]]
    if np.linalg.eigvalsh(body.inertia)[0] < 0:
        raise BadFile(
            f"robot {robot.name!r}: body {element.get('name')!r} cannot exist, and MuJoCo refuses it; robodyn repair finds the nearest that can"
        )
    if no_mass(model, chain[-1]):
        body = pin.Inertia(LIGHT, np.zeros(3), LIGHT / 100 * np.eye(3))
    I = body.inertia
    full = text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    element.insert(0, ET.Element("inertial", pos=text(body.lever), mass=text([body.mass]), fullinertia=full))
    return element


def _quaternion(place: pin.SE3) -> str:
    q = pin.Quaternion(place.rotation)
    return text([q.w, q.x, q.y, q.z])


def _geom(shape: tuple[str, list[float], pin.SE3, list[float]]) -> ET.Element:
    kind, sizes, place, colour = shape
    half = [x / 2 for x in sizes] if kind == "box" else [sizes[0], *(x / 2 for x in sizes[1:])]
    return ET.Element(
        "geom", type=kind, size=text(half), pos=text(place.translation), quat=_quaternion(place), rgba=text(colour),
        mass="0", contype="0", conaffinity="0",
    )  # fmt: skip


def _ties(robot: Robot, root: ET.Element, bodies: dict[int, ET.Element]) -> None:
    """Write the loops: sites where they were cut, and what holds these together."""
    if not robot.loops.closures:
        return
    held = ET.SubElement(root, "equality")
    for closure in robot.loops.closures:
        if isinstance(closure, Coupling):
            _coupling(root, held, closure)
            continue
        if closure.kind not in EQUALITIES:
            raise BadFile(
                f"robot {robot.name!r}: closure {closure.name!r} is {closure.kind}, which MJCF has no equality for; "
                f"{', '.join(EQUALITIES)} and coupling can be written"
            )
        points = {closure.name: np.zeros(3)}
        if closure.kind == "revolute":
            points[f"{closure.name}_axis"] = np.array([1.0, 0, 0])
        for name, point in points.items():
            sites = []
            for end in "ab":
                joint, place = place_of(robot, closure, end)
                place = place * pin.SE3(np.eye(3), point)
                where = {"pos": text(place.translation), "quat": _quaternion(place)}
                bodies[joint].append(ET.Element("site", {"name": f"{name}_{end}", **where}))
                sites.append(f"{name}_{end}")
            ET.SubElement(held, EQUALITIES[closure.kind], name=name, site1=sites[0], site2=sites[1])


def _coupling(root: ET.Element, held: ET.Element, closure: Coupling) -> None:
    """Write sum k q = offset: of two joints as their equality, of more as a fixed tendon of constant length."""
    (first, k), *others = closure.joints.items()
    if len(others) < 2:
        slope = -others[0][1] / k if others else 0.0
        names = {"joint1": first} | ({"joint2": others[0][0]} if others else {})
        ET.SubElement(
            held, "joint", {"name": closure.name, "polycoef": text([closure.offset / k, slope, 0, 0, 0]), **names}
        )
        return
    _tendon(root, closure.name, closure.joints)
    ET.SubElement(held, "tendon", name=closure.name, tendon1=closure.name, polycoef=text([closure.offset, 0, 0, 0, 0]))


def _tendon(root: ET.Element, name: str, joints: dict[str, float]) -> None:
    tendons = root.find("tendon")
    fixed = ET.SubElement(ET.SubElement(root, "tendon") if tendons is None else tendons, "fixed", name=name)
    for joint, factor in joints.items():
        ET.SubElement(fixed, "joint", joint=joint, coef=text([factor]))


def _actuators(robot: Robot, root: ET.Element) -> None:
    """Write motors: at their joint with their gear, or at a fixed tendon of their joints."""
    names, actuators = list(robot.model.names)[1:], ET.SubElement(root, "actuator")
    for motor, row in zip(robot.motors.names, robot.motors.S, strict=True):
        joints = {names[k]: float(row[k]) for k in np.flatnonzero(row)}
        if len(joints) == 1:
            ((joint, factor),) = joints.items()
            ET.SubElement(actuators, "motor", name=motor, joint=joint, gear=text([factor]))
        else:
            _tendon(root, f"{motor}_tendon", joints)
            ET.SubElement(actuators, "motor", name=motor, tendon=f"{motor}_tendon")
