"""Units of a log that is not in SI: by kind of axis, and zero, factor and sign of single motors."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from robodyn_pin.errors import UnknownName
from robodyn_pin.files import Positive, Strict
from robodyn_pin.robot.robot import Robot

FACTORS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "rad": 1.0, "deg": np.pi / 180, "m": 1.0, "mm": 1e-3,
           "N m": 1.0, "mN m": 1e-3, "N": 1.0, "kN": 1e3}  # fmt: skip
MOVED = {("angle", "m"): "length", ("angle", "mm"): "length", ("torque", "N"): "force"}  # units of another kind of axis

ByMotor = Mapping[str, Mapping[str, float]]  # numbers of single motors, for `position` and `torque`


class Units(Strict):
    """Units of a log that is not in SI. Motors that only move sliding joints have length and force, all others angle and
    torque."""

    time: Literal["s", "ms", "us", "ns"] = "s"
    angle: Literal["rad", "deg"] = "rad"
    length: Literal["m", "mm"] = "m"
    torque: Literal["N m", "mN m"] = "N m"
    force: Literal["N", "kN"] = "N"

    @model_validator(mode="before")
    @classmethod
    def _of_their_kind(cls, given: Any) -> Any:
        for (key, unit), other in MOVED.items():
            if isinstance(given, dict) and given.get(key) == unit:
                raise ValueError(
                    f"units: '{key}: {unit}' is no {key}; of motors that slide say '{other}: {unit}', of single motors with "
                    "another unit 'scale: {position: {MOTOR: FACTOR}, torque: {MOTOR: FACTOR}}'"
                )
        return given

    def of(self, slides: np.ndarray) -> tuple[list[str], list[str]]:
        """Names of the units of motors, `slides` (n,) says which slide: of their positions, of their torques."""
        return [self.length if s else self.angle for s in slides], [self.force if s else self.torque for s in slides]

    def factors(self, slides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Factors to SI of motors, `slides` (n,) says which slide: of positions and rates (n,), of torques (n,)."""
        positions, torques = self.of(slides)
        return np.array([FACTORS[u] for u in positions]), np.array([FACTORS[u] for u in torques])


def _not_zero(factor: float) -> float:
    if factor == 0 or not np.isfinite(factor):
        raise ValueError(f"scale: a factor of {factor:g} leaves nothing of the column; give any other number")
    return factor


Factor = Annotated[float, Field(allow_inf_nan=True), AfterValidator(_not_zero)]


class Scale(Strict):
    """What a log's columns are multiplied by, after the units, to be those of the robot's motors: a gear, a sign, a gain."""

    position: dict[str, Factor] = {}  # by motor: q_, dq_ and ddq_
    torque: dict[str, Factor] = {}  # by motor: tau_


class Zero(Strict):
    """What a log's columns read where the robot's motors stand at zero or give nothing, in the units of the file: an encoder
    that counts from elsewhere, a sensor's zero."""

    position: dict[str, float] = {}  # by motor: q_
    torque: dict[str, float] = {}  # by motor: tau_


class LogKeys(Strict):
    """What a file says of how logs are to be read."""

    columns: dict[
        str, Annotated[int, Field(ge=1)] | str
    ] = {}  # our name -> header of the log, or number of the column, from 1
    rate: Positive | None = None  # [Hz] of logs without a clock, whose first row is at t = 0
    clock: Literal["found", "stamps"] = "found"  # when rows were sampled: as the motion shows, or at their stamps
    units: Units = Units()
    scale: Scale = Scale()
    zero: Zero = Zero()
    finds_delay: ClassVar[bool] = False
    delay: float | Literal["fit"] = (
        0.0  # [s] by which torques come later than positions; `fit`: what an identification finds
    )

    @property
    def known_delay(self) -> float:
        """The delay that is named; zero before it is found."""
        return 0.0 if isinstance(self.delay, str) else self.delay

    @model_validator(mode="after")
    def _found_by_identification(self) -> Self:
        if self.delay == "fit" and not self.finds_delay:
            raise ValueError("only an identification finds a delay; give it in seconds, 'delay: 0.004'")
        return self


class InSI(NamedTuple):
    """A log's columns in SI: (column - zero) * factor; of rates, column * position."""

    position: np.ndarray  # (n,) factors
    torque: np.ndarray  # (n,)
    zero_position: np.ndarray  # (n,) in the units of the file
    zero_torque: np.ndarray  # (n,)


def in_si(robot: Robot, keys: LogKeys) -> InSI:
    """How a log's columns are read.

    Raises:
        UnknownName: a scale or a zero for a motor that the robot lacks.
    """
    motors = robot.motors.names

    def of_motors(key: str, what: str, usual: float) -> np.ndarray:
        given: dict[str, float] = getattr(getattr(keys, key), what)
        for name in given:
            if name not in motors:
                raise UnknownName("motor", name, f"robot {robot.name!r}, but '{key}: {{{what}: ...}}' names it", motors)
        return np.array([given.get(m, usual) for m in motors])

    positions, torques = keys.units.factors(robot.slides(robot.motors.S))
    return InSI(
        positions * of_motors("scale", "position", 1.0), torques * of_motors("scale", "torque", 1.0),
        of_motors("zero", "position", 0.0), of_motors("zero", "torque", 0.0),
    )  # fmt: skip
