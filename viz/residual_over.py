"""What a model leaves of each torque, over position and over speed: friction that it lacks shows here as a curve."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.log_to_robot.held_out import Sample
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.figure_files import Picture, picture
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE

BINS = 40  # of equally many samples


def residual_pictures(robot: Robot, sample: Sample, units: list[str]) -> list[Picture]:
    """The held-out residual of each coordinate over its position and its speed."""
    left, found = sample.measured - sample.predicted["feasible"], []
    for j, (name, unit) in enumerate(zip(robot.coordinates.names, units, strict=True)):
        over = dict(position_and_speed(robot, sample, j))
        columns = {"residual [" + unit + "]": left[:, j]} | over
        drawn = residual_figure(over, left[:, j], f"residual of {name}", unit)
        found.append(picture(drawn, f"residual_over_{name}", columns))
    return found


def position_and_speed(robot: Robot, sample: Sample, j: int) -> tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]:
    """Position and speed (n,) of a coordinate, each with its label."""
    S, offset = robot.coordinates.S, robot.coordinates.offset
    length = "m" if robot.slides(S)[j] else "rad"
    return (f"position [{length}]", sample.q @ S[j] + offset[j]), (f"speed [{length}/s]", sample.rates[:, j])


def binned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Middle, mean, first and ninth tenth of y (n,) in bins of equally many samples along x (n,)."""
    parts = np.array_split(np.argsort(x, kind="stable"), min(BINS, len(x)))
    middle, mean = (np.array([values[part].mean() for part in parts]) for values in (x, y))
    low, high = np.array([np.quantile(y[part], [0.1, 0.9]) for part in parts]).T
    return middle, mean, low, high


@matplotlib.rc_context(STYLE)
def residual_figure(over: dict[str, np.ndarray], left: np.ndarray, title: str, unit: str) -> Figure:
    """Mean of a residual (n,) and its middle four fifths, over each of some quantities (n,)."""
    figure = Figure(figsize=(4.6, 2.3))
    figure.subplots_adjust(left=0.18, right=0.98, top=0.89, bottom=0.19, wspace=0.12)
    for axes, (label, x) in zip(figure.subplots(1, len(over), sharey=True), over.items(), strict=True):
        middle, mean, low, high = binned(x, left)
        axes.fill_between(middle, low, high, color="#cfe3f1", linewidth=0)
        axes.plot(middle, mean, color=FEASIBLE, linewidth=1.0)
        axes.axhline(0, color=MEASURED, linewidth=0.6)
        axes.set_xlabel(label)
    figure.axes[0].set_ylabel(f"residual [{unit}]")
    figure.axes[0].set_title(title)
    return figure
