"""What the writers of other formats ask of a robot: axes, chains of joints, losses of joints, shapes, ends of closures."""

import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Closure
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.robot.robot import Robot

Shape = tuple[
    str, list[float], pin.SE3, list[float]
]  # box, sphere or cylinder; sizes [m]; place; red, green, blue, opacity
GREY = [0.6, 0.6, 0.6, 1.0]


def _column(model: pin.Model, joint: int) -> np.ndarray:
    data = model.joints[joint].createData()
    model.joints[joint].calc(data, np.zeros(model.nq))
    return np.asarray(data.S).reshape(6)


def slides(model: pin.Model, joint: int) -> bool:
    """Return whether a joint slides, else it turns."""
    return bool(np.abs(_column(model, joint)[:3]).max() > 0.5)


def axis_of(model: pin.Model, joint: int) -> np.ndarray:
    """Return the axis (3,) of a joint in its own frame."""
    S = _column(model, joint)
    return S[:3] if slides(model, joint) else S[3:]


def no_mass(model: pin.Model, joint: int) -> bool:
    """Return whether nothing that a joint moves at once has inertia."""
    return not np.any(model.inertias[joint].toDynamicParameters())


def massless(names: list[str], mass: float) -> list[str]:
    """Return the sentence that says which links are written with a mass that they do not have, if any."""
    if not names:
        return []
    return [f"links without mass, written with {mass:g} kg, since what moves must have one: {', '.join(names)}"]


def place_of(robot: Robot, closure: Closure, end: str) -> tuple[int, pin.SE3]:
    """Return the joint that carries end "a" or "b" of a closure, and where the closure's frame lies in that joint's."""
    name, placement = getattr(closure, f"frame_{end}"), getattr(closure, f"placement_{end}")
    frame = robot.model.frames[frame_id(robot.model, name)]
    return int(frame.parentJoint), frame.placement * placement


def joint_chains(robot: Robot) -> list[list[int]]:
    """Return the tree's joints in chains, each from the one after the body that it hangs on to the next body.

    Between the joints of a chain is nothing with inertia, that branches, or that a closure holds.
    """
    model = robot.model
    children: dict[int, list[int]] = {}
    for joint in range(1, model.njoints):
        children.setdefault(model.parents[joint], []).append(joint)
    held = {
        place_of(robot, closure, end)[0]
        for closure in robot.loops.closures
        if isinstance(closure, Closure)
        for end in "ab"
    }
    found: list[list[int]] = []

    def hang(joint: int) -> None:
        chain = [joint]
        while no_mass(model, chain[-1]) and chain[-1] not in held and len(children.get(chain[-1], [])) == 1:
            chain.append(children[chain[-1]][0])
        found.append(chain)
        for further in children.get(chain[-1], []):
            hang(further)

    for joint in children[0]:
        hang(joint)
    return found


def losses(robot: Robot, lost: list[str], kinds: tuple[str, ...]) -> dict[int, dict[str, float]]:
    """Return efforts of single joints by joint and kind; what is no such effort is told in `lost`."""
    found: dict[int, dict[str, float]] = {}
    left = []
    for effort in robot.efforts:
        spec, rows = effort.spec, effort.rows
        single = len(rows) == 1 and np.count_nonzero(rows[0]) == 1 and not effort.closures and not spec.warmth
        if spec.model not in kinds or not single:
            left.append(effort.name if effort.name.startswith(spec.model) else f"{spec.model} of {effort.name}")
            continue
        k = int(np.flatnonzero(rows[0])[0])
        size = abs(rows[0][k]) ** (
            1 if spec.model == "coulomb" else 2
        )  # a force on the motor's side, seen by the joint
        of = found.setdefault(k + 1, {})
        of[spec.model] = of.get(spec.model, 0.0) + float(np.sum(effort.initial)) * size
    if left:
        lost.append(f"efforts that stay in the robot file only: {', '.join(left)}")
    return found


def shapes_of(robot: Robot, lost: list[str]) -> list[tuple[int, Shape]]:
    """Return boxes, spheres and cylinders with the joint that carries them; meshes are left out, which `lost` tells."""
    root, found, meshes = ET.fromstring(robot.urdf_xml), [], 0
    materials = {str(m.get("name")): m for m in root.findall("material")}
    for link in root.findall("link"):
        frame = robot.model.frames[robot.model.getFrameId(str(link.get("name")), pin.FrameType.BODY)]
        for visual in link.findall("visual"):
            drawn = visual.find("geometry")
            shape = None if drawn is None else next(iter(drawn), None)
            if shape is None or shape.tag not in ("box", "sphere", "cylinder"):
                meshes += 1
                continue
            keys = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length")}[shape.tag]
            sizes = [float(x) for key in keys for x in str(shape.get(key)).split()]
            place = frame.placement * _origin(visual.find("origin"))
            found.append((int(frame.parentJoint), (shape.tag, sizes, place, _colour(visual, materials))))
    if meshes:
        lost.append(f"{meshes} shapes that are no box, sphere or cylinder")
    return found


def _origin(element: ET.Element | None) -> pin.SE3:
    if element is None:
        return pin.SE3.Identity()
    xyz, rpy = (np.array([float(x) for x in element.get(key, "0 0 0").split()]) for key in ("xyz", "rpy"))
    return pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz)


def _colour(visual: ET.Element, materials: dict[str, ET.Element]) -> list[float]:
    material = visual.find("material")
    if material is None:
        return GREY
    colour = material.find("color")
    if colour is None and (named := materials.get(str(material.get("name")))) is not None:
        colour = named.find("color")
    return GREY if colour is None else [float(x) for x in str(colour.get("rgba")).split()]
