"""What a run file (YAML) may say: which logs, how to prepare them, what is known, what to choose."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from robodyn_pin.errors import quoted
from robodyn_pin.files import NotNegative, Positive, Strict
from robodyn_pin.identification.parameters import INERTIAL
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.offered_friction import check_offered
from robodyn_pin.robot.robot_file import Vector, on_a_planet
from robodyn_pin.robot.shapes import ShapeSpec


class PosesSpec(Strict):
    """Logs in which the robot stands still: their torques show nothing but noise about the mean of each pose."""

    poses: Path | list[LogSpec]  # `rows`: one pose; else every stretch that stands still
    before_gear: bool = False  # their torques are the motors' own, to be multiplied by the gear of the robot file


class PayloadSpec(Strict):
    """An unknown body that the robot carries in the loaded logs; `prior`, `bounds` and `symmetry` know it by its name."""

    link: str  # or frame, any that moves: the payload's numbers count in its frame
    name: str = "payload"
    known: ShapeSpec | None = None  # what it is, for `gains: fit`


class RowsSpec(Strict):
    """What happens to the rows of the regressor and the torques alike."""

    filter: Lowpass | None = None
    cut: Annotated[int, Field(ge=0)] = 0  # samples left out at both ends of fit and held-out logs, after filtering
    every: Annotated[int, Field(ge=1)] = 1  # keep one sample of so many, after filtering
    saturated: Literal["keep", "drop"] = (
        "keep"  # samples on a flat top or at a torque limit, and what filters make of them
    )


class BodySpec(ShapeSpec):
    """The prior of one body: a shape, further parts, and entries that are known better."""

    parts: list[ShapeSpec] = []  # added to the first shape
    values: dict[str, float] = {}  # [kg, kg m, kg m^2] entries m, mx, ..., Izz that replace the shape's
    weight: Positive = 1.0  # on top of the common one

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name in self.values:
            if name not in INERTIAL:
                raise ValueError(f"no entry {name!r} of a body's parameters; it has {', '.join(INERTIAL)}")
        return self


USUAL_WEIGHT = 0.01  # of the prior, unless unseen torques ask for less


class PriorSpec(ShapeSpec):
    """Where parameters go that the log does not show; the shape is that of bodies without their own."""

    # Default: 0.01, or less where that moves what the log shows and unseen torques ask for less.
    weight: Positive | None = None
    distance: Literal["euclidean", "relative", "entropic"] = "euclidean"
    floor: Positive = 0.1  # of relative distances, in parts of the body's own mass and radius of gyration
    friction: NotNegative = 0.0  # weight of the robot file's friction, armature, ...: relative distance
    bodies: dict[str, BodySpec] = {}


class CentreSpec(Strict):
    """Where a body's centre of mass lies, in the joint's frame."""

    shape: Literal["box", "ellipsoid"] = "box"
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m]
    half: tuple[Positive, Positive, Positive]  # [m] half sides or half axes


class BoundsSpec(Strict):
    """What is known of the bodies."""

    mass: tuple[float, float] = (0.01, 100.0)  # [kg], every body
    bodies: dict[str, tuple[float, float]] = {}  # [kg], by name
    total_mass: tuple[float, float] | None = None  # [kg] of all bodies that have mass
    centre: dict[str, CentreSpec] = {}
    eigenvalue: Positive = 1e-4  # smallest of the pseudo-inertia, units of 1 kg and 0.1 m

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        named = {"every body": self.mass, "all bodies together": self.total_mass or (0, 0)} | self.bodies
        for name, (low, high) in named.items():
            if low > high:
                raise ValueError(
                    f"mass bounds of {name}: at least {low:g} kg and at most {high:g} kg contradict each other"
                )
        return self


class ChooseSpec(Strict):
    """Settings chosen inside the fit data by the cross-validated error of the feasible fit, one key after the other.

    The candidate with the least error wins; of the prior weights the largest that is within 0.5 % of the least error.
    """

    cutoff: list[Positive] = []  # of the filter on positions [Hz]
    coulomb_width: list[Positive] = []
    prior_weight: list[Positive] = []
    friction: list[str] = []  # models of each axis that has friction, simplest first; those after a plus come on top
    # Of what: `control`, torques as they are scored, through its filter; `simulation`, torques at full bandwidth.
    use: Literal["control", "simulation"] = "control"
    folds: Annotated[int, Field(ge=2)] = 5

    @model_validator(mode="after")
    def _friction_known(self) -> Self:
        check_offered(self.friction)
        return self


class ScoreSpec(Strict):
    """How errors are measured, on fit and held-out rows alike."""

    filter: Lowpass | None = None  # zero-phase, on measured and predicted torques
    measure: Literal["mean", "pooled"] = "mean"  # of the motors' percentages, or all motors' torques in one norm
    still: Positive = 0.05  # [rad/s or m/s] slower samples count as standing still


class RunFile(LogKeys):
    """An identification: from logs to a robot."""

    finds_delay = True
    robot: str
    coordinates: list[str] | None = (
        None  # joints or motors that torques are projected onto; default: as the robot file says
    )
    separate: bool | None = None  # identical bodies have parameters of their own; default: as the robot file says
    fit: list[LogSpec] = Field(min_length=1)  # a file may be a pattern or a folder: all logs that are found there
    held_out: Annotated[list[LogSpec], Field(min_length=1)] | None = None  # default: the last 30 % of every fit log
    payload: PayloadSpec | None = None
    preparation: Preparation = Preparation()
    rows: RowsSpec = RowsSpec()
    # In parts of each rate's rms, for Coulomb terms without a width in the robot file; default: WIDTH as everywhere else, or
    # the usual part of the rms where that is better inside the fit data.
    coulomb_width: Positive | None = None
    bounds: BoundsSpec = BoundsSpec()
    prior: PriorSpec = PriorSpec()
    symmetry: dict[str, list[str]] = {}  # by body: entries that are zero, equal, ... as my=0, Iyy=Izz, mx=0.5*m
    # Of one sample, by coordinate [N m or N]; with more motors than coordinates by motor, unless it says `coordinates`.
    noise: PosesSpec | dict[str, Positive] | Literal["residuals", "limits", "coordinates"] = "residuals"
    gravity: Literal["fit", "choose"] | Vector | None = None  # its direction from the logs; or where it points [m/s^2]
    gains: Literal["fit"] | None = (
        None  # of the drives, by the known payload; default: torques as logged, times `scale`
    )
    robust: Literal["huber", "student"] | None = None  # torques far off the model count less
    essential: Annotated[float, Field(gt=1)] | None = None  # ratio of relative deviations up to which parameters stay
    gauss_markov: bool = False  # least squares once more, noise correlated between the coordinates
    second_opinion: bool = False  # the feasible fit once more, over log-Cholesky variables
    intervals: bool = False  # of the feasible fit too: two convex programmes for each parameter
    instruments: bool = True  # compare with instrumental variables
    choose: ChooseSpec = ChooseSpec()
    score: ScoreSpec = ScoreSpec()
    output: Path | None = None
    seed: int = 0  # nothing random is left in an identification; kept with the result

    @field_validator("gravity", mode="before")
    @classmethod
    def _three_numbers(cls, given: object) -> object:
        if given in ("fit", "choose", None) or (isinstance(given, (list, tuple)) and len(given) == 3):
            return given
        raise ValueError(
            f"gravity: expected three numbers [m/s^2] along the base's axes, as [0, 0, 9.81] of a robot that hangs, or 'fit' or 'choose'; found {quoted(given)}"
        )

    @field_validator("gravity")
    @classmethod
    def _of_a_planet(cls, given: object) -> object:
        return on_a_planet(given) if isinstance(given, tuple) else given

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        if self.gains and (self.payload is None or self.payload.known is None):
            raise ValueError(
                "'gains: fit' needs a payload that is known, in some of the logs; add 'payload: {link: LINK, known: {mass: 5, radius: 0.1, at: [0, 0, 0]}}'"
            )
        if self.payload is None:
            if any(log.loaded for log in [*self.fit, *(self.held_out or [])]):
                raise ValueError("a log is 'loaded: true', but no payload is named; add 'payload: {link: LINK}'")
        elif len(kinds := {log.loaded for log in self.fit}) == 1:
            raise ValueError(
                f"all fit logs are {'loaded' if kinds.pop() else 'unloaded'}, so that the payload cannot be told from the "
                f"body of {self.payload.link!r}; give logs of both kinds, with 'loaded: true' where the payload is on"
            )
        return self

    @model_validator(mode="after")
    def _chosen_once(self) -> Self:
        if self.choose.cutoff and self.preparation.differentiation not in (None, "filter"):
            raise ValueError(
                f"'choose: cutoff' tries filters on positions, 'differentiation: {self.preparation.differentiation}' makes its "
                "own choice; leave one of them out"
            )
        return self
