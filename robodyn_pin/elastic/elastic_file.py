"""What the run files (YAML) of stiffness and of experiment design have in common."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from robodyn_pin.elastic.springs import SpringLayout, Tool
from robodyn_pin.files import Positive, Strict

RelativeSpread = Annotated[float, Field(gt=0, le=1)]
Vector = tuple[float, float, float]
Form = Literal["compliance", "stiffness"]


class StiffnessPriorSpec(Strict):
    """The prior distribution of the stiffness."""

    stiffness: dict[str, Positive]  # mean of each spring [N m/rad]
    spread: RelativeSpread | dict[str, RelativeSpread] = 0.5  # standard deviation over the mean


class ElasticFile(Strict):
    """A robot with springs, and their prior."""

    robot: str
    tool: Tool
    springs: SpringLayout = "motors"
    prior: StiffnessPriorSpec
    gamma: Positive = 1.0  # weight of the prior, (11)
    form: Form = "compliance"  # the quantity that is normally distributed: compliance 1/k, or stiffness k
    output: Path | None = None
    seed: int = 0
