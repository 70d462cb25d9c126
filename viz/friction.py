"""Figures of friction over speed: measured points with standard deviations, fitted curves; passages at constant speed."""

from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS

if TYPE_CHECKING:
    from robodyn_pin.friction_tests.loaded_motor import Shown
    from robodyn_pin.friction_tests.result import FrictionResult

PENS = {"linear": (WLS, "--"), "stribeck": ("#009E73", ":"), "saturating": (FEASIBLE, "-.")}
SLOW = 0.15  # [rad/s or m/s] up to where Obal & Gierlak (IRB 2400), Fig. 9, show the bend


@matplotlib.rc_context(STYLE)
def friction_figure(result: "FrictionResult") -> Figure:
    """Points and all curves of a motor, the chosen one thicker; for sweeps again the slow third, at most up to 0.15 rad/s."""
    swept = result.load is not None
    figure = Figure(figsize=(9.5, 3.4) if swept else (6.2, 3.4))
    figure.subplots_adjust(left=0.07 if swept else 0.11, right=0.98, top=0.9, bottom=0.14, wspace=0.16)
    axes = figure.subplots(1, 2 if swept else 1, squeeze=False)[0]
    reach = 1.03 * np.abs(result.points.speed).max()
    draw_curves(axes[0], result, min(SLOW, reach / 3) if swept else reach)
    if swept:
        draw_curves(axes[1], result, reach)
        axes[1].get_legend().remove()
        axes[1].set_ylabel("")
    simulated = " (SIMULATED)" if result.simulated else ""
    axes[0].set_title(f"{result.robot}: friction of {result.motor}{simulated}")
    return figure


def draw_curves(axes: Axes, result: "FrictionResult", reach: float) -> None:
    """Points and curves up to a speed."""
    p = result.points
    inside = np.abs(p.speed) <= reach
    label = "constant speed" if result.load is None else "half the difference of both directions"
    axes.errorbar(p.speed[inside], p.effort[inside], yerr=p.error[inside], fmt="o", color=MEASURED, markersize=3,
                  elinewidth=0.6, label=f"{label}, deviation of the mean")  # fmt: skip
    low, high = -reach if p.speed.min() < 0 else 0.0, reach if p.speed.max() > 0 else 0.0
    w = np.linspace(low, high, 1001)
    for name, fit in result.fits.items():
        colour, line = PENS[name]
        width, line, layer = (1.8, "-", 4) if name == result.model else (1.0, line, 3)
        drawn = w[1:] if low == 0 else w  # at rest friction has no sign
        curve = result.friction(name, drawn)
        label = f"{name}, rms {fit.rmse:.2g} {result.unit.effort}"
        axes.plot(drawn, curve, line, color=colour, linewidth=width, zorder=layer, label=label)
    axes.set_xlabel(f"speed [{result.unit.speed}]")
    axes.set_ylabel(f"{'friction' if result.load is not None else 'friction and offset'} [{result.unit.effort}]")
    axes.legend(loc="best" if result.load is not None else "lower right")


@matplotlib.rc_context(STYLE)
def passages_figure(shown: "Shown", result: "FrictionResult", at: float) -> Figure:
    """Position and torque of one speed in both directions, the parts of constant speed, and the reference crossings."""
    figure = Figure(figsize=(9.5, 3.4))
    figure.subplots_adjust(left=0.09, right=0.98, top=0.9, bottom=0.14, hspace=0.14)
    upper, lower = figure.subplots(2, 1, sharex=True)
    angle = result.unit.position
    upper.plot(shown.t, shown.q, color=MEASURED, linewidth=0.9)
    upper.axhline(at, color=MEASURED, linewidth=0.6, linestyle=":")
    lower.plot(shown.t, shown.tau, color=MEASURED, linewidth=0.6)
    for part, crossing, colour in zip(shown.parts, shown.crossings, (FEASIBLE, WLS), strict=True):
        speed = f"{shown.speeds[shown.parts.index(part)]:+.3g} {angle}/s"
        for axes in (upper, lower):
            axes.axvspan(
                shown.t[part.start], shown.t[part.stop - 1], color=colour, alpha=0.15, linewidth=0, label=speed
            )
        upper.plot(crossing, at, "o", color=colour, markersize=5)
        lower.plot(shown.t[part], np.full(part.stop - part.start, shown.tau[part].mean()), color=colour, linewidth=1.8)
    upper.set_ylabel(f"position [{angle}]")
    lower.set_ylabel(f"{'torque' if angle == 'rad' else 'force'} [{result.unit.effort}]")
    lower.set_xlabel("time from the first crossing [s]")
    upper.legend(loc="best")
    simulated = " (SIMULATED)" if result.simulated else ""
    upper.set_title(f"{result.robot}: {result.motor} past {at:g} {angle} in both directions{simulated}")
    return figure
