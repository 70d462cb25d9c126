"""Errors of the tool at poses that no fit saw: in space, from above and from the side, drawn and calibrated robot beside each other, and their sizes."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from robodyn_pin.robot.robot import Robot
from robodyn_pin.viz.loaded_poses import draw_arrows
from robodyn_pin.viz.plots import STYLE, plain_powers
from robodyn_pin.viz.scene import Scene, scene_of_robot

COLOURS_OF_TARGETS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LONGEST_ARROW = 0.2  # of the size of the cloud of points
THICK = 0.005  # radius of an arrow's shaft, likewise
DRAWN, CALIBRATED = "#D55E00", "#0072B2"  # arrows in space


@matplotlib.rc_context(STYLE)
def deviations_figure(
    places: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], poses: str = ""
) -> Figure:
    """Strokes from places (N, 3) [m] of each target along errors (N, 3) [m], enlarged; the longest of each column is drawn alike and named.

    `poses` says in the titles which they are.
    """
    cloud = np.concatenate([places[name] for name in before])
    size = max(float(np.ptp(cloud, axis=0).max()), 1e-9)
    heights = [max(float(np.ptp(cloud[:, j])), 0.25 * size) for j in (1, 2)]
    figure = Figure(figsize=(9.4, 1.2 + 4.2 * sum(heights) / size), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey="row", height_ratios=heights)
    for column, (title, of) in zip(panels.T, (("drawn", before), ("calibrated", after)), strict=True):
        longest = max(float(np.nanmax(np.linalg.norm(x, axis=1), initial=0.0)) for x in of.values())
        scale = LONGEST_ARROW * size / max(longest, 1e-12)
        for axes, j in zip(column, (1, 2), strict=True):
            for colour, (name, x) in zip(cycle(COLOURS_OF_TARGETS), of.items(), strict=False):
                there = ~np.isnan(x[:, 0])
                at, tips = (v[:, [0, j]] for v in (places[name][there], places[name][there] + scale * x[there]))
                axes.add_collection(LineCollection(list(np.stack([at, tips], axis=1)), colors=colour, linewidth=1.2))
                axes.plot(*at.T, "o", color=colour, markersize=2.5, label=name)
            axes.autoscale_view()
        column[0].set_title(f"{title}{poses and ', '}{poses}: longest stroke {1e3 * longest:.3g} mm")
        column[1].set_xlabel("x [m]")
    panels[0, 0].set_ylabel("from above: y [m]")
    panels[1, 0].set_ylabel("from the side: z [m]")
    if len(before) > 1:
        panels[0, 0].legend(loc="upper left", ncols=3)
    return figure


@matplotlib.rc_context(STYLE)
def sizes_figure(rows: Sequence[int], before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> Figure:
    """Size of the errors (N, 3) [m] of each target over the rows (N,) of the table, drawn (rings) and calibrated (dots)."""
    figure = Figure(figsize=(9.4, 2.6))
    figure.subplots_adjust(left=0.085, right=0.985, top=0.85, bottom=0.18)
    axes = figure.subplots()
    for colour, name in zip(cycle(COLOURS_OF_TARGETS), before, strict=False):
        for said, of, fill in (("drawn", before, "white"), ("calibrated", after, colour)):
            size = 1e3 * np.linalg.norm(of[name], axis=1)
            axes.plot(rows, size, "o", color=colour, markersize=4.5, markerfacecolor=fill, label=f"{name}, {said}")
    axes.set_yscale("log")
    plain_powers(axes.yaxis)
    axes.set_xlabel("row of the measured table")
    axes.set_ylabel("error [mm]")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, borderaxespad=0.1, handletextpad=0.1)
    return figure


def deviations_scene(
    robot: Robot, places: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]
) -> Scene:
    """The robot at home in MeshCat, arrows at places (N, 3) [m] of its targets along errors (N, 3) [m], all of them enlarged alike."""
    at, drawn, calibrated = (np.concatenate([of[name] for name in before]) for of in (places, before, after))
    seen = ~np.isnan(drawn[:, 0])
    at, drawn, calibrated = at[seen], drawn[seen], calibrated[seen]
    size = max(float(np.ptp(at, axis=0).max()), 1e-9)
    longest = max(float(np.linalg.norm(drawn, axis=1).max()), 1e-12)
    enlarged = LONGEST_ARROW * size / longest
    scene = scene_of_robot(robot, f"{robot.name}: errors at held-out poses, enlarged {enlarged:.3g} times", pale=True)
    scene.contain(np.concatenate([at, at + enlarged * drawn]))
    scene.display(robot.home)
    for name, errors, colour in (("drawn", drawn, DRAWN), ("calibrated", calibrated, CALIBRATED)):
        colours = np.full(len(at), int(colour[1:], 16))
        draw_arrows(scene, name, at, enlarged * errors, colours, THICK * size)
    scene.marks = [
        (DRAWN, f"drawn geometry: from measured to predicted, the longest {1e3 * longest:.3g} mm"),
        (CALIBRATED, f"calibrated geometry; all arrows are enlarged {enlarged:.3g} times"),
    ]
    return scene
