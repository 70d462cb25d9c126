"""Figures of a motion, and of its measured and modelled efforts, one row per motor."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS, thinned

ROW = 1.35  # height of a motor's axes [in]


@matplotlib.rc_context(STYLE)
def motion_figure(
    t: np.ndarray, q: np.ndarray, dq: np.ndarray, names: Sequence[str], units: Sequence[str], title: str
) -> Figure:
    """Positions and rates (N, n), as Obal & Gierlak (IRB 2400), Figs. 10 and 11.

    Args:
        units: of each motor's effort, from which that of its position follows.
    """
    figure = _rows(len(names), title, wspace=0.2)
    axes = figure.subplots(len(names), 2, sharex=True, squeeze=False)
    for k, (name, unit) in enumerate(zip(names, units, strict=True)):
        length = {"N m": "rad", "N": "m"}.get(unit, "rad or m")
        for at, x, what in ((axes[k, 0], q, f"{name} [{length}]"), (axes[k, 1], dq, f"rate [{length}/s]")):
            at.plot(*thinned(t, x[:, k]), color=FEASIBLE, linewidth=0.8)
            at.set_ylabel(what)
            at.margins(x=0)
    for at in axes[-1]:
        at.set_xlabel("time in the log [s]")
    figure.align_ylabels()
    return figure


@matplotlib.rc_context(STYLE)
def verification_figure(
    t: np.ndarray, measured: np.ndarray, predicted: np.ndarray, found: Accuracy, names: Sequence[str],
    units: Sequence[str], title: str,
) -> Figure:  # fmt: skip
    """Measured and modelled efforts (N, n) and their difference, as Obal & Gierlak (IRB 2400), Fig. 12."""
    figure = _rows(len(names), title, wspace=0.0)
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for k, (at, name, unit) in enumerate(zip(axes, names, units, strict=True)):
        at.plot(*thinned(t, measured[:, k]), color=MEASURED, linewidth=0.8, label="measured")
        at.plot(*thinned(t, predicted[:, k]), color=FEASIBLE, linewidth=0.9, label="model")
        at.plot(*thinned(t, measured[:, k] - predicted[:, k]), color=WLS, linewidth=0.6, label="difference")
        at.set_ylabel(f"{name} [{unit}]")
        at.margins(x=0)
        off = f"MAE {found.mae[k]:.3g}, RMSE {found.rmse[k]:.3g}, mean {found.mean[k]:.4g} {unit}"
        at.set_title(off, loc="right", fontsize=8, fontweight="normal", pad=2)
    axes[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.1, handlelength=1.4)
    axes[-1].set_xlabel("time in the log [s]")
    figure.align_ylabels()
    return figure


def _rows(count: int, title: str, wspace: float) -> Figure:
    height = ROW * count + 0.9
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(
        left=0.09, right=0.985, top=1 - 0.5 / height, bottom=0.45 / height, hspace=0.32, wspace=wspace
    )
    figure.suptitle(title, x=0.01, ha="left", y=1 - 0.08 / height, va="top", fontsize=9, fontweight="bold")
    return figure
