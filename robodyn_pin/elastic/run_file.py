"""What the run file of a stiffness identification (YAML) may say."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from robodyn_pin.elastic.deviation import Model
from robodyn_pin.elastic.springs import Layout, Tool
from robodyn_pin.files import Strict

Positive = Annotated[float, Field(gt=0)]
Part = Annotated[float, Field(gt=0, le=1)]
Vector = tuple[float, float, float]
Form = Literal["compliance", "stiffness"]


class PriorSpec(Strict):
    """What is believed before measuring."""

    stiffness: dict[str, Positive]  # of each spring [N m/rad]
    spread: Part | dict[str, Part] = 0.5  # standard deviation, part of the value


class ElasticFile(Strict):
    """A robot with springs, as all run files about stiffness have it."""

    robot: str
    tool: Tool
    springs: Layout = "motors"
    prior: PriorSpec
    gamma: Positive = 1.0  # weight of the prior, (11)
    form: Form = "compliance"  # that has the normal distribution: compliance 1/k, or stiffness k
    output: Path | None = None
    seed: int = 0


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
