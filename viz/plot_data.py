"""What a figure shows, as numbers: a page draws it again from these, with values under the pointer and zoom.

matplotlib figure ─► lines, areas and axes ─► JSON ─► Bokeh's script in the page (`zoom.html`), when a reader asks for it
"""

import base64
import gzip
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.scale import SymmetricalLogTransform
from matplotlib.ticker import FixedFormatter, FuncFormatter

QUICKLY = 4  # of gzip's levels: a twentieth larger than the smallest, in a third of its time
DASHES = {"--": "dashed", ":": "dotted", "-.": "dashdot"}
MARKS = {  # matplotlib's -> Bokeh's; others become dots
    "o": "circle", "s": "square", "D": "diamond", "^": "triangle", "v": "inverted_triangle", "x": "x", "|": "dash", "_": "dash",
    "P": "cross", "+": "cross",
}  # fmt: skip


def plot_data(figure: Figure) -> str:
    """Panels, lines and areas of a figure as JSON; may stand inside a <script> element.

    Lines have {x, y, colour, width, dash, mark, size, alpha, label}, areas are polygons. Numbers have six digits.
    """
    panels = [_panel(axes, figure.axes) for axes in figure.axes]
    text = json.dumps({"panels": panels}, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")


def with_numbers(svg: str, figure: Figure) -> str:
    """An <svg> element of a figure, and its numbers in a <script> element that `zoom.html` finds."""
    return f'{svg}<script type="application/json">{plot_data(figure)}</script>'


@cache
def zoom_library() -> str:
    """Bokeh's script as it lies in the installed package, packed: gzip, then base64. It is not imported, which takes long."""
    found = importlib.util.find_spec("bokeh")
    assert found is not None, "bokeh is one of robodyn_pin's requirements"
    folder = Path(next(iter(found.submodule_search_locations or ()))) / "server/static/js"
    scripts = b"\n".join((folder / f"{name}.min.js").read_bytes() for name in ("bokeh", "bokeh-api"))
    return base64.b64encode(gzip.compress(scripts, QUICKLY, mtime=0)).decode()


def _panel(axes: Axes, all_axes: list[Axes]) -> dict[str, Any]:
    box = axes.get_position()
    shared = [other is axes or axes.get_shared_x_axes().joined(axes, other) for other in all_axes]
    return {
        "title": axes.get_title(loc="left") or axes.get_title(),
        "place": [round(float(v), 3) for v in (box.x0, box.y0, box.width, box.height)],  # of the figure's width and height
        "x": _axis(axes.xaxis), "y": _axis(axes.yaxis),
        "moves_with": shared.index(True),  # the first panel with the same horizontal axis
        "areas": [area for c in axes.collections if isinstance(c, PolyCollection) for area in _areas(c)]
        + [_area(np.asarray(p.get_path().vertices), p, axes) for p in axes.patches if isinstance(p, Patch)],
        "lines": [_line(line, axes) for line in axes.lines]
        + [_segments(c) for c in axes.collections if isinstance(c, LineCollection)]
        + [_points(c) for c in axes.collections if isinstance(c, PathCollection)],
    }  # fmt: skip


def _axis(axis: Axis) -> dict[str, Any]:
    low, high = (float(v) for v in axis.get_view_interval())
    said: dict[str, Any] = {"label": axis.get_label_text(), "log": axis.get_scale() == "log", "range": [low, high]}
    if axis.get_scale() == "symlog":  # linear up to the threshold, logarithmic beyond: the page bends the values itself
        scale = cast(SymmetricalLogTransform, axis.get_transform())
        said |= {
            "bend": {"threshold": scale.linthresh, "base": scale.base, "linear": scale.linscale / (1 - 1 / scale.base)}
        }
        said["ticks"] = {f"{v:g}": f"{v:g}" for v in axis.get_majorticklocs() if low <= v <= high}
        return said
    formatter = axis.get_major_formatter()
    if isinstance(formatter, FixedFormatter | FuncFormatter) and not said["log"]:
        at = [float(v) for v in axis.get_majorticklocs()]
        said["ticks"] = dict(zip(map(str, at), formatter.format_ticks(at), strict=True))
    return said


def _line(line: Line2D, axes: Axes) -> dict[str, Any]:
    x, y = (np.asarray(v, float) for v in line.get_data(orig=False))
    if line.get_transform() == axes.get_yaxis_transform(which="grid"):  # axhline: x is a share of the width
        x = np.array(axes.get_xlim())[: len(x)]
    elif line.get_transform() == axes.get_xaxis_transform(which="grid"):
        y = np.array(axes.get_ylim())[: len(y)]
    mark = line.get_marker()
    return _drawn(
        x, y, to_hex(line.get_color()), str(line.get_label()), line.get_alpha(),
        width=0 if line.get_linestyle() == "None" else float(line.get_linewidth()),
        dash=DASHES.get(str(line.get_linestyle()), "solid"),
        mark=None if mark in ("None", None, "") else MARKS.get(str(mark), "dot"), size=float(line.get_markersize()),
        upright=mark == "|",
    )  # fmt: skip


def _segments(lines: LineCollection) -> dict[str, Any]:
    gap = [[np.nan, np.nan]]  # a line ends there
    points = (
        np.vstack([np.vstack([s, gap]) for s in lines.get_segments()]) if lines.get_segments() else np.zeros((0, 2))
    )
    width, colour = float(np.atleast_1d(lines.get_linewidth())[0]), to_hex(np.atleast_2d(lines.get_color())[0])
    return _drawn(points[:, 0], points[:, 1], colour, str(lines.get_label()), _alpha(lines), width=width)


def _points(points: PathCollection) -> dict[str, Any]:
    at, size = np.ma.getdata(points.get_offsets()), float(np.sqrt(np.atleast_1d(points.get_sizes())[0]))
    colour = to_hex(np.atleast_2d(points.get_facecolor())[0])
    return _drawn(at[:, 0], at[:, 1], colour, str(points.get_label()), _alpha(points), mark="circle", size=size)


def _areas(areas: PolyCollection) -> list[dict[str, Any]]:
    colour = to_hex(np.atleast_2d(areas.get_facecolor())[0])
    corners = [np.asarray(path.vertices) for path in areas.get_paths()]
    return [_drawn(at[:, 0], at[:, 1], colour, str(areas.get_label()), _alpha(areas)) for at in corners]


def _area(vertices: np.ndarray, patch: Patch, axes: Axes) -> dict[str, Any]:
    corners = axes.transData.inverted().transform(patch.get_transform().transform(vertices))
    return _drawn(
        corners[:, 0], corners[:, 1], to_hex(patch.get_facecolor()), str(patch.get_label()), patch.get_alpha()
    )


def _alpha(drawn: LineCollection | PathCollection | PolyCollection) -> float:
    alpha = drawn.get_alpha()
    return 1.0 if alpha is None else float(np.atleast_1d(alpha)[0])


def _drawn(x: np.ndarray, y: np.ndarray, colour: str, label: str, alpha: float | None, **more: Any) -> dict[str, Any]:
    named = "" if label.startswith("_") else label  # matplotlib's own names of what a legend leaves out
    return {
        "x": _short(x),
        "y": _short(y),
        "colour": colour,
        "label": named,
        "alpha": alpha if alpha is not None else 1.0,
    } | more


def six_digits(x: np.ndarray) -> pl.Series:
    """Numbers (n,) with six digits: more than a figure shows, and text of half the size."""
    return pl.Series(np.asarray(x, float)).round_sig_figs(6)


def _short(x: np.ndarray) -> list[float | None]:
    return six_digits(np.where(np.isfinite(x), x, np.nan)).fill_nan(None).to_list()
