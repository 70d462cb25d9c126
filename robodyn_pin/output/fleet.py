"""The result folder of a fleet: summary, tables, a page for those who look after the robots, and each robot's files."""

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.files import prepare_folder, versions, write_json, write_text
from robodyn_pin.fleets.fleet import Fleet, Member
from robodyn_pin.logs.writing import write_rows
from robodyn_pin.output.console import print_table
from robodyn_pin.robot.export import identified_robot_file, identified_urdf


def write_fleet(found: Fleet, folder: Path) -> None:
    """Write `fleet.json`, `parameters.csv`, `fleet.html` and ROBOT/NAME_identified.urdf and .yaml for each robot.

    Raises:
        BadFile: the folder cannot be written. NotPhysical: parameters that do not survive the way through a URDF.
    """
    from robodyn_pin.viz.fleet import fleet_page

    least = found.run.bounds.eigenvalue
    for member in found.members:
        own, name = folder / member.logs.name, f"{found.robot.name}_identified"
        prepare_folder(own)
        simulated = member.logs.evidence.simulated
        write_text(own / f"{name}.urdf", identified_urdf(found.robot, found.layout, member.values, least))
        write_text(own / f"{name}.yaml", identified_robot_file(found.robot, found.layout, member.values, simulated))
    write_rows(folder / "parameters.csv", parameter_rows(found), "SIMULATED" if found.simulated else "")
    write_text(folder / "fleet.html", fleet_page(found))
    write_json(folder / "fleet.json", summary_of_fleet(found))
