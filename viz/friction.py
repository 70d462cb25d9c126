"""Friction over speed: measured points with their deviation, fitted curves."""

from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS

if TYPE_CHECKING:
    from robodyn_pin.friction import FrictionResult

PENS = {"linear": (WLS, "--"), "stribeck": ("#009E73", ":"), "saturating": (FEASIBLE, "-")}


@matplotlib.rc_context(STYLE)
def friction_figure(result: "FrictionResult") -> Figure:
    """Points and all curves of a motor, the chosen one thicker."""
    from robodyn_pin.friction import curve_columns

    figure = Figure(figsize=(6.2, 3.4))
    figure.subplots_adjust(left=0.11, right=0.98, top=0.9, bottom=0.14)
    axes, p = figure.subplots(), result.points
    axes.errorbar(p.speed, p.effort, yerr=p.deviation, fmt="o", color=MEASURED, markersize=3, elinewidth=0.6,
                  label="constant speed, deviation of one sample")  # fmt: skip
    reach = 1.03 * np.abs(p.speed).max()
    w = np.linspace(-reach if p.speed.min() < 0 else 0, reach if p.speed.max() > 0 else 0, 1001)
    for name, fit in result.fits.items():
        colour, line = PENS[name]
        width = 1.8 if name == result.model else 1.0
        label = f"{name}, rms {fit.rmse:.2g} {result.unit}"
        axes.plot(w, curve_columns(name, w, fit.shape or 1.0) @ fit.coefficients, line, color=colour, linewidth=width, label=label)  # fmt: skip
    turning = result.unit == "N m"
    axes.set_xlabel("speed [rad/s]" if turning else "speed [m/s]")
    axes.set_ylabel(f"friction [{result.unit}]")
    simulated = " (SIMULATED)" if result.simulated else ""
    axes.set_title(f"{result.robot}: friction of {result.motor}{simulated}")
    axes.legend(loc="lower right")
    return figure
