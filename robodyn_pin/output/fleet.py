"""The result folder of a fleet: summary, table, a page for those who look after the robots, and each robot's files."""

from pathlib import Path
from typing import Any

import polars as pl

from robodyn_pin.files import prepare_folder, versions, write_json, write_text
from robodyn_pin.fleets.fleet import Fleet, Member
from robodyn_pin.logs.writing import write_table
from robodyn_pin.output.console import print_table
from robodyn_pin.robot.export import identified_robot_file, identified_urdf
from robodyn_pin.viz.fleet import fleet_page, member_rows, sentences_on


def write_fleet(found: Fleet, folder: Path) -> None:
    """Write `fleet.json`, `parameters.csv`, `fleet.html`, and URDF and robot file of each robot in a folder of its name.

    Raises:
        BadFile: the folder cannot be written. NotPhysical: parameters that do not survive the way through a URDF.
    """
    least = found.run.bounds.eigenvalue
    for member in found.members:
        own, name = folder / member.logs.name, f"{found.robot.name}_identified"
        prepare_folder(own)
        simulated = member.logs.simulated
        write_text(own / f"{name}.urdf", identified_urdf(found.robot, found.layout, member.values, least))
        write_text(own / f"{name}.yaml", identified_robot_file(found.robot, found.layout, member.values, simulated))
    write_table(
        folder / "parameters.csv", pl.DataFrame(parameter_rows(found)), "SIMULATED logs" if found.simulated else ""
    )
    write_text(folder / "fleet.html", fleet_page(found))
    write_json(folder / "fleet.json", summary_of_fleet(found))


def parameter_rows(found: Fleet) -> list[dict[str, Any]]:
    """A row for each base parameter, SI units: the type and its spread, then each robot with its standard deviation."""
    by_name = sorted(found.members, key=lambda m: m.logs.name)
    rows = []
    for k, label in enumerate(found.base.labels(found.layout.labels)):
        own = {
            text: float(x[k])
            for m in by_name
            for text, x in ((m.logs.name, m.base), (f"{m.logs.name} deviation", m.deviations))
        }
        rows.append(
            {"parameter": label, "type": float(found.of_type.mean[k]), "spread": float(found.of_type.spread[k]), **own}
        )
    return rows


def summary_of_fleet(found: Fleet) -> dict[str, Any]:
    """What `fleet.json` holds."""
    return {
        "robot": found.robot.name,
        "simulated": found.simulated,
        "robots": [_member(found, m) for m in found.members],
        "left_out": list(found.left_out),
        "versions": versions(),
    }


def _member(found: Fleet, m: Member) -> dict[str, Any]:
    said: dict[str, Any] = {
        "name": m.logs.name, "logs": len(m.logs.when), "left_out": list(m.logs.left_out), "strange": list(m.logs.strange), "differs": m.named,
        "errors_percent": dict(zip(found.robot.coordinates.names, m.errors.percent.tolist(), strict=True)),
        "sentences": sentences_on(found, m), "smallest_eigenvalue": m.eigenvalue,
    }  # fmt: skip
    if m.departure and m.cause:
        d = m.departure
        said["difference"] = {
            "cause": m.cause.name, "unit": m.cause.unit, "size": d.size, "deviation": d.deviation, "probability": d.probability,
            "as_well": [found.causes[k].name for k in d.as_well],
        }  # fmt: skip
    if m.wear:
        w = m.wear
        said["wear"] = {
            "cause": w.cause.name, "unit": f"{w.cause.unit or '1'} a {found.unit}", "slope": w.slope, "deviation": w.deviation,
            "probability": w.probability, "as_well": [cause.name for cause in w.as_well],
        }  # fmt: skip
    return said


def print_fleet(found: Fleet, folder: Path) -> None:
    """The worst robots in a table, and what is said of those that differ."""
    shown = member_rows(found)[:20]
    note = "SIMULATED, " if found.simulated else ""
    many = "1 robot" if len(found.members) == 1 else f"{len(found.members)} robots, worst first"
    print_table(f"{found.robot.name}: {note}{many}", shown)
    for m in found.members:
        if m.odd:
            print("\n".join(f"{m.logs.name}: {text}" for text in sentences_on(found, m)))
    if not any(m.odd for m in found.members):
        print("no robot differs from the others by more than chance")
    if found.unused:
        print("left out:", *found.unused, sep="\n  ")
    print(folder / "fleet.html")
