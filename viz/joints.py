"""Figure of the magnitudes of force and moment in joints over time."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.forces.joint_history import JointHistory
from robodyn_pin.viz.plots import COLOURS, STYLE, thinned

DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))  # of the first, second and third round of colours
MOST = 18  # most lines that a reader can distinguish: those with the largest forces


@matplotlib.rc_context(STYLE)
def joint_figure(history: JointHistory, title: str) -> Figure:
    """Forces in the upper axes, moments in the lower, one line per joint."""
    figure = Figure(figsize=(9.5, 5.0))
    figure.subplots_adjust(left=0.085, right=0.84, top=0.94, bottom=0.09, hspace=0.12)
    axes = figure.subplots(2, 1, sharex=True)
    parts = {"force [N]": slice(3), "moment [N m]": slice(3, 6)}
    size = np.linalg.norm(history.wrenches[:, :, :3], axis=2).max(axis=0)
    shown = np.sort(np.argsort(-size)[:MOST])
    for ax, (label, part) in zip(axes, parts.items(), strict=True):
        for n, k in enumerate(shown):
            pen = {"color": COLOURS[n % 6], "linestyle": DASHES[n // 6], "linewidth": 1.0}
            ax.plot(
                *thinned(history.t, np.linalg.norm(history.wrenches[:, k, part], axis=1)), label=history.names[k], **pen
            )
        ax.set_ylabel(label)
        ax.margins(x=0)
    axes[0].set_title(title)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), title="joint or closure")
    axes[1].set_xlabel("time in the log [s]")
    return figure
