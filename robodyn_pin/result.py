"""The outcome of an identification, and its folder."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml

from robodyn_pin.errors import BadFile
from robodyn_pin.export import identified_robot, identified_robot_file, identified_urdf
from robodyn_pin.files import json_text, write_text
from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.copies import Comparison, compare_copies
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.validation import Errors
from robodyn_pin.payload import Quantity, quantities
from robodyn_pin.quality import Quality
from robodyn_pin.result_summary import summary_of, versions
from robodyn_pin.robot import Robot
from robodyn_pin.run_file import RunFile
from robodyn_pin.shapes import FittedShape
from robodyn_pin.urdf_writer import loaded_urdf
from robodyn_pin.verdict import Verdict

if TYPE_CHECKING:
    from robodyn_pin.diagnosis import Diagnosis
    from robodyn_pin.further import Further

FIGURES = "report_figures"  # folder of the report's pictures
STILL = 1  # label of samples that stand still; the others have 0


@dataclass(frozen=True)
class Choice:
    """A setting that was chosen by cross-validation inside the fit data."""

    key: str
    candidates: tuple[float, ...]
    percent: tuple[float, ...]  # mean cross-validated error over motors
    chosen: float

    @property
    def at_end(self) -> bool:
        """Whether a better value may lie beyond the candidates."""
        return len(self.candidates) > 1 and self.chosen in (min(self.candidates), max(self.candidates))

    @property
    def remark(self) -> str:
        """A caution about a choice at the end of its candidates; else empty."""
        if not self.at_end:
            return ""
        which = "smallest" if self.chosen == min(self.candidates) else "largest"
        return f"{self.key} {self.chosen:g} is the {which} of its candidates; a better value may lie beyond: add candidates to 'choose'"


@dataclass(frozen=True)
class LogRecord:
    """Which rows of which file were used for what."""

    name: str
    use: str  # "fit" or "held out"
    begin: int
    end: int
    sha256: str
    quality: Quality
    differentiation: str  # how positions became rates, and why
    loaded: bool = False  # the robot carried the payload
    period: float | None = None  # [s] after which the whole log's motion repeats; None: it does not


@dataclass(frozen=True)
class Scored:
    """Errors of one estimate."""

    fit: Errors
    held_out: Errors
    moving: Errors  # held-out samples whose coordinate moves
    still: Errors  # held-out samples whose coordinate stands still
    whole: Errors  # held-out samples, torques at full bandwidth; as held_out where none are filtered


@dataclass(frozen=True)
class Sample:
    """Torques of one held-out log along the coordinates, thinned for pictures."""

    log: str  # its name, what it carries, its samples
    t: np.ndarray  # (n,) [s]
    q: np.ndarray  # (n, nv) joint positions [rad or m]
    measured: np.ndarray  # (n, d)
    predicted: dict[str, np.ndarray]  # estimate -> (n, d)
    deviations: np.ndarray  # (n, d) of measured about predicted torques: uncertainty of the parameters, and noise


@dataclass(frozen=True)
class Result:
    """Everything that an identification found."""

    robot_before: Robot  # as loaded, with the chosen Coulomb widths and the identified shapes of friction
    run: RunFile  # as used, with chosen values
    layout: Layout
    initial: np.ndarray  # (p,) values in the robot's files before
    ols: BaseEstimate
    wls: BaseEstimate
    feasible: FeasibleEstimate
    further: "Further"  # estimates that the run file asked for
    bounds: Bounds
    prior: Prior
    scored: Mapping[str, Scored]  # OLS, WLS, feasible, and further ones that were asked for
    choices: tuple[Choice, ...]
    shapes: tuple[FittedShape, ...]  # of friction; robot_before has them
    logs: tuple[LogRecord, ...]
    simulated: bool
    verdict: Verdict
    accuracy: Accuracy  # of the feasible fit on held-out data
    samples: tuple[Sample, ...]  # of the first held-out log, and of the first that is loaded otherwise
    diagnosis: "Diagnosis"

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
            f"bandwidth {found.whole.by(measure):.3g} % ({each})" + (f"; {chosen}" if self.choices else "")
        )

    @property
    def variables(self) -> int:
        """How many variables the fit had: those of the feasible fit, and shape parameters."""
        return self.feasible.free + len(self.shapes)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified parameters."""
        return identified_robot(self)

    @cached_property
    def copies(self) -> tuple[Comparison, ...]:
        """How equal identical bodies came out that were estimated separately (weighted least squares)."""
        return compare_copies(self.layout, self.wls)

    @cached_property
    def payload(self) -> list[Quantity]:
        """What the logs say of the payload; empty without one."""
        return quantities(self.robot_before, self.feasible.values, self.wls) if self.robot_before.payload else []

    def write(self, folder: str | Path, report: bool = True) -> Path:
        """Write the result folder: made whole beside its place, then moved there, `result.json` last.

        Raises:
            BadFile: the folder cannot be written.
            NotPhysical: the parameters do not survive the way through a URDF.
        """
        folder = Path(folder)
        prepare_folder(folder)
        urdf = identified_urdf(self.robot_before, self.layout, self.feasible.values, self.bounds.eigenvalue)
        name = f"{self.name}_identified"
        texts = {
            f"{name}.urdf": urdf,
            f"{name}.yaml": identified_robot_file(self.robot_before, self.layout, self.feasible.values, self.simulated),
            "run.yaml": self._run_text(),
            "result.json": json_text(self.summary()) + "\n",
        }
        if carried := self.robot_before.payload:
            x = self.feasible.values[self.robot_before.payload_columns]
            texts[f"{self.name}_loaded.urdf"] = loaded_urdf(urdf, carried.body, carried.name, x, carried.placement)
            robot = replace(self.robot_before, file=self.robot_before.file.apart(carried.body))
            texts[f"{self.name}_loaded.yaml"] = identified_robot_file(
                robot, self.layout, self.feasible.values, self.simulated
            ).replace(f"{name}.urdf", f"{self.name}_loaded.urdf")
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}_") as scratch:
            unfinished = Path(scratch)
            for file, text in texts.items():
                (unfinished / file).write_text(text, encoding="utf-8")
            self._write_arrays(unfinished / "parameters.npz")
            if report:
                from robodyn_pin.viz.report import write_report

                write_report(self, unfinished / "report.html")
            finished = sorted(unfinished.iterdir(), key=lambda path: path.name == "result.json")
            if report and (folder / FIGURES).exists():  # no folder replaces one that holds files
                os.replace(folder / FIGURES, unfinished / "before")
            for path in finished:
                os.replace(path, folder / path.name)
        return folder

    def _write_arrays(self, target: Path) -> None:
        with target.open("wb") as file:
            np.savez(
                file, labels=np.array(self.layout.labels), feasible=self.feasible.values, prior=self.prior.bodies,
                base_columns=self.wls.base.columns, base_dropped=self.wls.base.dropped, base_regroup=self.wls.base.regroup,
                base_labels=np.array(self.wls.base.labels(self.layout.labels)),
                wls=self.wls.values, wls_covariance=self.wls.covariance, wls_sigma=self.wls.sigma,
                ols=self.ols.values, ols_covariance=self.ols.covariance,
            )  # fmt: skip

    def _run_text(self) -> str:
        used = self.run.model_dump(mode="json", exclude_none=True)
        head = {
            "versions": versions(), "seed": self.run.seed,
            "logs": {f"{r.name} ({r.use}, samples {r.begin} to {r.end})": f"sha256 {r.sha256}" for r in self.logs},
        }  # fmt: skip
        note = yaml.safe_dump(head, sort_keys=False, width=1000)
        return "".join(f"# {line}\n" for line in note.splitlines()) + yaml.safe_dump(used, sort_keys=False)

    def summary(self) -> dict[str, object]:
        """What `result.json` holds: numbers only, nothing of time or place, so that two runs give the same bytes."""
        return summary_of(self)


def prepare_folder(folder: Path) -> None:
    """Make the folder and see that it can be written, before the work is done.

    Raises:
        BadFile: it cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(f"cannot write the output folder {folder}: {error.strerror}") from None
    write_text(folder / ".writable", "")
    (folder / ".writable").unlink()
