"""The package's own code, which decides what its results are."""

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

PACKAGE = "robodyn_pin"


@cache
def code_hash(*rooms: str) -> str:
    """SHA-256 of the code of some rooms (`log_to_robot`, ...), of all the code where none is named: two checkouts of one version may differ."""
    named = [f"{PACKAGE}.{room}" for room in rooms] or [PACKAGE, *_rooms()]
    folders = (import_module(name).__path__[0] for name in named)
    files = (path for folder in folders for path in sorted(Path(folder).glob("*.py")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _rooms() -> list[str]:
    """In a checkout some lie beside the package's folder, which is none itself."""
    there = {module.name for module in iter_modules(import_module(PACKAGE).__path__) if module.ispkg}
    return sorted(f"{PACKAGE}.{room}" for room in there - {PACKAGE})
