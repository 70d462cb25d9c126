"""What a robot file (YAML beside a URDF) may say."""

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from robodyn_pin.closures.kinds import DISTANCE, KINDS
from robodyn_pin.errors import quoted
from robodyn_pin.files import Strict
from robodyn_pin.robot.effort_checks import check_efforts
from robodyn_pin.robot.friction_models import EffortSpec

Vector = tuple[float, float, float]
LIGHTEST, HEAVIEST = 1.5, 30.0  # [m/s^2] gravity where robots work
OF_FRAMES = tuple(kind for kind in KINDS if kind != "coupling")


def on_a_planet(gravity: Vector) -> Vector:
    """The same; none at all is allowed, as where a controller takes it off the torques.

    Raises:
        ValueError: no planet has it.
    """
    size = math.hypot(*gravity)
    if size and not LIGHTEST <= size <= HEAVIEST:
        raise ValueError(
            f"gravity of {size:.4g} m/s^2: expected the acceleration, 9.81 m/s^2 on earth, and not its direction alone"
        )
    return gravity


def _not_empty(of: dict[str, float]) -> dict[str, float]:
    if not any(of.values()):
        raise ValueError(
            f"'of: {quoted(of)}' is a sum of nothing; name at least one joint with a factor that is not zero"
        )
    return of


def _not_zero(gear: dict[str, float]) -> dict[str, float]:
    for name, ratio in gear.items():
        if ratio == 0:
            raise ValueError(
                f"gear {quoted(name)} is 0; expected turns of the motor per turn of the joint, or no entry"
            )
    return gear


Combination = Annotated[dict[str, float], AfterValidator(_not_empty)]  # by joint; not all of it zero


def _of_one(of: object) -> object:
    return {of: 1.0} if isinstance(of, str) else of


Driven = Annotated[Combination, BeforeValidator(_of_one, json_schema_input_type=str | dict[str, float])]


class FrameClosureSpec(Strict):
    """A cut joint between two frames of the tree."""

    name: str
    kind: Literal[OF_FRAMES]  # type: ignore[valid-type]  # the rows of one table, which mypy cannot read
    between: tuple[str, str]  # links or frames of the URDF; multipliers act on the second
    at: tuple[Vector, Vector] = ((0, 0, 0), (0, 0, 0))  # where in each of the two [m]
    axis: Vector = (1, 0, 0)  # revolute, prismatic, cylindrical: the free axis, in both frames
    axes: tuple[Vector, Vector] = (
        (1, 0, 0),
        (0, 1, 0),
    )  # universal: of its cross, one in each frame, at right angles as assembled
    normal: Vector = (0, 0, 1)  # of the plane: planar_point in the first frame, planar in both
    length: float | None = Field(None, gt=0)  # rod [m]

    @model_validator(mode="after")
    def _consistent(self) -> "FrameClosureSpec":
        own = KINDS[self.kind].key
        if KINDS[self.kind].formula == DISTANCE and self.length is None:
            raise ValueError(f"closure {self.name!r}: a {self.kind} needs its 'length' [m]")
        for key in dict.fromkeys(kind.key for kind in KINDS.values()):
            if key != own and key in self.model_fields_set:
                kinds = " or ".join(name for name, kind in KINDS.items() if kind.key == key)
                raise ValueError(f"closure {self.name!r}: {key!r} belongs to a {kinds}, not to a {self.kind}")
        if KINDS[self.kind].onto and not all(map(any, self.directions)):
            raise ValueError(f"closure {self.name!r}: {own!r} is zero and has no direction")
        if self.between[0] == self.between[1]:
            raise ValueError(f"closure {self.name!r}: both ends are the same frame {self.between[0]!r}")
        return self

    @property
    def directions(self) -> tuple[Vector, Vector]:
        """Return what the kind's axes of the first and of the second frame lie along, in these frames."""
        given = {"axis": (self.axis,) * 2, "normal": (self.normal,) * 2, "axes": self.axes}
        return given[KINDS[self.kind].key]


class CouplingSpec(Strict):
    """A linear relation between joints: sum k_j q_j = offset."""

    name: str
    kind: Literal["coupling"]
    of: Combination
    offset: float = 0.0


ClosureSpec = Annotated[FrameClosureSpec | CouplingSpec, Field(discriminator="kind")]


class MotorSpec(Strict):
    """A motor that is not simply a tree joint: q_m = scale sum k_j q_j + offset. It needs no link of its own."""

    name: str
    of: Driven  # a joint, or joints with factors
    offset: float = 0.0
    scale: float = 1.0  # turns of the motor per turn of the sum; negative: it counts the other way

    @model_validator(mode="after")
    def _scaled(self) -> "MotorSpec":
        if self.scale == 0:
            raise ValueError(
                f"motor {self.name!r}: scale is 0; expected turns of the motor per turn of its joint, or no entry"
            )
        if self.scale != 1:
            object.__setattr__(
                self, "of", {joint: self.scale * factor for joint, factor in self.of.items()}
            )  # frozen for everybody else
            object.__setattr__(self, "scale", 1.0)
        return self


class Limit(Strict):
    """What a joint or motor survives, SI units."""

    position: tuple[float, float] | None = None
    velocity: float | None = Field(default=None, gt=0)
    acceleration: float | None = Field(default=None, gt=0)
    jerk: float | None = Field(default=None, gt=0)
    torque: float | None = Field(default=None, gt=0)
    force: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _in_order(self) -> "Limit":
        if self.position is not None and self.position[0] >= self.position[1]:
            low, high = self.position
            raise ValueError(
                f"position limits from {low:g} to {high:g} leave no room to move; give the lower one first"
            )
        return self


class PlaceSpec(Strict):
    """A place on a link."""

    at: Vector = (0, 0, 0)  # [m]
    rpy: Vector = (0, 0, 0)  # [rad] about x, then y, then z of the link, as in a URDF


class FrameSpec(PlaceSpec):
    """A frame placed from a link, such as a tool centre."""

    link: str


class TensorSpec(Strict):
    """Inertia about the centre of mass, along the link's axes [kg m^2]."""

    xx: float
    yy: float
    zz: float
    xy: float = 0.0
    xz: float = 0.0
    yz: float = 0.0


class ToolSpec(Strict):
    """A tool fixed to a link: a body, where mass, centre and inertia are known, and frames on it."""

    link: str
    mass: float | None = Field(None, gt=0)  # [kg]
    centre: Vector | None = None  # of mass, from the link's frame [m]
    inertia: TensorSpec | None = None
    frames: dict[str, PlaceSpec] = {}  # from the link's frame

    @property
    def unknown(self) -> list[str]:
        """Say what the torques would need and the file does not give."""
        return [key for key in ("mass", "centre", "inertia") if getattr(self, key) is None]


class RobotFile(Strict):
    """A robot: a URDF opened to a tree, and what a URDF cannot hold."""

    urdf: Path
    motors: list[str | MotorSpec] | None = None  # default: all joints
    coordinates: list[str] | None = None  # default: the motors
    home: dict[str, float] = {}
    closures: list[ClosureSpec] = []
    identical: list[list[str]] = []  # bodies of one design
    separate: bool = False  # identical bodies have parameters of their own; else they share one set
    struts: dict[str, tuple[str, str]] = {}
    frames: dict[str, str | FrameSpec] = {}  # further names: of a link, or of a place on one
    tools: dict[str, ToolSpec] = {}  # bodies fixed to links, with frames
    efforts: list[EffortSpec] = []
    gear: Annotated[dict[str, float], AfterValidator(_not_zero)] = {}
    limits: dict[str, Limit] = {}
    gravity: Annotated[Vector, AfterValidator(on_a_planet)] = (0.0, 0.0, -9.81)
    sources: dict[str, str] = {}

    def apart(self, body: str) -> "RobotFile":
        """Return the file with a body no longer among the identical ones, because it carries something that its copies do not."""
        groups = [[name for name in group if name != body] for group in self.identical]
        return self.model_copy(update={"identical": [group for group in groups if len(group) > 1]})

    @property
    def motor_names(self) -> tuple[str, ...] | None:
        """Names of the motors; None: all joints are."""
        return None if self.motors is None else tuple(m if isinstance(m, str) else m.name for m in self.motors)

    @model_validator(mode="after")
    def _efforts_can_be(self) -> "RobotFile":
        check_efforts(self.efforts)
        return self

    @model_validator(mode="after")
    def _unique(self) -> "RobotFile":
        motors, coordinates = self.motor_names or (), self.coordinates or ()
        named = {"closure": [c.name for c in self.closures], "motor": motors, "coordinate": coordinates}
        named["identical body"] = [name for group in self.identical for name in group]
        for what, names in named.items():
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{what} {name!r} stands twice")
        return self
