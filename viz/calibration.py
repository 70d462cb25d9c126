"""Errors of the tool at poses that no fit saw, as arrows in space: drawn and calibrated robot side by side."""

from collections.abc import Mapping

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.viz.plots import STYLE

COLOURS_OF_TARGETS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MOST_TICKS, ROOM = 5, 0.85  # of an axis; size of a picture that leaves room for its labels
LONGEST_ARROW = 0.2  # of the size of the cloud of points


@matplotlib.rc_context(STYLE)
def deviations_figure(
    places: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], poses: str = ""
) -> Figure:
    """Arrows at places (N, 3) [m] of each target, of errors (N, 3) [m]; the longest of each picture is drawn alike and named.

    `poses` says in the titles which they are.
    """
    figure = Figure(figsize=(9.4, 4.4))
    figure.subplots_adjust(left=0.0, right=0.96, top=0.92, bottom=0.06, wspace=0.08)
    size = max(float(np.ptp(np.concatenate([places[name] for name in before]), axis=0).max()), 1e-9)
    for k, (title, of) in enumerate((("drawn", before), ("calibrated", after))):
        axes = figure.add_subplot(1, 2, k + 1, projection="3d")
        longest = max(float(np.nanmax(np.linalg.norm(x, axis=1), initial=0.0)) for x in of.values())
        scale = LONGEST_ARROW * size / max(longest, 1e-12)
        for i, (name, x) in enumerate(of.items()):
            there = ~np.isnan(x[:, 0])
            at, arrows = places[name][there], scale * x[there]
            colour = COLOURS_OF_TARGETS[i % len(COLOURS_OF_TARGETS)]
            axes.scatter(*at.T, s=5, color=colour, label=name)
            axes.quiver(*at.T, *arrows.T, color=colour, linewidth=0.9, arrow_length_ratio=0.2)
        axes.set_title(f"{title}{poses and ', '}{poses}: longest arrow {1e3 * longest:.3g} mm")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        axes.set_zlabel("z [m]")
        spans = [high - low for low, high in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
        axes.set_box_aspect(spans, zoom=ROOM)  # a metre is as long along all axes
        axes.locator_params(nbins=MOST_TICKS)
    if len(before) > 1:
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="lower center", ncols=len(before), fontsize=8)
    return figure
