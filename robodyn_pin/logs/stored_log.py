"""Logs that are too long for memory, and logs to be written."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from robodyn_pin.logs.breaks import unbroken
from robodyn_pin.logs.clock import BLOCK, HEAD, Clock, evened, find_clock, repeats, rows_around
from robodyn_pin.logs.late_torques import late_log, late_pieces, late_rows, paired
from robodyn_pin.logs.log import Log, joined
from robodyn_pin.logs.parquet_table import ParquetTable
from robodyn_pin.logs.quality import Quality, counted, merged, span_of
from robodyn_pin.logs.reading import LogColumns, read_as
from robodyn_pin.logs.recent import Recent
from robodyn_pin.logs.repeats import CONTEXT
from robodyn_pin.logs.table import content_hash, log_name, open_table
from robodyn_pin.logs.too_fast import check_rate, check_speed
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot

LONG = 400_000  # rows: longer Parquet logs are read piece by piece
PIECE = 100_000  # rows that are checked at once
MARK = 1000  # rows from one whose time is remembered to the next

_blocks = Recent(4 * BLOCK)  # of uniform clocks


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
    apart: bool = False  # torques were sampled at other times than positions
    source: str = ""  # what the samples are read from, and how

    @property
    def content(self) -> str:
        """SHA-256 of what the samples are read from, and which they are; the samples stay in the file."""
        return hashlib.sha256(repr((self.source, self.begin, self.end, self.loaded)).encode()).hexdigest()

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


def open_log(keys: LogKeys, path: Path, robot: Robot) -> AnyLog:
    """A log, read as a file says, on a uniform clock: in memory, or left in its file where it is a long Parquet file with a regular clock.

    Raises: as `read_as`.
    """
    table = open_table(path)
    if not isinstance(table, ParquetTable) or (rows := table.rows) <= LONG:
        return uniform(unbroken(read_as(keys, path, robot), robot))
    layout = LogColumns(table, robot, keys, torque=True)
    wanted = layout.needed()
    layout = layout.counted_from(table.part(0, 1, wanted))
    read = _Rows(layout, table, tuple(wanted))
    start, last = (float(read(i, i + 1).t[0]) for i in (0, rows - 1))
    name = log_name(path)
    check_rate(name, rows - 1, last - start)
    mean = (rows - 1) / (last - start)
    clock = find_clock(read(0, HEAD), mean)
    size = max(1, PIECE // span_of(mean)) * span_of(mean)
    limits, parts, marks = torque_limits(robot), [], []
    for begin in range(0, rows - 1, size):
        low, end = max(0, begin - CONTEXT), min(begin + size + 1, rows)
        around = read(low, min(end + CONTEXT, rows))
        if (np.diff(around.t) <= 0).any():  # refused, or rows are kept apart
            return uniform(unbroken(read_as(keys, path, robot), robot))
        new = slice(begin - low + (begin > 0), end - low)
        again = int(repeats(around, clock)[new].sum())
        piece = around.section(begin - low, end - low)
        unbroken(piece, robot, begin == 0, begin + size >= rows - 1)
        check_speed(piece, robot, keys.units)
        marks.append(piece.t[: min(size, rows - 1 - begin) : MARK])
        parts.append(counted(piece.t, piece.q, piece.dq, piece.tau, 1 / mean, limits, again, begin))
    whole = replace(merged(parts, robot.motors.names, mean, limits, clock.late), unused=layout.unused)
    section: Callable[[int, int], Log] = read
    if not whole.regular:
        at = np.concatenate([np.arange(begin, min(begin + size, rows - 1), MARK) for begin in range(0, rows - 1, size)])
        section = _Evened(read, clock, at, np.concatenate(marks), rows)
    simulated = "simulated" in table.notes.lower()
    source = f"{content_hash(path)} {keys.model_dump(include=set(LogKeys.model_fields))}"
    found = StoredLog(name, mean, whole, simulated, 0, rows, section, apart=not whole.regular, source=source)
    return late(found, keys.known_delay)


def late(log: AnyLog, delay: float) -> AnyLog:
    """A log on a uniform clock, each torque beside the motion that it belongs to, as `late_log`."""
    if not delay:
        return log
    if isinstance(log, Log):
        return late_log(log, delay)
    paired(log.name, log.size, log.rate, delay)
    return replace(log, read=_Late(log, delay), apart=True, source=f"{log.source}, late by {delay!r} s")


@dataclass(frozen=True)
class _Rows:
    """Rows as they are in the file; what reads them can go to another process."""

    layout: LogColumns
    table: ParquetTable
    wanted: tuple[str, ...]

    def __call__(self, begin: int, end: int) -> Log:
        return self.layout.take(self.table.part(begin, end, self.wanted), begin)


@dataclass(frozen=True)
class _Late:
    """A log in its file, each torque beside the motion that it belongs to."""

    stored: StoredLog
    delay: float  # [s]

    def __call__(self, begin: int, end: int) -> Log:
        rate, reach = self.stored.rate, abs(round(self.delay * self.stored.rate))
        low, high = max(self.stored.begin, begin - reach), min(end + reach, self.stored.end)
        return late_rows(self.stored.read(low, high), rate, self.delay, begin - low, end - low)


@dataclass(frozen=True, eq=False)
class _Evened:
    """A log in its file on a uniform clock, as `uniform` makes it of one in memory; a few blocks are remembered."""

    read: _Rows
    clock: Clock
    at: np.ndarray  # some row numbers, from 0
    t: np.ndarray  # [s] their times, ascending
    size: int

    def __call__(self, begin: int, end: int) -> Log:
        whole = joined([self._block(b) for b in range(begin - begin % BLOCK, end, BLOCK)])
        return whole.section(begin % BLOCK, begin % BLOCK + end - begin)

    def _block(self, begin: int) -> Log:
        return _blocks.get((self, begin), BLOCK, lambda: self._computed(begin))

    def _computed(self, begin: int) -> Log:
        end, start = min(begin + BLOCK, self.size), float(self.t[0])
        near = start + np.array([begin - self.clock.margin, end + self.clock.margin]) / self.clock.rate
        low = int(self.at[max(0, int(np.searchsorted(self.t, near[0])) - 1)])
        after = int(np.searchsorted(self.t, near[1]))
        rows = self.read(low, int(self.at[after]) if after < len(self.at) else self.size)
        rows = rows.section(*rows_around(rows.t, self.clock, start, begin, end))
        return evened(rows, self.clock, start, begin, end, self.read(0, 1).begin)


def log_pieces(keys: LogKeys, path: Path, robot: Robot) -> Iterator[Log]:
    """A log with torques, read as a file says, in pieces of PIECE rows, at least one, for users who look at every sample in turn: cells without a
    number are NaN, the clock is as it is, torques that come late are beside the motion of the nearest row.

    Raises:
        BadLog, UnknownName: names the file and the column of what is wrong.
    """
    pieces = _pieces(keys, path, robot)
    return late_pieces(pieces, keys.known_delay) if keys.known_delay else pieces


def _pieces(keys: LogKeys, path: Path, robot: Robot) -> Iterator[Log]:
    table, begin = open_table(path), 0
    layout = LogColumns(table, robot, keys, torque=True, gaps=True)
    for cells in table.pieces(layout.needed(), PIECE):
        if begin == 0:
            layout = layout.counted_from(cells)
        yield layout.take(cells, begin)
        begin += len(cells)
