"""The report of an identification: one page that works offline, on screen and on paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path

import numpy as np
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from robodyn_pin.errors import BadFile
from robodyn_pin.files import versions, write_text
from robodyn_pin.identification.identical_bodies import SIGNIFICANT, Comparison
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.log_to_robot.cross_validation import NEXT_TO_NOTHING, Choice
from robodyn_pin.log_to_robot.missing_structure import ALONE, AT_BOUND, as_good_as_zero
from robodyn_pin.log_to_robot.result import LogRecord, Result, Sample
from robodyn_pin.log_to_robot.verdict import Scored
from robodyn_pin.logs.quality import GAP, IRREGULAR
from robodyn_pin.robot.units import coefficient_units, coordinate_units, parameter_units, raised, unit_along
from robodyn_pin.viz.figure_files import Picture, picture, write_pictures
from robodyn_pin.viz.plots import choice_figure, torque_figure
from robodyn_pin.viz.residual_over import residual_pictures
from robodyn_pin.viz.scene import Scene
from robodyn_pin.viz.uncertainty import uncertainty_of

FIGURES = "report_figures"  # folder of the report's pictures
ESTIMATES = ("OLS", "WLS", "feasible")
NEAR_LIMIT = 1.1  # times the least eigenvalue: the fit keeps some 5 % away from it
MINUS = "\N{MINUS SIGN}"
WEAK = 0.3  # relative standard deviation from which a base parameter is hardly determined
SHOWN = 10.0  # [s] of the held-out motion in 3D; each second adds some 2 kB for every moving body


def write_report(result: Result, path: Path) -> None:
    """Write the page of a result to `path`, and its pictures as SVG and CSV into a folder beside it."""
    units = coordinate_units(result.robot_before)
    torques, uncertainty = _torque_plots(result, units), uncertainty_of(result, units)
    residuals = residual_pictures(result.robot_before, result.check.samples[0], units)
    choices = [(choice, _choice_plot(choice)) for choice in result.settings.choices]
    one_unit = units[0] if len(set(units)) == 1 else None
    text = _template().render(
        r=result, best=result.scored["feasible"], estimates=ESTIMATES, units=units, one_unit=one_unit,
        kind="motor" if result.robot_before.coordinates.names == result.robot_before.motors.names else "coordinate",
        fit=[_used(r) for r in result.logs if r.use == "fit"],
        held_out=[_used(r) for r in result.logs if r.use == "held out"],
        same_recording=bool(_files(result, "fit") & _files(result, "held out")), shared=_shared(result.logs),
        torques=[(sample, [plot.svg for plot in plots]) for sample, plots in torques], uncertainty=uncertainty,
        residuals=[plot.svg for plot in residuals],
        choices=[(choice, plot.svg, choice.at_end) for choice, plot in choices],
        base=_base_rows(result, result.wls),
        essential=_base_rows(result, result.estimates.further.essential.estimate) if result.estimates.further.essential else [], weak=WEAK, further=_further(result), copies=_copies(result), significant=SIGNIFICANT, bodies=_bodies(result), efforts=_efforts(result),
        files=_log_files(result.logs), gap=GAP, irregular=IRREGULAR,
        assumed={k: v for k, v in result.robot_before.file.sources.items() if v.startswith("assumed")},
        versions=versions(), run_file=_run_file(result),
        scene=_scene(result),
    )  # fmt: skip
    write_text(path, text)
    drawn = [
        *(plot for _, plots in torques for plot in plots),
        *residuals,
        *(plot for _, plot in choices),
        *uncertainty.pictures,
    ]
    write_pictures(drawn, path.parent / FIGURES, "SIMULATED log: no robot was measured" if result.simulated else "")


@cache
def _template() -> Template:
    pages = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
    pages.filters |= {
        "number": shown_number,
        "fixed": lambda x: shown_number(x, zeros=True),
        "breakable": breakable,
        "zip": zip,
    }
    return pages.get_template("report.html")


def shown_number(x: float, digits: int = 3, zeros: bool = False) -> Markup:
    """A number for readers: a few digits, whole up to 99999, powers of ten; `zeros` keeps zeros at the end."""
    x = float(x) + 0.0  # no minus before a zero
    if not isfinite(x):
        return Markup("—")
    if 10.0 ** (digits - 1) <= abs(x) < 99999.5:
        return Markup(f"{x:.0f}".replace("-", MINUS))
    mantissa, _, power = f"{x:#.{digits}g}".replace("-", MINUS).partition("e")
    if not zeros or power:
        mantissa = mantissa.rstrip("0").removesuffix(".")
    if not power:
        return Markup(mantissa)
    return Markup(f"{mantissa}·10<sup>{power[:1].strip('+')}{int(power[1:])}</sup>")


def _plain(x: float) -> str:
    return shown_number(x, zeros=True).striptags()


def breakable(text: str) -> Markup:
    """A label that may break where its parts meet: `arm_1=arm_2`, `m(a) + 0.2 m(b)`."""
    text = text.replace(" - ", f" {MINUS} ")
    return Markup("=<wbr>").join(text.split("="))


def _used(record: LogRecord) -> str:
    return f"{record.name}{' (loaded)' if record.loaded else ''}, samples {record.begin} to {record.end - 1}"


def _files(result: Result, use: str) -> set[tuple[str, str]]:
    return {(r.name, r.sha256) for r in result.logs if r.use == use}


def _run_file(result: Result) -> str:
    used = result.run.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(used, sort_keys=False, default_flow_style=None, width=90)


def _shared(logs: Sequence[LogRecord]) -> int:
    """Number of held-out samples that were fitted as well."""
    return sum(
        max(0, min(held.end, fitted.end) - max(held.begin, fitted.begin))
        for held in logs
        for fitted in logs
        if (held.use, fitted.use) == ("held out", "fit") and (held.name, held.sha256) == (fitted.name, fitted.sha256)
    )


def _torque_plots(result: Result, units: list[str]) -> list[tuple[Sample, list[Picture]]]:
    drawn: list[tuple[Sample, list[Picture]]] = []
    for k, sample in enumerate(result.check.samples):
        reach, plots = quantile(result.check.diagnosis.freedom) * sample.deviations, []
        for j, (name, unit) in enumerate(zip(result.robot_before.coordinates.names, units, strict=True)):
            found = {e: result.scored[e].held_out for e in ("WLS", "feasible")}
            legend = {e: f"{e}: RMSE {_plain(x.rmse[j])} {unit}, {_plain(x.percent[j])} %" for e, x in found.items()}
            measured, predicted = sample.measured[:, j], {e: sample.predicted[e][:, j] for e in found}
            figure = torque_figure(sample.t, measured, predicted, name, unit, legend, reach[:, j])
            columns = {"time [s]": sample.t, f"measured [{unit}]": measured}
            columns |= {f"{e} [{unit}]": x for e, x in predicted.items()}
            columns[f"half 95 % band [{unit}]"] = reach[:, j]
            plots.append(picture(figure, f"torque_{name}" + (f"_{k + 1}" if k else ""), columns))
        drawn.append((sample, plots))
    return drawn


CHOICES = {  # key of the run file -> axis label
    "cutoff": "cutoff of the filter on positions [Hz]",
    "coulomb_width": "Coulomb width [rms of each rate]",
    "prior_weight": "weight of the prior [-]",
}


def _choice_plot(choice: Choice) -> Picture:
    equal = NEXT_TO_NOTHING * min(choice.percent) if choice.key == "prior_weight" else None
    label = CHOICES.get(choice.key, choice.key)
    figure = choice_figure(choice.candidates, choice.percent, choice.chosen, label, equal)
    columns = {label: np.array(choice.candidates), "cross-validated error [%]": np.array(choice.percent)}
    return picture(figure, f"choice_{choice.key}", columns)


@dataclass(frozen=True)
class BaseRow:
    """A base parameter."""

    label: str
    unit: str
    wls: float
    deviation: float
    relative: float  # deviation over |value|
    feasible: float


def _base_rows(result: Result, estimate: BaseEstimate) -> list[BaseRow]:
    base = estimate.base
    units = np.array(parameter_units(result.robot_before))[base.columns]
    relative = estimate.deviations / np.maximum(np.abs(estimate.values), 1e-300)
    feasible, labels = base.of(result.feasible.values), base.labels(result.layout.labels)
    columns = zip(labels, units, estimate.values, estimate.deviations, relative, feasible, strict=True)
    return [BaseRow(*row) for row in columns]


@dataclass(frozen=True)
class FurtherRow:
    """A row of the table of all estimates."""

    name: str
    size: int  # base parameters or variables
    errors: Scored


def _further(result: Result) -> list[FurtherRow]:
    """Every estimate, if there are more than the usual ones."""
    found = result.estimates.further
    if result.scored.keys() <= set(ESTIMATES):
        return []
    sizes = dict.fromkeys(("OLS", "WLS", "Gauss-Markov"), result.wls.base.size) | {"feasible": result.variables}
    if found.essential:
        sizes["essential"] = found.essential.estimate.base.size
    if found.log_cholesky:
        sizes["log-Cholesky"] = found.log_cholesky.free
    return [FurtherRow(name, sizes[name], scored) for name, scored in result.scored.items()]


def _copies(result: Result) -> list[tuple[Comparison, str]]:
    """Base parameters of identical bodies, with their units."""
    units = dict(
        zip(result.wls.base.labels(result.layout.labels), (b.unit for b in _base_rows(result, result.wls)), strict=True)
    )
    return [(c, units[c.label]) for c in result.copies]


@dataclass(frozen=True)
class BodyRow:
    """A body, or several identical ones, as the feasible fit found it."""

    name: str
    mass: float  # [kg]
    centre: np.ndarray  # (3,) [m]
    eigenvalue: float  # smallest of the pseudo-inertia, in units of 1 kg and 0.1 m
    bounds: np.ndarray  # (2,) of the mass [kg]
    thin: bool  # the eigenvalue stands at its bound
    source: str  # what determines the mass: "log", "bound", "against" (a bound that contradicts the log), "prior", "combination"


def _bodies(result: Result) -> list[BodyRow]:
    base, rows = result.wls.base, []
    for i, name in enumerate(result.layout.bodies):
        x = result.feasible.values[10 * i : 10 * i + 10]
        bounds, prior = result.estimates.bounds.mass[i], result.estimates.prior.bodies[i, 0]
        # Base parameters span all that the log determines. A mass that is a base parameter by itself is determined; a
        # mass without weight in any of them is not.
        weights = np.abs(
            base.regroup[base.columns == 10 * i] if 10 * i in base.columns else base.regroup[:, base.dropped == 10 * i]
        )
        alone = not (weights > ALONE).any()
        seen = alone and 10 * i in base.columns
        if (np.abs(x[0] - bounds) <= AT_BOUND * bounds).any():
            source = "against" if seen else "bound"
        elif alone:
            source = "log" if seen else "prior"
        else:
            source = "prior" if abs(x[0] - prior) <= AT_BOUND * prior else "combination"
        smallest = result.feasible.eigenvalues[i]
        thin = smallest <= NEAR_LIMIT * result.estimates.bounds.eigenvalue
        rows.append(BodyRow(name, x[0], x[1:4] / x[0], smallest, bounds, thin, source))
    return rows


@dataclass(frozen=True)
class EffortCoefficient:
    """A coefficient of friction, armature or another effort."""

    value: float
    known: bool  # given by the robot file, not identified
    at_zero: bool  # identified, and practically zero because it may not be negative


@dataclass(frozen=True)
class EffortTable:
    """Coefficients of all efforts along joints of one kind."""

    heads: list[tuple[str, str]]  # coefficient, unit
    rows: dict[str, dict[tuple[str, str], EffortCoefficient]]  # joint, motor or combination -> head -> coefficient


def _efforts(result: Result) -> list[EffortTable]:
    robot, layout, wls = result.robot_before, result.layout, result.wls
    at_zero = as_good_as_zero(layout, result.feasible.values, wls)
    # Polynomials get a table of their own, since they have columns that nothing else has.
    tables: dict[tuple[str, bool], EffortTable] = {}
    k = layout.first_scalar
    for effort in robot.efforts:
        known, count = effort.spec.known, len(effort.labels)
        kind = unit_along(robot, effort), effort.spec.model == "polynomial"
        table = tables.setdefault(kind, EffortTable([], {}))
        values = effort.initial if known else result.feasible.values[k : k + count]
        zeros = np.zeros(count, bool) if known else at_zero[k : k + count]
        units = coefficient_units(robot, effort)
        for label, unit, value, zero in zip(effort.labels, units, values, zeros, strict=True):
            head = (raised(label.partition("(")[0]), unit)
            if head not in table.heads:
                table.heads.append(head)
            table.rows.setdefault(effort.name, {})[head] = EffortCoefficient(0.0 if zero else value, known, bool(zero))
        k += 0 if known else count
    return list(tables.values())


def _log_files(logs: Sequence[LogRecord]) -> list[tuple[LogRecord, str]]:
    """Each file once, and what its samples were used for."""
    uses: dict[tuple[str, str], list[str]] = {}
    for r in logs:
        uses.setdefault((r.name, r.sha256), []).append(f"{r.use}: {r.begin} to {r.end - 1}")
    first = {(r.name, r.sha256): r for r in reversed(logs)}
    return [(first[key], "; ".join(text)) for key, text in uses.items()]


@dataclass(frozen=True)
class Drawing:
    """The page with the robot in 3D."""

    page: str  # empty if the robot cannot be drawn
    seconds: float
    failure: str = ""


def _scene(result: Result) -> Drawing:
    robot, sample = result.robot, result.check.samples[0]
    try:
        scene = Scene(robot.model, robot.urdf_xml, [str(result.robot_before.urdf_path.parent)], title=robot.name)
    except BadFile as error:  # a mesh that is not there must not cost the result its report
        return Drawing("", 0.0, str(error))
    shown = sample.t <= sample.t[0] + SHOWN
    if shown.sum() < 2:
        scene.display(robot.home)
    else:
        scene.animate(sample.t[shown], sample.q[shown])
    return Drawing(scene.html(), float(np.ptp(sample.t[shown])))
