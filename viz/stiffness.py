"""Figures of a stiffness identification: prior and estimate, campaigns side by side, predicted and measured deviations."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.elastic.campaigns import Campaign
from robodyn_pin.elastic.inference import StiffnessEstimate, stiffness_of
from robodyn_pin.elastic.measurements import Measurements
from robodyn_pin.viz.plots import FEASIBLE, MEASURED, STYLE, WLS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKS = "osD^vP"
MILLION, MICRO = 1e6, 1e-6


@matplotlib.rc_context(STYLE)
def stiffness_figure(e: StiffnessEstimate) -> Figure:
    """Each spring's stiffness with its 95 % interval, drawn over the prior."""
    figure = Figure(figsize=(6.6, 0.5 * len(e.names) + 0.9))
    axes = figure.subplots()
    figure.subplots_adjust(
        left=0.1, right=0.98, top=1 - 0.4 / figure.get_figheight(), bottom=0.5 / figure.get_figheight()
    )
    k, ends = e.stiffness / MILLION, e.interval() / MILLION
    prior, spread = stiffness_of(e.prior.mean, e.form) / MILLION, e.prior.deviations / e.prior.mean / np.sqrt(e.gamma)
    y = np.arange(len(e.names))
    right = 1.15 * max(
        float((prior * (1 + spread)).max()), float(np.where(np.isfinite(ends[:, 1]), ends[:, 1], k).max())
    )
    axes.barh(
        y,
        2 * spread * prior,
        left=prior * (1 - spread),
        height=0.62,
        color="#dfe5ea",
        label="prior ± standard deviation",
    )
    shown = np.minimum(ends, right)
    axes.errorbar(k, y, xerr=[k - shown[:, 0], shown[:, 1] - k], fmt="o", color=FEASIBLE, markersize=4, capsize=3,
                  label="estimate, 95 % interval")  # fmt: skip
    axes.set_yticks(y, e.names)
    axes.invert_yaxis()
    axes.set_xlim(0, right)
    axes.set_xlabel("stiffness [10⁶ N m/rad]")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)
    return figure


@matplotlib.rc_context(STYLE)
def campaigns_figure(found: tuple[Campaign, ...], names: tuple[str, ...]) -> Figure:
    """Relative standard deviation of each spring's stiffness over that of the prior, for each campaign."""
    figure = Figure(figsize=(6.6, 2.8))
    figure.subplots_adjust(left=0.1, right=0.98, top=0.86, bottom=0.12)
    axes = figure.subplots()
    measured, prior = found[:-1], found[-1]
    width = 0.8 / max(1, len(measured))
    for i, c in enumerate(measured):
        part = np.sqrt(np.diag(c.covariance)) / c.stiffness / (np.sqrt(np.diag(prior.covariance)) / prior.stiffness)
        x = np.arange(len(names)) - 0.4 + (i + 0.5) * width
        axes.bar(x, 100 * part, 0.92 * width, color=COLOURS[i % len(COLOURS)], label=c.name)
    axes.axhline(100, color=MEASURED, linewidth=0.8)
    axes.set_xticks(np.arange(len(names)), names)
    axes.set_ylabel("relative standard\ndeviation, % of prior")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.1)
    return figure


@matplotlib.rc_context(STYLE)
def validation_figure(found: tuple[Campaign, ...], m: Measurements) -> Figure:
    """Measured and predicted deviations of the validation poses along x, y and z, as figure 4 of Stiff-6660."""
    figure = Figure(figsize=(9.5, 5.2))
    figure.subplots_adjust(left=0.08, right=0.79, top=0.95, bottom=0.09, hspace=0.18)
    panels = figure.subplots(3, 1, sharex=True)
    pose = np.arange(len(m.q))
    for k, (axes, name) in enumerate(zip(panels, "xyz", strict=True)):
        axes.plot(
            pose,
            m.deviation[:, k] / MICRO,
            "_",
            color=MEASURED,
            markersize=22,
            markeredgewidth=1.6,
            label="SIMULATED" if m.simulated else "measured",
        )
        for i, c in enumerate(found):
            assert c.predicted is not None
            assert c.rms is not None
            shift = 0.6 * ((i + 0.5) / len(found) - 0.5)
            prior = i == len(found) - 1
            axes.plot(pose + shift, c.predicted[:, k] / MICRO, "x" if prior else MARKS[i % len(MARKS)], markersize=5 if prior else 4,
                      color=WLS if prior else COLOURS[i % len(COLOURS)], markerfacecolor="none",
                      label=f"{c.name}\nrms error {c.rms['all'] / MICRO:.2g} µm")  # fmt: skip
        axes.set_ylabel(f"deviation {name} [µm]")
    panels[0].legend(loc="upper left", bbox_to_anchor=(1.01, 1.03), labelspacing=0.7)
    panels[-1].set_xticks(pose, [str(row) for row in m.rows])
    panels[-1].set_xlabel(f"pose of {m.name}")
    return figure
