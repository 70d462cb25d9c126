"""The masses that MuJoCo gives the bodies of an MJCF file, written into the file as <inertial> of each body.

Masses come from <inertial> or from the shapes, with their classes' densities; the compiler's settings bound and scale
them. Where they would come from a mesh, the file is refused: meshes are not read.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.mjcf_places import attribute, from_z, numbers, turned

DENSITY = "1000"  # [kg/m^3] of a shape that names none
SETTINGS = ("inertiafromgeom", "inertiagrouprange", "settotalmass", "boundmass", "boundinertia", "balanceinertia")
LEAST = 1e-15  # [kg] MuJoCo's: less is no mass
SHAPELESS = ("plane", "hfield")  # have no mass
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}


@dataclass(frozen=True)
class Mass:
    """A body of its own: mass, centre and inertia about the centre, axes of the frame that it is in."""

    mass: float
    centre: np.ndarray  # (3,) [m]
    inertia: np.ndarray  # (3, 3) [kg m^2]


def weigh(root: ET.Element, path: Path) -> None:
    """Give every body its <inertial>, and take the shapes' masses out of the file; classes are written out and
    placements are quaternions already.

    Raises:
        BadFile: a mass that only a mesh, or the shell of a shape, can tell.
    """
    world = root.find("worldbody")
    assert world is not None
    total = attribute(root, "compiler", "settotalmass", -1.0)
    found: dict[ET.Element, Mass] = {}
    for body, moves in _bodies(world, False):
        if not moves and total <= 0 and body.find("inertial") is None:
            continue  # what never moves has no use for a mass
        if (mass := _mass_of(root, body, path)) is not None:
            found[body] = _bounded(root, mass)
    whole = sum(mass.mass for mass in found.values())
    scale = total / whole if total > 0 and whole > 0 else 1.0
    compiler = root.find("compiler")
    if compiler is not None:
        for key in SETTINGS:
            compiler.attrib.pop(key, None)
    for body in world.iter("body"):
        for old in body.findall("inertial"):
            body.remove(old)
    for body, mass in found.items():
        I = scale * mass.inertia
        entries = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        attributes = {
            "pos": _text(mass.centre),
            "mass": repr(scale * mass.mass),
            "fullinertia": _text(np.array(entries)),
        }
        body.insert(0, ET.Element("inertial", attributes))


def _bodies(parent: ET.Element, moves: bool) -> Iterator[tuple[ET.Element, bool]]:
    """Yield every body, and whether a joint moves it."""
    for body in parent.findall("body"):
        moving = moves or body.find("joint") is not None
        yield body, moving
        yield from _bodies(body, moving)


def _mass_of(root: ET.Element, body: ET.Element, path: Path) -> Mass | None:
    """Return mass, centre and inertia of one body, before bounds; None where it has no mass."""
    compiler = root.find("compiler")
    rule = "auto" if compiler is None else compiler.get("inertiafromgeom", "auto")
    given = body.find("inertial")
    if rule == "true" or (rule == "auto" and given is None):
        low, high = (0.0, 5.0) if compiler is None else numbers(compiler, "inertiagrouprange", "0 5")
        shapes = [geom.attrib for geom in body.findall("geom")]
        heavy = [s for s in shapes if low <= float(s.get("group", 0)) <= high and _weighs(s)]
        parts = [_shape(geom, str(body.get("name")), path) for geom in heavy]
        if sum(part.mass for part in parts) > LEAST:
            return together(parts)
    if len(body.findall("inertial")) > 1:
        raise BadFile(f"{path}: body {body.get('name')!r} has several <inertial>, expected one; keep the right one")
    if given is None:
        bound = attribute(root, "compiler", "boundmass", 0.0), attribute(root, "compiler", "boundinertia", 0.0)
        return Mass(0.0, np.zeros(3), np.zeros((3, 3))) if any(bound) else None
    return _given(given, str(body.get("name")), path)


def _given(element: ET.Element, body: str, path: Path) -> Mass:
    """Return mass, centre and inertia that an <inertial> gives."""
    full, diagonal = numbers(element, "fullinertia"), numbers(element, "diaginertia")
    if (
        len(full or [0] * 6) != 6
        or len(diagonal or [0] * 3) != 3
        or len(numbers(element, "mass")) != 1
        or not (full or diagonal)
    ):
        raise BadFile(
            f"{path}: <inertial> of body {body!r} needs one mass, and three numbers of diaginertia or six of fullinertia"
        )
    if full:
        xx, yy, zz, xy, xz, yz = full
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        inertia = np.diag(diagonal or np.zeros(3))
    R = turned(numbers(element, "quat", "1 0 0 0"))
    return Mass(numbers(element, "mass")[0], np.array(numbers(element, "pos", "0 0 0")), R @ inertia @ R.T)


def _weighs(geom: dict[str, str]) -> bool:
    """Return whether a shape adds mass."""
    return geom.get("type") not in SHAPELESS and float(geom.get("mass", geom.get("density", DENSITY))) != 0


def _shape(geom: dict[str, str], body: str, path: Path) -> Mass:
    """Return mass, centre and inertia of a shape with its classes' attributes, in the axes of its body."""
    kind = geom.get("type", "sphere")
    what = f"{path}: the mass of body {body!r} comes from geom {geom.get('name', 'without a name')!r}"
    if "mesh" in geom or kind not in SIZES:
        raise BadFile(
            f"{what}, a {'mesh' if 'mesh' in geom else kind}, which is not read: give the body an <inertial>, or let MuJoCo write "
            'it (<compiler saveinertial="true"/>, then mujoco.mj_saveLastXML)'
        )
    if geom.get("shellinertia") == "true":
        raise BadFile(f"{what} with shellinertia, which is not read: give the body an <inertial>")
    size = _floats(geom.get("size", ""))
    at, R = np.array(_floats(geom.get("pos", "0 0 0"))), turned(_floats(geom.get("quat", "1 0 0 0")))
    if "fromto" in geom:
        ends = np.array(_floats(geom["fromto"]))
        at, along = (ends[:3] + ends[3:]) / 2, ends[:3] - ends[3:]
        length = float(np.linalg.norm(along))
        R = turned(from_z(along))
        size = [*size[:1], length / 2] if SIZES[kind] == 2 else [*size[:1], *size[:1], length / 2]
    if len(size) < SIZES[kind]:
        raise BadFile(f"{what}, a {kind} with {len(size)} sizes, expected {SIZES[kind]}")
    volume, per_mass = solid(kind, size)
    mass = float(geom["mass"]) if "mass" in geom else float(geom.get("density", DENSITY)) * volume
    return Mass(mass, at, R @ np.diag(mass * per_mass) @ R.T)


def solid(kind: str, size: list[float]) -> tuple[float, np.ndarray]:
    """Return volume [m^3] and principal inertia per mass (3,) [m^2] of a full shape; half lengths are given, z is the axis."""
    a, b, c = [*size, 0.0, 0.0][:3]
    match kind:
        case "sphere":
            return 4 / 3 * np.pi * a**3, np.full(3, 0.4 * a**2)
        case "cylinder":
            return 2 * np.pi * a**2 * b, np.array([(3 * a**2 + 4 * b**2) / 12] * 2 + [a**2 / 2])
        case "capsule":  # a cylinder and two half spheres, whose centres are 3/8 a beyond its ends
            tube, balls = 2 * np.pi * a**2 * b, 4 / 3 * np.pi * a**3
            across = tube * (3 * a**2 + 4 * b**2) / 12 + balls * (0.4 * a**2 + b**2 + 0.75 * a * b)
            about = tube * a**2 / 2 + balls * 0.4 * a**2
            return tube + balls, np.array([across, across, about]) / (tube + balls)
        case "box":
            return 8 * a * b * c, np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2]) / 3
    return 4 / 3 * np.pi * a * b * c, np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2]) / 5  # ellipsoid


def together(parts: list[Mass]) -> Mass:
    """Return several bodies as one."""
    mass = sum(part.mass for part in parts)
    centre = sum((part.mass * part.centre for part in parts), np.zeros(3)) / mass
    inertia = sum((part.inertia + part.mass * steiner(part.centre - centre) for part in parts), np.zeros((3, 3)))
    return Mass(mass, centre, inertia)


def steiner(d: np.ndarray) -> np.ndarray:
    """Return the inertia (3, 3) of one kilogram at d (3,) [m]."""
    return np.asarray(d @ d * np.eye(3) - np.outer(d, d))


def _bounded(root: ET.Element, body: Mass) -> Mass:
    """Return the body with the compiler's least mass and moments, and with moments that a body can have where the compiler balances them."""
    compiler = root.find("compiler")
    moments, axes = np.linalg.eigh(body.inertia)
    bounded = np.maximum(moments, attribute(root, "compiler", "boundinertia", 0.0))
    if compiler is not None and compiler.get("balanceinertia") == "true" and bounded[0] + bounded[1] < bounded[2]:
        bounded = np.full(3, bounded.mean())
    inertia = body.inertia if (bounded == moments).all() else axes @ np.diag(bounded) @ axes.T
    return Mass(max(body.mass, attribute(root, "compiler", "boundmass", 0.0)), body.centre, inertia)


def _floats(text: str) -> list[float]:
    return [float(x) for x in text.split()]


def _text(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)
