"""Figures of what a stiffness is used for: deviations over a workspace, the stiffest orientation, a corrected path."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure

from robodyn_pin.elastic.deviation_map import DeviationMap
from robodyn_pin.elastic.path_correction import PathCorrection
from robodyn_pin.elastic.springs import Springs
from robodyn_pin.elastic.stiffest_pose import StiffestPose
from robodyn_pin.viz.loaded_poses import draw_arrows, loaded_scene
from robodyn_pin.viz.overlays import ColourBar
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS, thinned

MICRO = 1e-6
COLOURS = "viridis"
LEVELS = 6  # levels of a map that are drawn, at most
ARROWS = 400  # at most, in 3D
LONGEST = 1.2  # of an arrow, in steps of the grid


def force_text(force: Sequence[float]) -> str:
    """A force (3,) for readers."""
    return f"({', '.join(f'{f:g}' for f in force)}) N"


@matplotlib.rc_context(STYLE)
def map_figure(found: DeviationMap) -> Figure:
    """Length of the deviation over x and y, a panel for each height; white: out of reach."""
    x, y, z = found.axes
    shown = np.unique(np.linspace(0, len(z) - 1, min(LEVELS, len(z))).round().astype(int))
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(9.5, 2.7 * rows + 0.5), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)).ravel()
    scale, half = Normalize(found.lengths.min() / MICRO, found.lengths.max() / MICRO), found.spec.step / 2
    frame = (x[0] - half, x[-1] + half, y[0] - half, y[-1] + half)
    for axes, level in zip(panels, shown, strict=False):
        grid = found.grid[:, :, level].T / MICRO
        image = axes.imshow(grid, origin="lower", extent=frame, norm=scale, cmap=COLOURS, aspect="equal", zorder=2)
        axes.set_title(f"z = {z[level]:.2f} m")
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    figure.supxlabel("x [m]", fontsize=8)
    figure.supylabel("y [m]", fontsize=8)
    figure.colorbar(image, ax=panels.tolist(), label=f"deviation under {force_text(found.spec.force)} [µm]", shrink=0.9)
    return figure


def map_page(found: DeviationMap, springs: Springs) -> str:
    """The robot in MeshCat with an arrow at each place that shows the deviation, enlarged."""
    drawn = np.linspace(0, len(found.points) - 1, min(ARROWS, len(found.points))).round().astype(int)
    largest = found.lengths.max()
    enlargement = LONGEST * found.spec.step / largest
    colours = colormaps[COLOURS](Normalize(found.lengths.min(), largest)(found.lengths[drawn]))
    hexes = np.array([int(to_hex(colour)[1:], 16) for colour in colours])
    middle = int(np.linalg.norm(found.points - found.points.mean(axis=0), axis=1).argmin())
    title = (
        f"{springs.robot.name}: deviations enlarged {enlargement:.0f} times; the largest is {largest / MICRO:.0f} µm"
    )
    arrows = enlargement * found.deviation[drawn]
    ends = np.concatenate([found.points[drawn], found.points[drawn] + arrows])
    with loaded_scene(springs.robot, found.q[[middle]], title, ends) as scene:
        stops = [to_hex(colour) for colour in colormaps[COLOURS](np.linspace(0, 1, 9))]
        ends_of_bar = (f"{found.lengths.min() / MICRO:.3g} µm", f"{largest / MICRO:.3g} µm")
        label = f"deviation under {force_text(found.spec.force)}; arrows are enlarged {enlargement:.3g} times"
        scene.bar = ColourBar(label, ends_of_bar, stops)
        draw_arrows(scene, "deviations", found.points[drawn], arrows, hexes, 0.006)
        return scene.html()


@matplotlib.rc_context(STYLE)
def stiffest_pose_figure(found: StiffestPose) -> Figure:
    """A histogram of the deviations in random orientations, with the stiffest marked."""
    figure = Figure(figsize=(6.6, 2.4))
    figure.subplots_adjust(left=0.1, right=0.98, top=0.85, bottom=0.2)
    axes, best = figure.subplots(), float(np.linalg.norm(found.deviation))
    axes.hist(found.random / MICRO, 40, color="#c9d2da", label="random orientations")
    axes.axvline(best / MICRO, color=FEASIBLE, linewidth=2, label=f"stiffest: {best / MICRO:.0f} µm")
    axes.set_xlabel("deviation under the task's force [µm]")
    axes.set_ylabel("orientations")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)
    return figure


@matplotlib.rc_context(STYLE)
def correction_figure(found: PathCorrection) -> Figure:
    """Expected deviation along the path, and that of a simulated robot without and with the correction."""
    figure = Figure(figsize=(9.5, 3.0))
    figure.subplots_adjust(left=0.07, right=0.99, top=0.82, bottom=0.15)
    axes, path = figure.subplots(), found.path
    x = np.arange(len(path.q), dtype=float) if path.t is None else path.t
    length = np.linalg.norm(found.deviation, axis=1) / MICRO
    axes.plot(*thinned(x, length), color=MEASURED, linewidth=1.0, label="expected, without correction")
    if found.simulated is not None:
        without, corrected = (np.linalg.norm(d, axis=1) / MICRO for d in found.simulated)
        axes.plot(*thinned(x, without), color=WLS, linewidth=1.6, label="SIMULATED, without correction")
        axes.plot(*thinned(x, corrected), color=FEASIBLE, linewidth=1.6, label="SIMULATED, with correction")
    axes.plot(*thinned(x, 2 * found.remaining_deviation / MICRO), color=FEASIBLE, linewidth=1, linestyle=":",
              label="expected, with correction: two standard deviations")  # fmt: skip
    axes.set_xlabel("point of the path" if path.t is None else "time [s]")
    axes.set_ylabel("deviation from the plan [µm]")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)
    return figure
