"""Figures of a planned motion: phase plane, use of every limit over time, time that each kind of limit costs."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from robodyn_pin.robot.limits import Limits
from robodyn_pin.viz.plots import MEASURED, STYLE, thinned

Label = tuple[str, str]

# Colours of the kinds of limits, from the palette of Okabe and Ito.
COLOURS = {
    "velocity": "#56B4E9", "acceleration": "#009E73", "jerk": "#E69F00", "torque": "#0072B2", "force": "#D55E00",
    "end_effector": "#CC79A7", "position": "#6b7480",
}  # fmt: skip
FREE = "#9aa3ad"  # where no limit is active
KIND_NAMES = {"force": "strut force", "end_effector": "end-effector"}
AXIS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6b7480", "#222222")
LIMIT = "#B00020"
SMALL = 10.0  # [%] of its limit; a quantity that stays below is drawn without a name
LETTER = 0.006  # width of a letter of the labels, as a share of the figure's width
ROOM = 1.6  # upper end of the phase plane, times the largest z


def limit_name(label: Label) -> str:
    """Return the name of a limit: its kind and axis."""
    return f"{KIND_NAMES.get(label[0], label[0])} {label[1].removeprefix('strut_')}"


@matplotlib.rc_context(STYLE)
def phase_figure(
    s: np.ndarray, z: np.ndarray, max_z: np.ndarray, active: Sequence[Sequence[Label]], title: str
) -> Figure:
    """Draw z = (ds/dt)^2 over s, coloured by the active limit, and the maximum velocity curve; below: active limits.

    Args:
        s, z: (N,) of the motion. max_z: (N,) the maximum velocity curve.
        active: limits that are active at each point.
    """
    named = sorted(
        {label for limits in active for label in limits}, key=lambda label: (list(COLOURS).index(label[0]), label[1])
    )
    rows = 0.17 * max(len(named), 1)
    height = 3.2 + rows + 1.1
    longest = max((len(limit_name(label)) for label in named), default=0)
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(
        left=max(0.2, 0.03 + LETTER * longest), right=0.98, top=1 - 0.55 / height, bottom=0.45 / height, hspace=0.08
    )
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, rows])
    top = ROOM * float(z.max())
    upper.fill_between(s, np.minimum(max_z, top), top, color="#eceff2", linewidth=0)
    upper.plot(s, np.minimum(max_z, 2 * top), color=MEASURED, linewidth=1.0)
    points = np.stack([s, z], axis=1)
    colours = [COLOURS[limits[0][0]] if limits else FREE for limits in active]
    upper.add_collection(
        LineCollection([*np.stack([points[:-1], points[1:]], axis=1)], colors=colours[:-1], linewidth=2.4)
    )
    upper.set_ylim(0, top)
    upper.set_xlim(0, 1)
    upper.set_ylabel("z = (ds/dt)²  [1/s²]")
    upper.set_title(title, pad=20)  # leaves a line for the legend
    kinds = [kind for kind in COLOURS if kind in {label[0] for label in named}]
    drawn = [Line2D([], [], color=COLOURS[kind], linewidth=2.4, label=KIND_NAMES.get(kind, kind)) for kind in kinds]
    if not all(active):
        drawn.append(Line2D([], [], color=FREE, linewidth=2.4, label="no limit"))
    drawn.append(Line2D([], [], color=MEASURED, linewidth=1.0, label="maximum velocity"))
    upper.legend(
        handles=drawn, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(drawn), borderaxespad=0.1, handlelength=1.4,
        columnspacing=1.2,
    )  # fmt: skip
    for row, label in enumerate(named):
        lower.broken_barh(
            _active_ranges(s, [label in limits for limits in active]), (row - 0.4, 0.8), color=COLOURS[label[0]]
        )
    lower.set_yticks(range(len(named)), [limit_name(label) for label in named])
    lower.set_ylim(len(named) - 0.4, -0.6)
    lower.set_xlabel("path parameter s")
    return figure


def _active_ranges(s: np.ndarray, active: Sequence[bool]) -> list[tuple[float, float]]:
    """Return begin and width of the ranges of s where a limit is active; a point reaches half way to the next."""
    edges = np.concatenate([s[:1], (s[1:] + s[:-1]) / 2, s[-1:]])
    found, k = [], 0
    for value, group in groupby(active):
        count = len(list(group))
        if value:
            found.append((float(edges[k]), float(edges[k + count] - edges[k])))
        k += count
    return found


@matplotlib.rc_context(STYLE)
def quantities_figure(
    t: np.ndarray, values: np.ndarray, limits: Limits, units: Mapping[Label, str], title: str
) -> Figure:
    """Draw every limited quantity over time in per cent of its limit, a subplot for each kind except positions.

    Args:
        t: (N,) [s]. values: (N, m), columns as `limits.labels`. units: of the labels.
    """
    labels, (centre, half) = limits.labels, limits.scale
    kinds = [kind for kind in COLOURS if kind != "position" and kind in {label[0] for label in labels}]
    height = 1.55 * len(kinds) + 0.8
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(left=0.085, right=0.76, top=1 - 0.35 / height, bottom=0.45 / height, hspace=0.16)
    axes = np.atleast_1d(figure.subplots(len(kinds), 1, sharex=True))
    for ax, kind in zip(axes, kinds, strict=True):
        shares = {
            labels[k][1]: (100 * (values[:, k] - centre[k]) / half[k], f"{half[k]:.4g} {units[labels[k]]}")
            for k in range(len(labels))
            if labels[k][0] == kind
        }
        _draw_shares(ax, t, shares)
        ax.set_ylabel(f"{KIND_NAMES.get(kind, kind)}\n[% of limit]")
    axes[0].set_title(title)
    axes[-1].set_xlabel("time [s]")
    return figure


def _draw_shares(ax: Axes, t: np.ndarray, shares: Mapping[str, tuple[np.ndarray, str]]) -> None:
    """Draw shares [%] of limits: the eight largest in colours with their names, the others and small ones pale.

    Args:
        shares: by name of the quantity, the share (N,) and the text of its limit.
    """
    most = {name: float(np.abs(share).max()) for name, (share, _) in shares.items()}
    near = [name for name in sorted(most, key=lambda name: -most[name])[: len(AXIS_COLOURS)] if most[name] >= SMALL]
    for name in [name for name in most if name not in near]:
        ax.plot(*thinned(t, shares[name][0]), color="#c9ced4", linewidth=0.6)
    for k, name in enumerate(name for name in shares if name in near):
        share, limit = shares[name]
        ax.plot(*thinned(t, share), color=AXIS_COLOURS[k], linewidth=1.0, label=f"{name}, ±{limit}")
    for bound in (-100, 100):
        ax.axhline(bound, color=LIMIT, linewidth=0.9, linestyle=":")
    ax.margins(x=0)
    ax.set_ylim(-118, 118)
    if near:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.05), borderaxespad=0, handlelength=1.2, labelspacing=0.25)


@matplotlib.rc_context(STYLE)
def costs_figure(costs: Mapping[str, float], time: float) -> Figure:
    """Draw how much shorter [s] the motion would be without each kind of limit."""
    kinds = sorted(costs, key=lambda kind: costs[kind])
    height = 0.3 * len(kinds) + 0.8
    figure = Figure(figsize=(6.0, height))
    figure.subplots_adjust(left=0.24, right=0.9, top=1 - 0.3 / height, bottom=0.42 / height)
    ax = figure.subplots()
    bars = ax.barh([KIND_NAMES.get(kind, kind) for kind in kinds], [1e3 * costs[kind] for kind in kinds],
                   color=[COLOURS.get(kind, FREE) for kind in kinds], height=0.65)  # fmt: skip
    ax.bar_label(bars, [f"{1e3 * costs[kind]:.3g} ms" for kind in kinds], padding=3)
    ax.grid(axis="y", visible=False)
    ax.margins(x=0.2)
    ax.set_title(f"Time that each kind of limit costs, of {time:.4g} s")
    ax.set_xlabel("[ms]")
    return figure


@matplotlib.rc_context(STYLE)
def acceleration_figure(
    names: Sequence[str], units: Sequence[str], t: np.ndarray, planned: np.ndarray, simulated: np.ndarray, title: str
) -> Figure:
    """Draw the accelerations as planned and as simulated under a controller, as in Gnad et al. (IRB 360), Fig. 17.

    Args:
        planned, simulated: (N, d) at times t (N,).
    """
    moved = [k for k in range(len(names)) if np.abs(planned[:, k]).max() > 1e-9]
    height = 1.5 * len(moved) + 0.8
    figure = Figure(figsize=(9.5, height))
    figure.subplots_adjust(left=0.085, right=0.985, top=1 - 0.35 / height, bottom=0.45 / height, hspace=0.16)
    axes = np.atleast_1d(figure.subplots(len(moved), 1, sharex=True))
    for ax, k in zip(axes, moved, strict=True):
        ax.plot(*thinned(t, planned[:, k]), color=AXIS_COLOURS[5], linewidth=2.6, label="planned")
        ax.plot(*thinned(t, simulated[:, k]), color=MEASURED, linewidth=0.8, label="under the controller (SIMULATED)")
        ax.set_ylabel(f"{names[k]}\n[{units[k]}]")
        ax.margins(x=0)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    axes[0].set_title(title)
    axes[-1].set_xlabel("time [s]")
    return figure
