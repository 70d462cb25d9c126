"""What the run file of a stiffness identification (YAML) may say."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from robodyn_pin.elastic.deviation import Model
from robodyn_pin.elastic.deviation_map import MapSpec
from robodyn_pin.elastic.elastic_file import ElasticFile
from robodyn_pin.elastic.path_correction import PathSpec
from robodyn_pin.elastic.stiffest_pose import TaskSpec
from robodyn_pin.files import Positive


class StiffnessFile(ElasticFile):
    """Stiffness from loaded poses."""

    model: Model = "loaded"
    measurements: Path
    sigma: Positive | None = None  # [m] of one component of a deviation, where the file has no such column
    tool_mass: Annotated[float, Field(ge=0)] = 0.0  # [kg] on the force sensor, if it was not zeroed with the tool
    force_frame: str | None = None  # of the robot, whose axes the file's forces have; default: the base's
    use: list[int] | None = Field(default=None, min_length=1)  # rows of the file; default: all
    campaigns: dict[str, list[int]] = {}  # rows of the file, each inferred by itself
    validation: Path | None = None  # further measurements, to predict
    samples: Annotated[int, Field(ge=100)] = 4000  # of the posterior
    map: MapSpec | None = None  # deviations over the workspace
    task: TaskSpec | None = None  # the stiffest orientation for it
    path: PathSpec | None = None  # to be corrected
