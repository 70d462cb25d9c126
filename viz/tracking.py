"""Figure of the tracking errors of a controlled robot over time, one panel per motor."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import effort_unit
from robodyn_pin.simulation.closed_loop import Tracking
from robodyn_pin.viz.plots import FEASIBLE, LIMIT, MEASURED, STYLE, thinned

SMALL = {"N m": "mrad", "N": "mm"}


@matplotlib.rc_context(STYLE)
def tracking_figure(found: Tracking, robot: Robot, title: str) -> Figure:
    """Reference minus measured position of every motor; marks below show where a limit cut off its torque."""
    names = robot.motors.names
    height = 1.3 * len(names) + 0.8
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(left=0.085, right=0.87, top=1 - 0.35 / height, bottom=0.45 / height, hspace=0.18)
    axes = np.atleast_1d(figure.subplots(len(names), 1, sharex=True))
    for k, (ax, name) in enumerate(zip(axes, names, strict=True)):
        error = 1e3 * found.error[:, k]
        ax.plot(*thinned(found.t, error), color=FEASIBLE, linewidth=0.9, label=f"largest {abs(error).max():.3g}")
        ax.axhline(0, color=MEASURED, linewidth=0.6)
        if (cut := found.saturated[:, k]).any():
            low = np.full(int(cut.sum()), error.min())
            ax.plot(found.t[cut], low, "|", color=LIMIT, label=f"{cut.sum()} at the\ntorque limit")
        unit = SMALL.get(effort_unit(robot.model, robot.motors.S[k]), "10⁻³ rad or m")
        ax.set_ylabel(f"{name}\nerror [{unit}]")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), borderaxespad=0)
        ax.margins(x=0)
    axes[0].set_title(f"{title}: reference minus measured")
    axes[-1].set_xlabel("time [s]")
    return figure
