"""A first run file for a robot and somebody's log: columns and units as they seem to be, said in comments."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.guessed_columns import guess_columns, unit_of_angles, unit_of_time, unit_of_torques
from robodyn_pin.logs.numbers_of_cells import column
from robodyn_pin.logs.reading import read_as
from robodyn_pin.logs.table import Table, open_table
from robodyn_pin.logs.units import FACTORS, LogKeys, Units
from robodyn_pin.robot.limits import speed_limits, torque_limits
from robodyn_pin.robot.robot import Robot

FRICTION = "[coulomb+viscous, maxwell_slip, +quadratic, +cbrt]"


@dataclass(frozen=True)
class FirstRun:
    """A first run file."""

    text: str
    found: tuple[str, ...]
    assumed: tuple[str, ...]


def first_run(robot: Robot, robot_file: Path, log: Path, out: Path) -> FirstRun:
    """The run file for a log; `out`: where it will be written, its paths count from there.

    Raises:
        BadLog: columns that are not found; what `read_log` raises of the log as it is then read.
    """
    table = open_table(log)
    if not table.has_header:
        raise BadLog(
            f"{log} has no header, its first row is numbers; write the names of the columns as its first line, or a run file with 'columns' "
            "by their numbers"
        )
    motors = robot.motors.names
    guessed = guess_columns(table.headers, motors, str(log))
    columns = {ours: header for ours, header in guessed.columns.items() if ours != header}
    units, why = _units(robot, table, guessed.columns)
    keys = LogKeys(columns=dict(columns), units=Units.model_validate(units), rate=None)
    data = read_as(keys, log, robot)
    found = [f"{data.size} samples at {data.rate:.4g} Hz, {data.t[-1] - data.t[0]:.4g} s", *why]
    assumed = [f"the {len(motors)} columns of a kind belong to the motors in their order"] if guessed.by_number else []
    assumed += [
        f"{ours} is {guessed.columns[ours]!r}; so could be {' and '.join(map(repr, others))}"
        for ours, others in guessed.rivals.items()
        if ours.startswith(("q_", "tau_"))
    ]
    whole = {key: value for key, value in units.items() if value != getattr(Units(), key)}
    lines = [
        f"# From {log.name} to a robot: made by `robodyn init`; `robodyn identify {out.name}` runs it.",
        *(f"# found: {text}" for text in found),
        *(f"# assumed: {text}" for text in assumed),
        f"robot: {_flow(_beside(robot_file, out))}",
        f"fit: [{{file: {_flow(_beside(log, out))}}}]  # the last 30 % are held out, unless 'held_out' names other logs",
        *([f"columns: {_flow(columns)}"] if columns else []),
        *([f"units: {_flow(whole)}"] if whole else []),
        f"# choose: {{friction: {FRICTION}}}  # the friction of each axis, by cross-validation",
        "# gravity: choose  # a base that leans, by cross-validation",
        f"output: {_flow(out.stem)}",
    ]
    return FirstRun("\n".join(lines) + "\n", tuple(found), tuple(assumed))


def _units(robot: Robot, table: Table, columns: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Units of a log by their kind, and why those that are not SI are taken."""
    if "t" not in columns:
        raise BadLog(
            f"{table.path}: no column is a clock among {', '.join(table.headers)}; name it 't', or write a run file with 'rate: HZ'"
        )
    clock, q_headers, tau_headers = (
        [h for ours, h in columns.items() if ours.startswith(prefix)] for prefix in ("t", "q_", "tau_")
    )
    cells = table.read([*clock[:1], *q_headers, *tau_headers])
    t = column(cells[clock[0]], str(table.path), table.line, clock=True)
    q, tau = (
        np.stack([column(cells[h], str(table.path), table.line) for h in hs], axis=1) for hs in (q_headers, tau_headers)
    )
    slides = robot.slides(robot.motors.S)
    units = {"time": unit_of_time(clock[0], t)}
    seconds = t * FACTORS[units["time"]]
    if not slides.all():
        turns = ~slides
        units["angle"] = unit_of_angles(
            [h for h, s in zip(q_headers, slides, strict=True) if not s],
            seconds,
            q[:, turns],
            speed_limits(robot)[turns],
        )
        units["torque"] = unit_of_torques(
            [h for h, s in zip(tau_headers, slides, strict=True) if not s], tau[:, turns], torque_limits(robot)[turns]
        )
    why = [
        f"{kind} in {unit}, as headers and numbers say"
        for kind, unit in units.items()
        if unit != getattr(Units(), kind)
    ]
    return units, why


def _beside(path: Path, out: Path) -> str:
    if not path.exists():  # a name of the catalogue
        return str(path)
    return os.path.relpath(path.resolve(), out.resolve().parent)


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**9, sort_keys=False, allow_unicode=True).strip()
    return text.removesuffix("...").strip()
