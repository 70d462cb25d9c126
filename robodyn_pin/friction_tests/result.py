"""Friction of a motor over speed: points, curves through them, and their files."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from robodyn_pin.errors import RobodynError
from robodyn_pin.friction_tests.friction_file import Curve
from robodyn_pin.identification.friction_curve import CurveFit, Points, fit_curve
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
# Obal & Gierlak (IRB 2400), Table 5: which of coulomb (0), stribeck (1), viscous (2) and the speed (3) add up to what.
TABLE_5: dict[str, tuple[int, ...]] = {"Fs": (0, 1), "Fc": (0,), "Fv": (2,), "omega_st": (3,)}


class FrictionQuantity(NamedTuple):
    """A parameter of a curve."""

    name: str
    value: float
    deviation: float  # standard; infinite: the points do not show it
    reach: float  # half width of its 95 % interval


@dataclass(frozen=True)
class FrictionResult:
    """Points and curves of one motor."""

    robot: str
    motor: str
    unit: str  # of the effort
    model: Curve
    width: float  # of the change of sign [rad/s or m/s]
    points: Points
    fits: dict[Curve, CurveFit]
    left_out: dict[Curve, str]  # curves for comparison that the points do not give, and why
    warnings: tuple[str, ...]
    simulated: bool
    load: np.ndarray | None = None  # (n,) what else the motor holds at each point: gravity, an offset

    @property
    def efforts(self) -> list[dict[str, object]]:
        """Entries for the robot file's `efforts:`."""
        fit, found, k = self.fits[self.model], [], 0
        for spec in EFFORTS[self.model]:
            count = len(coefficient_names(spec))
            values = [float(f"{x:.6g}") for x in fit.coefficients[k : k + count]]
            entry: dict[str, object] = {"of": self.motor, "model": spec.model}
            entry["initial"] = values if count > 1 else values[0]
            if spec.width is not None:
                entry["width"] = self.width
            if spec.speed is not None and fit.shape is not None:
                entry["speed"] = float(f"{fit.shape:.6g}")
            found.append(entry)
            k += count
        return found

    def columns(self, curve: Curve, w: np.ndarray, shape: float) -> np.ndarray:
        """Columns (n, k) of a curve at speeds w (n,) that bends at the speed `shape`."""
        return curve_columns(curve, w, shape, self.width)

    def summary(self) -> dict[str, object]:
        """What `friction.json` holds."""
        found = {
            name: {
                "coefficients": dict(zip(names(name), fit.coefficients.tolist(), strict=True)),
                "deviations": dict(zip(names(name), fit.deviations.tolist(), strict=True)),
                "speed": fit.shape,
                "speed_deviation": fit.shape_deviation,
                "rmse": fit.rmse,
            }
            for name, fit in self.fits.items()
        }
        about = {name: getattr(self, name) for name in ("robot", "motor", "simulated", "unit", "model")}
        return about | {
            "points": len(self.points.speed),
            "warnings": list(self.warnings),
            "fits": found,
            "table": {
                q.name: {"value": q.value, "deviation": q.deviation, "half width of 95 %": q.reach}
                for q in friction_quantities(self.fits[self.model], self.model)
            },
            "left out": {**self.left_out},
            "efforts": self.efforts,
            **({} if self.load is None else {"load at the reference": float(self.load.mean())}),
        }

    def table(self) -> pl.DataFrame:
        """The points, and what the curves say of them."""
        p = self.points
        named = {"speed": p.speed, "effort": p.effort, "deviation": p.deviation, "error_of_mean": p.error}
        named["samples"] = p.samples.astype(int)
        if self.load is not None:
            named["load"] = self.load
        return pl.DataFrame(named | {str(name): fit.predicted for name, fit in self.fits.items()})


def friction_quantities(fit: CurveFit, curve: Curve) -> list[FrictionQuantity]:
    """The parameters as they are published: of Stribeck friction those of Table 5, else the coefficients and the speed."""
    values = np.append(fit.coefficients, [] if fit.shape is None else [fit.shape])
    heads = [*names(curve), *(["speed"] if fit.shape is not None else [])]
    sums = TABLE_5 if curve == "stribeck" else {name: (k,) for k, name in enumerate(heads)}
    found = []
    for name, summed in sums.items():
        used = list(summed)
        deviation = float(np.sqrt(fit.covariance[np.ix_(used, used)].sum()))
        found.append(FrictionQuantity(name, float(values[used].sum()), deviation, quantile(fit.freedom) * deviation))
    return found


def names(curve: Curve) -> list[str]:
    """Names of a curve's coefficients."""
    return [name for spec in EFFORTS[curve] for name in coefficient_names(spec)]


def curve_columns(curve: Curve, w: np.ndarray, shape: float, width: float = WIDTH) -> np.ndarray:
    """Columns (n, k) of a curve at speeds w (n,) that bends at the speed `shape` and changes sign over `width`."""
    given = {"speed": shape, "width": width}
    bent = [s.model_copy(update={k: x for k, x in given.items() if getattr(s, k) is not None}) for s in EFFORTS[curve]]
    return np.concatenate([basis(s, 0 * w, w, 0 * w) for s in bent], axis=1)


def fit_curves(
    model: Curve, points: Points, width: float, relative: bool
) -> tuple[dict[Curve, CurveFit], dict[Curve, str]]:
    """The model that was asked for, which must fit, and the others where the points give them; else why not.

    Args:
        relative: errors of the points grow with the effort.
    """
    fits: dict[Curve, CurveFit] = {}
    left_out: dict[Curve, str] = {}
    for curve, specs in EFFORTS.items():
        bends = any(spec.speed is not None for spec in specs)
        columns = partial(curve_columns, curve, width=width)
        try:
            fits[curve] = fit_curve(points, columns, bends, names(curve), relative)
        except RobodynError as error:
            if curve == model:
                raise
            left_out[curve] = str(error)
    return fits, left_out


def bend_warning(fit: CurveFit) -> list[str]:
    """What to say where no speed shows the bend."""
    if fit.shape is None or np.isfinite(fit.shape_deviation or 0.0):
        return []
    return ["the points do not show at which speed the curve bends; hold slower or faster speeds"]
