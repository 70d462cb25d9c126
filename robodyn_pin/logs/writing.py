"""Logs and tables written, CSV or Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.files import write_whole
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.parquet_table import write_parquet
from robodyn_pin.robot.robot import Robot

if TYPE_CHECKING:
    import polars as pl


def write_log(path: Path, log: Log, robot: Robot, note: str = "") -> None:
    """Write a log as CSV or Parquet, whole or not at all; `note` goes into the file itself.

    Raises:
        BadFile: neither .csv nor .parquet, or the folder cannot be written.
    """
    write_table(path, log.to_frame(robot), note)


def write_torques(path: Path, log: Log, tau: np.ndarray, robot: Robot) -> None:
    """Write predicted motor torques (N, n) for the rows of a log, as `write_log`; those of a simulated log say so."""
    note = f"torques [N m or N] that {robot.name} predicts for a SIMULATED log" if log.simulated else ""
    write_table(path, {"t": log.t} | {f"tau_{m}": tau[:, k] for k, m in enumerate(robot.motors.names)}, note)


def check_name(path: Path) -> None:
    """See that a log could be written under this name, before the work is done.

    Raises:
        BadFile: neither .csv nor .parquet.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise BadFile(f"{path}: logs are written as .csv or .parquet, not {path.suffix or 'without a suffix'}")


def write_table(path: Path, named: "dict[str, np.ndarray] | pl.DataFrame", note: str) -> None:
    """Write columns (N,) as CSV or Parquet, whole or not at all; `note` goes into the file itself.

    Raises:
        BadFile: neither .csv nor .parquet, or the folder cannot be written.
    """
    import polars as pl

    check_name(path)
    table = pl.DataFrame(named)
    if path.suffix == ".parquet":
        write_whole(path, lambda target: write_parquet(target, table, note))
        return

    def write(target: Path) -> None:
        with target.open("wb") as file:
            file.write("".join(f"# {line}\n" for line in note.splitlines()).encode())
            table.write_csv(file)

    write_whole(path, write)
