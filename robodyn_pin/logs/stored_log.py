"""Logs that are too long for memory, and logs to be written."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.log import IRREGULAR, Log, uniform
from robodyn_pin.logs.parquet_table import ParquetTable
from robodyn_pin.logs.quality import Quality, counted, merged, span_of
from robodyn_pin.logs.reading import LogColumns, check_rate, check_speed, read_log
from robodyn_pin.logs.table import open_table
from robodyn_pin.logs.units import Scale, Units
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot

LONG = 400_000  # rows: longer Parquet logs are read piece by piece
PIECE = 100_000  # rows that are checked at once


@dataclass(frozen=True, eq=False)
class StoredLog:
    """A log with a regular clock that stays in its file; sections are read when they are used."""

    name: str
    rate: float  # [Hz]
    quality: Quality
    simulated: bool
    begin: int
    end: int
    read: Callable[[int, int], Log]
    loaded: bool = False  # the robot carried the payload of the run

    @property
    def size(self) -> int:
        return self.end - self.begin

    def row(self, i: int) -> str:
        """How to call sample i in a message."""
        return self.section(i, i + 1).row(0)

    def section(self, begin: int, end: int) -> Log:
        """Samples begin..end in memory."""
        return self.read(self.begin + begin, self.begin + end)

    def window(self, begin: int, end: int) -> "StoredLog":
        """Samples begin..end, still in the file."""
        return replace(self, begin=self.begin + begin, end=self.begin + end)


AnyLog = Log | StoredLog


def open_log(
    path: Path,
    robot: Robot,
    columns: Mapping[str, str | int],
    units: Units,
    scale: Scale | None = None,
    rate: float | None = None,
) -> AnyLog:
    """A log on a uniform clock: in memory, or left in its file where it is a long Parquet file with a regular clock.

    Raises: as `read_log`.
    """
    table = open_table(path)
    if not isinstance(table, ParquetTable) or (rows := table.rows) <= LONG:
        return uniform(read_log(path, robot, columns, units, scale=scale, rate=rate))
    layout = LogColumns(table, robot, columns, units, scale or Scale(), True, rate)
    wanted = layout.needed()
    layout = layout.counted_from(table.part(0, 1, wanted))

    def read(begin: int, end: int) -> Log:
        return layout.take(table.part(begin, end, wanted), begin)

    ends = [read(i, i + 1).t[0] for i in (0, rows - 1)]
    check_rate(path.name, rows - 1, ends[1] - ends[0])
    step = float(ends[1] - ends[0]) / (rows - 1)
    size = max(1, PIECE // span_of(1 / step)) * span_of(1 / step)
    limits, parts = torque_limits(robot), []
    for begin in range(0, rows - 1, size):
        piece = read(begin, min(begin + size + 1, rows))
        back = np.flatnonzero(np.diff(piece.t) <= 0)
        if len(back):
            raise BadLog(f"{path}: time does not increase, first at {piece.row(int(back[0]) + 1)}")
        check_speed(piece, robot, units)
        parts.append(counted(piece.t, piece.q, piece.dq, piece.tau, step, limits, begin))
    whole = replace(merged(parts, robot.motors.names, 1 / step, limits), unused=layout.unused)
    if whole.irregular > IRREGULAR:
        return uniform(read_log(path, robot, columns, units, scale=scale, rate=rate))
    return StoredLog(path.name, 1 / step, whole, "simulated" in table.notes.lower(), 0, rows, read)


def log_pieces(
    path: Path,
    robot: Robot,
    columns: Mapping[str, str | int],
    units: Units,
    scale: Scale | None = None,
    rate: float | None = None,
) -> Iterator[Log]:
    """A log with torques in pieces of PIECE rows, at least one, for users who look at every sample in turn: cells without a
    number are NaN, the clock is as it is.

    Raises:
        BadLog, UnknownName: names the file and the column of what is wrong.
    """
    table, begin = open_table(path), 0
    layout = LogColumns(table, robot, columns, units, scale or Scale(), True, rate, gaps=True)
    for cells in table.pieces(layout.needed(), PIECE):
        if begin == 0:
            layout = layout.counted_from(cells)
        yield layout.take(cells, begin)
        begin += len(cells)
