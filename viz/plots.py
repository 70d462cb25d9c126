"""Plots of results: arrays in, matplotlib figures out, and the SVG that goes into a page."""

import io
import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import matplotlib
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, LogLocator

# Okabe and Ito's colours, which colour-blind readers can distinguish; line widths differ too, for black and white.
MEASURED, FEASIBLE, WLS = "#222222", "#0072B2", "#E69F00"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LIMIT = "#B00020"
# From compression at its limit to tension at its limit. People with any colour vision can distinguish blue from red, and the
# ends are darker than the middle.
STOPS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
LOADS = np.array([[16, 42, 150], [80, 142, 228], [172, 172, 168], [240, 132, 44], [178, 10, 24]])
STYLE = {
    "font.size": 8, "axes.titlesize": 9, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.titley": 1.0,  # else each axis is laid out once more, to see whether the title lies on its labels
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6, "axes.axisbelow": True,
    "axes.grid": True, "grid.color": "#e4e7eb", "grid.linewidth": 0.6, "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: small, and found by a search
}  # fmt: skip
STRIP = 16  # pt
SIZE = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt" viewBox="[^"]*"')
DRAWN = 600  # bins of a drawn line, each with its smallest and largest value: more than a page has pixels for


@matplotlib.rc_context(STYLE)
def torque_figure(
    t: np.ndarray,
    measured: np.ndarray,
    predicted: Mapping[str, np.ndarray],
    title: str,
    unit: str,
    legend: Mapping[str, str] | None = None,
    reach: np.ndarray | None = None,
) -> Figure:
    """Measured and predicted effort of one motor, and the residuals below.

    Args:
        t: (n,) [s]. measured: (n,) [unit].
        predicted: estimate -> (n,) [unit]; "WLS" and "feasible" are drawn.
        legend: estimate -> its text in the legend; default: its name.
        reach: (n,) [unit] half width of the 95 % band about the feasible prediction.
    """
    figure = Figure(figsize=(9.5, 2.9))
    # The same margins for all, so that the motors' time axes stand below each other.
    figure.subplots_adjust(left=0.085, right=0.985, top=0.91, bottom=0.145, hspace=0.14)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2.1, 1])
    pen = {"WLS": {"color": WLS, "linewidth": 2.2}, "feasible": {"color": FEASIBLE, "linewidth": 0.9}}
    upper.plot(*thinned(t, measured), color=MEASURED, linewidth=0.8, label="measured")
    for name, line in pen.items():
        if name in predicted:
            upper.plot(*thinned(t, predicted[name]), **line, label=(legend or {}).get(name, name))
            lower.plot(*thinned(t, measured - predicted[name]), **line)
    lower.axhline(0, color=MEASURED, linewidth=0.6)
    lines = [*upper.lines]
    if reach is not None:
        style = {"color": MEASURED, "linewidth": 1.0, "linestyle": ":", "label": "95 % band"}
        every = slice(None, None, max(1, len(t) // DRAWN))
        lines += lower.plot(t[every], reach[every], **style)
        lower.plot(t[every], -reach[every], **style)
    what = {"N m": "torque", "N": "force"}.get(unit, "effort")
    upper.set_ylabel(f"{what} [{unit}]")
    lower.set_ylabel(f"residual [{unit}]")
    lower.set_xlabel("time in the log [s]")
    upper.yaxis.set_label_coords(-0.068, 0.5)
    lower.yaxis.set_label_coords(-0.068, 0.5)
    upper.margins(x=0)
    upper.set_title(title)
    upper.legend(handles=lines, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.1, handlelength=1.6)
    return figure


@matplotlib.rc_context(STYLE)
def choice_figure(
    candidates: Sequence[float], percent: Sequence[float], chosen: float, label: str, equal: float | None = None
) -> Figure:
    """Cross-validated error of each candidate of a setting, the chosen one marked.

    Args:
        percent: mean error of each [%]. label: of the setting, with its unit.
        equal: errors up to this one [%] count as equal; drawn as a band.
    """
    order = np.argsort(candidates)
    x, y = np.asarray(candidates, float)[order], np.asarray(percent)[order]
    figure = Figure(figsize=(3.1, 2.2))
    figure.subplots_adjust(left=0.2, right=0.97, top=0.88, bottom=0.19)
    axes = figure.subplots()
    span = max(float(np.ptp(y)), 0.02 * y.min())  # what changes by less than that shall look flat
    axes.set_ylim(y.min() - 0.2 * span, y.min() + 1.25 * span)
    if equal is not None:
        axes.axhspan(y.min(), equal, color="#cfe3f1", linewidth=0, label="counts as equal")
    axes.plot(x, y, "o-", color="#6b7480", linewidth=1, markersize=4, markerfacecolor="white")
    at = int(np.flatnonzero(x == chosen)[0])
    axes.plot(x[at], y[at], "D", color=FEASIBLE, markersize=7, label=f"chosen: {chosen:g}")
    axes.set_xscale("log")
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.set_xticks([], minor=True)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel(label)
    axes.set_ylabel("cross-validated error [%]")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1, handlelength=1.2)
    return figure


def plain_powers(*axes: Axis) -> None:
    """Ticks of logarithmic axes at 1, 2 and 5, in plain text: powers of ten in mathematics take half of the drawing's time."""
    for axis in axes:
        axis.set_major_formatter(lambda x, _: f"{x:g}")
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(_Plain(minor_thresholds=(2, 1)))


class _Plain(LogFormatter):
    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def thinned(t: np.ndarray, x: np.ndarray, bins: int = DRAWN) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest sample of each bin, in order, so that no peak of x (n,) is lost."""
    if len(x) <= 2 * bins:
        return t, x
    edges = np.linspace(0, len(x), bins + 1).astype(int)
    bin_of = np.repeat(np.arange(bins), np.diff(edges))
    kept = np.unique([np.lexsort((sign * x, bin_of))[edges[:-1]] for sign in (1, -1)])
    return t[kept], x[kept]


def svg_file(figure: Figure, name: str) -> str:
    """The text of an .svg file; `name` as for `svg`."""
    return svg_document(svg(figure, name))


def svg_document(element: str, note: str = "") -> str:
    """The text of an .svg file with an <svg> element; a note, such as that it is simulated, stands in a strip below."""
    if note:
        element = _with_strip(element, note)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{element}'


def _with_strip(element: str, note: str) -> str:
    found = SIZE.search(element)
    assert found, "matplotlib writes width, height and viewBox in this order"
    width, height = (float(x) for x in found.groups())
    size = f'width="{width:g}pt" height="{height + STRIP:g}pt" viewBox="0 0 {width:g} {height + STRIP:g}"'
    text = f'<text x="6" y="{height + 10:g}" style="font: bold 8px sans-serif">{escape(note)}</text>'
    return SIZE.sub(size, element, count=1).replace("</svg>", f"{text}\n</svg>")


def svg(figure: Figure, name: str) -> str:
    """An <svg> element for a page; the same figure gives the same bytes.

    Args:
        name: must differ from those of the page's other figures, because ids in a page must differ.
    """
    text = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # no date or machine
        figure.savefig(text, format="svg", transparent=True, metadata=metadata)
    element = text.getvalue()[text.getvalue().index("<svg") :]
    element = re.sub(r'<g id="[^"]*">', "<g>", element)  # figure_1, axes_1: once per figure
    # Hundredths of a point are finer than any screen or printer.
    return re.sub(r'(?<= d=")[^"]*', lambda d: re.sub(r"(\.\d\d)\d+", r"\1", d[0]), element)
