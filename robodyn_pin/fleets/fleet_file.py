"""What a fleet file (YAML) may say: the settings that one robot is identified with, and where each robot's logs are."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from robodyn_pin.files import Strict
from robodyn_pin.logs.reading import LogSpec

Logs = Annotated[list[LogSpec], Field(min_length=1)]


class FleetFile(Strict):
    """Robots of one type, each with its logs."""

    run: Path  # run file of `identify` for one of them: robot, columns, filters, bounds, prior; its own logs are not read
    robots: dict[str, Logs] | str  # name: its logs; or a pattern of folders, one for each robot: "logs/*"
    output: Path | None = None
