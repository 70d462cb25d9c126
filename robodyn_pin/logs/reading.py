"""A log read from its file, in SI units, and checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.files import Strict, of_schema
from robodyn_pin.logs.bad_clocks import checked
from robodyn_pin.logs.frame_table import FrameTable
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.numbers_of_cells import column, first_tick
from robodyn_pin.logs.quality import UNSEEN
from robodyn_pin.logs.table import Table, check_header, log_name, open_table
from robodyn_pin.logs.too_fast import check_rate, check_speed
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.logs.units import FACTORS, ByMotor, LogKeys, Scale, Units, Zero, in_si
from robodyn_pin.robot.robot import Robot

if TYPE_CHECKING:
    import polars as pl


PREFIXES = ("q_", "dq_", "ddq_", "tau_")


@dataclass(frozen=True)
class LogColumns:
    """Which columns of a file hold what, checked against the robot."""

    table: Table | FrameTable
    robot: Robot
    keys: LogKeys
    torque: bool
    gaps: bool = False  # cells without a number become NaN
    first_tick: int | None = None  # of its clock, where that has so many ticks that it counts from the first row

    def __post_init__(self) -> None:
        ours, count = [name for prefix in ("t", *PREFIXES) for name in self._names(prefix)], len(self.table.headers)
        ours += self._further
        for name, header in self._columns.items():
            if name not in ours:
                where = f"the column map for {self.table.path.name}; robot {self.robot.name!r} has no such motor"
                raise UnknownName("column", name, where, ours)
            if isinstance(header, int) and not 1 <= header <= count:
                raise BadLog(
                    f"{self.table.path} has {count} columns, 'columns: {{{name}: {header}}}' asks for another; expected 1 to {count}"
                )
        in_si(self.robot, self.keys)
        clock = self._headers("t")[0]
        if self.keys.rate is not None and (clock in self.table.headers or "t" in self._columns):
            raise BadLog(
                f"{self.table.path} has a clock, column {clock!r}, and 'rate: {self.keys.rate:g}' is for logs without one; leave 'rate' "
                "out"
            )
        if (
            self.keys.rate is None
            and clock not in self.table.headers
            and self.table.has_header
            and "t" not in self._columns
        ):
            hint = "name the column under 'columns: {t: NAME}', or give the rate of a log without a clock, 'rate: HZ'"
            raise UnknownName("column", "t", str(self.table.path), self.table.headers, hint)
        for header in self.needed():
            check_header(self.table, header, f"{self.table.path}, a log for robot {self.robot.name!r}")

    def needed(self) -> list[str]:
        """Headers that are read."""
        named = [header for prefix in ("t", *PREFIXES) if self._is_read(prefix) for header in self._headers(prefix)]
        return list(dict.fromkeys([*named, *(self._header(name) for name in self._further)]))

    @property
    def _further(self) -> list[str]:
        """Temperatures that efforts of the robot name, where torques are read."""
        named = [e.spec.warmth.column for e in self.robot.efforts if e.spec.warmth and self.torque]
        return list(dict.fromkeys(name for name in named if name))

    @property
    def unused(self) -> tuple[str, ...]:
        """Headers that are not read; those of a log without names are none."""
        needed = set(self.needed())
        return tuple(h for h in self.table.headers if h not in needed) if self.table.has_header else ()

    def counted_from(self, cells: "pl.DataFrame") -> "LogColumns":
        """The same with the first tick of a clock, given the file's first rows."""
        return (
            self if self.keys.rate is not None else replace(self, first_tick=first_tick(cells[self._headers("t")[0]]))
        )

    def _is_read(self, prefix: str) -> bool:
        if prefix == "t":
            return self.keys.rate is None
        needed = prefix == "q_" or (prefix == "tau_" and self.torque)
        return needed or any(header in self.table.headers for header in self._headers(prefix))

    def _names(self, prefix: str) -> list[str]:
        return ["t"] if prefix == "t" else [prefix + m for m in self.robot.motors.names]

    def _headers(self, prefix: str) -> list[str]:
        return [self._header(name) for name in self._names(prefix)]

    @cached_property
    def _columns(self) -> dict[str, str | int]:
        """The column map: `q_{}: actual_q_{i}` stands for all motors, by name {}, by number from one {i}, from zero {i0}."""
        found: dict[str, str | int] = {}
        for name, header in self.keys.columns.items():
            if "{}" not in name or isinstance(header, int):
                found[name] = header
                continue
            for i, motor in enumerate(self.robot.motors.names):
                text = header.replace("{}", motor).replace("{i}", str(i + 1)).replace("{i0}", str(i))
                found.setdefault(name.replace("{}", motor), text)
        return found | {name: header for name, header in self.keys.columns.items() if "{}" not in name}

    def _header(self, name: str) -> str:
        header = self._columns.get(name, name)
        return self.table.headers[header - 1] if isinstance(header, int) else header

    def take(self, cells: "pl.DataFrame", begin: int) -> Log:
        """A part of the file that starts at row `begin`, in SI."""

        where, line = str(self.table.path), self.table.line

        def block(prefix: str, factor: np.ndarray, zero: np.ndarray | float = 0.0) -> np.ndarray | None:
            if not self._is_read(prefix):
                return None
            headers = self._headers(prefix)
            read = np.stack([column(cells[h], where, line, begin, self.gaps) for h in headers], axis=1)
            return (read - zero) * factor

        si = in_si(self.robot, self.keys)
        if self.keys.rate is None:
            clock, unit = cells[self._headers("t")[0]], FACTORS[self.keys.units.time]
            t = column(clock, where, line, begin, self.gaps, True, self.first_tick, unit)
        else:
            t = (begin + np.arange(len(cells))) / self.keys.rate
        q = block("q_", si.position, si.zero_position)
        assert q is not None
        return Log(
            log_name(self.table.path), t, q, block("tau_", si.torque, si.zero_torque),
            block("dq_", si.position), block("ddq_", si.position),
            simulated="simulated" in self.table.notes.lower(), begin=begin, line=line,
            stamps=self.keys.clock == "stamps", delay=self.keys.known_delay,
            quality=replace(UNSEEN, unused=self.unused),
            further={name: column(cells[self._header(name)], where, line, begin, self.gaps) for name in self._further},
        )  # fmt: skip


class LogSpec(Strict):
    """A log, or some of its rows."""

    file: Path
    rows: tuple[int, int] | None = None  # samples begin..end, from 0
    loaded: bool = False  # the robot carried the payload


def read_log(
    path: str | Path,
    robot: Robot,
    columns: Mapping[str, str | int] | None = None,
    units: Units | Mapping[str, str] | None = None,
    torque: bool = True,
    scale: Scale | ByMotor | None = None,
    rate: float | None = None,
    clock: Literal["found", "stamps"] = "found",
    delay: float = 0.0,
    zero: Zero | ByMotor | None = None,
) -> Log:
    """Read a CSV or Parquet log: `t, q_<motor>, tau_<motor>` and, where present, `dq_`, `ddq_`.

    Args:
        columns: our name -> header, or number of the column, from 1, where the file's headers differ or there are none.
        units: of the file, where not SI: `{"angle": "deg"}`.
        torque: whether torques must be there.
        scale: factors of single motors, after the units: `{"position": {"m2": -1}, "torque": {"m2": 3.7}}`.
        rate: [Hz] of a log without a clock.
        clock: when rows were sampled: as the motion shows, or at their stamps, and all of them anew.
        delay: [s] by which torques come later than the positions of their rows.
        zero: what columns read where motors stand at zero or give nothing, in the units of the file.

    Raises:
        BadFile: units, scale, zero, rate, clock or delay as no run file has them.
        BadLog: names the file, the column and the row of what is wrong.
        UnknownName: a column that is missing, a column map, scale or zero of a motor that the robot lacks.
    """
    keys = keys_of(
        "read_log", columns=columns, units=units, scale=scale, rate=rate, clock=clock, delay=delay, zero=zero
    )
    return read_as(keys, path, robot, torque)


def keys_of(where: str, **said: object) -> LogKeys:
    """What a run file would say of a log, from arguments; None: its default.

    Raises:
        BadFile: what a run file would not take either; the message begins with `where`.
    """
    return of_schema({key: value for key, value in said.items() if value is not None}, LogKeys, where)


def read_as(keys: LogKeys | None, path: str | Path, robot: Robot, torque: bool = True) -> Log:
    """Read a log as a file says, without one with our names and in SI; as `read_log`."""
    return read_table(keys or LogKeys(), open_table(Path(path)), robot, torque)


def read_table(keys: LogKeys, table: Table | FrameTable, robot: Robot, torque: bool) -> Log:
    """The log in a table of a file or in memory; raises as `read_log`."""
    layout = LogColumns(table, robot, keys, torque)
    return good_log(layout.take(table.read(layout.needed()), 0), robot, keys.units, layout.unused)


def good_log(log: Log, robot: Robot, units: Units, unused: tuple[str, ...] = ()) -> Log:
    """The log with what is odd about it, if nothing is wrong with it. `units`: of what it was read from; `unused`: columns of that."""
    log = checked(log)
    check_rate(log.name, log.size - 1, float(log.t[-1] - log.t[0]))
    check_speed(log, robot, units)
    return replace(log, quality=replace(quality_of(log, robot), unused=unused))


def rows_of(spec: LogSpec, size: int) -> tuple[int, int]:
    """The samples that are meant of a log of so many.

    Raises:
        BadFile: there are fewer.
    """
    return rows_within(spec.rows or (0, size), size, str(spec.file))


def rows_within(rows: tuple[int, int], size: int, name: str) -> tuple[int, int]:
    """The range, if a log of so many samples has it.

    Raises:
        BadFile: it has not.
    """
    begin, end = rows
    if not 0 <= begin < end <= size:
        raise BadFile(f"rows [{begin}, {end}] of {name}: expected a range within 0 to {size}, its samples")
    return begin, end
