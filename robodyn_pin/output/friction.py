"""Result folders of friction tests."""

from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from robodyn_pin.files import remove, write_json, write_text
from robodyn_pin.friction_tests.breakaway_ramps import BreakawayResult
from robodyn_pin.friction_tests.loaded_motor import SweepResult
from robodyn_pin.friction_tests.result import FrictionResult
from robodyn_pin.logs.writing import write_table
from robodyn_pin.robot.export import robot_with_friction
from robodyn_pin.viz.breakaway import breakaway_figure
from robodyn_pin.viz.figure_files import file_name
from robodyn_pin.viz.friction import friction_figure, passages_figure
from robodyn_pin.viz.plots import svg

NOTE = "friction from SIMULATED logs, SI units"


def write_friction(result: FrictionResult, folder: Path) -> None:
    """Write `friction.csv` (points), `friction.svg` and, last, `friction.json`."""
    picture = svg(friction_figure(result), "friction")
    write_table(folder / "friction.csv", result.table(), NOTE if result.simulated else "")
    write_text(folder / "friction.svg", picture)
    write_json(folder / "friction.json", result.summary())


def write_sweeps(result: SweepResult, folder: Path) -> None:
    """Write `friction.csv`, for each motor `friction_M.svg` and `passages_M.svg`, the robot with this friction
    (`ROBOT_friction.yaml` and its URDF) if the logs show any, and, last, `friction.json`.
    """
    tables = [one.table().insert_column(0, pl.lit(name).alias("motor")) for name, one in result.motors.items()]
    write_table(folder / "friction.csv", pl.concat(tables, how="diagonal"), NOTE if result.simulated else "")
    for name, one in result.motors.items():
        _draw(friction_figure(one), f"friction_{name}", folder)
        if name in result.shown:
            _draw(passages_figure(result.shown[name], one, result.at[name]), f"passages_{name}", folder)
    name = f"{result.robot.name}_friction"
    if not result.known:
        for old in (folder / f"{name}.urdf", folder / f"{name}.yaml"):
            remove(old)
    else:
        write_text(folder / f"{name}.urdf", result.robot.urdf_xml)
        write_text(folder / f"{name}.yaml", robot_with_friction(result.robot, result.efforts, result.simulated))
    write_json(folder / "friction.json", result.summary())


def write_breakaway(result: BreakawayResult, folder: Path) -> None:
    """Write `breakaway.csv` (every ramp), for each motor `breakaway_M.svg` and, last, `breakaway.json`."""
    write_table(folder / "breakaway.csv", result.table(), NOTE if result.simulated else "")
    for name in result.places:
        _draw(breakaway_figure(result, name), f"breakaway_{name}", folder)
    write_json(folder / "breakaway.json", result.summary())


def _draw(figure: Figure, name: str, folder: Path) -> None:
    write_text(folder / f"{file_name(name)}.svg", svg(figure, file_name(name)))
