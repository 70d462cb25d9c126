"""The page of a fleet: robots worst first, and a picture for each that differs or wears."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from robodyn_pin.fleets.causes import PossibleCause
from robodyn_pin.fleets.fleet import Fleet, Grown, Member
from robodyn_pin.viz.plot_data import with_numbers
from robodyn_pin.viz.plots import FEASIBLE, LIMIT, MEASURED, STYLE, svg
from robodyn_pin.viz.sheet import Section, section_page

PICTURES = 12  # robots that are drawn


def fleet_page(found: Fleet) -> str:
    """The text of the page."""
    odd = [m for m in found.members if m.odd]
    differ = "differs from the others, from itself" if len(odd) == 1 else "differ from the others, from themselves"
    verdict = (
        f"{len(odd)} of {len(found.members)} robots {differ} before, or in a log"
        if odd
        else "No robot differs from the others by more than chance"
    )
    sections = [Section("Robots, worst first", [EXPLAINED], member_rows(found))]
    sections += [
        Section(m.logs.name, sentences_on(found, m), (), [with_numbers(svg(f, f"robot{k}_{i}"), f) for i, f in enumerate(_figures(found, m))])
        for k, m in enumerate(odd[:PICTURES])
    ]  # fmt: skip
    if found.unused:
        sections.append(Section("Left out", found.unused))
    banner = "SIMULATED logs: these robots do not exist" if found.simulated else ""
    return section_page(f"{found.robot.name}: fleet of {len(found.members)}", banner, not odd, verdict, (), sections)


EXPLAINED = (
    "Each robot is judged by the others. Chance: how probable so large a difference is between robots that do not differ more than their "
    "type does, with everything looked at that may be the cause. Robots are named so that of 20 that are, one is a false alarm on the mean."
)


def member_rows(found: Fleet) -> list[dict[str, str]]:
    """A row for each robot, worst first."""
    return [
        {
            "robot": m.logs.name, "logs": str(len(m.logs.when)), "torque error [%]": f"{m.errors.mean_percent:.1f}",
            "most unlike the others in": m.cause.name if m.cause else "", "chance": f"{m.departure.probability:.2g}" if m.departure else "",
            "differs": "yes" if m.named else "in a log" if m.logs.strange else "", "changes steadily": m.wear.cause.name if m.wear else "",
        }
        for m in found.members
    ]  # fmt: skip


def sentences_on(found: Fleet, m: Member) -> list[str]:
    """What is said of an odd robot."""
    said = []
    if m.named and m.departure and m.cause:
        d = m.departure
        said.append(
            f"differs from the others: if one thing alone, then {m.cause.says(d.size, d.deviation)} (95 % interval; chance {d.probability:.2g})"
            + _as_well([found.causes[k] for k in d.as_well])
        )
    if m.wear:
        w = m.wear
        said.append(
            f"changes steadily: {w.cause.says(w.slope, w.deviation)} a {found.unit} (chance {w.probability:.2g})"
            + _as_well(w.as_well)
        )
    return [*said, *m.logs.strange]


def _as_well(causes: Sequence[PossibleCause]) -> str:
    """What explains the same hardly worse."""
    names = [cause.name for cause in causes]
    return (
        f"; its logs cannot tell this from {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}" if names else ""
    )


def _figures(found: Fleet, m: Member) -> list[Figure]:
    """How a robot differs from the others, how it changes, or both."""
    differs = [departure_figure(found, m)] if m.named else []
    return differs + ([trend_figure(m, m.wear, found.unit)] if m.wear else [])


@matplotlib.rc_context(STYLE)
def trend_figure(m: Member, wear: Grown, unit: str) -> Figure:
    """What changes in a robot, log by log, and the line through it."""
    share = not wear.cause.unit
    unit_size = 100.0 if share else 1.0
    size, slope = unit_size * wear.sizes, unit_size * wear.slope
    t = np.array([m.logs.when.min(), m.logs.when.max()])
    figure = Figure(figsize=(9.5, 3.2))
    figure.subplots_adjust(left=0.12, right=0.97, top=0.88, bottom=0.16)
    axes = figure.subplots()
    line = slope * (t - m.logs.when.mean())
    axes.plot(t, line, color=LIMIT, label=f"{slope:+.3g} {'%' if share else wear.cause.unit} a {unit}")
    axes.plot(m.logs.when, size - size.mean(), "D", color=FEASIBLE, markersize=6, label="logs")
    axes.set_xlabel("days since the fleet's first log" if unit == "day" else "number of the log")
    axes.set_ylabel(f"off the mean [{'%' if share else wear.cause.unit}]")
    axes.set_title(f"{m.logs.name}: {wear.cause.name}, log by log")
    axes.legend()
    return figure


@matplotlib.rc_context(STYLE)
def departure_figure(found: Fleet, m: Member) -> Figure:
    """Where a robot lies among the others, along the base parameters in which it is most unlike them."""
    robots = [other.alone for other in found.members if other is not m]
    others, spread = np.array(robots), np.maximum(np.std(robots, axis=0), np.finfo(float).tiny)
    middle = np.mean(others, axis=0)
    off = (m.alone - middle) / spread
    order = np.argsort(-np.abs(off))[:6]
    labels = found.base.labels(found.layout.labels)
    figure = Figure(figsize=(9.5, 0.5 * len(order) + 0.9))
    figure.subplots_adjust(left=0.34, right=0.97, top=0.86, bottom=0.45 / (0.5 * len(order) + 0.9))
    axes = figure.subplots()
    for row, k in enumerate(order):
        axes.plot((others[:, k] - middle[k]) / spread[k], np.full(len(others), row), "|", color=MEASURED, markersize=9)
        axes.plot(off[k], row, "D", color=LIMIT if m.named else FEASIBLE, markersize=7)
    axes.set_yticks(range(len(order)), [_short(labels[k]) for k in order])
    axes.invert_yaxis()
    axes.set_xlabel("off the other robots' mean, in their standard deviations")
    axes.set_title(f"{m.logs.name} (diamond) among the others (strokes), by their own logs")
    return figure


def _short(label: str) -> str:
    return label if len(label) < 40 else f"{label[:37]} ..."
