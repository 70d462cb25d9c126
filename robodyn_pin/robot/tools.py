"""Tools: bodies fixed to a link, with frames such as a tool centre, from the robot file or a file of their own."""

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile
from robodyn_pin.identification.parameters import why_not_physical
from robodyn_pin.robot.robot_file import FrameSpec, RobotFile, ToolSpec
from robodyn_pin.robot.urdf_writer import loaded_urdf


class ToolFile(ToolSpec):
    """A tool in a file of its own."""

    name: str


def equipped(file: RobotFile, urdf: str, where: str) -> tuple[RobotFile, str]:
    """Return robot file and URDF with the file's tools as links and frames; tools of unknown inertia stay in the file.

    Raises:
        BadFile: a tool that cannot exist, or whose frame is named like another.
    """
    frames = dict(file.frames)
    for name, tool in file.tools.items():
        for frame, place in tool.frames.items():
            placed = FrameSpec(link=tool.link, at=place.at, rpy=place.rpy)
            if frames.setdefault(frame, placed) != placed:
                raise BadFile(f"{where}: frame {frame!r} of tool {name!r} is named twice; give it another name")
        if (body := _body(name, tool, where)) is not None:
            urdf = loaded_urdf(urdf, tool.link, name, body)
    unknown = {name: tool for name, tool in file.tools.items() if tool.unknown}
    return file.model_copy(update={"tools": unknown, "frames": frames}), urdf


def check_weighed(file: RobotFile, robot: str) -> None:
    """Check that mass, centre and inertia of every tool are known.

    Raises:
        BadFile: the robot carries a tool of unknown mass, centre or inertia.
    """
    for name, tool in file.tools.items():
        raise BadFile(
            f"robot {robot!r} carries the tool {name!r}, whose {' and '.join(tool.unknown)} its file does not say: torques are "
            "not known; add them to the tool, or leave the tool out"
        )


def _body(name: str, tool: ToolSpec, where: str) -> np.ndarray | None:
    """Return the parameters (10,) about the link's frame; None where some are unknown."""
    if tool.mass is None or tool.centre is None or tool.inertia is None:
        return None
    I = tool.inertia
    about_centre = np.array([[I.xx, I.xy, I.xz], [I.xy, I.yy, I.yz], [I.xz, I.yz, I.zz]])
    x = pin.Inertia(tool.mass, np.array(tool.centre, float), about_centre).toDynamicParameters()
    if why := why_not_physical(x):
        raise BadFile(f"{where}: tool {name!r} cannot exist: {why}")
    return np.asarray(x)
