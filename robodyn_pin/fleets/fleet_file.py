"""What a fleet file (YAML) may say: the settings that one robot is identified with, and where each robot's logs are."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from robodyn_pin.errors import quoted
from robodyn_pin.files import Strict
from robodyn_pin.logs.reading import LogSpec


def _of_a_folder(name: str) -> str:
    if name in ("", ".", "..") or re.search(r"[/\\\x00-\x1f]", name):
        raise ValueError(
            f"robot {quoted(name)}: what is found of it is written into a folder of its name; give a name without '/', as cell_1"
        )
    return name


Name = Annotated[str, AfterValidator(_of_a_folder)]
Logs = Annotated[list[LogSpec], Field(min_length=1)]


class FleetFile(Strict):
    """Robots of one type, each with its logs."""

    run: Path  # run file of `identify` for one of them: robot, columns, filters, bounds, prior; its own logs are not read
    robots: dict[Name, Logs] | str  # name: its logs; or a pattern of folders, one for each robot: "logs/*"
    output: Path | None = None
