"""Friction of a motor over speed: points, curves through them, and their files."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import fdtri

from robodyn_pin.errors import RobodynError
from robodyn_pin.friction_tests.friction_file import Curve
from robodyn_pin.friction_tests.strokes import Unit
from robodyn_pin.identification.friction_curve import CurveFit, Points, fit_curve
from robodyn_pin.identification.steady_motion import EvenMotion
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.robot.friction_models import WIDTH, EffortSpec, basis, coefficient_names

# What a robot file calls the efforts of each curve; one of them bends with a speed.
COULOMB, VISCOUS = {"of": "x", "model": "coulomb", "width": WIDTH}, {"of": "x", "model": "viscous"}
BENT = {"of": "x", "width": WIDTH, "speed": 1.0}
EFFORTS: dict[Curve, tuple[EffortSpec, ...]] = {
    "linear": (EffortSpec.model_validate(COULOMB), EffortSpec.model_validate(VISCOUS)),
    "stribeck": (EffortSpec.model_validate({"model": "stribeck"} | BENT),),
    "saturating": (EffortSpec.model_validate({"model": "saturating"} | BENT),),
}
# Obal & Gierlak (IRB 2400), Table 5: which of coulomb (0), stribeck (1), viscous (2) and the speed (last) add up to what.
SPEEDS = ("speed", "omega_st")
SLIGHT = 0.1  # of the friction: a term that is surely less than that is known, even where it may be zero
EXACT = 3e-3  # of the friction: a straight line that leaves less is as good as one that bends
CHANCE = 0.001  # that a curve that does not bend seems to
TURNING = Unit("N m", "rad")
TABLE_5: dict[str, tuple[int, ...]] = {"Fs": (0, 1), "Fc": (0,), "Fv": (2,), "omega_st": (-1,)}


class FrictionQuantity(NamedTuple):
    """A parameter of a curve."""

    name: str
    value: float
    deviation: float  # standard; infinite: the points do not show it
    reach: float  # half width of its 95 % interval
    unit: str = ""
    shown: bool = True  # false: what it may be, at worst, is as large as what is measured

    @property
    def bare(self) -> str:
        """With its interval, without its unit."""
        return f"{self.value:.4g} +- {self.reach:.2g}" if self.shown else "not shown"

    def __str__(self) -> str:
        return f"{self.bare} {self.unit}" if self.shown else "the log does not show it"

    def summary(self) -> dict[str, object]:
        """As JSON has it; what the log does not show has no value."""
        about = {"shown": self.shown, "value": self.value if self.shown else None, "unit": self.unit}
        about |= {"deviation": self.deviation, "half width of 95 %": self.reach}
        return about | {"interval": [self.value - self.reach, self.value + self.reach]}


@dataclass(frozen=True)
class FrictionResult:
    """Points and curves of one motor."""

    robot: str
    motor: str
    unit: Unit
    model: Curve  # of the fits, the one that counts
    width: float  # of the change of sign [rad/s or m/s]
    points: Points
    fits: dict[Curve, CurveFit]
    left_out: dict[Curve, str]  # curves for comparison that the points do not give, and why
    warnings: tuple[str, ...]
    even: EvenMotion  # what counted as constant speed
    simulated: bool
    load: np.ndarray | None = None  # (n,) what else the motor holds at each point: gravity, an offset
    mistakes: tuple[str, ...] = ()  # columns of the logs that look wrong

    @property
    def quantities(self) -> list[FrictionQuantity]:
        """The parameters of the curve that counts, and the load at the reference where both directions were swept."""
        found = friction_quantities(self.fits[self.model], self.model, self.unit)
        if self.load is None:
            return found
        deviation = float(self.load.std(ddof=1) / np.sqrt(len(self.load)))
        reach = quantile(len(self.load) - 1) * deviation
        return [*found, FrictionQuantity("load", float(self.load.mean()), deviation, reach, self.unit.effort)]

    @property
    def efforts(self) -> list[dict[str, object]]:
        """Entries for the robot file's `efforts:`; what the log does not show, or shows with wrong columns, is left to be identified."""
        fit, found, k = self.fits[self.model], [], 0
        shown = [q.shown for q in _coefficients(fit, self.model, self.unit)]
        for spec in EFFORTS[self.model]:
            count = len(coefficient_names(spec))
            values = [float(f"{x:.6g}") for x in fit.coefficients[k : k + count]]
            known = all(shown[k : k + count]) and not self.mistakes
            entry: dict[str, object] = {"of": self.motor, "model": spec.model}
            entry |= {"initial": values if count > 1 else values[0]} if known else {}
            if spec.width is not None:
                entry["width"] = self.width
            if spec.speed is not None and fit.shape is not None:
                entry["speed"] = float(f"{fit.shape:.6g}")
            found.append(entry | {"known": known})
            k += count
        return found

    def friction(self, curve: Curve, w: np.ndarray) -> np.ndarray:
        """A curve (n,) at speeds w (n,), its offset included."""
        fit, bare = self.fits[curve], curve_columns(curve, w, self.fits[curve].shape or 1.0, self.width)
        return bare @ fit.coefficients[: bare.shape[1]] + (fit.coefficients[-1] if fit.has_offset else 0.0)

    def summary(self) -> dict[str, object]:
        """What `friction.json` holds."""
        found, fits = self.quantities, {}
        for name, fit in self.fits.items():
            heads = [*names(name), *(["offset"] if fit.has_offset else [])]
            fits[name] = {
                "coefficients": dict(zip(heads, fit.coefficients.tolist(), strict=True)),
                "deviations": dict(zip(heads, fit.deviations.tolist(), strict=True)),
                "speed": fit.shape,
                "speed_deviation": fit.shape_deviation,
                "rmse": fit.rmse,
            }
        about = {name: getattr(self, name) for name in ("robot", "motor", "simulated", "model")}
        even = {"tolerance": self.even.share, "travel": self.even.travel, "shortest": self.even.shortest}
        return about | {
            "unit": self.unit.effort,
            "unit of speeds": self.unit.speed,
            "steady": even,
            "points": len(self.points.speed),
            "warnings": list(self.warnings),
            "mistakes": list(self.mistakes),
            "fits": fits,
            "table": {q.name: q.summary() for q in found if q.name != "load"},
            "left out": {**self.left_out},
            "efforts": self.efforts,
            **{
                key: x
                for q in found
                if q.name == "load"
                for key, x in (("load", q.summary()), ("load at the reference", q.value))
            },
        }

    def table(self) -> pl.DataFrame:
        """The points, and what the curves say of them."""
        p = self.points
        named = {"speed": p.speed, "effort": p.effort, "deviation": p.deviation, "error_of_mean": p.error}
        named["samples"] = p.samples.astype(int)
        if self.load is not None:
            named["load"] = self.load
        return pl.DataFrame(named | {str(name): fit.predicted for name, fit in self.fits.items()})


def friction_quantities(fit: CurveFit, curve: Curve, unit: Unit = TURNING) -> list[FrictionQuantity]:
    """The parameters as they are published: of Stribeck friction those of Table 5, else the coefficients and the speed."""
    if curve != "stribeck":
        return _coefficients(fit, curve, unit)
    heads = [*TABLE_5, *(["offset"] if fit.has_offset else [])]
    sums = [*TABLE_5.values(), *([(3,)] if fit.has_offset else [])]
    return [_quantity(fit, name, summed, unit) for name, summed in zip(heads, sums, strict=True)]


def _coefficients(fit: CurveFit, curve: Curve, unit: Unit) -> list[FrictionQuantity]:
    heads = [*names(curve), *(["offset"] if fit.has_offset else []), *(["speed"] if fit.shape is not None else [])]
    return [_quantity(fit, name, (k,), unit) for k, name in enumerate(heads)]


def _quantity(fit: CurveFit, name: str, summed: tuple[int, ...], unit: Unit) -> FrictionQuantity:
    """The sum of some unknowns, last the shape; shown where it is not zero, or so surely small that it does not count."""
    values = np.append(fit.coefficients, [] if fit.shape is None else [fit.shape])
    used = list(summed)
    value, deviation = float(values[used].sum()), float(np.sqrt(fit.covariance[np.ix_(used, used)].sum()))
    reach = quantile(fit.freedom) * deviation
    size = np.sqrt(np.mean(fit.friction**2))
    shown = reach < abs(value) or (name not in SPEEDS and reach * fit.sizes[used].max() < SLIGHT * size)
    units = {"viscous": unit.viscous, "Fv": unit.viscous} | dict.fromkeys(SPEEDS, unit.speed)
    return FrictionQuantity(name, value, deviation, reach, units.get(name, unit.effort), bool(shown))


def names(curve: Curve) -> list[str]:
    """Names of a curve's coefficients."""
    return [name for spec in EFFORTS[curve] for name in coefficient_names(spec)]


def curve_columns(curve: Curve, w: np.ndarray, shape: float, width: float = WIDTH) -> np.ndarray:
    """Columns (n, k) of a curve at speeds w (n,) that bends at the speed `shape` and changes sign over `width`."""
    given = {"speed": shape, "width": width}
    bent = [s.model_copy(update={k: x for k, x in given.items() if getattr(s, k) is not None}) for s in EFFORTS[curve]]
    return np.concatenate([basis(s, 0 * w, w, 0 * w) for s in bent], axis=1)


def fit_curves(
    asked: Curve | None, points: Points, width: float, swept: bool
) -> tuple[dict[Curve, CurveFit], dict[Curve, str]]:
    """The model that was asked for, which must fit, and the others where the points give them; else why not.

    Args:
        swept: the points are of both directions, free of an offset, and their errors grow with the effort.
    """
    fits: dict[Curve, CurveFit] = {}
    left_out: dict[Curve, str] = {}
    for curve, specs in EFFORTS.items():
        bends = any(spec.speed is not None for spec in specs)
        columns = partial(curve_columns, curve, width=width)
        try:
            fits[curve] = fit_curve(points, columns, bends, names(curve), swept, not swept)
        except RobodynError as error:
            if curve == (asked or "linear"):
                raise
            left_out[curve] = str(error)
    return fits, left_out


def simplest(asked: Curve | None, fits: dict[Curve, CurveFit], points: Points) -> tuple[Curve, list[str]]:
    """The curve that counts, and what is to be said of it: one that bends only where the points show that it does."""
    line = fits.get("linear")
    if line is None:
        only: Curve = asked if asked is not None else next(iter(fits))
        return only, []
    bent: dict[Curve, CurveFit] = {c: f for c, f in fits.items() if c != "linear" and _bends(f, c, line, points.effort)}
    if asked is None:
        best: Curve = min(bent, key=lambda c: bent[c].rmse) if bent else "linear"
        return best, []
    if asked == "linear" or asked in bent:
        return asked, []
    return "linear", [
        f"the points do not show a curve that bends ({asked}: rms {fits[asked].rmse:.3g}, linear: {line.rmse:.3g}), nor at which speed; "
        "linear friction counts. Hold slower and faster speeds, or more of them"
    ]


def _bends(fit: CurveFit, curve: Curve, line: CurveFit, effort: np.ndarray) -> bool:
    """Whether the bend of a curve is there: its height is not zero and it explains more than chance would (F test)."""
    height, speed = (_quantity(fit, name, (k,), TURNING) for name, k in (("height", 1), ("speed", -1)))
    exact = line.rmse < EXACT * np.sqrt(np.mean(line.friction**2))
    if exact or not (np.isfinite(speed.reach) and height.reach < height.value):
        return False
    rest, of_line = (float(np.sum(((f.predicted - effort) / fit.error) ** 2)) for f in (fit, line))
    more = line.freedom - fit.freedom
    return of_line - rest > rest * more / fit.freedom * float(fdtri(more, fit.freedom, 1 - CHANCE))
