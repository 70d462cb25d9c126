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
from matplotlib.figure import Figure

from robodyn_pin.errors import BadFile
from robodyn_pin.files import versions, write_text
from robodyn_pin.identification.identical_bodies import SIGNIFICANT
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.log_to_robot.fit_data import Choice
from robodyn_pin.log_to_robot.prior_weight import NEXT_TO_NOTHING
from robodyn_pin.log_to_robot.result import LogRecord, Result, Sample
from robodyn_pin.logs.quality import GAP, IRREGULAR
from robodyn_pin.robot.units import coordinate_units
from robodyn_pin.viz.figure_files import Picture, picture, write_pictures
from robodyn_pin.viz.friction_curves import friction_pictures
from robodyn_pin.viz.plot_data import zoom_library
from robodyn_pin.viz.plots import choice_figure, torque_figure
from robodyn_pin.viz.report_tables import (
    ESTIMATES,
    base_rows,
    body_rows,
    copies_with_units,
    effort_tables,
    further_rows,
)
from robodyn_pin.viz.residual_over import residual_pictures
from robodyn_pin.viz.scene import Scene
from robodyn_pin.viz.uncertainty import uncertainty_of

FIGURES = "report_figures"  # folder of the report's pictures
MINUS = "\N{MINUS SIGN}"
WEAK = 0.3  # relative standard deviation from which a base parameter is hardly determined
SHOWN = 10.0  # [s] of the held-out motion in 3D; each second adds some 2 kB for every moving body


def write_report(result: Result, path: Path) -> None:
    """Write the page of a result to `path`, and its pictures as SVG and CSV into a folder beside it."""
    units = coordinate_units(result.robot_before)
    drawn, uncertainty = _pictures(result, units), uncertainty_of(result, units)
    one_unit = units[0] if len(set(units)) == 1 else None
    text = _template().render(
        r=result, best=result.scored["feasible"], estimates=ESTIMATES, units=units, one_unit=one_unit,
        kind="motor" if result.robot_before.coordinates.names == result.robot_before.motors.names else "coordinate",
        fit=[r.stretch for r in result.logs if r.use == "fit"],
        held_out=[r.stretch for r in result.logs if r.use == "held out"],
        same_recording=bool(_files(result, "fit") & _files(result, "held out")), shared=_shared(result.logs),
        torques=[(sample, [plot.html for plot in plots]) for sample, plots in drawn.torques], uncertainty=uncertainty,
        residuals=[plot.html for plot in drawn.residuals], rubbing=[plot.html for plot in drawn.friction], at_bounds=result.at_bounds,
        choices=[(choice, plot.html, choice.at_end) for choice, plot in drawn.choices],
        base=base_rows(result, result.wls),
        essential=base_rows(result, result.estimates.further.essential.estimate) if result.estimates.further.essential else [], weak=WEAK, further=further_rows(result), copies=copies_with_units(result), significant=SIGNIFICANT, bodies=body_rows(result), efforts=effort_tables(result),
        files=_log_files(result.logs, result.run.score.measure), gap=GAP, irregular=IRREGULAR,
        assumed={k: v for k, v in result.robot_before.file.sources.items() if v.startswith("assumed")},
        versions=versions(), run_file=_run_file(result),
        scene=_scene(result), zoom_library=zoom_library(),
    )  # fmt: skip
    write_text(path, text)
    every = [*drawn.every, *uncertainty.pictures]
    write_pictures(every, path.parent / FIGURES, "SIMULATED log: no robot was measured" if result.simulated else "")


def report_figures(result: Result) -> dict[str, Figure]:
    """The report's pictures, by the names of their files."""
    units = coordinate_units(result.robot_before)
    every = [*_pictures(result, units).every, *uncertainty_of(result, units).pictures]
    return {plot.name: plot.figure for plot in every}


@dataclass(frozen=True)
class _Pictures:
    """Those of the result itself, in the order of the page."""

    torques: list[tuple[Sample, list[Picture]]]
    residuals: list[Picture]
    friction: list[Picture]
    choices: list[tuple[Choice, Picture]]

    @property
    def every(self) -> list[Picture]:
        plots = [plot for _, plots in self.torques for plot in plots]
        return [*plots, *self.residuals, *self.friction, *(plot for _, plot in self.choices)]


def _pictures(result: Result, units: list[str]) -> _Pictures:
    robot, sample = result.robot_before, result.check.samples[0]
    return _Pictures(
        _torque_plots(result, units), residual_pictures(robot, sample, units), friction_pictures(robot, sample, units),
        [(choice, _choice_plot(choice)) for choice in result.settings.choices],
    )  # fmt: skip


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


def _log_files(logs: Sequence[LogRecord], measure: str) -> list[tuple[LogRecord, str]]:
    """Each file once, what its samples were used for, and the error of the feasible fit on them by a measure."""
    uses: dict[tuple[str, str], list[str]] = {}
    for r in logs:
        uses.setdefault((r.name, r.sha256), []).append(
            f"{r.use}: {r.begin} to {r.end - 1}, error {_plain(r.errors.by(measure))} %"
        )
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
