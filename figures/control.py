"""Tracking errors of the DualV under PD and under computed torque with identified models, as Briot et al., table 4. Simulated.

The models are identified from noisy logs of both motions of the examples, weighed as the paper weighs, three seeds of each case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib
import numpy as np
from dualv_case import BODY, CASES, DUALV, identified
from make import Row, Section
from matplotlib.figure import Figure

from robodyn_pin.files import write_text
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import Motion
from robodyn_pin.motions.steps import StepMotion
from robodyn_pin.robot.payload import loaded
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile
from robodyn_pin.simulation.controllers import Controller
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS, svg_file, thinned

PICTURES = Path(__file__).parents[1] / "docs/pictures"
ERRORS, TORQUES = PICTURES / "dualv_tracking.svg", PICTURES / "dualv_torques.svg"
MOTIONS: dict[str, Motion] = {
    "1": StepMotion(
        rate=1000, hold=0.02, ramp=0.1,
        poses=[{}, {"x": 0.07, "y": 0.03, "phi": 0.25}, {"x": -0.07, "y": 0.03, "phi": -0.25}, {"y": -0.06, "phi": 0.1}, {}],
    ),
    "2": FourierMotion(
        rate=1000, duration=0.6, period=0.3, centre={"x": 0, "y": 0, "phi": 0},
        sin={"x": [0.06, 0, 0.006], "y": [0, 0.025], "phi": [0, 0.12, 0.05]},
    ),
}  # fmt: skip
SEEDS = range(3)
PUBLISHED = {
    "1": {"pd": (6.35, 6.50, 8.00, 8.25), "case 1": (2.79, 2.15, 1.95, 2.10), "case 2": (2.80, 2.11, 2.06, 2.04)},
    "2": {"pd": (7.70, 7.65, 9.40, 7.60), "case 1": (2.90, 2.65, 2.20, 2.05), "case 2": (2.83, 2.67, 2.25, 2.10)},
}  # [mrad] Briot et al., table 4
TORQUE_ERRORS = {"1": (9.1, 8.5, 7.5, 8.9), "2": (9.8, 8.5, 7.6, 10.5)}  # [%] their table 3, case 1
PUSHED = {"percent": 10, "up_to": 10}
LAWS = {"feedforward": "PD and feedforward", "computed_torque": "computed torque at the measured pose"}


Lines = tuple[np.ndarray, dict[str, np.ndarray]]  # time (N,) and by name (N, 4)


@dataclass(frozen=True)
class Bench:
    """One motion of the DualV with its payload, PD with and without disturbance."""

    robot: Robot
    models: Mapping[tuple[str, int], Robot]  # by case and seed
    motion: Motion
    number: str

    def run(self, law: str, model: Robot | None = None, seed: int = 0, rate: float = 5000, **more: object) -> Tracking:
        return track_motion(*self.pair(law, model, seed, rate, **more))

    def pair(
        self, law: str, model: Robot | None = None, seed: int = 0, rate: float = 5000, **more: object
    ) -> tuple[Robot, Controller]:
        """The robot and its controller."""
        given = {"law": law, "rate": rate, "bandwidth": 70, "damping": 0.7, "derivative_filter": 70} | more
        if isinstance(pushed := given.get("disturbance"), dict):
            given["disturbance"] = pushed | {"seed": seed}
        return prepare(self.robot, model or self.robot, self.motion, ControllerFile.model_validate(given))

    def disturbed(self, law: str, case: str, up_to: float = PUSHED["up_to"]) -> list[Tracking]:
        """One run a seed, model and disturbance of its own in each."""
        return [self.run(law, self.models[case, seed], seed, disturbance=PUSHED | {"up_to": up_to}) for seed in SEEDS]


def study() -> Section:
    with TemporaryDirectory() as scratch:
        models = {key: model for seed in SEEDS for key, model in identified(Path(scratch), seed).items()}
    benches = [Bench(loaded(DUALV, BODY), models, motion, number) for number, motion in MOTIONS.items()]
    found = [Found(bench) for bench in benches]
    rows = [row for x in found for row in (*x.disturbed_rows(), *x.exact_rows(), x.harsh_row(), x.torque_row())]
    draw(ERRORS, "error [mrad]", [x.error_lines() for x in found])
    draw(TORQUES, "torque [N m]", [x.torque_lines() for x in found])
    return Section(
        "Control", "python figures/make.py control", tuple(rows),
        "SIMULATED DualV with payload; bandwidth 70 Hz, damping 0.7, derivative filter 70 Hz, 5 kHz (assumed), limits 127 N m. "
        f"Largest errors of motors 1 to 4, worst of {len(SEEDS)} seeds; models as `robodyn identify` leaves them of noisy logs "
        "(examples/dualv.yaml and dualv_motors.yaml, noise as printed, feasible fit); disturbance 10 % of the motion's largest torque a motor, sines up to 10 Hz. Published numbers are "
        "those of other motions of a real robot: reductions compare, errors do not.\n\n"
        f"![tracking errors](pictures/{ERRORS.name}) ![torques](pictures/{TORQUES.name})",
    )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """The runs of one motion."""

    bench: Bench

    @cached_property
    def pd(self) -> list[Tracking]:
        return [self.bench.run("pd", seed=seed, disturbance=PUSHED) for seed in SEEDS]

    @cached_property
    def fed(self) -> dict[str, list[Tracking]]:
        return {case: self.bench.disturbed("feedforward", case) for case in CASES}

    def disturbed_rows(self) -> Iterator[Row]:
        name = f"motion {self.bench.number}"
        yield Row(f"{name}: PD [mrad]", self.published("pd"), mrad(self.pd))
        for law, called in LAWS.items():
            for case in CASES:
                runs = self.fed[case] if law == "feedforward" else self.bench.disturbed(law, case)
                less = np.min([reduction(a, b) for a, b in zip(self.pd, runs, strict=True)], axis=0)
                yield Row(f"{name}: {called}, {case} [mrad]", self.published(case), mrad(runs))
                yield Row(
                    f"{name}: {called}, {case}, reduction, worst seed [%]",
                    ">= 54",
                    percent(less),
                    bool((less >= 54).all()),
                )

    def exact_rows(self) -> Iterator[Row]:
        """The exact model without disturbance, and with one sample of delay."""
        plain = self.bench.run("pd")
        late = {rate: self.bench.run("pd", rate=rate, delay=1) for rate in (5000, 2000)}
        for law, called in LAWS.items():
            name = f"motion {self.bench.number}: {called}, exact model, no disturbance"
            less = reduction(plain, self.bench.run(law))
            yield Row(f"{name}, reduction [%]", ">= 95", percent(less), bool((less >= 95).all()))
            for rate, pd in late.items():
                found = self.bench.run(law, rate=rate, delay=1)
                grow = f"{found.stability.radius:.4f} times a sample (PD {pd.stability.radius:.4f})"
                cut = "; ".join(f"{int(x.saturated.any(axis=1).sum())} of {len(x.t)}" for x in (found, pd))
                yield Row(
                    f"{name}, one sample of delay at {rate / 1000:g} kHz: reduction [%]", "reported",
                    f"{percent(reduction(pd, found))}; errors grow {grow}; samples at the torque limit {cut} (PD)",
                )  # fmt: skip

    def harsh_row(self) -> Row:
        """Disturbances where the loop hardly resists them."""
        pd = [self.bench.run("pd", seed=seed, disturbance=PUSHED | {"up_to": 100}) for seed in SEEDS]
        runs = zip(pd, self.bench.disturbed("feedforward", "case 1", 100), strict=True)
        less = np.min([reduction(a, b) for a, b in runs], axis=0)
        return Row(
            f"motion {self.bench.number}: PD and feedforward, case 1, sines up to 100 Hz instead, reduction [%]",
            "reported", percent(less),
        )  # fmt: skip

    def torque_row(self) -> Row:
        off = [self.fed["case 1"][seed].tau - self.predicted(seed) for seed in SEEDS]
        size = [np.linalg.norm(run.tau, axis=0) for run in self.fed["case 1"]]
        percents = 100 * np.max([np.linalg.norm(x, axis=0) / n for x, n in zip(off, size, strict=True)], axis=0)
        return Row(
            f"motion {self.bench.number}: torques of the controlled run against case 1, relative error norms, worst seed [%]",
            "published " + " ".join(f"{x:.1f}" for x in TORQUE_ERRORS[self.bench.number]), percent(percents),
        )  # fmt: skip

    def predicted(self, seed: int) -> np.ndarray:
        """Torques (N, 4) of case 1 along the reference, none of them internal."""
        return self.bench.pair("feedforward", self.bench.models["case 1", seed])[1].reference.nominal

    def published(self, case: str) -> str:
        return "published " + " ".join(f"{x:.2f}" for x in PUBLISHED[self.bench.number][case])

    def error_lines(self) -> Lines:
        runs = {"PD": self.pd[0], **{case: runs[0] for case, runs in self.fed.items()}}
        return self.pd[0].t, {name: 1e3 * run.error for name, run in runs.items()}

    def torque_lines(self) -> Lines:
        run = self.fed["case 1"][0]
        return run.t, {"of the controlled run": run.tau, "model of case 1": self.predicted(0)}


def reduction(before: Tracking, after: Tracking) -> np.ndarray:
    """Of the largest error of each motor [%]."""
    return 100 * (1 - after.largest / before.largest)


def percent(x: np.ndarray) -> str:
    return " ".join(f"{value:.1f}" for value in x)


def mrad(runs: list[Tracking]) -> str:
    return " ".join(f"{1e3 * x:.3f}" for x in np.max([run.largest for run in runs], axis=0))


@matplotlib.rc_context(STYLE)
def draw(file: Path, label: str, columns: list[Lines]) -> None:
    """A line of axes a motor, a column a motion."""
    figure = Figure(figsize=(9.5, 7))
    figure.subplots_adjust(left=0.085, right=0.99, top=0.92, bottom=0.07, hspace=0.15, wspace=0.16)
    axes = figure.subplots(4, 2, sharex="col")
    for column, (t, lines) in enumerate(columns):
        for k in range(4):
            for (name, values), colour in zip(lines.items(), (MEASURED, FEASIBLE, WLS), strict=False):
                axes[k, column].plot(*thinned(t, values[:, k]), color=colour, linewidth=0.9, label=name)
            axes[k, 0].set_ylabel(f"m{k + 1}\n{label}")
            axes[k, column].margins(x=0)
        axes[0, column].set_title(f"motion {column + 1} (SIMULATED)")
        axes[3, column].set_xlabel("time [s]")
    figure.legend(handles=axes[0, 0].lines, loc="upper right", ncols=3)
    write_text(file, svg_file(figure, file.stem))
