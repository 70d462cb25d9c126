"""The catalogue: NAME.urdf and NAME.yaml beside this file."""

from pathlib import Path


def catalogue() -> dict[str, Path]:
    """Robot files of the catalogue by name."""
    return {
        path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml")) if path.with_suffix(".urdf").exists()
    }
