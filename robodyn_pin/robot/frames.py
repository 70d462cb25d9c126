"""Frames by name: those of the URDF, and further ones from the robot file."""

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.robot_file import FrameSpec


def name_frames(model: pin.Model, specs: Mapping[str, str | FrameSpec], where: str) -> None:
    """Add the frames of a robot file to its model: other names for links, or tool centres placed from a link.

    Raises:
        UnknownName: no such link. BadFile: the name is taken.
    """
    for name, spec in specs.items():
        spec = FrameSpec(link=spec) if isinstance(spec, str) else spec
        if model.existFrame(name):
            raise BadFile(f"{where}: frame {name!r} is already a link or joint of the URDF; give it another name")
        number = frame_number(model, spec.link, f"{where}, frame {name!r}")
        parent = model.frames[number]
        turned = pin.rpy.rpyToMatrix(np.array(spec.rpy, float))
        placement = parent.placement * pin.SE3(turned, np.array(spec.at, float))
        model.addFrame(pin.Frame(name, parent.parentJoint, number, placement, pin.FrameType.OP_FRAME), False)


def frame_number(model: pin.Model, name: str, where: str) -> int:
    """Return Pinocchio's number of a frame.

    Raises:
        UnknownName: no such frame.
    """
    if not model.existFrame(name):
        raise UnknownName("frame", name, where, [f.name for f in model.frames])
    return int(frame_id(model, name))
