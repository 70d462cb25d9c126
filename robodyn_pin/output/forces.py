"""Strut forces of a log as files: a table, a plot, a summary, and the reading of a load cell."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.families.reduced_delta import Lump
from robodyn_pin.files import write_json, write_text
from robodyn_pin.forces.joint_history import SIX, joint_extremes, joint_history
from robodyn_pin.forces.load_cell import compare_cell
from robodyn_pin.forces.strut_history import StrutHistory, extremes
from robodyn_pin.forces.strut_intervals import strut_history_with_reach
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_text
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.table import read_columns
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.contradicted import contradictions
from robodyn_pin.robot.limits import strut_limits
from robodyn_pin.robot.robot import Robot

ENDS = ("upper", "lower")
INTERVALS = (
    "95 % intervals of the strut forces: from the covariance of the parameters; what the log of the identification does not show "
    "is taken to lie as far from the prior as what it shows, so that they are rather too wide than too narrow"
)


@dataclass(frozen=True)
class Asked:
    """What is asked of the struts."""

    reduced: Lump | None  # where the reduced model lumps the bar; None: the full multipliers
    limit: float | None  # [N]; None: the robot file's
    compare: Path | None  # table of a load cell
    cell: str  # STRUT or STRUT:END where it sits; empty: the upper end of the first strut
    covariance: np.ndarray | None = None  # (p, p) of the robot's parameters, for intervals of the full model


def forces_of_log(
    robot: Robot, log: Log, run: RunFile | None, preparation: Preparation, asked: Asked, out: Path
) -> dict[str, Any]:
    """Compute the strut forces of a log, write table, plot and summary, and return the summary.

    Args:
        run: as the robot was identified; None: its parameters are those of its files.

    Raises:
        RobodynError: as `strut_history`. UnknownName: no such strut or end. BadLog: a load cell's file that cannot serve.
    """
    limit = next(iter(strut_limits(robot).values()), None) if asked.limit is None else asked.limit
    measured = None if asked.compare is None else _read_cell(asked.compare)
    whole = strut_history_with_reach(robot, log, preparation, asked.reduced, asked.covariance)
    history = whole.inside
    where = _where(history, asked.cell)
    summary: dict[str, Any] = {"robot": robot.name, "model": history.model, "simulated": log.simulated}
    summary |= {"rows": len(history.t), "limit [N]": limit} | _edges(log, whole.edge)
    summary["struts"] = [
        {"strut": e.strut, "least [N]": e.least, "greatest [N]": e.greatest, "worst at [s]": e.worst_at, "end": e.end}
        | {"margin [N]": e.margin}
        | ({"95 % of the worst [N]": list(e.interval)} if e.interval else {})
        for e in extremes(history, limit)
    ]
    summary |= {"intervals": INTERVALS if history.reach else "", "load cell": None} | _beside(out)
    summary |= contradictions(robot, log, run, preparation)
    if measured is not None:
        computed = getattr(history, where[1])[:, history.names.index(where[0])]
        found = compare_cell(history.t, computed, *measured)
        summary["load cell"] = {"strut": where[0], "end": where[1], "RMSE [N]": found.rmse, "bias [N]": found.bias}
        summary["load cell"] |= {"delay [s]": found.delay, "RMSE without the delay [N]": found.rmse_aligned}
    _write(history, limit, summary, out, measured, where)
    return summary


def _edges(log: Log, edge: int) -> dict[str, Any]:
    """What is left out of a log."""
    note = edge_text(log.size, edge)
    return {"edge rows": edge, "edge": note, "columns not used": list(log.quality.unused)}


def _beside(out: Path) -> dict[str, Any]:
    """Plot and summary beside a table."""
    return {"files": [out.with_suffix(s).name for s in (".svg", ".json")]}


def _where(history: StrutHistory, cell: str) -> tuple[str, str]:
    strut, _, end = (cell or history.names[0]).partition(":")
    if strut not in history.names:
        raise UnknownName("strut", strut, "the robot's file", history.names)
    if (end := end or "upper") not in ENDS:
        raise UnknownName("end of a strut", end, f"{cell!r}", ENDS)
    return strut, end


def _read_cell(path: Path) -> tuple[np.ndarray, np.ndarray]:
    t, force = read_columns(path, ("t", "force"))
    if len(t) < 2 or (np.diff(t) <= 0).any():
        raise BadLog(f"{path}: the time of a load cell must increase from row to row")
    return t, force


def _write(
    history: StrutHistory, limit: float | None, summary: dict[str, Any], out: Path,
    measured: tuple[np.ndarray, np.ndarray] | None, where: tuple[str, str],
) -> None:  # fmt: skip
    from robodyn_pin.viz.plots import svg_file
    from robodyn_pin.viz.struts import force_figure

    named = {"t": history.t}
    for end in ENDS:
        named |= {f"{end}_{name}": getattr(history, end)[:, k] for k, name in enumerate(history.names)}
    for end in ENDS if history.reach else ():
        for k, name in enumerate(history.names):
            force, far = getattr(history, end)[:, k], getattr(history.reach, end)[:, k]
            named |= {f"low_{end}_{name}": force - far, f"high_{end}_{name}": force + far}
    note = f"axial strut forces [N], tension positive, {history.model} model"
    note += ", low_ and high_ the ends of their 95 % intervals" if history.reach else ""
    note += ", SIMULATED log" if summary["simulated"] else ""
    title = f"{summary['robot']}{' (SIMULATED log)' if summary['simulated'] else ''}"
    figure = force_figure(history, limit, title, measured, where if measured else None)
    write_text(out.with_suffix(".svg"), svg_file(figure, "struts"))
    write_json(out.with_suffix(".json"), summary)
    write_table(out, named, note)


def joint_forces_of_log(
    robot: Robot, log: Log, run: RunFile | None, preparation: Preparation, out: Path
) -> dict[str, Any]:
    """Compute wrenches along a log, write table, plot and summary, and return the summary; `run` and errors as of `forces_of_log`."""
    from robodyn_pin.viz.joints import joint_figure
    from robodyn_pin.viz.plots import svg_file

    whole = joint_history(robot, log, preparation)
    history = whole.inside
    about = {"robot": robot.name, "simulated": log.simulated, "rows": len(history.t)}
    summary = about | {"joints": joint_extremes(history)} | _edges(log, whole.edge) | _beside(out)
    summary |= contradictions(robot, log, run, preparation)
    named = {"t": history.t} | {
        f"{component}_{name}": history.wrenches[:, k, i]
        for k, name in enumerate(history.names)
        for i, component in enumerate(SIX)
    }
    simulated = ", SIMULATED log" if log.simulated else ""
    title = f"{robot.name}{' (SIMULATED log)' if log.simulated else ''}"
    write_text(out.with_suffix(".svg"), svg_file(joint_figure(history, title), "joints"))
    write_json(out.with_suffix(".json"), summary)
    write_table(out, named, f"force [N] and moment [N m] in joints, along the body's axes{simulated}")
    return summary
