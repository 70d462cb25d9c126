"""The joints of an SDF model."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile
from robodyn_pin.numbers import plain
from robodyn_pin.robot.sdf_poses import MODEL, Poses, numbers_in

AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "universal": 2, "ball": 3, "fixed": 0}
UNLIMITED = 1e9
UNREAD = {"screw": "write a turning and a sliding joint, and a coupling of both under 'closures' of a robot file whose 'urdf' is this file", "gearbox": "take it out, and write a coupling of the joints that it ties under 'closures' of a robot file whose 'urdf' is this file",
          "revolute2": "write two revolute joints with a light link between"}  # fmt: skip


@dataclass(frozen=True)
class JointAxis:
    """One degree of freedom of a joint."""

    direction: np.ndarray  # (3,) unit, in the joint's frame
    lower: float
    upper: float
    effort: float
    velocity: float
    damping: float
    friction: float
    stiffness: float  # of a spring
    rest: float  # position at which that spring gives no force


@dataclass(frozen=True)
class Joint:
    """A joint between two links, at zero."""

    name: str
    kind: str
    parent: str
    child: str
    place: pin.SE3  # of its frame in the model
    axes: tuple[JointAxis, ...]
    mimic: tuple[str, float, float] | None  # the other joint, factor, offset

    @property
    def moving(self) -> tuple[str, ...]:
        """Names of the tree's joints that it becomes."""
        return (self.name,) if len(self.axes) == 1 else tuple(f"{self.name}_{k + 1}" for k in range(len(self.axes)))

    def turned(self) -> "Joint":
        """Return the joint seen from its child: positions keep their sign, since the axes turn round."""
        axes = tuple(replace(axis, direction=-axis.direction) for axis in reversed(self.axes))
        return replace(self, parent=self.child, child=self.parent, axes=axes)


def joint_of(element: ET.Element, poses: Poses, links: Mapping[str, ET.Element], path: Path) -> Joint:
    """Return a <joint>.

    Raises:
        BadFile: a kind that is not read, numbers that are none. UnknownName: relative to what does not exist.
    """
    name, kind = str(element.get("name")), str(element.get("type"))
    what = f"joint {name!r}"
    if kind in UNREAD:
        raise BadFile(f"{path}: {what} is a {kind}, which is not read; {UNREAD[kind]}")
    if kind not in AXES:
        raise BadFile(f"{path}: {what} has type {kind!r}, expected one of {', '.join(AXES)}")
    parent, child = (_link_of(element.findtext(tag, "").strip(), poses) for tag in ("parent", "child"))
    if parent == child:
        raise BadFile(f"{path}: {what} ties {parent!r} to itself")
    place = poses.of(name)
    if kind == "ball":
        axes: tuple[JointAxis, ...] = tuple(_free(axis) for axis in np.eye(3))
    else:
        axes = tuple(_axis(element, tag, place, poses, what, path) for tag in ("axis", "axis2")[: AXES[kind]])
    mimic = element.find("axis/mimic")
    follows = None
    if mimic is not None and kind in ("revolute", "continuous", "prismatic"):
        m, at, ref = (
            float(numbers_in(mimic.find(key), 1, usual, f"<{key}> of {what}", path)[0])
            for key, usual in (("multiplier", "1"), ("offset", "0"), ("reference", "0"))
        )
        follows = (str(mimic.get("joint")), m, at - m * ref)
    return Joint(name, kind, parent, child, place, axes, follows)


def _link_of(name: str, poses: Poses) -> str:
    """Return the link that a parent or child means, which may be named by a frame fixed to it."""
    seen: set[str] = set()
    while (part := poses.elements.get(name)) is not None and part.tag == "frame" and name not in seen:
        seen.add(name)
        name = part.get("attached_to", name)
    return name


def _free(direction: np.ndarray) -> JointAxis:
    return JointAxis(direction, -UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, 0.0, 0.0, 0.0, 0.0)


def _axis(element: ET.Element, tag: str, place: pin.SE3, poses: Poses, what: str, path: Path) -> JointAxis:
    """Return an <axis>, in the frame of its joint."""
    axis = element.find(tag)
    if axis is None:
        raise BadFile(f'{path}: {what} has no <{tag}>; give it, or type="fixed"')
    xyz = axis.find("xyz")
    direction = numbers_in(xyz, 3, "0 0 1", f"<xyz> of {what}", path)
    if not direction.any():
        raise BadFile(f"{path}: {what} has an axis of length zero")
    within = None if xyz is None else xyz.get("expressed_in")
    if within is None and axis.findtext("use_parent_model_frame", "").strip() in ("true", "1"):
        within = MODEL  # before SDF 1.7
    if within:
        direction = place.rotation.T @ poses.of(within, what).rotation @ direction
    lower, upper = (_limit(axis, key, sign * UNLIMITED, what, path) for key, sign in (("lower", -1), ("upper", 1)))
    effort, velocity = (_limit(axis, key, UNLIMITED, what, path) for key in ("effort", "velocity"))
    effort, velocity = (UNLIMITED if x < 0 else x for x in (effort, velocity))  # -1: no limit
    damping, friction, stiffness, rest = (
        float(numbers_in(axis.find(f"dynamics/{key}"), 1, "0", f"<{key}> of {what}", path)[0])
        for key in ("damping", "friction", "spring_stiffness", "spring_reference")
    )
    if element.get("type") == "continuous":
        lower, upper = -UNLIMITED, UNLIMITED
    return JointAxis(
        direction / np.linalg.norm(direction), lower, upper, effort, velocity, damping, friction, stiffness, rest
    )


def _limit(axis: ET.Element, key: str, usual: float, what: str, path: Path) -> float:
    """Return a limit; SDF may write inf."""
    written = (axis.findtext(f"limit/{key}") or "").strip()
    if written.lower().lstrip("+-") in ("inf", "infinity"):
        return -UNLIMITED if written.startswith("-") else UNLIMITED
    try:
        value = plain(written) if written else usual
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadFile(f"{path}: <{key}> of {what} is {written!r}, expected a number")
    return float(np.clip(value, -UNLIMITED, UNLIMITED))


def losses_of(joint: Joint) -> list[dict[str, Any]]:
    """Return damping, friction and spring of a joint as efforts."""
    return [
        {"of": name, "model": model, "initial": value} | ({"rest": axis.rest} if model == "spring" else {})
        for name, axis in zip(joint.moving, joint.axes, strict=True)
        for model, value in (("viscous", axis.damping), ("coulomb", axis.friction), ("spring", axis.stiffness))
        if value
    ]
