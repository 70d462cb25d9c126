"""Figure of an experiment design: compared with random designs, and the standard deviation that each spring keeps."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.elastic.design import Design
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS


@matplotlib.rc_context(STYLE)
def design_figure(found: Design) -> Figure:
    """Left: the criterion of random designs, the optimal one marked. Right: standard deviations over the prior's."""
    figure = Figure(figsize=(9.5, 3.0))
    figure.subplots_adjust(left=0.06, right=0.99, top=0.82, bottom=0.16, wspace=0.2)
    sizes, springs = figure.subplots(1, 2, width_ratios=[1.3, 1])
    all_sizes = np.log10(np.concatenate([found.random_sizes, found.full_force_sizes, [found.size, found.prior_size]]))
    bins = np.linspace(all_sizes.min() - 0.02, all_sizes.max() + 0.02, 60)
    sizes.hist(np.log10(found.random_sizes), bins, color="#c9d2da", label="random designs")
    sizes.hist(
        np.log10(found.full_force_sizes),
        bins,
        color=WLS,
        alpha=0.75,
        label="random designs, all forces at their bounds",
    )
    sizes.axvline(np.log10(found.size), color=FEASIBLE, linewidth=2, label="optimal design")
    sizes.axvline(np.log10(found.prior_size), color=MEASURED, linewidth=1, linestyle=":", label="prior")
    sizes.set_xlabel(f"log₁₀ of criterion {found.run.criterion} (smaller: better determined)")
    sizes.set_ylabel("designs")
    sizes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.1)
    before, after = found.deviations
    x = np.arange(len(before))
    springs.bar(x, 100 * after / before, 0.6, color=FEASIBLE)
    springs.axhline(100, color=MEASURED, linewidth=0.8)
    springs.set_xticks(x, found.springs.names)
    springs.set_ylabel("standard deviation,\n% of the prior's")
    return figure
