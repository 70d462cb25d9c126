"""A payload: a body fixed to a link in some logs only, so that the rest tell it from the link; and known ones, and tools.

The rows of unloaded and loaded logs are [W_a 0; W_b W_l], Briot et al. (DualV), equation 49. The columns W_l are those of
a body on the joint that moves the link. All numbers of a payload count in the frame of the link, or of the frame, that is named.
"""

from dataclasses import replace

import pinocchio as pin

from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.robot import Payload, Robot, build
from robodyn_pin.robot.shapes import ShapeSpec, shape
from robodyn_pin.robot.tools import ToolFile
from robodyn_pin.robot.urdf_tree import body_name
from robodyn_pin.robot.urdf_writer import loaded_urdf


class LoadSpec(ShapeSpec):
    """A known payload, for simulation: a body of simple shape on a link or frame, along and from its axes."""

    link: str


def carrying(robot: Robot, name: str, link: str) -> Robot:
    """Return the robot with ten more columns, those of an unknown payload on a link, after its own bodies.

    Raises:
        UnknownName: no such link or frame. BadFile: it does not move; the name is taken.
    """
    place = _place(robot, link)
    if name in {f.name for f in robot.model.frames}:
        raise BadFile(f"the payload is called {name!r} like a part of robot {robot.name!r}; give it another 'name'")
    body = body_name(robot.model, place.parentJoint)
    return replace(robot, payload=Payload(name, link, body, place.parentJoint, place.placement))


def loaded(robot: Robot, load: LoadSpec) -> Robot:
    """Return the robot with a known payload in its URDF.

    Raises:
        UnknownName: no such link or frame. BadFile: it does not move.
    """
    place, name = _place(robot, load.link), f"payload_{robot.model.nframes}"  # another one for a second payload
    body = body_name(robot.model, place.parentJoint)
    urdf = loaded_urdf(robot.urdf_xml, body, name, shape(load), place.placement)
    return build(robot.name, robot.file.apart(body), urdf, robot.urdf_path)


def with_tool(robot: Robot, tool: ToolFile) -> Robot:
    """Return the robot with a tool: its frames, and its body where that is known.

    Raises:
        BadFile: no such link; a name that is taken; a body that cannot exist.
    """
    file = robot.file.model_copy(update={"tools": {**robot.file.tools, tool.name: tool}})
    return build(robot.name, file, robot.urdf_xml, robot.urdf_path)


def _place(robot: Robot, link: str) -> pin.Frame:
    """Return where a payload sits: on a link, or at a frame of the robot file or of a tool."""
    places = {f.name: f for f in robot.model.frames if f.type in (pin.FrameType.BODY, pin.FrameType.OP_FRAME)}
    if link not in places:
        raise UnknownName("link or frame", link, f"robot {robot.name!r}, which the payload is on", list(places))
    if places[link].parentJoint == 0:
        raise BadFile(f"the payload is on {link!r} of robot {robot.name!r}, which never moves; no log shows it")
    return places[link]


def loadable(robot: Robot) -> list[str]:
    """Return the links that an outer force may pull at, the tree's last one first. Struts are not among them: their load is not shared out."""
    model = robot.model
    struts = {model.frames[frame_id(model, far)].parentJoint for _, far in robot.file.struts.values()}
    links = [f for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint not in {0, *struts}]
    heavy = [f.name for f in links if f.name in robot.bodies]
    return (heavy or [f.name for f in links])[::-1]
