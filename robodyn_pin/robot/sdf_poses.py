"""Where the links, joints and frames of an SDF model stand: poses, and what they are relative to."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.numbers import LARGEST, plain

MODEL = "__model__"


def numbers_in(element: ET.Element | None, count: int, default: str, what: str, path: Path) -> np.ndarray:
    """Return the numbers in an element's text, or its default.

    Raises:
        BadFile: others than so many finite numbers.
    """
    text = default if element is None or not (element.text or "").strip() else str(element.text)
    try:
        found = [plain(x) for x in text.split()]
    except ValueError:
        found = []
    if len(found) != count or not all(math.isfinite(x) and abs(x) <= LARGEST for x in found):
        raise BadFile(
            f"{path}: {what} is {' '.join(text.split())!r}, expected {count} number{'s' if count > 1 else ''}"
        )
    return np.array(found)


def own_pose(element: ET.Element, what: str, path: Path) -> pin.SE3:
    """Return what the <pose> of an element says, whatever it is relative to."""
    pose = element.find("pose")
    quaternion = pose is not None and pose.get("rotation_format") == "quat_xyzw"
    x = numbers_in(
        pose, 7 if quaternion else 6, "0 0 0 0 0 0 1" if quaternion else "0 0 0 0 0 0", f"<pose> of {what}", path
    )
    if quaternion:
        if not x[3:].any():
            raise BadFile(f"{path}: <pose> of {what} has a quaternion of length zero")
        return pin.SE3(pin.Quaternion(*(x[[6, 3, 4, 5]])).normalized().matrix(), x[:3])
    turn = np.radians(x[3:]) if pose is not None and pose.get("degrees") in ("true", "1") else x[3:]
    return pin.SE3(pin.rpy.rpyToMatrix(turn), x[:3])


class Poses:
    """The frames of a model: placements in the model's frame, at zero of all joints."""

    def __init__(self, model: ET.Element, path: Path):
        self.path = path
        self.elements = {
            str(part.get("name")): part for tag in ("link", "joint", "frame") for part in model.findall(tag)
        }
        world = own_pose(model, f"model {model.get('name')!r}", path).inverse()
        self._found: dict[str, pin.SE3] = {MODEL: pin.SE3.Identity(), "world": world}

    def of(self, name: str, where: str = "", under: tuple[str, ...] = ()) -> pin.SE3:
        """Return the placement of a link, joint or frame.

        Raises:
            UnknownName: no such frame. BadFile: frames that are relative to each other in a circle.
        """
        if name in self._found:
            return self._found[name]
        if name not in self.elements:
            raise UnknownName("link, joint or frame", name, f"{self.path}{where and ', '}{where}", self.elements)
        if name in under:
            raise BadFile(f"{self.path}: {', '.join(under)} are relative to each other in a circle")
        part = self.elements[name]
        what = f"{part.tag} {name!r}"
        pose = part.find("pose")
        default = {"joint": part.findtext("child", "").strip(), "frame": part.get("attached_to", MODEL)}.get(
            part.tag, MODEL
        )
        base = (None if pose is None else pose.get("relative_to")) or default or MODEL
        self._found[name] = self.of(base, what, (*under, name)) * own_pose(part, what, self.path)
        return self._found[name]
