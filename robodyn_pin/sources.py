"""The package's own code, which decides what its results are."""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def code_hash(*rooms: str) -> str:
    """SHA-256 of the code of some rooms (`log_to_robot`, ...): two checkouts of one version may differ."""
    found = (find_spec(f"robodyn_pin.{room}") for room in rooms)
    folders = (spec.submodule_search_locations[0] for spec in found if spec and spec.submodule_search_locations)
    sources = (path for folder in folders for path in sorted(Path(folder).glob("*.py")))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
