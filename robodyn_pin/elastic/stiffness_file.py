"""What the run file (YAML) of a stiffness identification may say."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from robodyn_pin.elastic.deviation import DeviationModel
from robodyn_pin.elastic.deviation_map import MapSpec
from robodyn_pin.elastic.elastic_file import ElasticFile
from robodyn_pin.elastic.path_correction import LoadedPathSpec
from robodyn_pin.elastic.stiffest_pose import StiffestPoseSpec
from robodyn_pin.files import Positive


class StiffnessFile(ElasticFile):
    """Run file of `robodyn stiffness`."""

    model: DeviationModel = "loaded"
    measurements: Path
    sigma: Positive | None = None  # [m] of one component of a deviation, if the file has no such column
    tool_mass: Annotated[float, Field(ge=0)] = 0.0  # [kg] on the force sensor, if it was not zeroed with the tool
    force_frame: str | None = None  # frame of the robot in whose axes the file's forces are; default: the base
    use: list[int] | None = Field(default=None, min_length=1)  # rows of the file; default: all
    campaigns: dict[str, list[int]] = {}  # rows of the file; each campaign is inferred by itself
    validation: Path | None = None  # further measurements, which are predicted
    samples: Annotated[int, Field(ge=100)] = 4000  # of the posterior, to check its Gaussian approximation
    map: MapSpec | None = None  # asks for the deviations over a workspace
    task: StiffestPoseSpec | None = None  # asks for the stiffest orientation at a place
    path: LoadedPathSpec | None = None  # asks for the correction of a path
