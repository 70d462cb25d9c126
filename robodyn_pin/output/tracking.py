"""A tracked log as files: summary, table over time, plots, and the state to go on from."""

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.online.history import Moment
from robodyn_pin.online.saved_state import save
from robodyn_pin.online.stream import Stream


def write_tracked(folder: Path, stream: Stream, moments: list[Moment], summary: dict[str, Any]) -> list[str]:
    """Write `track.json`, `history.csv`, three plots and `state.npz` into a folder; their names.

    Raises:
        BadFile: the folder cannot be written.
    """
    from robodyn_pin.viz.online import errors_figure, estimates_figure, excitation_figure
    from robodyn_pin.viz.plots import svg_file

    tracker = stream.tracker
    note = f"{summary['robot']} tracked{', SIMULATED log' if summary['simulated'] else ''}"
    changed = ", dashed a change" if tracker.changes else ""
    bands = f"{note}: estimates, 95 % bands; grey where not excited, dotted the start{changed}"
    plots = {
        "estimates": estimates_figure(moments, tracker, bands),
        "excitation": excitation_figure(moments, tracker, f"{note}: what the motion excites{changed}"),
        "errors": errors_figure(moments, tracker, f"{note}: torque error of each second"),
    }
    write_table(folder / "history.csv", _table(moments, stream), note)
    for name, figure in plots.items():
        write_text(folder / f"{name}.svg", svg_file(figure, name))
    save(folder / "state.npz", stream)
    write_json(folder / "track.json", summary)
    return ["track.json", "history.csv", *(f"{name}.svg" for name in plots), "state.npz"]


def _table(moments: list[Moment], stream: Stream) -> dict[str, np.ndarray]:
    tracked = stream.tracker.tracked
    found = {"t": np.array([m.t for m in moments])}
    prefixes = {
        "values": "",
        "deviations": "deviation ",
        "shown": "excited ",
        "before": "error before ",
        "after": "error after ",
    }
    for field, prefix in prefixes.items():
        names = tracked.robot.coordinates.names if prefix.startswith("error") else tracked.labels
        columns = np.array([getattr(m, field) for m in moments]).T
        found |= {f"{prefix}{name}": column for name, column in zip(names, columns, strict=True)}
    return found | {
        "carried": np.array([m.carried for m in moments]),
        "refused": np.array([m.refused for m in moments]),
    }
