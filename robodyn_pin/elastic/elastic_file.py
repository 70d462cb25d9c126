"""What all run files about stiffness (YAML) may say."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from robodyn_pin.elastic.springs import Layout, Tool
from robodyn_pin.files import Positive, Strict

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
