"""The visual bodies of a URDF; if it has none, a skeleton with a ball at every joint and rods between them."""

import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.quiet import quiet

THICK = 0.04  # of the longest link
SHORTEST = 0.02  # of the longest link: shorter rods are left out


def visuals(model: pin.Model, urdf_xml: str, package_dirs: Sequence[str]) -> pin.GeometryModel:
    """The visual bodies of the URDF that `model` was built from, or a skeleton if it has none.

    Raises:
        BadFile: no visual body, or a mesh that cannot be read.
    """
    try:  # package_dirs by name: as fourth argument Pinocchio takes it for a geometry model
        with quiet():
            found = pin.buildGeomFromUrdfString(
                model, drawn(urdf_xml), pin.GeometryType.VISUAL, package_dirs=[os.fspath(path) for path in package_dirs]
            )
    except ValueError as error:
        raise BadFile(f"the visual bodies of {model.name!r} cannot be read: {error}") from error
    if found.ngeoms == 0:
        raise BadFile(f"nothing to draw: no link of {model.name!r} has a <visual>")
    return found


def drawn(urdf_xml: str) -> str:
    """The URDF itself if it has visual bodies, else with a skeleton of balls and rods."""
    root = ET.fromstring(urdf_xml)
    if root.find("link/visual") is not None:
        return urdf_xml
    links = {link.get("name"): link for link in root.findall("link")}
    steps = [(joint, _numbers(joint.find("origin"))) for joint in root.findall("joint")]
    longest = max((float(np.linalg.norm(step)) for _, step in steps), default=0.0) or 0.1
    for joint, step in steps:
        parent, child = (links[next(joint.iter(end)).get("link")] for end in ("parent", "child"))
        _shape(child, np.zeros(3), np.eye(3), "1 0.55 0 1", "sphere", radius=f"{1.5 * THICK * longest:.4g}")
        length = float(np.linalg.norm(step))
        if length > SHORTEST * longest:
            along = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), step).toRotationMatrix()
            size = {"radius": f"{THICK * longest:.4g}", "length": f"{length:.6g}"}
            _shape(parent, step / 2, along, "0.35 0.4 0.45 1", "cylinder", **size)
    return ET.tostring(root, encoding="unicode")


def _numbers(origin: ET.Element | None) -> np.ndarray:
    return np.array((origin.get("xyz", "0 0 0") if origin is not None else "0 0 0").split(), float)


def _shape(link: ET.Element, at: np.ndarray, R: np.ndarray, colour: str, kind: str, **size: str) -> None:
    visual = ET.SubElement(link, "visual")
    rpy = pin.rpy.matrixToRpy(R)
    ET.SubElement(visual, "origin", xyz=" ".join(f"{x:.9g}" for x in at), rpy=" ".join(f"{x:.9g}" for x in rpy))
    ET.SubElement(ET.SubElement(visual, "geometry"), kind, size)
    material = ET.SubElement(visual, "material", name=colour)
    ET.SubElement(material, "color", rgba=colour)
