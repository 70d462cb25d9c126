"""What the run file (YAML) of an experiment design may say."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from robodyn_pin.elastic.elastic_file import ElasticFile, Vector
from robodyn_pin.elastic.pose_rules import ConeSpec, Region
from robodyn_pin.files import Positive, Strict
from robodyn_pin.identification.experiment_design import Criterion

Direction = Literal["x", "y", "z", "any"]  # of the base; any: all three components are chosen


class ExperimentsSpec(Strict):
    """How many measurements are planned, and in how many poses of the robot."""

    forces: dict[Direction, Annotated[int, Field(ge=1)]] = Field(min_length=1)  # number of measurements per direction
    orientations: Annotated[int, Field(ge=1)] | None = None  # number of poses; default: one for each measurement
    largest: Positive = 300.0  # [N] of each component

    @property
    def directions(self) -> list[Direction]:
        """Direction of each measurement."""
        return [name for name, count in self.forces.items() for _ in range(count)]

    @property
    def poses(self) -> int:
        """Number of poses."""
        return self.orientations or len(self.directions)

    @model_validator(mode="after")
    def check(self) -> "ExperimentsSpec":
        most, fewest = len(self.directions), max(self.forces.values())
        if not fewest <= self.poses <= most:
            raise ValueError(
                f"'orientations' is {self.poses}, but {most} measurements have {fewest} to {most}: those that share an orientation "
                "differ in the force's direction"
            )
        return self


class SimulateSpec(Strict):
    """Springs of a simulated robot on which the design is tried."""

    stiffness: dict[str, Positive]  # [N m/rad]
    seed: int = 0


class DesignFile(ElasticFile):
    """Run file of `robodyn design`."""

    sigma: Positive = 5e-6  # [m] of one component of a deviation
    experiments: ExperimentsSpec
    criterion: Criterion = "A"
    mode: Literal["batch", "next"] = "batch"  # next: one more measurement, in the best of the directions
    given: Path | None = None  # result.json of a stiffness run, whose posterior becomes the prior
    position: Vector | None = None  # [m] of the tool's point; default: anywhere in the region
    region: Region | None = None  # [m] x, y, z
    cone: ConeSpec | None = None
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.02  # share of every joint's range that is kept free at the limits
    random: Annotated[int, Field(ge=10)] = 500  # random designs, to start from and to compare with
    starts: Annotated[int, Field(ge=1)] = 12  # the best of these are improved
    steps: Annotated[int, Field(ge=1)] = 100
    simulate: SimulateSpec | None = None
