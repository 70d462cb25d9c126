"""Figures of online identification over time: estimates with bands, excitation, torque errors."""

from collections.abc import Iterable, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robodyn_pin.online.history import HistoryRow
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.units import coordinate_units, parameter_units
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS

ACROSS = 4  # plots of parameters side by side


def short_label(label: str) -> str:
    """A short label for a small plot: of identical bodies only the first is named."""
    name, _, rest = label.partition("(")
    body = rest.removesuffix(")").split("=")
    return f"{name}({body[0]}{', …' if len(body) > 1 else ''})"


def _mark_changes(axes: Iterable[Axes], tracker: Tracker) -> None:
    for ax in axes:
        for k, change in enumerate(tracker.changes):
            label = "_" if k else "a change begins"
            ax.axvline(change.begin, color=WLS, linewidth=1.0, linestyle="--", label=label)


@matplotlib.rc_context(STYLE)
def estimates_figure(rows: Sequence[HistoryRow], tracker: Tracker, title: str) -> Figure:
    """Every tracked parameter with its 95 % band; dotted its value at the start, grey where less than half of it is excited."""
    tracked = tracker.tracked
    units = np.array(parameter_units(tracked.robot))[tracked.structure.free[tracked.base.columns]]
    t = np.array([row.t for row in rows])
    values, deviations = np.array([row.values for row in rows]), np.array([row.deviations for row in rows])
    excited = np.array([row.excited_share for row in rows])
    lines = -(-len(units) // ACROSS)
    height = 1.35 * lines + 0.7
    figure = Figure(figsize=(11, height))
    figure.subplots_adjust(left=0.06, right=0.99, top=1 - 0.62 / height, bottom=0.42 / height, hspace=0.62, wspace=0.28)
    grid = np.atleast_2d(figure.subplots(lines, ACROSS, sharex=True)).ravel()
    for k, ax in enumerate(grid):
        if k >= len(units):
            ax.set_visible(False)
            continue
        low, high = values[:, k] - 1.96 * deviations[:, k], values[:, k] + 1.96 * deviations[:, k]
        ax.fill_between(t, low, high, color="#cfe3f1", linewidth=0)
        ax.plot(t, np.where(excited[:, k] < 0.5, values[:, k], np.nan), color="#9aa3ad", linewidth=1.4)
        ax.plot(t, np.where(excited[:, k] >= 0.5, values[:, k], np.nan), color=FEASIBLE, linewidth=1.4)
        ax.axhline(tracker.start[k], color=MEASURED, linewidth=0.7, linestyle=":")
        ax.set_title(f"{short_label(tracked.labels[k])} [{units[k]}]", fontsize=7.5, fontweight="normal")
        ax.margins(x=0)
        ax.locator_params(axis="y", nbins=4)
    _mark_changes(grid[: len(units)], tracker)
    for ax in grid[max(0, len(units) - ACROSS) : len(units)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("time [s]")
    figure.suptitle(title, x=0.06, ha="left", fontsize=9, fontweight="bold")
    return figure


@matplotlib.rc_context(STYLE)
def excited_share_figure(rows: Sequence[HistoryRow], tracker: Tracker, title: str) -> Figure:
    """The share of each parameter's axis in the excited directions, as a map over time."""
    labels = [short_label(label) for label in tracker.tracked.labels]
    height = 0.17 * len(labels) + 1.0
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(left=0.17, right=1.02, top=1 - 0.35 / height, bottom=0.45 / height)
    ax = figure.subplots()
    t = np.array([row.t for row in rows])
    edges = np.concatenate([[max(2 * t[0] - t[1], 0.0) if len(t) > 1 else t[0] - 1], t])
    shares = np.array([row.excited_share for row in rows]).T
    mesh = ax.pcolormesh(edges, np.arange(len(labels) + 1), shares, cmap="Blues", vmin=0, vmax=1, rasterized=True)
    ax.set_yticks(np.arange(len(labels)) + 0.5, labels)
    ax.invert_yaxis()
    ax.grid(False)
    ax.set_xlabel("time [s]")
    ax.set_title(title)
    _mark_changes([ax], tracker)
    figure.colorbar(mesh, ax=ax, pad=0.01, label="excited share (1: fully determined by the motion)")
    return figure


@matplotlib.rc_context(STYLE)
def errors_figure(rows: Sequence[HistoryRow], tracker: Tracker, title: str) -> Figure:
    """Rms torque error of every second, with the parameters at the start and with the estimate before each update."""
    robot = tracker.tracked.robot
    t = np.array([row.t for row in rows])
    start_error, error = np.array([row.start_error for row in rows]), np.array([row.error for row in rows])
    names = robot.coordinates.names
    height = 1.3 * len(names) + 1.0
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(left=0.085, right=0.99, top=1 - 0.6 / height, bottom=0.45 / height, hspace=0.2)
    axes = np.atleast_1d(figure.subplots(len(names), 1, sharex=True))
    for k, (ax, name, unit) in enumerate(zip(axes, names, coordinate_units(robot), strict=True)):
        ax.plot(t, start_error[:, k], color=WLS, linewidth=1.6, label="parameters at the start")
        ax.plot(t, error[:, k], color=FEASIBLE, linewidth=1.1, label="tracked parameters, before each update")
        ax.set_ylabel(f"{name}\nrms [{unit}]")
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
    _mark_changes(axes, tracker)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.1)
    axes[0].set_title(title, pad=20)  # above the legend
    axes[-1].set_xlabel("time [s]")
    return figure
