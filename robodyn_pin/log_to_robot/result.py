"""The outcome of an identification, and its folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.identical_bodies import Comparison, compare_copies
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.log_to_robot.at_bounds import bounds_in_words
from robodyn_pin.log_to_robot.fit_data import Settings
from robodyn_pin.log_to_robot.further_estimates import Estimates
from robodyn_pin.log_to_robot.held_out import Sample
from robodyn_pin.log_to_robot.log_records import LogRecord
from robodyn_pin.log_to_robot.payload import PayloadQuantity, payload_quantities
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.verdict import Scored, Verdict
from robodyn_pin.robot.export import identified_robot
from robodyn_pin.robot.robot import Robot
from robodyn_pin.storage.freed_memory import give_back

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from robodyn_pin.log_to_robot.diagnosis import Diagnosis


@dataclass(frozen=True)
class Check:
    """How good the estimates are."""

    scored: Mapping[str, Scored]  # OLS, WLS, feasible, and further ones that were asked for
    accuracy: Accuracy  # of the feasible fit on held-out data
    samples: tuple[Sample, ...]  # of the first held-out log, and of the first that is loaded otherwise
    diagnosis: "Diagnosis"
    verdict: Verdict


@dataclass(frozen=True, repr=False)
class Result:
    """Everything that an identification found."""

    settings: Settings
    logs: tuple[LogRecord, ...]
    simulated: bool
    estimates: Estimates
    check: Check

    def __repr__(self) -> str:
        simulated = "SIMULATED, " if self.simulated else ""
        error = self.scored["feasible"].held_out.by(self.run.score.measure)
        said = "accepted" if self.verdict.accepted else f"not accepted: {self.verdict.reasons[0]}"
        return f"Result({self.name}: {simulated}{said}, held-out error {error:.3g} %)"

    def _repr_html_(self) -> str:
        held_out = {name: self.scored[name].held_out for name in ("WLS", "feasible")}
        names, found = self.robot_before.coordinates.names, [errors.percent for errors in held_out.values()]
        rows = "".join(
            f"<tr><td>{escape(name)}</td>{''.join(f'<td>{percent[k]:.3g}</td>' for percent in found)}</tr>"
            for k, name in enumerate(names)
        )
        head = "".join(f"<th>{name} [%]</th>" for name in held_out)
        said = "".join(f"<li>{escape(line)}</li>" for line in (*self.verdict.reasons, *self.verdict.cautions))
        return (
            f"<p>{escape(repr(self))}</p><ul>{said}</ul><table><caption>Held-out error</caption>"
            f"<tr><th>along</th>{head}</tr>{rows}</table>"
        )

    def to_frame(self) -> "pl.DataFrame":
        """Return the base parameters as a data frame, SI units: label, weighted least squares with its standard deviation
        (by white noise, and by pieces of the logs), and the feasible fit; `.to_pandas()` makes it one of pandas."""
        import polars as pl

        from robodyn_pin.output.identification import base_parameters

        return pl.DataFrame(base_parameters(self))

    @property
    def robot_before(self) -> Robot:
        """The robot as loaded, with the chosen Coulomb widths and the identified shapes of friction."""
        return self.settings.robot

    @property
    def run(self) -> RunFile:
        """The run file as used, with chosen values."""
        return self.settings.run

    @property
    def layout(self) -> Layout:
        return self.settings.layout

    @property
    def wls(self) -> BaseEstimate:
        return self.estimates.wls

    @property
    def feasible(self) -> FeasibleEstimate:
        return self.estimates.feasible

    @property
    def scored(self) -> Mapping[str, Scored]:
        """Errors on fitted and held-out data, by the estimate's name."""
        return self.check.scored

    @property
    def verdict(self) -> Verdict:
        return self.check.verdict

    @property
    def name(self) -> str:
        return self.robot_before.name

    @property
    def bandwidths(self) -> str:
        """Held-out error of the feasible fit as scored and at full bandwidth, where a filter makes them two; else empty."""
        lowpass, measure, found = self.run.score.filter, self.run.score.measure, self.scored["feasible"]
        if lowpass is None:
            return ""
        names, rows = self.robot_before.coordinates.names, zip(found.held_out.percent, found.whole.percent, strict=True)
        each = ", ".join(f"{name} {a:.3g} and {b:.3g}" for name, (a, b) in zip(names, rows, strict=True))
        chosen = {
            "control": f"settings were chosen for control, by the error below {lowpass.cutoff:g} Hz",
            "simulation": "settings were chosen for simulation, by the error at full bandwidth",
        }[self.run.choose.use]
        return (
            f"held-out error of the torques below {lowpass.cutoff:g} Hz, as scored, {found.held_out.by(measure):.3g} %, at full "
            f"bandwidth {found.whole.by(measure):.3g} % ({each})" + (f"; {chosen}" if self.settings.choices else "")
        )

    @property
    def at_bounds(self) -> list[str]:
        """Which constraints the feasible fit stands at, in words."""
        found = self.estimates
        return bounds_in_words(self.robot_before, self.layout, found.feasible, found.wls, found.bounds)

    @property
    def variables(self) -> int:
        """How many variables the fit had: those of the feasible fit, and shape parameters."""
        return self.feasible.free + len(self.settings.shapes)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified parameters."""
        return identified_robot(
            self.robot_before, self.layout, self.feasible.values, self.estimates.bounds.eigenvalue, self.simulated
        )

    @cached_property
    def copies(self) -> tuple[Comparison, ...]:
        """How equal identical bodies came out that were estimated separately (weighted least squares)."""
        return compare_copies(self.layout, self.wls)

    @cached_property
    def payload(self) -> list[PayloadQuantity]:
        """What the logs say of the payload; empty without one."""
        return (
            payload_quantities(self.robot_before, self.feasible.values, self.wls) if self.robot_before.payload else []
        )

    def write(self, folder: str | Path, report: bool = True) -> Path:
        """Write the result folder, as `output.identification.write_result`."""
        give_back()  # of the logs' rows, before pictures need their own
        from robodyn_pin.output.identification import write_result

        return write_result(self, Path(folder), report)

    def figures(self) -> "dict[str, Figure]":
        """The report's pictures by name, as matplotlib figures whose `axes` may be changed and saved."""
        from robodyn_pin.viz.report import report_figures

        return report_figures(self)

    def summary(self) -> dict[str, object]:
        """What `result.json` holds: numbers only, nothing of time or place, so that two runs give the same bytes."""
        from robodyn_pin.output.identification import summary_of

        return summary_of(self)
