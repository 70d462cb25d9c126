"""Models of efforts that rigid bodies do not explain: what a robot file may say of one, and its equation.

Each is linear in its coefficients. Friction models have shape parameters besides, which bend the curve over the rate.
"""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from robodyn_pin.errors import BadFile
from robodyn_pin.files import Positive, Strict
from robodyn_pin.robot.over_position import OverPosition

Model = Literal[
    "viscous", "coulomb", "stribeck", "saturating", "quadratic", "cbrt", "directional", "position", "maxwell_slip", "load",
    "offset", "cogging", "armature", "spring", "lever_spring", "polynomial",
]  # fmt: skip
Shape = Literal["width", "speed"]


class WarmthSpec(Strict):
    """What an effort grows with besides the motion: a temperature above a reference, or the cold of a robot that warms up."""

    column: str | None = None  # of the log, a temperature
    at: float = 0.0  # its value where the effort is nothing: the reference of the same effort without warmth
    time: Positive | None = None  # [s] time constant of warming up from the log's begin: exp(-t / time)

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.column is None) == (self.time is None):
            raise ValueError(
                "'warmth' names a column of the log, {column: temp_j1, at: 40}, or a time constant, {time: 900}"
            )
        return self


class EffortSpec(Strict):
    """One entry of `efforts:` in a robot file."""

    # joint, motor, closure; combination of joints; several with one coefficient; one each for `all motors`, `all joints`, `j*`
    of: str | dict[str, float] | list[str]
    name: str | None = None  # in labels, instead of what `of` says
    model: Model
    initial: float | list[float] | None = None  # coefficients, before they are identified
    known: bool = False  # given, not to be identified
    warmth: WarmthSpec | None = (
        None  # the columns times this; its coefficients come on top of those of the effort without
    )
    width: float | None = Field(None, gt=0)  # coulomb, stribeck, saturating: tanh(x' / width) [rad/s or m/s]
    speed: float | None = Field(None, gt=0)  # stribeck: exp(-(x' / speed)^2); saturating: tanh(x' / speed) [likewise]
    # maxwell_slip: radii of its stops, [rad or m]; default: identification takes some in parts of the axis' spread of position
    stops: list[Positive] | None = Field(None, min_length=1)
    # position: where its hats or the knots of its splines stand, ascending [rad or m]; default: identification takes PLACES over the travel
    places: list[float] | None = Field(None, min_length=2)
    each_way: bool = False  # position: other coefficients each way, which over a travel look much like gravity
    # load, instead of what the bodies ask of the axis; a list has one for each under `of`
    strut: str | list[str] | None = None  # load: the strut along which it grows with the force
    bearing: str | list[str] | None = None  # load: the joint, which turns, along whose axis it grows with the force
    # cogging, position: sin(n x) and cos(n x), n waves a turn of x [1/rad or 1/m]
    waves: list[Positive] | None = Field(None, min_length=1)
    fit: list[Shape] = []  # shape parameters to be identified as well; their values above are the start
    rest: float = 0.0  # spring: x without force
    coefficients: list[float] | None = None  # polynomial, ascending powers of x; with known: true
    degree: int | None = Field(None, ge=0)  # polynomial with unknown coefficients; position: of its splines, 1 are hats
    radii: tuple[float, float] | None = None  # lever spring: distances of its ends from the joint axis [m]
    free_length: float = 0.0  # lever spring [m]
    angle: float = 0.0  # lever spring: angle between the two radii at x = 0 [rad]
    turn: Literal[1, -1] = 1  # lever spring: sign of the angle's growth with x


# At rest, sign(x') would follow the noise of the rate. So Coulomb friction is tanh(x' / width), always with a width.
WIDTH = 0.01
PLACES = 5  # of friction over position, where the robot file names none
FADED = 64.0  # ratio^2 from which exp(-ratio^2), 1e-28, is no friction any more

COEFFICIENTS: dict[str, tuple[str, ...]] = {
    "viscous": ("viscous",),
    "coulomb": ("coulomb",),
    "stribeck": ("coulomb", "stribeck", "viscous"),
    "saturating": ("coulomb", "saturating"),
    "quadratic": ("quadratic",),
    "cbrt": ("cbrt",),
    "directional": ("coulomb_forward", "coulomb_back", "viscous_forward", "viscous_back"),
    "offset": ("offset",),
    "load": ("load",),
    "armature": ("armature",),
    "spring": ("stiffness",),
    "lever_spring": ("stiffness",),
}
SHAPES: dict[str, tuple[Shape, ...]] = {
    "coulomb": ("width",),
    "stribeck": ("width", "speed"),
    "saturating": ("width", "speed"),
    "directional": ("width",),
    "position": ("width",),
    "load": ("width",),
}
FRICTION = ("viscous", "coulomb", "stribeck", "saturating", "quadratic", "cbrt")  # odd functions of the rate alone
MEMORY = "maxwell_slip"  # its columns come from the motion before, see robot/stops.py
LOAD = "load"  # its columns come from what the rigid bodies ask of the axis, or of a strut or bearing, see dynamics/rigid_loads.py
RUBBING = (*FRICTION, "directional", "position", MEMORY, LOAD)  # all friction along an axis
FREE_SIGN = {"offset", "polynomial", "cogging"}  # every other coefficient takes energy or stores it: not negative

DISSIPATIVE = (
    "viscous",
    "coulomb",
    "armature",
    "saturating",
    "quadratic",
    "cbrt",
    "load",
    *COEFFICIENTS["directional"],
)  # coefficients that no machine has negative


def coefficient_names(spec: EffortSpec) -> Sequence[str]:
    """Return the names of a model's coefficients, in the order of its columns."""
    if spec.warmth:
        what = "per_degree" if spec.warmth.column else "cold"
        return [f"{name}_{what}" for name in coefficient_names(spec.model_copy(update={"warmth": None}))]
    if spec.model == MEMORY:
        return [f"stop_{k + 1}" for k in range(len(spec.stops or []))]
    if spec.model == "position":
        alone = "coulomb" if spec.waves else "place" if (spec.degree or 1) == 1 else "spline"
        ways = ("forward", "back") if spec.each_way else (alone,)
        return [f"{way}_{name}" for way in ways for name in over_position(spec).names]
    if spec.model == "cogging":
        return [f"{wave}_{n:g}" for n in spec.waves or [] for wave in ("sin", "cos")]
    powers = len(spec.coefficients or []) or (spec.degree or 0) + 1
    return COEFFICIENTS.get(spec.model, [f"x^{k}" for k in range(powers)])


def not_negative(spec: EffortSpec) -> list[bool]:
    """Return which of a model's coefficients take energy or store it, so that none of them is negative."""
    if spec.warmth or spec.model in FREE_SIGN:
        return [False] * len(coefficient_names(spec))
    if spec.model == "position":
        return over_position(spec).positive * (1 + spec.each_way)
    return [True] * len(coefficient_names(spec))


def over_position(spec: EffortSpec) -> OverPosition:
    """Return the shape functions of friction over position; none where its places are not known yet."""
    return OverPosition(tuple(spec.places or ()), spec.degree or 1, tuple(spec.waves or ()))


def basis(spec: EffortSpec, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
    """Return the columns (..., k) of one effort model along x (...).

    stribeck:   Obal & Gierlak (IRB 2400), eq. (54), its sign a tanh; coefficients: Coulomb level, static above it, viscous.
    directional: Coulomb and viscous friction with other coefficients each way.
    position: Coulomb friction over the position, in hats, splines or waves (robot/over_position.py).
    load: for a load of one.
    saturating: Gnad et al. (IRB 360), eq. (48), its width there 0.01 rad/s; coefficients A_C, A_v.
    """
    sign = np.tanh(xd / (spec.width or WIDTH))
    match spec.model:
        case "viscous":
            columns = [xd]
        case "coulomb" | "load":
            columns = [sign]
        case "stribeck":
            columns = [sign, sign * faded(xd / spec.speed), xd]
        case "saturating":
            columns = [sign, np.tanh(xd / spec.speed)]
        case "quadratic":
            columns = [xd * np.abs(xd)]
        case "cbrt":
            columns = [np.cbrt(xd)]
        case "position":
            columns = _over_places(spec, x, xd, sign)
        case "cogging":
            columns = [wave(n * x) for n in spec.waves or [] for wave in (np.sin, np.cos)]
        case "directional":
            columns = [part for f in (sign, xd) for part in (np.maximum(f, 0), np.minimum(f, 0))]
        case "offset":
            columns = [np.ones_like(x)]
        case "armature":
            columns = [xdd]
        case "spring":
            columns = [x - spec.rest]
        case "lever_spring":
            columns = [_lever_spring(spec, x)]
        case "polynomial":
            columns = [x**k for k in range(len(coefficient_names(spec)))]
    if len(columns) == 1:
        return np.array(columns[0])[..., None]  # for one sample, stacking takes longer than most models
    return np.stack(columns, axis=-1)


def slopes(spec: EffortSpec, shape: Shape, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
    """Return the derivatives (..., k) of a friction model's columns by one of its shape parameters, at x and rates xd (...)."""
    none = np.zeros_like(xd)
    if shape == "width":
        by_width = _slope_of_tanh(xd, spec.width or WIDTH)
        falling = faded(xd / spec.speed) if spec.model == "stribeck" else none
        if spec.model == "position":
            return np.stack(_over_places(spec, x, xd, by_width), axis=-1)
        columns = {
            "coulomb": [by_width],
            "load": [by_width],
            "stribeck": [by_width, by_width * falling, none],
            "saturating": [by_width, none],
            "directional": [np.where(xd > 0, by_width, none), np.where(xd < 0, by_width, none), none, none],
        }
    else:
        assert spec.speed is not None
        ratio = xd / spec.speed
        rising = np.tanh(xd / (spec.width or WIDTH)) * faded(ratio) * 2 * ratio**2 / spec.speed
        columns = {"stribeck": [none, rising, none], "saturating": [none, _slope_of_tanh(xd, spec.speed)]}
    return np.stack(columns[spec.model], axis=-1)


def _over_places(spec: EffortSpec, x: np.ndarray, xd: np.ndarray, f: np.ndarray) -> list[np.ndarray]:
    """Return f (...) times the shape functions of x, those of each way where the coefficients differ."""
    if not (over := over_position(spec)).names:
        raise BadFile(
            f"effort 'position' on {spec.of!r} has no places: give 'places: [...]' [rad or m], or identify the robot, whose file "
            "then says them"
        )
    ways = [np.where(xd > 0, f, 0.0), np.where(xd < 0, f, 0.0)] if spec.each_way else [f]
    return [way * shape for way in ways for shape in np.moveaxis(over.at(np.asarray(x)), -1, 0)]


def faded(ratio: np.ndarray) -> np.ndarray:
    """exp(-ratio^2), zero where it counts for nothing: numbers too small to be normal make factors a hundred times slower."""
    return np.exp(-np.minimum(ratio**2, FADED)) * (ratio**2 < FADED)


def _slope_of_tanh(x: np.ndarray, width: float) -> np.ndarray:
    """Return d tanh(x / width) / d width."""
    return -x / width**2 * (1 - np.tanh(x / width) ** 2)


def _lever_spring(spec: EffortSpec, x: np.ndarray) -> np.ndarray:
    """Return dV/dx per stiffness of a spring between two points at `radii` from the axis: (l - free) dl/dx."""
    assert spec.radii is not None
    r, h = spec.radii
    angle = spec.angle + spec.turn * x
    length = np.sqrt(r**2 + h**2 - 2 * r * h * np.cos(angle))
    return (length - spec.free_length) * spec.turn * r * h * np.sin(angle) / length
