"""An optimal design against designs by chance, and what it leaves of each spring's uncertainty."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.elastic.design import Design
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS


@matplotlib.rc_context(STYLE)
def design_figure(found: Design) -> Figure:
    """Left: the criterion of all designs by chance, the optimal one marked. Right: deviations before and after."""
    figure = Figure(figsize=(9.5, 3.0))
    figure.subplots_adjust(left=0.06, right=0.99, top=0.82, bottom=0.16, wspace=0.2)
    chance, springs = figure.subplots(1, 2, width_ratios=[1.3, 1])
    every = np.log10(np.concatenate([found.random, found.random_full, [found.size, found.before]]))
    bins = np.linspace(every.min() - 0.02, every.max() + 0.02, 60)
    chance.hist(np.log10(found.random), bins, color="#c9d2da", label="by chance, forces anywhere inside")
    chance.hist(np.log10(found.random_full), bins, color=WLS, alpha=0.75, label="by chance, full forces")
    chance.axvline(np.log10(found.size), color=FEASIBLE, linewidth=2, label="found")
    chance.axvline(np.log10(found.before), color=MEASURED, linewidth=1, linestyle=":", label="prior")
    chance.set_xlabel(f"log₁₀ of criterion {found.run.criterion}: smaller is surer")
    chance.set_ylabel("designs")
    chance.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)
    before, after = found.deviations
    x = np.arange(len(before))
    springs.bar(x, 100 * after / before, 0.6, color=FEASIBLE)
    springs.axhline(100, color=MEASURED, linewidth=0.8)
    springs.set_xticks(x, found.springs.names)
    springs.set_ylabel("deviation left, % of the prior's")
    return figure
