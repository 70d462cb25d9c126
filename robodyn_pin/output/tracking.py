"""The result folder of online identification: summary, table over time, figures, and the state to continue from."""

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.files import write_json, write_text
from robodyn_pin.logs.writing import write_table
from robodyn_pin.online.history import HistoryRow
from robodyn_pin.online.saved_state import save_state
from robodyn_pin.online.stream import Stream


def write_tracking(folder: Path, stream: Stream, rows: list[HistoryRow], summary: dict[str, Any]) -> list[str]:
    """Write `track.json`, `history.csv`, three figures and `state.npz` into a folder, and return their names.

    Raises:
        BadFile: the folder cannot be written.
    """
    from robodyn_pin.viz.online import errors_figure, estimates_figure, excited_share_figure
    from robodyn_pin.viz.plots import svg_file

    tracker = stream.tracker
    note = f"{summary['robot']} tracked{', SIMULATED log' if summary['simulated'] else ''}"
    changed = "; dashed: a change begins" if tracker.changes else ""
    figures = {
        "estimates": estimates_figure(rows, tracker, f"{note}: estimates with 95 % bands; grey: not excited; dotted: start{changed}"),
        "excitation": excited_share_figure(rows, tracker, f"{note}: how far the motion excites each parameter{changed}"),
        "errors": errors_figure(rows, tracker, f"{note}: torque error of each second"),
    }  # fmt: skip
    write_table(folder / "history.csv", _history_columns(rows, stream), note)
    for name, figure in figures.items():
        write_text(folder / f"{name}.svg", svg_file(figure, name))
    save_state(folder / "state.npz", stream)
    write_json(folder / "track.json", summary)
    return ["track.json", "history.csv", *(f"{name}.svg" for name in figures), "state.npz"]


def _history_columns(rows: list[HistoryRow], stream: Stream) -> dict[str, np.ndarray]:
    tracked = stream.tracker.tracked
    labels, names = tracked.labels, tracked.robot.coordinates.names
    columns = {"t": np.array([row.t for row in rows])}
    for prefix, field, heads in (
        ("", "values", labels), ("deviation ", "deviations", labels), ("excited ", "excited_share", labels),
        ("error before ", "start_error", names), ("error after ", "error", names),
    ):  # fmt: skip
        values = np.array([getattr(row, field) for row in rows]).T
        columns |= {f"{prefix}{head}": x for head, x in zip(heads, values, strict=True)}
    return columns | {
        "carried": np.array([row.carried for row in rows]),
        "refused": np.array([row.refused for row in rows]),
    }
