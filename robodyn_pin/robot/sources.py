"""Which file the name of a robot stands for."""

from pathlib import Path

from robodyn_pin.errors import BadFile, UnknownName

DESCRIPTIONS = (".yaml", ".yml", ".urdf", ".xml", ".sdf")
OTHER_FORMATS = {
    ".xacro": "xacro is no robot but a recipe for one: robodyn init FILE.xacro expands it, or run xacro FILE.xacro > FILE.urdf, and load FILE.urdf",
    ".world": "a world is read from files that end in .sdf, with one model that has joints; rename it",
    ".mjcf": "MJCF is read from files that end in .xml; rename it",
    ".usd": "USD is not read; load the URDF (.urdf), MJCF (.xml) or SDF (.sdf) of this robot",
}


def find(source: str | Path) -> Path:
    """Return the YAML, URDF, MJCF or SDF file that a catalogue name, path or result folder stands for."""
    from robodyn_pin.urdf import catalogue

    path = Path(source)
    if path.is_dir():
        found = sorted(path.glob("*_identified.yaml"))
        if len(found) != 1:
            raise BadFile(
                f"{path}: a result folder holds one NAME_identified.yaml, found {len(found)}; give such a folder, or a robot's file"
            )
        return found[0]
    if path.suffix in DESCRIPTIONS:
        return path
    if path.suffix in OTHER_FORMATS:
        raise BadFile(f"{path}: {OTHER_FORMATS[path.suffix]}")
    if path.suffix.lower() in (*DESCRIPTIONS, *OTHER_FORMATS):
        raise BadFile(
            f"{path}: its ending is {path.suffix}, expected small letters; rename it to {path.stem}{path.suffix.lower()}"
        )
    if path.is_file():
        raise BadFile(
            f"{path}: expected a robot, a file that ends in {', '.join(DESCRIPTIONS)}, found {path.suffix or 'no ending'}"
        )
    robots = catalogue()
    if str(source) not in robots:
        raise UnknownName(
            "robot", str(source), "the catalogue (and no such .yaml, .urdf, .xml, .sdf or result folder)", robots
        )
    return robots[str(source)]
