"""Settings of online identification (YAML)."""

from typing import Annotated

from pydantic import Field

from robodyn_pin.files import Positive, Strict
from robodyn_pin.logs.units import LogKeys

Forgetting = Annotated[float, Field(gt=0, le=1)]


class CarriedSpec(Strict):
    """Payloads that the robot picks and drops."""

    link: str | None = None  # that carries them; default: the tree's last link with inertia
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # centre of mass in the link's frame [m]
    smallest: Positive | None = None  # mass to be noticed [kg]; default: what shifts the torques by twice their noise
    duration: Positive = 1.0  # time over which a change is measured [s]


class CausalSpec(Strict):
    """Rates from positions, by a polynomial over the last samples: half a window late."""

    window: Annotated[int, Field(ge=5)] = 21  # samples, odd
    degree: Annotated[int, Field(ge=2, le=6)] = 4


class TrackFile(LogKeys):
    """Settings of `robodyn track`."""

    forgetting: Forgetting = 0.995  # per sample
    spread: Positive = 0.05  # relative standard deviation below which a direction of the parameters counts as excited
    noise: Positive | dict[str, Positive] | None = (
        None  # standard deviation of a torque sample [N m or N]; default: from the log
    )
    gate: Positive = 8.0  # standard deviations of the prediction error beyond which a sample is a spike
    patience: Annotated[int, Field(ge=0)] = (
        5  # spikes in a row that are refused; a longer run is taken for a change of the robot
    )
    causal: CausalSpec = CausalSpec()
    scaled: list[str] = []  # bodies whose mass distribution is that of the robot file: only the mass is estimated
    symmetry: dict[
        str, list[str]
    ] = {}  # equalities of a body's parameters, as in run files; `prior` is the robot file's value
    payload: CarriedSpec = CarriedSpec()


def reading_as(keys: LogKeys, settings: TrackFile) -> TrackFile:
    """Settings with the log keys of a run file, except for those that they have themselves."""
    own = settings.model_fields_set
    return settings.model_copy(update={name: getattr(keys, name) for name in LogKeys.model_fields if name not in own})
