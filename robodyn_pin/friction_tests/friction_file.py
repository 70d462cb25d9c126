"""What a friction file (YAML) may say: whose friction, from which logs, found how."""

from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from robodyn_pin.files import Positive, Strict
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.units import LogKeys

Curve = Literal["linear", "stribeck", "saturating"]
# [rad/s] Obal & Gierlak (IRB 2400), eq. (74)
_PARTS = (np.arange(1, 1500) * 1e-5, 0.015 + np.arange(925) * 2e-4, 0.2 + np.arange(301) * 1e-3)
GRID = np.round(np.concatenate(_PARTS), 5)
SPACING = 3.0  # speeds stand even in their cube roots: close where friction bends, enough where it is viscous


class SteadySpec(Strict):
    """What counts as constant speed: it stays within a share of itself, averaged over a time and a travel."""

    shortest: Positive = 0.3  # [s]
    travel: Positive | None = None  # [rad or m] default: 0.8 of the sweeps' planned travel, else 0.002
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.05  # the share of the speed
    slowest: Positive | None = (
        None  # [rad/s or m/s] slower is creeping, default: a thousandth of the fastest; of 'motor'
    )


class GridSpec(Strict):
    """Speeds of the grid of Obal & Gierlak (IRB 2400), eq. (74): all between two ends, or `count` of them."""

    slowest: Positive = 1e-5  # [rad/s or m/s]
    fastest: Positive = 0.5
    count: Annotated[int, Field(ge=2)] | None = None

    @model_validator(mode="after")
    def _on_the_grid(self) -> Self:
        if not GRID[0] <= self.slowest < self.fastest <= GRID[-1]:
            raise ValueError(
                f"speeds from {self.slowest:g} to {self.fastest:g}: the grid of eq. (74) goes from {GRID[0]:g} to {GRID[-1]:g}; list "
                "others one by one, 'speeds: [...]'"
            )
        return self

    @property
    def speeds(self) -> list[float]:
        """In order."""
        grid = GRID[(self.slowest <= GRID) & (self.fastest >= GRID)]
        if self.count is None:
            return [float(w) for w in grid]
        wanted = np.linspace(grid[0] ** (1 / SPACING), grid[-1] ** (1 / SPACING), self.count) ** SPACING
        return [float(w) for w in np.unique(grid[np.abs(grid[:, None] - wanted).argmin(axis=0)])]


class SweepsSpec(Strict):
    """Sweeps of motors past reference angles, one motor at a time."""

    at: dict[str, float] = Field(min_length=1)  # reference angle of each motor [rad or m]
    speeds: GridSpec | list[Positive] = GridSpec(slowest=1e-4, count=120)
    pose: dict[str, float] = {}  # where the others wait that make no difference to gravity; default: home
    rate: Positive = 250.0  # [Hz] of the motion
    hold: Positive = 1.0  # [s] at constant speed, at the least
    travel: Positive = 2e-3  # [rad or m] at constant speed, at the least: slow speeds are held longer
    ramp: Positive = 0.5  # [s] from rest to constant speed
    approach: Positive = 0.5  # [rad/s or m/s] at most from one sweep to the next

    @property
    def in_order(self) -> list[float]:
        """All speeds, slow to fast."""
        return self.speeds.speeds if isinstance(self.speeds, GridSpec) else sorted(set(self.speeds))

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if len(self.in_order) < 2:
            raise ValueError(
                f"'sweeps: speeds' gives {len(self.in_order)} speed{'s' * (len(self.in_order) != 1)}; friction over speed needs two and "
                "more, and as many different ones as the model has unknowns"
            )
        return self


class BreakawaySpec(Strict):
    """Ramps of effort at standstill until a motor breaks away, at several places, to both sides."""

    at: dict[str, list[float]] = Field(min_length=1)  # places of each motor [rad or m]
    slip: Positive = 1e-3  # [rad or m] a motor that is farther from where it stood has broken away
    within: Positive = 0.01  # [rad or m] of a place: ramps there are its ramps
    repeats: Annotated[int, Field(ge=1)] = 4  # ramps to each side, at each place
    seconds: Positive = 5.0  # [s] of a ramp
    rest: Positive = 1.0  # [s] before it
    push: Positive | None = None  # [rad or m] of a servo's reference over the ramp; default: five times 'slip'
    pose: dict[str, float] = {}  # where the others wait; default: home
    rate: Positive = 250.0  # [Hz] of the motion

    @model_validator(mode="after")
    def _places(self) -> Self:
        for motor, places in self.at.items():
            if not places:
                raise ValueError(f"'breakaway: at: {motor}' lists no place; name one or more, [0.1, 0.2]")
        return self


class FrictionFile(LogKeys):
    """Friction over speed: from logs of constant speeds to coefficients."""

    robot: str
    logs: list[LogSpec] = []  # none: nothing is recorded yet, as for a protocol
    motor: str | None = None  # one that turns freely; or
    sweeps: SweepsSpec | None = None  # motors that carry a load and are limited; or
    breakaway: BreakawaySpec | None = None  # static friction and stiffness before it
    model: Curve | None = None  # default: the simplest that the points ask for; the others are fitted for comparison
    width: Positive | None = (
        None  # [rad/s or m/s] of the change of sign; default: the robot file's, else 0.01, less if slow
    )
    steady: SteadySpec = SteadySpec()
    output: Path | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if [self.motor, self.sweeps, self.breakaway].count(None) != 2:
            raise ValueError(
                "a friction file names either 'motor', one that turns freely, or 'sweeps', those that pass a reference angle, or "
                "'breakaway', those whose effort rises at standstill"
            )
        return self
