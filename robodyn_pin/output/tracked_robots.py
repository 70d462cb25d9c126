"""The result folder of robots that are tracked together: each robot as its last log left it, and what every log has shown."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from robodyn_pin.files import versions, write_json
from robodyn_pin.fleets.tracking import TrackedRobots
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.console import SIMULATED, print_table

SHOWN = 20  # robots in the table of the console


def summary_of_tracked(found: TrackedRobots) -> dict[str, Any]:
    """What `tracked.json` holds; robots whose torques their estimate explains least come first."""
    last = {log.robot: log.summary for log in found.logs}
    robots = sorted(({"name": name} | summary for name, summary in last.items()), key=lambda r: -_error(r, "after"))
    return {
        "simulated": any(log.summary["simulated"] for log in found.logs), "logs": len(found.logs), "new logs": found.new,
        "left_out": list(found.left_out), "robots": robots, "versions": versions(),
    }  # fmt: skip


def write_tracked(found: TrackedRobots, folder: Path) -> None:
    """Write `tracked.json`, `parameters.csv` (a row for each robot) and `logs.csv` (a row for each log).

    Raises:
        BadFile: the folder cannot be written.
    """
    summary = summary_of_tracked(found)
    note = "SIMULATED logs" if summary["simulated"] else ""
    parameters = [{"robot": r["name"]} | _values(r) for r in sorted(summary["robots"], key=lambda r: r["name"])]
    write_table(folder / "parameters.csv", pl.DataFrame(parameters), note)
    write_table(folder / "logs.csv", pl.DataFrame([_of_log(log.robot, log.file, log.summary) for log in found.logs]), note)  # fmt: skip
    write_json(folder / "tracked.json", summary)


def print_tracked(found: TrackedRobots, folder: Path) -> None:
    """The robots whose torques are explained least, and what was left out."""
    summary = summary_of_tracked(found)
    if summary["simulated"]:
        print(SIMULATED)
    rows = [
        {"robot": r["name"], "logs": sum(log.robot == r["name"] for log in found.logs), "samples": r["samples"],
         "torque error before [%]": f"{_error(r, 'before'):.3g}", "after [%]": f"{_error(r, 'after'):.3g}",
         "drifts": ", ".join(t["name"] for t in r["trend"] if t["significant"]), "carries [kg]": f"{r['carried [kg]']:.3g}"}
        for r in summary["robots"][:SHOWN]
    ]  # fmt: skip
    print_table(f"{len(summary['robots'])} robots, torques explained least come first", rows)
    print("\n".join(found.left_out), end="\n" if found.left_out else "")
    print(f"{found.new} new logs tracked, {len(found.logs)} in all; results: {folder}")


def _error(robot: dict[str, Any], when: str) -> float:
    """Torque error of a robot's last log, of the parameters at the start or the estimate, in percent of the effort; largest coordinate."""
    shares = [100 * e[when] / e["effort"] for e in robot["errors"] if e["effort"]]
    return float(np.max(shares, initial=0.0))


def _values(robot: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for p in robot["parameters"]:
        found |= {p["name"]: p["estimate"], f"deviation {p['name']}": p["deviation"]}
    return found


def _of_log(robot: str, file: str, summary: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"robot": robot, "log": file, "samples so far": summary["samples"]}
    for e in summary["errors"]:
        row |= {f"error before {e['along']} [{e['unit']}]": e["before"], f"error after {e['along']} [{e['unit']}]": e["after"]}  # fmt: skip
    return row | {"changes": len(summary["changes"])} | _values(summary)
