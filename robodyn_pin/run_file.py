"""What a run file (YAML) may say: which logs, how to prepare them, what is known, what to choose."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from robodyn_pin.files import Strict
from robodyn_pin.filters import Lowpass
from robodyn_pin.motion import Units
from robodyn_pin.observations import Preparation

Positive = Annotated[float, Field(gt=0)]


class LogSpec(Strict):
    """A log, or some of its rows."""

    file: Path
    rows: tuple[int, int] | None = None  # samples begin..end, from 0


class RowsSpec(Strict):
    """What happens to the rows of the regressor and the torques alike."""

    filter: Lowpass | None = None
    cut: Annotated[int, Field(ge=0)] = 0  # samples left out at both ends, after filtering
    every: Annotated[int, Field(ge=1)] = 1  # keep one sample of so many, after filtering


class BallSpec(Strict):
    """A neutral body: a solid ball about the joint."""

    mass: Positive = 1.0  # [kg]
    radius: Positive = 0.1  # [m]


class PriorSpec(BallSpec):
    """Where parameters go that the log does not show."""

    weight: Positive = 0.01
    bodies: dict[str, BallSpec] = {}


class BoundsSpec(Strict):
    """What is known of the bodies."""

    mass: tuple[float, float] = (0.01, 100.0)  # [kg], every body
    bodies: dict[str, tuple[float, float]] = {}  # [kg], by name
    eigenvalue: Positive = 1e-4  # smallest of the pseudo-inertia, units of 1 kg and 0.1 m


class ChooseSpec(Strict):
    """Settings chosen inside the fit data by the cross-validated error of the feasible fit, one key after the other.

    The candidate with the least error wins; of the prior weights the largest that is within 0.5 % of the least error.
    """

    cutoff: list[Positive] = []  # of the filter on positions [Hz]
    coulomb_width: list[Positive] = []
    prior_weight: list[Positive] = []
    folds: Annotated[int, Field(ge=2)] = 5


class ScoreSpec(Strict):
    """How errors are measured, on fit and held-out rows alike."""

    filter: Lowpass | None = None  # zero-phase, on measured and predicted torques
    measure: Literal["mean", "pooled"] = "mean"  # of the motors' percentages, or all motors' torques in one norm
    still: Positive = 0.05  # [rad/s or m/s] slower samples count as standing still


class RunFile(Strict):
    """An identification: from logs to a robot."""

    robot: str
    fit: list[LogSpec] = Field(min_length=1)
    held_out: list[LogSpec] | None = None  # default: the last 30 % of every fit log
    columns: dict[str, str] = {}
    units: Units = Units()
    preparation: Preparation = Preparation()
    rows: RowsSpec = RowsSpec()
    coulomb_width: Positive = 0.1  # in parts of each rate's rms, for Coulomb terms without a width in the robot file
    bounds: BoundsSpec = BoundsSpec()
    prior: PriorSpec = PriorSpec()
    choose: ChooseSpec = ChooseSpec()
    score: ScoreSpec = ScoreSpec()
    output: Path | None = None
    seed: int = 0  # nothing random is left in an identification; kept with the result
