"""The part of the report about uncertainty: spectra of residuals, intervals beside priors, mass matrix along the log."""

from dataclasses import dataclass

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.identification.whiteness import residual_spectrum
from robodyn_pin.log_to_robot.diagnosis import Residuals, mass_eigenvalues
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.robot.units import parameter_units
from robodyn_pin.viz.figure_files import Picture, picture
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS, plain_powers

BANDS = 40  # of a spectrum, evenly spaced in the logarithm of the frequency


@dataclass(frozen=True)
class Uncertainty:
    """What trust.html shows besides the result's own diagnosis."""

    inside: float  # share of the held-out torques inside their 95 % band
    shift: float  # largest difference of OLS and instrumental variables, in standard deviations
    shifted: str  # its parameter combination
    masses: Markup  # empty without intervals
    alone: list[str]
    combined: list[str]
    unseen: list[str]
    gains: list[tuple[str, str, float, str, float]]  # combination, unit, deviation, motion, factor
    rows: list["ParameterRow"]
    intervals: bool  # whether intervals of the feasible fit were asked for
    failed: bool  # whether an end was not found
    spectra: list[tuple[Markup, float, float]]  # picture, widening, probability
    eigenvalues: Markup
    least: float
    mass_unit: str
    pictures: list[Picture]


@dataclass(frozen=True)
class ParameterRow:
    """A parameter's value, interval and prior."""

    unit: str
    found: float
    low: float | str  # end of the interval; a word if there is no number
    high: float | str
    prior: float | None  # None: no prior


def uncertainty_of(result: Result, units: list[str]) -> Uncertainty:
    """Collect figures and tables; `units` of the coordinates' efforts."""
    d, labels, first = result.check.diagnosis, result.layout.labels, result.layout.first_scalar
    reach = quantile(d.freedom)
    inside = [np.abs(s.measured - s.predicted["feasible"]) <= reach * s.deviations for s in result.check.samples]
    shifts = np.abs(d.instruments.shifts) if d.instruments else np.zeros(1)
    masses = [] if d.feasible is None else [_masses(result, d.feasible[:first:10])]
    kinds: dict[str, list[str]] = {"alone": [], "combination": [], "not at all": []}
    for parameter in d.known.parameters:
        kinds[parameter.kind].append(parameter.label)
    gain, names = d.known.gain, result.robot_before.coordinates.names
    spectra = [_spectrum(d.residuals, j, name, unit) for j, (name, unit) in enumerate(zip(names, units, strict=True))]
    mass_unit = {"N m": "kg m²", "N": "kg"}.get(units[0], "SI") if len(set(units)) == 1 else "SI"
    eigenvalues = mass_eigenvalues(result.robot, result.check.samples[0].q)
    along = np.linspace(0, 100, len(eigenvalues))
    heads = {f"eigenvalue {k + 1} [{mass_unit}]": x for k, x in enumerate(eigenvalues.T)}
    matrix = picture(eigenvalue_figure(eigenvalues, mass_unit), "mass_matrix", {"along the motion [%]": along, **heads})
    of_each = parameter_units(result.robot_before)
    return Uncertainty(
        float(np.mean(np.concatenate(inside))),
        float(shifts.max()), result.wls.base.labels(labels)[int(shifts.argmax())], masses[0].html if masses else Markup(""),
        kinds["alone"], kinds["combination"], kinds["not at all"],
        list(zip(d.known.base.labels(labels), [of_each[i] for i in d.known.base.columns], gain.deviations.tolist(), gain.motion,
                 gain.factor.tolist(), strict=True)),
        _parameters(result, of_each), d.feasible is not None, d.feasible is not None and bool(np.isnan(d.feasible).any()),
        [(p.html, float(w), float(q)) for p, w, q in zip(spectra, d.residuals.widening, d.residuals.probability, strict=True)],
        matrix.html, float(eigenvalues.min()), mass_unit, [*masses, *spectra, matrix],
    )  # fmt: skip


def _parameters(result: Result, units: list[str]) -> list[ParameterRow]:
    prior, values = result.estimates.prior, result.feasible.values.tolist()
    scalars = prior.scalars.tolist() if prior.scalar_weight else []
    priors = [*prior.bodies.ravel().tolist(), *scalars]
    priors += [None] * (len(values) - len(priors))
    found = result.check.diagnosis.feasible
    ends = np.full((len(values), 2), np.nan) if found is None else found
    rows = zip(units, values, *(map(_end, side) for side in ends.T.tolist()), priors, strict=True)
    return [ParameterRow(*row) for row in rows]


def _end(x: float) -> float | str:
    if np.isnan(x):
        return "no end"
    return x if np.isfinite(x) else "∞" if x > 0 else "\N{MINUS SIGN}∞"


def _masses(result: Result, intervals: np.ndarray) -> Picture:
    names, found = list(result.layout.bodies), result.feasible.values[: result.layout.first_scalar : 10]
    prior = result.estimates.prior.bodies[:, 0]
    columns: dict[str, np.ndarray | list[str]] = {"body": names, "lower [kg]": intervals[:, 0], "upper [kg]": intervals[:, 1],
               "feasible fit [kg]": found, "prior [kg]": prior}  # fmt: skip
    return picture(mass_figure(names, intervals, found, prior), "masses", columns)


def _spectrum(residuals: Residuals, j: int, name: str, unit: str) -> Picture:
    frequency, density = _bands(residuals, j)
    columns = {"frequency [Hz]": frequency, f"density [({unit})²/Hz]": density}
    white = float(np.var(residuals.series[:, j]) / (residuals.rate / 2))
    return picture(spectrum_figure(frequency, density, white, name, unit), f"residual_{name}", columns)


def _bands(residuals: Residuals, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and mean power densities of BANDS bands; empty bands are left out."""
    frequency, density = residual_spectrum(residuals.series[:, j : j + 1], residuals.rate)
    frequency, density = frequency[:-1], density[:-1]  # the window leaves half of the last
    band = np.digitize(frequency, np.geomspace(frequency[0], 1.001 * frequency[-1], BANDS + 1))
    used = np.unique(band)
    x, y = (np.array([np.mean(v[band == k]) for k in used]) for v in (frequency, density[:, 0]))
    return x, y


@matplotlib.rc_context(STYLE)
def spectrum_figure(frequency: np.ndarray, density: np.ndarray, white: float, title: str, unit: str) -> Figure:
    """Power density (n,) over frequency (n,) [Hz] of a residual, and the level of white noise of the same power."""
    figure = Figure(figsize=(4.6, 2.3))
    figure.subplots_adjust(left=0.16, right=0.98, top=0.87, bottom=0.2)
    axes = figure.subplots()
    axes.loglog(frequency, density, color=FEASIBLE, linewidth=1.2, label="residual")
    axes.axhline(white, color=MEASURED, linewidth=0.8, linestyle="--", label="white noise of the same power")
    axes.set_xlabel("frequency [Hz]")
    axes.set_ylabel(f"power density [({unit})²/Hz]")
    plain_powers(axes.xaxis, axes.yaxis)
    axes.set_title(title)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    return figure


@matplotlib.rc_context(STYLE)
def mass_figure(names: list[str], intervals: np.ndarray, found: np.ndarray, prior: np.ndarray) -> Figure:
    """Masses [kg]: their intervals over bodies that can exist, estimate and prior.

    Args:
        intervals: (n, 2) 95 %; infinite ends are drawn to the edge. found, prior: (n,).
    """
    figure = Figure(figsize=(9.5, 0.5 + 0.27 * len(names)))
    figure.subplots_adjust(
        left=0.33, right=0.97, top=1 - 0.22 / figure.get_figheight(), bottom=0.42 / figure.get_figheight()
    )
    axes, rows = figure.subplots(), np.arange(len(names))
    finite = intervals[np.isfinite(intervals)]
    low, high = 0.8 * min([*finite, *found, *prior]), 1.25 * max([*finite, *found, *prior])
    ends = np.clip(np.nan_to_num(intervals, nan=low, neginf=low, posinf=high), low, high)
    axes.hlines(
        rows,
        ends[:, 0],
        ends[:, 1],
        color=WLS,
        linewidth=5,
        alpha=0.6,
        label="95 % interval over bodies that can exist",
    )
    axes.plot(found, rows, "D", color=FEASIBLE, markersize=5, label="feasible fit")
    axes.plot(prior, rows, "|", color=MEASURED, markersize=10, label="prior")
    axes.set_xscale("log")
    plain_powers(axes.xaxis)
    axes.set_xlim(low, high)
    axes.set_yticks(rows, [name if len(name) < 44 else f"{name[:40]} ..." for name in names])
    axes.invert_yaxis()
    axes.set_xlabel("mass [kg]")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.1)
    return figure


@matplotlib.rc_context(STYLE)
def eigenvalue_figure(eigenvalues: np.ndarray, unit: str) -> Figure:
    """Eigenvalues (n, d) of the mass matrix along the held-out motion; a forward simulation needs them positive."""
    figure = Figure(figsize=(9.5, 2.1))
    figure.subplots_adjust(left=0.085, right=0.985, top=0.95, bottom=0.2)
    axes = figure.subplots()
    axes.plot(np.linspace(0, 100, len(eigenvalues)), eigenvalues, color=FEASIBLE, linewidth=0.9)
    if eigenvalues.min() > 0:
        axes.set_yscale("log")
        plain_powers(axes.yaxis)
    else:
        axes.set_yscale("symlog")
    axes.margins(x=0)
    axes.set_xlabel("along the held-out motion [%]")
    axes.set_ylabel(f"eigenvalues of M [{unit}]")
    return figure
