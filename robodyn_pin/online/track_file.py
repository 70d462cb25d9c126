"""What a user may say of online identification."""

from typing import Annotated

from pydantic import Field

from robodyn_pin.files import Positive, Strict
from robodyn_pin.logs.units import LogKeys

Share = Annotated[float, Field(gt=0, le=1)]


class CarriedSpec(Strict):
    """Where the robot picks payloads."""

    link: str | None = None  # default: the tree's last link with inertia
    at: tuple[float, float, float] = (
        0.0,
        0.0,
        0.0,
    )  # [m] centre of mass, in the link's frame
    smallest: Positive | None = None  # [kg] that must be noticed; default: what shifts the torques by twice their noise
    duration: Positive = 1.0  # [s] over which a change is measured


class CausalSpec(Strict):
    """Rates from positions by a polynomial over the last samples, taken at their middle: as late as half the window."""

    window: Annotated[int, Field(ge=5)] = 21  # samples, odd
    degree: Annotated[int, Field(ge=2, le=6)] = 4


class TrackFile(LogKeys):
    """Settings of `robodyn track`."""

    forgetting: Share = 0.995  # per sample
    spread: Positive = 0.05  # relative deviation below which a direction counts as excited
    noise: Positive | dict[str, Positive] | None = None  # [N m or N] of one torque sample; default: found in the log
    gate: Positive = 8.0  # deviations beyond which a lone sample is a spike
    patience: Annotated[int, Field(ge=0)] = 5  # samples in a row that may be spikes; more are the robot
    causal: CausalSpec = CausalSpec()
    scaled: list[str] = []  # bodies whose shape is that of the robot file: only heavier or lighter
    symmetry: dict[str, list[str]] = {}  # equalities of bodies as in run files; `prior` is the robot file's value
    payload: CarriedSpec = CarriedSpec()


def reading_as(keys: LogKeys, settings: TrackFile) -> TrackFile:
    """Settings that read logs as a run file does, but for what they say themselves."""
    own = settings.model_fields_set
    return settings.model_copy(update={name: getattr(keys, name) for name in LogKeys.model_fields if name not in own})
