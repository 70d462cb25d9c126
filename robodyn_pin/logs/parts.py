"""The samples of a file that are meant: of one log, or a recording among several, as a log of its own."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from robodyn_pin.logs.breaks import BrokenLog, unbroken
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.parquet_table import ParquetTable
from robodyn_pin.logs.reading import LogColumns, LogSpec, good_log, read_as, rows_of, rows_within
from robodyn_pin.logs.stored_log import AnyLog, open_log
from robodyn_pin.logs.table import log_name, open_table
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.robot import Robot

Opened = TypeVar("Opened", bound=AnyLog)


def open_rows(keys: LogKeys, path: Path, robot: Robot, spec: LogSpec) -> tuple[AnyLog, int, int]:
    """A log, opened as by `open_log`, and its samples begin..end that are meant; all of them, where the file holds several recordings.

    Raises:
        BrokenLog: several recordings, and none of them is named. BadFile: the file has fewer samples. Else as `open_log`.
    """
    return _meant(
        spec,
        lambda: open_log(keys, path, robot),
        lambda rows: uniform(unbroken(read_part(keys, path, robot, rows), robot)),
    )


def read_rows(keys: LogKeys, path: Path, robot: Robot, spec: LogSpec) -> tuple[Log, int, int]:
    """The same of a log as it was read, for those to whom it may have pauses and jumps, as logs of poses have."""
    return _meant(spec, lambda: read_as(keys, path, robot), lambda rows: read_part(keys, path, robot, rows))


def _meant(
    spec: LogSpec, whole: Callable[[], Opened], part: Callable[[tuple[int, int]], Opened]
) -> tuple[Opened, int, int]:
    try:
        log = whole()
    except BrokenLog:
        if spec.rows is None:
            raise
        named = part(spec.rows)
        return named, 0, named.size
    return log, *rows_of(spec, log.size)


def read_part(keys: LogKeys, path: Path, robot: Robot, rows: tuple[int, int]) -> Log:
    """Rows begin..end of a file, from 0, as a log of their own; raises as `read_log`."""
    table = open_table(path)
    layout = LogColumns(table, robot, keys, torque=True)
    if isinstance(table, ParquetTable):
        begin, end = rows_within(rows, table.rows, log_name(path))
        layout = layout.counted_from(table.part(0, 1, layout.needed()))
        log = layout.take(table.part(begin, end, layout.needed()), begin)
    else:
        log = layout.take(table.read(layout.needed()), 0)
        log = log.section(*rows_within(rows, log.size, log.name))
    return good_log(replace(log, name=f"{log.name}[{rows[0]}:{rows[1]}]"), robot, keys.units, layout.unused)
