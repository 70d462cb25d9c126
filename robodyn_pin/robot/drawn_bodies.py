"""What of a URDF is drawn: shapes that can be read; Pinocchio's parser complains of others on stderr and goes on without."""

import math
import xml.etree.ElementTree as ET

SHAPES = {"box": {"size": 3}, "sphere": {"radius": 1}, "cylinder": {"radius": 1, "length": 1}, "capsule": {"radius": 1, "length": 1}, "mesh": {}}  # fmt: skip


def readable_visuals(root: ET.Element) -> tuple[str, str]:
    """Two texts of a URDF: with the visual bodies that can be read, for pictures, and without any, for the tree."""
    drawings = ("visual", "collision")
    for link in root.findall("link"):
        for part in [part for tag in drawings for part in link.findall(tag) if not _readable(part, root)]:
            link.remove(part)
    for material in [m for m in root.findall("material") if not _coloured(m)]:
        root.remove(material)
    drawn = ET.tostring(root, encoding="unicode")
    bare = ET.fromstring(drawn)
    for link in bare.findall("link"):
        for part in [part for tag in drawings for part in link.findall(tag)]:
            link.remove(part)
    for material in bare.findall("material"):
        bare.remove(material)
    return drawn, ET.tostring(bare, encoding="unicode")


def _readable(part: ET.Element, root: ET.Element) -> bool:
    """Whether the parser takes a <visual> or <collision>; of its material, it takes what has a colour or is known."""
    origin, geometry, material = part.find("origin"), part.find("geometry"), part.find("material")
    shape = geometry[0] if geometry is not None and len(geometry) else None
    if shape is None or shape.tag not in SHAPES or (shape.tag == "mesh" and not shape.get("filename")):
        return False
    sizes = [_numbers(shape.get(key), count, least=0) for key, count in SHAPES[shape.tag].items()]
    scale = shape.get("scale") is None or _numbers(shape.get("scale"), 3)
    placed = origin is None or all(origin.get(key) is None or _numbers(origin.get(key), 3) for key in ("xyz", "rpy"))
    known = [m.get("name") for m in root.findall("material") if _coloured(m)]
    if material is not None and not (
        material.get("name") and (_coloured(material) or (len(material) == 0 and material.get("name") in known))
    ):
        part.remove(material)  # the body is drawn in grey
    return all(sizes) and scale and placed


def _coloured(material: ET.Element) -> bool:
    colour, texture = material.find("color"), material.find("texture")
    fine = colour is None or _numbers(colour.get("rgba"), 4)
    return (
        bool(material.get("name"))
        and fine
        and (colour is not None or (texture is not None and bool(texture.get("filename"))))
    )


def _numbers(text: str | None, count: int, least: float = -math.inf) -> bool:
    try:
        found = [float(x) for x in (text or "").split()]
    except ValueError:
        return False
    return len(found) == count and all(math.isfinite(x) and x >= least for x in found)
