"""Where the packages of ROS lie that a file names: around the file, and where ROS's variables say."""

import os
import xml.etree.ElementTree as ET
from pathlib import Path

PACKAGES, PREFIXES = "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"


def package_places() -> list[Path]:
    """Return the folders in which ROS's variables say that packages lie, or that are packages themselves."""
    packages, prefixes = (
        [Path(p) for p in os.environ.get(name, "").split(os.pathsep) if p] for name in (PACKAGES, PREFIXES)
    )
    return [*packages, *(prefix / "share" for prefix in prefixes)]


def places_said() -> str:
    """Return the variables of ROS and what they hold, as part of a sentence."""
    said = f"{PACKAGES} ({os.environ[PACKAGES]})" if os.environ.get(PACKAGES) else f"{PACKAGES}, which is not set"
    return said + (f", and in {PREFIXES} ({os.environ[PREFIXES]})" if os.environ.get(PREFIXES) else "")


def package_folder(name: str, beside: Path) -> Path | None:
    """Return the folder of a package: one around the file `beside` that is called so, or whose package.xml is; then ROS's."""
    folder = beside.resolve().parent
    around = [folder, *folder.parents]
    candidates = [
        *(f for f in around if f.name == name or _calls_itself(f, name)),
        *(f / name for f in (*around, *package_places())),
        *(f for f in package_places() if f.name == name or _calls_itself(f, name)),
    ]
    return next((f for f in candidates if f.is_dir()), None)


def _calls_itself(folder: Path, name: str) -> bool:
    try:
        return ET.parse(folder / "package.xml").findtext("name", "").strip() == name
    except (OSError, ET.ParseError):
        return False
