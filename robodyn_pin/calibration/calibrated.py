"""A calibrated robot as files that anybody can load: the errors of its geometry written into URDF and robot file."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin
import yaml

from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import CouplingSpec, FrameClosureSpec, MotorSpec, RobotFile
from robodyn_pin.robot.urdf_writer import origin

AT_ZERO = 1e-6  # [rad or m] joints nearer to zero at home are not written
SAME = 1e-9  # [m] between the robot that was fitted and the one that is written


def calibrated_texts(robot: ErringRobot, e: np.ndarray, simulated: bool) -> tuple[str, str, Robot]:
    """Texts of NAME_calibrated.urdf and NAME_calibrated.yaml, and the robot that they hold.

    Base, targets and further encoders are no part of the robot: their errors stand in the result only.

    Raises:
        BadFile: an offset that no robot file can hold. RobodynError: the robot that is written is not the one that was fitted.
    """
    name = f"{robot.robot.name}_calibrated"
    root = ET.fromstring(robot.robot.urdf_xml)
    joints = {str(joint.get("name")): joint for joint in root.findall("joint")}
    for joint in robot.robot.model.names[1:]:
        _displace(joints.get(joint), robot.placement(e, ("joint", joint)))
    closures = [_closure(spec, robot, e, root) for spec in robot.robot.file.closures]
    motors = _motors(robot, e, joints)
    urdf = '<?xml version="1.0"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
    origin_of = "simulated" if simulated else "measured"
    sources = {
        "placements of joints, closures and encoders": f"calibrated from {origin_of} points"
    } | robot.robot.file.sources
    file = robot.robot.file.model_copy(
        update={"urdf": Path(f"{name}.urdf"), "closures": closures, "motors": motors, "sources": sources}
    )
    built = build(name, file, urdf, Path(f"{name}.urdf"))
    home = {
        joint: float(value)
        for joint, value in zip(built.model.names[1:], built.home, strict=True)
        if abs(value) > AT_ZERO
    }
    file = file.model_copy(update={"home": file.home | home})
    content = file.model_dump(mode="json", exclude_defaults=True)
    kind = "SIMULATED" if simulated else "measured"
    note = f"# {robot.robot.name}, calibrated from {kind} points; see result.json beside it.\n"
    text = note + yaml.safe_dump(content, sort_keys=False, width=120)
    built = build(name, RobotFile.model_validate(yaml.safe_load(text)), urdf, Path(f"{name}.urdf"))
    return urdf, text, built


def check_same(robot: ErringRobot, e: np.ndarray, built: Robot, c: np.ndarray, start: np.ndarray) -> None:
    """See that a written robot is where the fitted one is, at coordinates c (N, d); `start` (N, joints) is near its closed positions.

    Raises:
        RobodynError: it is not.
    """
    own = np.array(
        [0.0 if error.group in ("base", "tool") else value for error, value in zip(robot.errors, e, strict=True)]
    )
    at_zero = robot.rigid().with_base(pin.SE3.Identity())
    plain = built.with_coordinates(robot.robot.coordinates.names)
    written = ErringRobot(plain, (), robot.targets)
    fitted = at_zero.predict(own, c, start, slopes=False)
    found = written.predict(np.zeros(0), c, fitted.q, slopes=False)
    off = max((float(np.abs(found.places[k] - fitted.places[k]).max()) for k in fitted.places), default=0.0)
    if off > SAME:
        raise RobodynError(
            f"the calibrated robot as written is {off:.2g} m off the one that was fitted; nothing was kept"
        )


def _displace(joint: ET.Element | None, by: pin.SE3) -> None:
    """Move a joint of a URDF in its own frame."""
    if joint is None or by.isIdentity(0.0):
        return
    old = joint.find("origin")
    xyz, rpy = (
        np.zeros(3) if old is None else np.array(old.get(key, "0 0 0").split(), float) for key in ("xyz", "rpy")
    )
    if old is not None:
        joint.remove(old)
    origin(joint, pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz) * by)


def _closure(
    spec: FrameClosureSpec | CouplingSpec, robot: ErringRobot, e: np.ndarray, root: ET.Element
) -> FrameClosureSpec | CouplingSpec:
    """A closure with its ends displaced: a link that is nothing but such an end moves in the URDF, where struts find it, too."""
    if isinstance(spec, CouplingSpec):
        return spec
    at, between = [np.array(place, float) for place in spec.at], list(spec.between)
    for side, k in (("a", 0), ("b", 1)):
        moved = robot.placement(e, ("end", spec.name, side))
        leaf = _leaf(between[k], robot, root) if not at[k].any() else None
        if leaf is not None:
            _displace(leaf, moved)
        elif not np.array_equal(moved.rotation, np.eye(3)):
            between[k] = _new_end(root, spec, side, pin.SE3(np.eye(3), at[k]) * moved)
            at[k] = np.zeros(3)
        else:
            at[k] = at[k] + moved.translation
    length = _total(robot, e, ("length", spec.name))
    changes: dict[str, object] = {"at": tuple(tuple(place.tolist()) for place in at), "between": tuple(between)}
    if spec.length is not None:
        changes["length"] = spec.length + length
    return spec.model_copy(update=changes)


def _new_end(root: ET.Element, spec: FrameClosureSpec, side: str, placement: pin.SE3) -> str:
    """A link that is nothing but a turned end of a closure, fixed where that end was; its name.

    Raises:
        BadFile: the end is at a frame that is no link.
    """
    link, name = spec.between["ab".index(side)], f"{spec.name}_{side}_end"
    if link not in {str(x.get("name")) for x in root.iterfind("link")}:
        raise BadFile(
            f"closure {spec.name!r} is at {link!r}, which is no link: its axis cannot be turned there; name a link under 'between'"
        )
    ET.SubElement(root, "link", name=name)
    joint = ET.SubElement(root, "joint", name=f"{name}_fixed", type="fixed")
    ET.SubElement(joint, "parent", link=link)
    ET.SubElement(joint, "child", link=name)
    origin(joint, placement)
    return name


def _leaf(link: str, robot: ErringRobot, root: ET.Element) -> ET.Element | None:
    """The fixed joint of a link that carries nothing and that one closure alone speaks of; else None."""
    ends = [name for spec in robot.robot.file.closures if isinstance(spec, FrameClosureSpec) for name in spec.between]
    if ends.count(link) != 1 or link in {spec.frame for spec in robot.targets.values()}:
        return None
    if link in {parent.get("link") for parent in root.iterfind("joint/parent")}:
        return None
    fixed = root.iterfind("joint[@type='fixed']")
    return next((joint for joint in fixed if any(child.get("link") == link for child in joint.iterfind("child"))), None)


def _motors(robot: ErringRobot, e: np.ndarray, joints: Mapping[str, ET.Element]) -> list[str | MotorSpec] | None:
    """The motors with their encoders' offsets and gears; an offset of a joint that nothing else counts turns the joint itself."""
    r = robot.robot
    specs = list(r.file.motors if r.file.motors is not None else list(r.model.names)[1:])
    names = [spec if isinstance(spec, str) else spec.name for spec in specs]
    coupled = {joint for c in r.file.closures if isinstance(c, CouplingSpec) for joint in c.of}
    counted = [joint for spec in specs for joint in ([spec] if isinstance(spec, str) else spec.of)]
    for name in r.coordinates.names:
        offset = _total(robot, e, ("offset", name))
        gear = 1 + _total(robot, e, ("gear", name))
        if not offset and gear == 1:
            continue
        if name not in names:
            raise BadFile(
                f"{name!r} is no motor of {r.name!r}: a robot file cannot hold an offset of it; name motors under 'coordinates'"
            )
        spec = specs[names.index(name)]
        if isinstance(spec, str) and gear == 1 and counted.count(spec) == 1 and spec not in coupled:
            k = r.model.joints[r.model.getJointId(spec)].idx_v
            axis = _axis(r, spec)
            moved = (
                pin.SE3(np.eye(3), offset * axis)
                if r.loops.sliding[k]
                else pin.SE3(pin.exp3(offset * axis), np.zeros(3))
            )
            _displace(joints.get(spec), moved)
            continue
        of = {spec: 1.0} if isinstance(spec, str) else spec.of
        before = 0.0 if isinstance(spec, str) else spec.offset
        new = {joint: factor / gear for joint, factor in of.items()}
        specs[names.index(name)] = MotorSpec(name=name, of=new, offset=(before - offset) / gear)
    return specs if r.file.motors is not None or any(not isinstance(spec, str) for spec in specs) else None


def _total(robot: ErringRobot, e: np.ndarray, place: tuple[str, ...]) -> float:
    return float(sum(value for error, value in zip(robot.errors, e, strict=True) if error.place == place))


def _axis(robot: Robot, joint: str) -> np.ndarray:
    """Axis (3,) of a joint in its own frame."""
    model, data = robot.model, robot.model.createData()
    pin.computeJointJacobians(model, data, np.zeros(model.nv))
    j = model.getJointId(joint)
    column = pin.getJointJacobian(model, data, j, pin.ReferenceFrame.LOCAL).reshape(6, -1)[:, model.joints[j].idx_v]
    return np.asarray(column[:3] if robot.loops.sliding[model.joints[j].idx_v] else column[3:])
