"""Logs that are too long for memory, and logs to be written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.logs.clock import BLOCK, HEAD, Clock, evened, find_clock, repeats, rows_around
from robodyn_pin.logs.log import Log, joined, uniform
from robodyn_pin.logs.quality import Quality, counted, merged, span_of
from robodyn_pin.logs.reading import LogColumns, check_speed, read_log
from robodyn_pin.logs.repeats import CONTEXT
from robodyn_pin.logs.table import cells, is_plain, notes_of, read_table, readable
from robodyn_pin.logs.units import Scale, Units
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot

if TYPE_CHECKING:
    import polars as pl

LONG = 400_000  # rows: longer Parquet logs are read piece by piece
PIECE = 100_000  # rows that are checked at once
MARK = 1000  # rows from one whose time is remembered to the next
KEPT = 4  # blocks of the uniform clock that are remembered


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


def open_log(path: Path, robot: Robot, columns: dict[str, str], units: Units, scale: Scale | None = None) -> AnyLog:
    """A log on a uniform clock: in memory, or left in its file where it is a long Parquet file with a regular clock.

    Raises: as `read_log`.
    """
    import polars as pl

    if path.suffix != ".parquet":
        return uniform(read_log(path, robot, columns, units, scale=scale))
    notes = notes_of(path)
    with readable(path):
        lazy = pl.scan_parquet(path)
        rows, headers = lazy.select(pl.len()).collect().item(), tuple(lazy.collect_schema().names())
    if rows <= LONG:
        return uniform(read_log(path, robot, columns, units, scale=scale))
    layout = LogColumns(path, robot, columns, units, scale or Scale(), True, notes, headers)
    wanted = layout.needed()

    def read(begin: int, end: int) -> Log:
        with readable(path):
            return layout.take(lazy.slice(begin, end - begin).select(wanted).collect(), begin)

    start, last = (float(read(i, i + 1).t[0]) for i in (0, rows - 1))
    rate = (rows - 1) / (last - start)
    clock = find_clock(read(0, HEAD), rate)
    size = max(1, PIECE // span_of(rate)) * span_of(rate)
    limits, parts, marks = torque_limits(robot), [], []
    for begin in range(0, rows - 1, size):
        low, end = max(0, begin - CONTEXT), min(begin + size + 1, rows)
        around = read(low, min(end + CONTEXT, rows))
        if (np.diff(around.t) <= 0).any():  # refused, or rows are kept apart
            return uniform(read_log(path, robot, columns, units, scale=scale))
        new = slice(begin - low + (begin > 0), end - low)
        again = int(repeats(around, clock)[new].sum())
        piece = around.section(begin - low, end - low)
        check_speed(piece, robot, units)
        marks.append(piece.t[: min(size, rows - 1 - begin) : MARK])
        parts.append(counted(piece.t, piece.q, piece.dq, piece.tau, 1 / rate, limits, again, begin))
    whole = replace(merged(parts, robot.motors.names, rate, limits, clock.late), unused=layout.unused)
    section: Callable[[int, int], Log] = read
    if not whole.regular:
        at = np.concatenate([np.arange(begin, min(begin + size, rows - 1), MARK) for begin in range(0, rows - 1, size)])
        section = _evened(read, clock, at, np.concatenate(marks), rows)
    return StoredLog(path.name, rate, whole, "simulated" in notes.lower(), 0, rows, section)


def _evened(
    read: Callable[[int, int], Log], clock: Clock, at: np.ndarray, t: np.ndarray, size: int
) -> Callable[[int, int], Log]:
    """A log in its file on a uniform clock, as `uniform` makes it of one in memory.

    Args:
        read: rows as they are in the file. at, t: some row numbers, from 0, and their times, ascending.
    """
    first, start = read(0, 1).first_row, float(t[0])

    @lru_cache(maxsize=KEPT)
    def block(begin: int) -> Log:
        end = min(begin + BLOCK, size)
        near = start + np.array([begin - clock.margin, end + clock.margin]) / clock.rate
        low = int(at[max(0, int(np.searchsorted(t, near[0])) - 1)])
        after = int(np.searchsorted(t, near[1]))
        rows = read(low, int(at[after]) if after < len(at) else size)
        rows = rows.section(*rows_around(rows.t, clock, start, begin, end))
        return evened(rows, clock, start, begin, end, first)

    def section(begin: int, end: int) -> Log:
        whole = joined([block(b) for b in range(begin - begin % BLOCK, end, BLOCK)])
        return whole.section(begin % BLOCK, begin % BLOCK + end - begin)

    return section


def log_pieces(
    path: Path, robot: Robot, columns: dict[str, str], units: Units, scale: Scale | None = None
) -> Iterator[Log]:
    """A log with torques in pieces of PIECE rows, at least one, for users who look at every sample in turn: cells without a
    number are NaN, the clock is as it is.

    Raises:
        BadLog, UnknownName: names the file and the column of what is wrong.
    """
    notes, begin = notes_of(path), 0
    for table in _tables(path):
        headers = tuple(table.columns)
        layout = LogColumns(path, robot, columns, units, scale or Scale(), True, notes, headers, gaps=True)
        yield layout.take(table, begin)
        begin += len(table)


def _tables(path: Path) -> Iterator["pl.DataFrame"]:
    """A table in pieces of PIECE rows; what is packed or separated otherwise than by commas is read as a whole first."""
    import polars as pl

    with readable(path):
        if path.suffix == ".parquet":
            lazy = pl.scan_parquet(path)
            rows = lazy.select(pl.len()).collect().item()
            for begin in range(0, max(rows, 1), PIECE):
                yield lazy.slice(begin, PIECE).collect()
            return
        if not is_plain(path):
            table = read_table(path)[0]
            for begin in range(0, max(len(table), 1), PIECE):
                yield table.slice(begin, PIECE)
            return
        with path.open("rb") as file:
            header = next((line for line in file if not line.startswith(b"#")), b"")
            full = True
            while full:
                lines = list(islice(file, PIECE))
                full = len(lines) == PIECE
                yield cells(header + b"".join(lines))
