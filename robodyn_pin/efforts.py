"""Efforts that rigid bodies do not explain: friction, rotor inertia, springs, cables.

Every effort acts along one rate x' = k'v (a joint, a motor or a combination of joints) and is linear in its
coefficients: the tree gets k f(x, x', x'') @ coefficients.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from robodyn_pin.errors import BadFile
from robodyn_pin.files import Strict

Model = Literal["viscous", "coulomb", "stribeck", "offset", "armature", "spring", "lever_spring", "polynomial"]


class EffortSpec(Strict):
    """One entry of `efforts:` in a robot file."""

    of: str | dict[str, float]  # a joint, a motor, or a combination of joints
    model: Model
    initial: float | list[float] | None = None  # coefficients, before they are identified
    known: bool = False  # given, not to be identified
    width: float | None = Field(None, gt=0)  # coulomb, stribeck: tanh(x' / width) [rad/s or m/s]
    speed: float | None = Field(None, gt=0)  # stribeck: exp(-(x' / speed)^2) [rad/s or m/s]
    rest: float = 0.0  # spring: x without force
    coefficients: list[float] | None = None  # polynomial, ascending powers of x; with known: true
    degree: int | None = Field(None, ge=0)  # polynomial with unknown coefficients
    radii: tuple[float, float] | None = None  # lever spring: distances of its ends from the joint axis [m]
    free_length: float = 0.0  # lever spring [m]
    angle: float = 0.0  # lever spring: angle between the two radii at x = 0 [rad]
    turn: Literal[1, -1] = 1  # lever spring: sign of the angle's growth with x


# Coulomb friction with a bare sign() is judged at rest by the noise of the velocity; a width is always there.
WIDTH = 0.01

COEFFICIENTS: dict[str, tuple[str, ...]] = {
    "viscous": ("viscous",),
    "coulomb": ("coulomb",),
    "stribeck": ("coulomb", "stribeck", "viscous"),
    "offset": ("offset",),
    "armature": ("armature",),
    "spring": ("stiffness",),
    "lever_spring": ("stiffness",),
}
FREE_SIGN = {"offset", "polynomial"}  # every other coefficient takes energy or stores it: not negative


@dataclass(frozen=True)
class Effort:
    """An effort term whose names are resolved."""

    spec: EffortSpec
    name: str  # of the joint, motor or combination
    row: np.ndarray  # (nv,) k: rate along which it acts
    shift: float  # x = k'q + shift [rad or m]

    @property
    def labels(self) -> list[str]:
        """Names of the coefficients, `viscous(phi1)` and the like."""
        names = COEFFICIENTS.get(self.spec.model, [f"x^{k}" for k in range(self._powers)])
        return [f"{name}({self.name})" for name in names]

    @property
    def _powers(self) -> int:
        return len(self.spec.coefficients or []) or (self.spec.degree or 0) + 1

    @property
    def initial(self) -> np.ndarray:
        """Coefficients of the robot file, zero where it gives none, shape (k,)."""
        given = self.spec.coefficients if self.spec.coefficients is not None else self.spec.initial
        values = np.zeros(len(self.labels))
        if given is not None:
            values[:] = given
        return values

    def columns(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """f(x, x', x'') at N samples of the tree's q, v, a (N, nv); shape (N, k)."""
        return basis(self.spec, q @ self.row + self.shift, v @ self.row, a @ self.row)


def basis(spec: EffortSpec, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
    """Columns (N, k) of one effort model along x (N,)."""
    sign = np.tanh(xd / (spec.width or WIDTH))
    match spec.model:
        case "viscous":
            columns = [xd]
        case "coulomb":
            columns = [sign]
        case "stribeck":  # coefficients: Coulomb level, static above Coulomb, viscous
            columns = [sign, sign * np.exp(-((xd / spec.speed) ** 2)), xd]
        case "offset":
            columns = [np.ones_like(x)]
        case "armature":
            columns = [xdd]
        case "spring":
            columns = [x - spec.rest]
        case "lever_spring":
            columns = [_lever_spring(spec, x)]
        case "polynomial":
            powers = len(spec.coefficients or []) or (spec.degree or 0) + 1
            columns = [x**k for k in range(powers)]
    return np.stack(columns, axis=1)


def _lever_spring(spec: EffortSpec, x: np.ndarray) -> np.ndarray:
    """dV/dx per stiffness of a spring between two points at `radii` from the axis: (l - free) dl/dx."""
    assert spec.radii is not None
    r, h = spec.radii
    angle = spec.angle + spec.turn * x
    length = np.sqrt(r**2 + h**2 - 2 * r * h * np.cos(angle))
    return (length - spec.free_length) * spec.turn * r * h * np.sin(angle) / length


def check_effort(spec: EffortSpec, where: str) -> None:
    """Raise BadFile where an effort lacks what its model needs."""
    needs = {"stribeck": "speed", "lever_spring": "radii"}.get(spec.model)
    if needs and getattr(spec, needs) is None:
        raise BadFile(f"{where}: effort {spec.model!r} on {spec.of!r} needs the key {needs!r}")
    if spec.model == "polynomial" and spec.coefficients is None and spec.degree is None:
        raise BadFile(f"{where}: polynomial on {spec.of!r} needs 'degree', or 'coefficients' with 'known: true'")
    if spec.known and spec.coefficients is None and spec.initial is None:
        raise BadFile(
            f"{where}: known effort {spec.model!r} on {spec.of!r} needs its value ('initial' or 'coefficients')"
        )
    count = len(COEFFICIENTS.get(spec.model, ())) or len(spec.coefficients or []) or (spec.degree or 0) + 1
    if isinstance(spec.initial, list) and len(spec.initial) != count:
        raise BadFile(
            f"{where}: effort {spec.model!r} on {spec.of!r} has {count} coefficients, 'initial' gives {len(spec.initial)}"
        )
