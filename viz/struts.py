"""Figure of strut forces over time, with their limits, and the force of a load cell on the strut that it measured."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.forces.strut_history import StrutHistory
from robodyn_pin.viz.plots import COLOURS, LIMIT, MEASURED, STYLE, thinned


@matplotlib.rc_context(STYLE)
def force_figure(
    history: StrutHistory,
    limit: float | None,
    title: str,
    cell: tuple[np.ndarray, np.ndarray] | None = None,
    cell_on: tuple[str, str] | None = None,
) -> Figure:
    """Axial force of every strut at its upper and lower end, with the band of its 95 % interval if that is known.

    Args:
        limit: of the size of a force [N], drawn as two lines. title: of the page.
        cell: times [s] and forces [N] of a load cell. cell_on: which strut and which end it measured.
    """
    rows = 2 + (cell is not None)
    figure = Figure(figsize=(9.5, 2.3 * rows + 0.4))
    figure.subplots_adjust(left=0.085, right=0.85, top=1 - 0.45 / (2.3 * rows), bottom=0.5 / (2.3 * rows), hspace=0.22)
    axes = figure.subplots(rows, 1, sharex=True)
    for ax, end, values in ((axes[0], "upper end", history.upper), (axes[1], "lower end", history.lower)):
        for k, name in enumerate(history.names):
            # The two struts of one arm share a colour, the second is dashed.
            pen = {"color": COLOURS[k // 2 % len(COLOURS)], "linestyle": ("-", (0, (4, 1.5)))[k % 2]}
            ax.plot(*thinned(history.t, values[:, k]), linewidth=0.9, label=name, **pen)
            if history.reach is not None:
                far = (history.reach.upper if end == "upper end" else history.reach.lower)[:, k]
                low, high = (thinned(history.t, x) for x in (values[:, k] - far, values[:, k] + far))
                t = np.union1d(low[0], high[0])
                edges = (np.interp(t, *low), np.interp(t, *high))
                ax.fill_between(t, *edges, color=COLOURS[k // 2 % len(COLOURS)], alpha=0.1, linewidth=0)
        if limit is not None:
            for k, bound in enumerate((limit, -limit)):
                ax.axhline(bound, color=LIMIT, linewidth=1, linestyle=":", label=None if k else f"limit ±{limit:g} N")
        ax.set_ylabel(f"{end}\naxial force [N]")
        ax.margins(x=0)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), borderaxespad=0)
    sure = ", bands: 95 % intervals" if history.reach is not None else ""
    axes[0].set_title(f"{title}: {history.model} model, tension positive{sure}")
    if cell is not None and cell_on is not None:
        strut, end = cell_on
        computed = getattr(history, end)[:, history.names.index(strut)]
        axes[2].plot(*thinned(*cell), color=MEASURED, linewidth=0.8, label="load cell")
        axes[2].plot(*thinned(history.t, computed), color=COLOURS[0], linewidth=1, label="model")
        axes[2].set_ylabel(f"{strut}, {end} end\naxial force [N]")
        axes[2].legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), borderaxespad=0)
        axes[2].margins(x=0)
    axes[-1].set_xlabel("time [s]")
    return figure
