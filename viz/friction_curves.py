"""Friction of an identified robot over speed and over position: what is left of the measured torques without the bodies, and the model."""

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robodyn_pin.log_to_robot.held_out import Sample
from robodyn_pin.robot.friction_models import MEMORY
from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.figure_files import Picture, picture
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS
from robodyn_pin.viz.residual_over import binned, position_and_speed

POINTS = 400  # of the measured ones that are drawn
PLACED = ("position", MEMORY)  # models whose force depends on the position


def friction_pictures(robot: Robot, sample: Sample, units: list[str]) -> list[Picture]:
    """Friction along each coordinate that has any, on held-out samples."""
    left = sample.measured - sample.predicted["feasible"]
    found = []
    for j, (name, unit) in enumerate(zip(robot.coordinates.names, units, strict=True)):
        model = sample.friction[:, j]
        if not model.any():
            continue
        (at, x), (over, speed) = position_and_speed(robot, sample, j)
        measured, what = model + left[:, j], {"N m": "torque", "N": "force"}.get(unit, "effort")
        columns = {over: speed, at: x, f"measured less bodies [{unit}]": measured, f"model [{unit}]": model}
        where = (at, x) if _placed(robot, j) else None
        drawn = curve_figure((over, speed), where, measured, model, (f"friction of {name}", f"{what} [{unit}]"))
        found.append(picture(drawn, f"friction_{name}", columns))
    return found


def _placed(robot: Robot, j: int) -> bool:
    """Whether friction along a coordinate depends on its position."""
    axis = robot.coordinates.S[j]
    rows = [row for e in robot.efforts if e.spec.model in PLACED for row in e.rows]
    return any(abs(row @ axis) > (1 - 1e-9) * np.linalg.norm(row) * np.linalg.norm(axis) for row in rows)


@matplotlib.rc_context(STYLE)
def curve_figure(
    over: tuple[str, np.ndarray], where: tuple[str, np.ndarray] | None, measured: np.ndarray, model: np.ndarray,
    labels: tuple[str, str],
) -> Figure:  # fmt: skip
    """Measured friction (n,) as points, the model (n,) as its mean and its middle four fifths; over the position each way.

    Args:
        over, where: speed and, where friction depends on it, position, each with its label. labels: title, vertical axis.
    """
    figure = Figure(figsize=(4.6, 2.3))
    figure.subplots_adjust(left=0.18, right=0.98, top=0.89, bottom=0.19, wspace=0.12)
    speed = over[1]
    picked = np.argsort(speed, kind="stable")[np.linspace(0, len(speed) - 1, min(POINTS, len(speed))).astype(int)]
    first, *second = figure.subplots(1, 2 if where else 1, sharey=True, squeeze=False)[0]
    _draw(first, speed, measured, model, picked, np.ones(len(speed), bool), (MEASURED, FEASIBLE))
    first.set_xlabel(over[0])
    if where:
        for way, pens in ((speed > 0, (FEASIBLE, FEASIBLE)), (speed < 0, (WLS, WLS))):
            _draw(second[0], where[1], measured, model, picked, way, pens)
        second[0].set_xlabel(where[0])
    first.set_ylabel(labels[1])
    first.set_title(labels[0])
    return figure


def _draw(
    axes: Axes, x: np.ndarray, measured: np.ndarray, model: np.ndarray, picked: np.ndarray, way: np.ndarray,
    pens: tuple[str, str],
) -> None:  # fmt: skip
    """Points of the `picked` samples and the model over x (n,), of the samples that go one `way`."""
    points = picked[way[picked]]
    axes.plot(x[points], measured[points], ".", color=pens[0], markersize=1.5, alpha=0.5)
    if way.any():
        middle, mean, low, high = binned(x[way], model[way])
        axes.fill_between(middle, low, high, color=pens[1], alpha=0.2, linewidth=0)
        axes.plot(middle, mean, color=pens[1], linewidth=1.2)
