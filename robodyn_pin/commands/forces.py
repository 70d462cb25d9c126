"""Torques of the motors and forces in the struts that a motion needs."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from robodyn_pin.commands.options import (
    JsonOption,
    ParamsOption,
    PayloadOption,
    RobotArg,
    ToolOption,
    answer,
    carrying_files,
    robot_of,
    say_unused,
    table_to_write,
    verdict,
)
from robodyn_pin.errors import RobodynError
from robodyn_pin.output.console import print_table

if TYPE_CHECKING:
    from robodyn_pin.log_to_robot.run_file import RunFile
    from robodyn_pin.logs.differentiation import Preparation
    from robodyn_pin.logs.log import Log
    from robodyn_pin.robot.robot import Robot

LogArg = Annotated[Path, typer.Argument(help="Log with positions (.csv, .parquet).")]
SHOWN = 4  # limits that a log exceeds
OF_REDUCED = "the intervals of these forces are not known: they exist for the full model only; leave --reduced out"
IN_THE_FILE_ONLY = "are in the file, and neither compared nor drawn"  # the file has a torque for each row of the log


def predict_command(
    robot: RobotArg,
    log: LogArg,
    out: Annotated[
        Path, typer.Option(help="CSV or Parquet to write: t, tau_<motor>; one row for each row of the log.")
    ],
    params: ParamsOption = None,
    tool: ToolOption = None,
    payload: PayloadOption = None,
    internal: Annotated[
        bool,
        typer.Option(
            help="Add the internal torque of the log, which moves nothing; without it the torques have least norm."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the motor torques of a motion. Columns, units and filter are those of the result's run.yaml.

    If the log has torques, they are compared: MAE, RMSE, mean torque and RMSE over mean of each motor, with figures.
    Ends with exit code 3 where the prediction does not explain them, and says what is likely wrong with the log.

    Example: robodyn predict irb360 log.csv --params results/irb360 --out torques.csv
    """
    import numpy as np

    from robodyn_pin.forces.motor_torques import predicted
    from robodyn_pin.log_to_robot.mispredicted import saying_why
    from robodyn_pin.logs.edges import edge_rows, edge_text, inside
    from robodyn_pin.logs.uniform import uniform
    from robodyn_pin.logs.writing import write_torques
    from robodyn_pin.output.contradicted import contradictions
    from robodyn_pin.output.torques import verify
    from robodyn_pin.robot.units import motor_units

    table_to_write(out, log)
    model, run, data, preparation = _robot_and_log(robot, log, params, tool, payload, internal)
    with saying_why(model, data, run):
        found, edge = predicted(model, data, preparation, internal), edge_rows(data, preparation)
    tau, even = found.tau, uniform(data)
    kept, edge_note = inside(len(tau), edge), edge_text(len(tau), edge, IN_THE_FILE_ONLY)
    short, edge = len(tau) <= 2 * edge, kept.start or 0
    largest = dict(zip(model.motors.names, np.abs(tau[kept]).max(axis=0).tolist(), strict=True))
    beyond = [f"{even.row(x.sample)}: {x}" for x in sorted(found.beyond, key=lambda x: -x.excess)]
    summary: dict[str, Any] = {"rows": len(tau), "out": str(out), "edge rows": edge, "all rows are edge": short}
    summary |= {"edge": edge_note, "largest torque": largest, "columns not used": list(data.quality.unused)}
    summary |= {"beyond limits": beyond, "clock": data.quality.clock}
    if data.tau is not None:
        summary |= verify(model, data, tau, preparation, edge, out)
        summary |= contradictions(model, data, run, preparation, tau)
        summary["internal torque left in"] = not internal and len(model.motors.names) > len(model.coordinates.names)
    write_torques(out, data, tau, model)
    answer(as_json, summary, _print_torques, summary, motor_units(model))
    say_unused(as_json, data)
    verdict(not _contradictions(summary))


def _robot_and_log(
    robot: str, log: Path, params: Path | None, tool: Path | None, payload: list[Path] | None, torque: bool = False
) -> tuple["Robot", "RunFile | None", "Log", "Preparation"]:
    """The robot with what it carries, its result's run settings, and the log with how its rates are found."""
    from robodyn_pin.logs.breaks import unbroken
    from robodyn_pin.logs.differentiation import Preparation
    from robodyn_pin.logs.reading import read_as

    model, run = robot_of(robot, params, tool)
    model, _ = carrying_files(model, payload)
    found = unbroken(read_as(run, log, model, torque), model)
    return model, run, found, run.preparation if run else Preparation()


def _print_torques(summary: dict[str, Any], units: dict[str, str]) -> None:
    largest = ", ".join(f"{motor} {x:.4g} {units[motor]}" for motor, x in summary["largest torque"].items())
    print(f"{summary['out']}: {summary['rows']} rows; largest torque {largest}{summary['edge']}")
    for beyond in summary["beyond limits"][:SHOWN]:
        print(f"beyond the robot's limits: {beyond}")
    if len(summary["beyond limits"]) > SHOWN:
        print(
            f"and {len(summary['beyond limits']) - SHOWN} other limits; is a unit, an offset, the robot or a limit wrong?"
        )
    if "accuracy" not in summary:
        return
    if summary["simulated"]:
        print("SIMULATED log: this comparison says nothing about a real machine.")
    rows = [
        {"motor": row["motor"], "unit": summary["units"][row["motor"]]}
        | {key: "none" if x is None else x for key, x in row.items() if key != "motor"}
        for row in summary["accuracy"]
    ]
    print_table(f"{summary['robot']} against {summary['log']}", rows)
    if summary["internal torque left in"]:
        print(
            "note: the robot has more motors than degrees of freedom; without --internal the log's internal torque counts as error"
        )
    print(f"{', '.join(summary['files'])} beside it")
    _print_contradictions(summary)


def _contradictions(summary: dict[str, Any]) -> list[str]:
    return [text for text in [summary.get("far off"), *summary.get("not explained", [])] if text]


def _print_contradictions(summary: dict[str, Any]) -> None:
    for text in _contradictions(summary):
        print(f"NOT GOOD: {text}")


def forces_command(
    robot: RobotArg,
    log: LogArg,
    out: Annotated[
        Path,
        typer.Option(
            help="CSV or Parquet to write: t, upper_<strut>, lower_<strut>; a figure (.svg) and a summary (.json) are written beside it."
        ),
    ],
    params: ParamsOption = None,
    of_joints: Annotated[bool, typer.Option("--joints", hidden=True, help="As `robodyn joints`.")] = False,
    tool: ToolOption = None,
    payload: PayloadOption = None,
    reduced: Annotated[
        bool, typer.Option("--reduced", help="The reduced model of Delta-like robots instead of the full multipliers.")
    ] = False,
    bar: Annotated[
        Literal["U2", "platform"],
        typer.Option(help="Reduced model: point at which the weight of the bar's lower part acts."),
    ] = "U2",
    limit: Annotated[
        float | None,
        typer.Option(help="Largest allowed force of a strut \\[N]; default: that of the robot file.", min=0),
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="CSV of a load cell to compare with: t \\[s], force \\[N], tension positive.")
    ] = None,
    cell: Annotated[
        str,
        typer.Option(help="Place of the load cell: STRUT or STRUT:lower; default: the upper end of the first strut."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Forces along the struts of a robot during a motion: extremes, margins to a limit, comparison with a load cell.

    If the log has torques, ends with exit code 3 where they contradict the robot, and says what is likely wrong with the log;
    not with --tool or --payload, which the robot need not have carried then.

    Example: robodyn forces irb360 results/irb360_log.csv --out results/struts.csv --limit 120
    """
    if of_joints:
        if reduced or compare is not None or cell or limit is not None:
            raise RobodynError("--joints goes without --reduced, --limit, --compare and --cell, which are about struts")
        print("`robodyn forces --joints` is `robodyn joints` now, which runs here", file=sys.stderr)
        joints_command(robot, log, out, params, tool, payload, as_json)
        return
    table_to_write(out, log, compare)
    from robodyn_pin.log_to_robot.covariance import covariance_of
    from robodyn_pin.log_to_robot.mispredicted import saying_why
    from robodyn_pin.output.forces import Asked, forces_of_log

    model, run, data, preparation = _robot_and_log(robot, log, params, tool, payload)
    known, why = None, ""
    if run is not None and model.file.struts and reduced:
        why = OF_REDUCED
    elif run is not None and model.file.struts:
        known, why = covariance_of(params or Path(robot), robot_of(robot, params)[0], run, model)
    asked = Asked(bar if reduced else None, limit, compare, cell, known)
    data = _compared(data, tool, payload)
    with saying_why(model, data, run):
        summary = forces_of_log(model, data, run, preparation, asked, out)
    summary["intervals"] = summary["intervals"] or why
    answer(as_json, summary, _print_forces, model.name, summary, out)
    say_unused(as_json, data)
    verdict(not _contradictions(summary))


def _compared(log: "Log", tool: Path | None, payload: list[Path] | None) -> "Log":
    """The log, without its torques where the robot is to carry what it need not have carried then."""
    return replace(log, tau=None) if tool or payload else log


def _print_forces(name: str, summary: dict[str, Any], out: Path) -> None:
    print_table(
        f"Struts of {name}, {summary['model']} model, tension positive{' (SIMULATED log)' if summary['simulated'] else ''}",
        [{key: _shown(value) for key, value in row.items()} for row in summary["struts"]],
    )
    if summary["intervals"]:
        print(summary["intervals"])
    if found := summary["load cell"]:
        texts = (f"{what} {x:.4g}" if isinstance(x, float) else f"{what} {x}" for what, x in found.items())
        print(", ".join(texts))
    print(f"{out}: {summary['rows']} rows; {', '.join(summary['files'])} beside it{summary['edge']}")
    _print_contradictions(summary)


def _shown(value: object) -> object:
    """A cell of the table; an interval as `35.0 to 49.0`."""
    if isinstance(value, list):
        return " to ".join(f"{x:.1f}" for x in value)
    return "" if value is None else value


def joints_command(
    robot: RobotArg,
    log: LogArg,
    out: Annotated[
        Path,
        typer.Option(
            help="CSV or Parquet to write: t, fx_<joint> to mz_<joint>; a figure (.svg) and a summary (.json) are written beside it."
        ),
    ],
    params: ParamsOption = None,
    tool: ToolOption = None,
    payload: PayloadOption = None,
    as_json: JsonOption = False,
) -> None:
    """Force and moment in every joint and closure of a robot during a motion, along the axes of the joint's body.

    If the log has torques, ends with exit code 3 where they contradict the robot, and says what is likely wrong with the log;
    not with --tool or --payload, which the robot need not have carried then.

    Example: robodyn joints irb2400 results/irb2400_log.csv --out results/joints.csv
    """
    from robodyn_pin.log_to_robot.mispredicted import saying_why
    from robodyn_pin.output.forces import joint_forces_of_log

    table_to_write(out, log)
    model, run, data, preparation = _robot_and_log(robot, log, params, tool, payload)
    data = _compared(data, tool, payload)
    with saying_why(model, data, run):
        summary = joint_forces_of_log(model, data, run, preparation, out)
    answer(as_json, summary, _print_joints, summary, out)
    say_unused(as_json, data)
    verdict(not _contradictions(summary))


def _print_joints(summary: dict[str, Any], out: Path) -> None:
    simulated = " (SIMULATED log)" if summary["simulated"] else ""
    print_table(f"Largest loads of joints and closures of {summary['robot']}{simulated}", summary["joints"])
    print(f"{out}: {summary['rows']} rows; {', '.join(summary['files'])} beside it{summary['edge']}")
    _print_contradictions(summary)
