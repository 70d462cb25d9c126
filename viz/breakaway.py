"""Figures of breakaway: one ramp with its break, and static friction and stiffness by place."""

from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.viz.plots import FEASIBLE, LIMIT, MEASURED, STYLE, WLS, thinned

if TYPE_CHECKING:
    from robodyn_pin.friction_tests.breakaway_ramps import BreakawayResult

SMALL = {"m": (1e6, "um"), "rad": (1e3, "mrad")}  # units of what a motor yields by


@matplotlib.rc_context(STYLE)
def breakaway_figure(result: "BreakawayResult", motor: str) -> Figure:
    """Left a ramp: effort and displacement over time; right what all ramps show by place, with 95 % intervals."""
    unit, shown, places = result.units[motor], result.shown[motor], result.places[motor]
    figure = Figure(figsize=(9.5, 4.2))
    figure.subplots_adjust(left=0.08, right=0.98, top=0.91, bottom=0.11, wspace=0.22, hspace=0.14)
    grid = figure.add_gridspec(2, 2)
    effort, way = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    scale, small = SMALL[unit.position]
    effort.plot(*thinned(shown.t, shown.tau), color=MEASURED, linewidth=0.7)
    way.plot(*thinned(shown.t, scale * shown.q), color=MEASURED, linewidth=0.9)
    broken = shown.t[min(shown.broken.at - shown.broken.begin, len(shown.t) - 1)]
    effort.plot(broken, shown.broken.effort, "o", color=LIMIT, markersize=5, label="break")
    for axes in (effort, way):
        axes.axvline(broken, color=LIMIT, linewidth=0.8, linestyle=":")
    effort.tick_params(labelbottom=False)
    effort.legend(loc="upper left")
    effort.set_ylabel(f"{'force' if unit.position == 'm' else 'torque'} [{unit.effort}]")
    way.set_ylim(*np.sort(np.array([-0.6, 3.0]) * scale * shown.broken.sign * max(shown.broken.yielding, 1e-12)))
    way.set_ylabel(f"displacement [{small}]")
    way.set_xlabel("time from the begin of the ramp [s]")
    simulated = " (SIMULATED)" if result.simulated else ""
    effort.set_title(f"{result.robot}: {motor} breaks away at {shown.broken.place:.4g} {unit.position}{simulated}")
    upper, lower = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
    pens = (("static friction", upper, FEASIBLE), ("breakaway +", upper, WLS), ("breakaway -", upper, "#009E73"))
    for name, axes, colour in (*pens, ("stiffness", lower, FEASIBLE)):
        drawn = [(p.at, q.value, q.reach) for p in places for q in p.found if q.name == name and q.shown]
        if drawn:
            at, value, reach = np.array(drawn).T
            axes.errorbar(
                at, value, yerr=reach, fmt="o", color=colour, markersize=4, elinewidth=1, capsize=3, label=name
            )
    upper.tick_params(labelbottom=False)
    upper.legend(loc="best")
    upper.set_ylabel(f"breakaway [{unit.effort}]")
    lower.set_ylabel(f"stiffness [{unit.stiffness}]")
    lower.set_xlabel(f"place [{unit.position}]")
    upper.set_title("by place, with 95 % intervals")
    return figure
