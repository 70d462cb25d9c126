"""Places and defaults of an MJCF file: classes resolved, every orientation a quaternion of length one."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.numbers import plain

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

TURNS = {"quat": 4, "axisangle": 4, "xyaxes": 6, "zaxis": 3, "euler": 3}  # attribute -> how many numbers
PLACED = ("body", "geom", "site", "inertial")
WITH_CLASS = ("joint", "geom", "site", "mesh", "material")
MAIN = "main"


def numbers(element: ET.Element, key: str, default: str = "") -> list[float]:
    """Return the numbers of an attribute."""
    return [plain(x) for x in element.get(key, default).split()]


def attribute(root: ET.Element, tag: str, key: str, default: float) -> float:
    """Return one number of a section of the file."""
    section = root.find(tag)
    return default if section is None else float(section.get(key, default))


def in_degrees(root: ET.Element) -> bool:
    """Return whether angles are in degrees, as they are by default."""
    compiler = root.find("compiler")
    return compiler is None or compiler.get("angle") != "radian"


@dataclass(frozen=True)
class Classes:
    """The defaults of a file: class -> tag -> attributes, those of the classes around it included."""

    defaults: Mapping[str, Mapping[str, Mapping[str, str]]]

    def resolved(self, element: ET.Element, childclass: str) -> dict[str, str]:
        """Return an element's attributes with those of its class, or of its body's; its own attributes count more."""
        default = dict(self.defaults.get(element.get("class", childclass), {}).get(element.tag, {}))
        if any(key in element.attrib for key in (*TURNS, "fromto")):  # one orientation replaces another
            default = {key: value for key, value in default.items() if key not in TURNS}
        return default | element.attrib


def classes_of(root: ET.Element) -> Classes:
    """Return the defaults of a file."""
    found: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}

    def walk(element: ET.Element, name: str, around: Mapping[str, Mapping[str, str]]) -> None:
        own = {tag: dict(attributes) for tag, attributes in around.items()}
        for entry in element:
            if entry.tag != "default":
                own[entry.tag] = own.get(entry.tag, {}) | entry.attrib
        found[name] = own
        for inner in element.findall("default"):
            walk(inner, inner.get("class", name), own)

    top = root.find("default")
    if top is not None:
        walk(top, MAIN, {})
        found[top.get("class", MAIN)] = found[MAIN]
    return Classes(found)


def write_defaults(root: ET.Element, path: Path) -> None:
    """Write into joints, shapes, sites and assets what their classes say, and take classes and defaults out of the file.

    Raises:
        UnknownName: a class that is not there.
    """
    classes = classes_of(root)

    def walk(parent: ET.Element, childclass: str) -> None:
        for element in parent:
            name = (
                element.attrib.pop("childclass", childclass)
                if element.tag == "body"
                else element.get("class", childclass)
            )
            if name not in classes.defaults:
                raise UnknownName("default class", name, str(path), classes.defaults)
            if element.tag == "body":
                walk(element, name)
            elif element.tag in WITH_CLASS:
                element.attrib.update(classes.resolved(element, childclass))
                element.attrib.pop("class", None)

    for part in (*root.findall("worldbody"), *root.findall("asset")):
        walk(part, MAIN)
    for default in root.findall("default"):
        root.remove(default)


def turn_to_quaternions(root: ET.Element, path: Path) -> None:
    """Write the orientation of every body, shape and site, and of their defaults, as a quaternion.

    Raises:
        BadFile: an orientation with too few numbers, or without direction.
    """
    compiler = root.find("compiler")
    sequence = "xyz" if compiler is None else compiler.get("eulerseq", "xyz")
    if len(sequence) != 3 or set(sequence) - set("xyzXYZ"):
        raise BadFile(
            f"{path}: eulerseq is {sequence!r}, expected three of x, y, z (turning axes) or X, Y, Z (fixed ones)"
        )
    degree = np.pi / 180 if in_degrees(root) else 1.0
    for element in root.iter():
        for key in [key for key in TURNS if key in element.attrib and element.tag in PLACED]:
            quaternion = _quaternion(key, numbers(element, key), sequence, degree)
            if quaternion is None:
                raise BadFile(
                    f"{path}: {key} of <{element.tag}> {element.get('name', '')!r} is {element.get(key)!r}, expected "
                    f"{TURNS[key]} numbers that are not all zero"
                )
            del element.attrib[key]
            element.set("quat", " ".join(repr(float(x)) for x in quaternion))
    if compiler is not None:
        compiler.attrib.pop("eulerseq", None)


def _quaternion(kind: str, x: list[float], sequence: str, degree: float) -> np.ndarray | None:
    """Return a quaternion of length one, w first; None for one without direction."""
    from scipy.spatial.transform import Rotation

    if len(x) != TURNS[kind]:
        return None
    if kind == "euler":
        turn = Rotation.identity()
        for letter, angle in zip(sequence, x, strict=True):
            step = Rotation.from_euler(letter.lower(), degree * angle)
            turn = turn * step if letter.islower() else step * turn
        return _w_first(turn)
    v = np.array(x[:3] if kind in ("axisangle", "xyaxes") else x)
    if not v.any():
        return None
    if kind == "quat":
        return v / np.linalg.norm(v)
    if kind == "axisangle":
        return _w_first(Rotation.from_rotvec(degree * x[3] * v / np.linalg.norm(v)))
    if kind == "zaxis":
        return from_z(v)
    first = v / np.linalg.norm(v)
    second = np.array(x[3:]) - first @ np.array(x[3:]) * first
    if np.linalg.norm(second) < 1e-14:
        return None
    second /= np.linalg.norm(second)
    return _w_first(Rotation.from_matrix(np.column_stack([first, second, np.cross(first, second)])))


def _w_first(turn: "Rotation") -> np.ndarray:
    return np.asarray(turn.as_quat()[[3, 0, 1, 2]])


def from_z(v: np.ndarray) -> np.ndarray:
    """Return the shortest turn of z onto v, as a quaternion (4,), w first; onto -z about x, as MuJoCo turns."""
    v = v / np.linalg.norm(v)
    axis = np.cross([0.0, 0.0, 1.0], v)
    sine = np.linalg.norm(axis)
    axis = np.array([1.0, 0.0, 0.0]) if sine < 1e-10 else axis / sine
    angle = np.arctan2(sine, v[2])
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def turned(quaternion: list[float] | np.ndarray) -> np.ndarray:
    """Return the rotation matrix (3, 3) of a quaternion, w first."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_quat(np.roll(quaternion, -1)).as_matrix())
