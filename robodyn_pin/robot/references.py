"""What a robot file names must stand in its URDF."""

import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.robot_file import CouplingSpec, RobotFile
from robodyn_pin.robot.urdf_tree import body_joints, body_name


def check_ends(model: pin.Model, file: RobotFile, where: str) -> None:
    """Raise BadFile where a closure ties two parts of one body."""
    for spec in file.closures:
        if isinstance(spec, CouplingSpec):
            continue
        a, b = (model.frames[frame_id(model, name)].parentJoint for name in spec.between)
        if a == b:
            raise BadFile(
                f"{where}: closure {spec.name!r}: {spec.between[0]!r} and {spec.between[1]!r} are parts of one body "
                "and do not move against each other"
            )


def check_names(model: pin.Model, motors: Axes, file: RobotFile, where: str) -> None:
    """Check early the names in sections that are used late.

    Raises:
        UnknownName: identical bodies, struts, gears or limits of what is not there.
    """
    links = [f.name for f in model.frames]
    bodies = [body_name(model, j) for j in body_joints(model)]
    for group in file.identical:
        for name in group:
            if name not in bodies:
                raise UnknownName("body with inertia", name, f"{where}, identical", bodies)
    for ends in file.struts.values():
        for name in ends:
            if name not in links:
                raise UnknownName("link", name, f"{where}, struts", links)
    axes = [*motors.names, *list(model.names)[1:]]
    for name in file.gear:
        if name not in motors.names:
            raise UnknownName("motor", name, f"{where}, gear", motors.names)
    for name in file.limits:
        if name not in axes and name != "struts":
            raise UnknownName("joint or motor", name, f"{where}, limits", [*axes, "struts"])
