"""Loops that a URDF closes by `<constraint>`, proposed for urdfdom (pull request 264): joints between two links of the tree.

    <constraint name="tip" type="revolute">
      <parent link="rod"/><parent_origin xyz="0 0 0.3" rpy="0 0 0"/><parent_axis xyz="0 1 0"/>
      <child link="lever"/><child_origin .../><child_axis .../>
    </constraint>

Origins count from the links, axes from the origins; what is missing is as in a `<joint>`: no offset, the axis 1 0 0.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import turned_onto
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.numbers import parsed
from robodyn_pin.robot.robot_file import FrameClosureSpec, FrameSpec

# Type -> kind of closure, and what the axes of both frames must be turned onto.
TYPES: Mapping[str, tuple[str, str]] = {
    "revolute": ("revolute", "xx"),
    "continuous": ("revolute", "xx"),
    "prismatic": ("prismatic", "xx"),
    "cylindrical": ("cylindrical", "xx"),
    "universal": ("universal", "xy"),
    "planar": ("planar", "zz"),
    "spherical": ("point", ""),
    "ball": ("point", ""),
    "fixed": ("frame", ""),
}


def constraints_of(urdf: str, path: Path) -> tuple[list[FrameClosureSpec], dict[str, FrameSpec]]:
    """Return the closures that the constraints of a URDF are, and the frames that they hold together.

    Raises:
        BadFile, UnknownName: a constraint without its links, of an unknown type, or with what are no numbers.
    """
    closures, frames = [], {}
    for k, element in enumerate(ET.fromstring(urdf).findall("constraint")):
        name = element.get("name") or f"loop_{k + 1}"
        where = f"{path}: <constraint> {name!r}"
        said = str(element.get("type")).lower()
        if said not in TYPES:
            raise UnknownName("type", said, where, TYPES)
        kind, onto = TYPES[said]
        sides = tuple(f"{name}_{side}" for side in ("parent", "child"))
        for frame, side, axis in zip(sides, ("parent", "child"), onto or "  ", strict=True):
            frames[frame] = _frame(element, side, axis.strip(), where)
        closures.append(FrameClosureSpec.model_validate({"name": name, "kind": kind, "between": sides}))
    return closures, frames


def _frame(element: ET.Element, side: str, axis: str, where: str) -> FrameSpec:
    """Return the frame of one side, its `axis` turned onto the one that is given."""
    link = element.find(side)
    if link is None or not link.get("link"):
        raise BadFile(f'{where} has no <{side} link="..."/>; name the two links that it holds together')
    origin = element.find(f"{side}_origin")
    turn = pin.rpy.rpyToMatrix(_three(origin, "rpy", "0 0 0", where))
    if axis:
        along = _three(element.find(f"{side}_axis"), "xyz", "1 0 0", where)
        if not along.any():
            raise BadFile(f"{where}: <{side}_axis> is zero and has no direction")
        turn = turn @ turned_onto(axis, along).rotation
    at, rpy = _three(origin, "xyz", "0 0 0", where), pin.rpy.matrixToRpy(turn)
    return FrameSpec(link=str(link.get("link")), at=_plain(at), rpy=_plain(rpy))


def _three(element: ET.Element | None, key: str, usual: str, where: str) -> np.ndarray:
    """Return the numbers (3,) of an attribute."""
    text = usual if element is None else element.get(key, usual)
    values = [parsed(word) for word in text.split()]
    if len(values) != 3 or None in values:
        raise BadFile(f"{where}: {key} is {text!r}, expected three numbers")
    return np.array(values, float)


def _plain(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) + 0.0 for v in values)
    return x, y, z
