"""Mesh files of a URDF: where they are searched, and what is drawn without them."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np

from robodyn_pin.robot.packages import package_places, places_said


@dataclass(frozen=True)
class Drawable:
    """A URDF whose meshes can all be read."""

    urdf_xml: str
    lost: tuple[str, ...]  # file names of the meshes that are left out

    @property
    def remark(self) -> str:
        """A sentence about what is not drawn; empty if everything is."""
        if not self.lost:
            return ""
        more = f" and {len(self.lost) - 1} more" if len(self.lost) > 1 else ""
        return (
            f"not drawn: mesh {self.lost[0]}{more}, not found or not readable; looked beside the robot's file, in the folders "
            f"above it, and in {places_said()}"
        )


def drawable(urdf_xml: str, folder: Path) -> Drawable:
    """The URDF with the paths of its meshes, without the visual bodies whose mesh is missing or cannot be read."""
    root = ET.fromstring(urdf_xml)
    lost: dict[str, None] = {}
    readable: dict[Path, bool] = {}
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            if mesh is None:
                continue
            name = mesh.get("filename", "")
            path = located(name, folder)
            if path is not None and readable.setdefault(path, _readable(path)):
                mesh.set("filename", str(path))
            else:
                link.remove(visual)
                lost[name] = None
    return Drawable(ET.tostring(root, encoding="unicode"), tuple(lost))


def located(name: str, folder: Path) -> Path | None:
    """The file of a mesh, as `package://NAME/...`, `file://...` or a path from the URDF's folder; None if it does not exist."""
    scheme, _, rest = name.rpartition("://")
    folder = folder.resolve()
    packages = package_places()
    bases = {
        "file": [Path("/")],
        "": [folder],
        "package": [folder, *folder.parents, *packages, *(path.parent for path in packages)],
        "model": [folder, *folder.parents, *packages],
    }.get(scheme, [])
    tried = (base / rest.lstrip("/" if scheme else "") for base in bases)
    return next((path for path in tried if path.is_file()), None)


def _readable(path: Path) -> bool:
    try:
        coal.MeshLoader().load(str(path), np.ones(3))
    except (ValueError, RuntimeError):
        return False
    return True
