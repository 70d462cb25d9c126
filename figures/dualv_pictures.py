"""Figures 5 and 6 of Briot et al. in form: projected torques of both cases, measured and predicted. Simulated."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from dualv_case import RUN, Case
from matplotlib.figure import Figure

from robodyn_pin.files import write_text
from robodyn_pin.log_to_robot.rows import filtered, observe
from robodyn_pin.logs.log import Log
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, svg_file, thinned

PROJECTED = Path(__file__).parents[1] / "docs/pictures/dualv_projected.svg"
SECONDS = 3.0  # of the loaded log that are drawn: its motion's period
UNITS = {"x": "N", "y": "N", "phi": "N m", "m1": "N m", "m2": "N m", "m3": "N m"}


def projected(case: Case, log: Log, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time (n,), projected torques (n, d) measured and predicted by parameters x, all of them filtered as the fit's rows."""
    lowpass, parts = RUN.rows.filter, []
    for block in observe(case.robot, log, RUN.preparation, [lowpass]):
        W, known, measured = filtered(block, lowpass, log)
        parts.append(((block.begin + np.arange(len(W))) / log.rate, measured, W @ x + known))
    t, measured, predicted = (np.concatenate(part) for part in zip(*parts, strict=True))
    shown = (t >= SECONDS) & (t <= 2 * SECONDS)
    return t[shown], measured[shown], predicted[shown]


@matplotlib.rc_context(STYLE)
def draw(cases: Mapping[str, tuple[Case, np.ndarray]], logs: Sequence[Log]) -> None:
    """A column a case, a line of axes a coordinate, of the loaded log; parameters of each case beside it."""
    figure = Figure(figsize=(9.5, 6))
    figure.subplots_adjust(left=0.085, right=0.99, top=0.91, bottom=0.08, hspace=0.15, wspace=0.18)
    axes = figure.subplots(3, len(cases), sharex=True)
    for column, (name, (case, x)) in enumerate(cases.items()):
        t, measured, predicted = projected(case, logs[1], x)
        for k, along in enumerate(case.robot.coordinates.names):
            axes[k, column].plot(*thinned(t, measured[:, k]), color=MEASURED, linewidth=0.9, label="measured")
            axes[k, column].plot(*thinned(t, predicted[:, k]), color=FEASIBLE, linewidth=0.9, label="identified")
            axes[k, column].set_ylabel(f"{along} [{UNITS[along]}]")
            axes[k, column].margins(x=0)
        axes[0, column].set_title(f"{name} (SIMULATED)")
        axes[-1, column].set_xlabel("time in the log [s]")
    figure.legend(handles=axes[0, 0].lines, loc="upper right", ncols=2)
    write_text(PROJECTED, svg_file(figure, PROJECTED.stem))
