"""A log read from its file, in SI units, and checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.files import Strict
from robodyn_pin.logs.bad_clocks import check_headers, checked
from robodyn_pin.logs.jumps import jump_at_start
from robodyn_pin.logs.log import Log, quality_of
from robodyn_pin.logs.quality import UNSEEN
from robodyn_pin.logs.table import column, read_table
from robodyn_pin.logs.units import FACTORS, Scale, Units, factors
from robodyn_pin.robot.limits import speed_limits
from robodyn_pin.robot.robot import Robot

if TYPE_CHECKING:
    import polars as pl


PREFIXES = ("q_", "dq_", "ddq_", "tau_")


TOO_FAST = 3.0  # times the speed limit: no robot does that, a wrong unit does


@dataclass(frozen=True)
class LogColumns:
    """Which columns of a file hold what, checked against the robot."""

    path: Path
    robot: Robot
    columns: Mapping[str, str]
    units: Units
    scale: Scale
    torque: bool
    notes: str
    headers: tuple[str, ...]
    gaps: bool = False  # cells without a number become NaN

    def __post_init__(self) -> None:
        ours = [name for prefix in ("t", *PREFIXES) for name in self._names(prefix)]
        for name in self.columns:
            if name not in ours:
                where = f"the column map for {self.path.name}; robot {self.robot.name!r} has no such motor"
                raise UnknownName("column", name, where, ours)
        factors(self.robot, self.units, self.scale)

    def needed(self) -> list[str]:
        """Headers that are read."""
        return [h for prefix in ("t", *PREFIXES) for h in self._headers(prefix) if h in self.headers]

    @property
    def unused(self) -> tuple[str, ...]:
        """Headers that are not read."""
        needed = set(self.needed())
        return tuple(h for h in self.headers if h not in needed)

    def _names(self, prefix: str) -> list[str]:
        return ["t"] if prefix == "t" else [prefix + m for m in self.robot.motors.names]

    def _headers(self, prefix: str) -> list[str]:
        return [self.columns.get(name, name) for name in self._names(prefix)]

    def take(self, table: "pl.DataFrame", begin: int) -> Log:
        """A part of the file that starts at sample `begin`, in SI."""
        first_row = self.notes.count("\n") + 2 + begin

        def block(prefix: str, needed: bool, factor: np.ndarray | float) -> np.ndarray | None:
            headers = self._headers(prefix)
            if not needed and not any(h in table.columns for h in headers):
                return None
            if missing := [h for h in headers if h not in table.columns]:
                where = f"{self.path}, a log for robot {self.robot.name!r}"
                raise UnknownName("column", missing[0], where, table.columns)
            return np.stack([column(table, h, self.path, first_row, self.gaps) for h in headers], axis=1) * factor

        position, effort = factors(self.robot, self.units, self.scale)
        clock = self._headers("t")[0]
        stamped = clock in table.columns and table[clock].dtype.is_temporal()  # stamps are read in seconds
        t, q = block("t", True, 1.0 if stamped else FACTORS[self.units.time]), block("q_", True, position)
        assert t is not None
        assert q is not None
        return Log(
            self.path.name, t[:, 0], q, block("tau_", self.torque, effort), block("dq_", False, position),
            block("ddq_", False, position), simulated="simulated" in self.notes.lower(), first_row=first_row,
            quality=replace(UNSEEN, unused=self.unused),
        )  # fmt: skip


class LogSpec(Strict):
    """A log, or some of its rows."""

    file: Path
    rows: tuple[int, int] | None = None  # samples begin..end, from 0
    loaded: bool = False  # the robot carried the payload


def read_log(
    path: str | Path,
    robot: Robot,
    columns: Mapping[str, str] | None = None,
    units: Units | None = None,
    torque: bool = True,
    scale: Scale | None = None,
) -> Log:
    """Read a CSV or Parquet log: `t, q_<motor>, tau_<motor>` and, where present, `dq_`, `ddq_`.

    Args:
        columns: our name -> header, where the file's headers differ.
        units: of the file, where not SI.
        torque: whether torques must be there.
        scale: factors of single motors, after the units.

    Raises:
        BadLog: names the file, the column and the row of what is wrong.
        UnknownName: a column that is missing, a column map or scale of a motor that the robot lacks.
    """
    path = Path(path)
    table, notes = read_table(path)
    layout = LogColumns(
        path, robot, columns or {}, units or Units(), scale or Scale(), torque, notes, tuple(table.columns)
    )
    check_headers(path.name, layout.headers, layout.needed()[0])
    log = layout.take(table, 0)
    log = checked(log)
    check_speed(log, robot, layout.units)
    return replace(log, quality=replace(quality_of(log, robot), unused=layout.unused))


def check_speed(log: Log, robot: Robot, units: Units) -> None:
    """A jump at the begin aside, which is left out later: degrees that were declared radians, or millimetres metres, show as speeds that no motor reaches."""
    span = max(1, round(0.02 * log.rate))  # over 20 ms, so that encoder steps do not count as speed
    log = log.section(jump_at_start(log.q, log.rate), log.size)
    if log.size <= span:
        return
    speed = np.abs(log.q[span:] - log.q[:-span]) / (log.t[span:] - log.t[:-span])[:, None]
    slides = robot.slides(robot.motors.S)
    for k, limit in enumerate(speed_limits(robot)):
        worst = int(speed[:, k].argmax())
        if speed[worst, k] > TOO_FAST * limit:
            kind, unit, usual = ("length", units.length, "mm") if slides[k] else ("angle", units.angle, "deg")
            raise BadLog(
                f"{log.name}: column q of motor {robot.motors.names[k]!r} moves at {speed[worst, k]:.4g} per second near row "
                f"{worst + log.first_row}, its limit is {limit:.4g}; are its {kind}s in another unit than {unit!r}? "
                f"Declare 'units: {{{kind}: {usual}}}' in the run file, or a factor of this motor under 'scale: {{position: ...}}'"
            )


def rows_of(spec: LogSpec, size: int) -> tuple[int, int]:
    """The samples that are meant of a log of so many.

    Raises:
        BadFile: there are fewer.
    """
    begin, end = spec.rows or (0, size)
    if not 0 <= begin < end <= size:
        raise BadFile(f"rows [{begin}, {end}] of {spec.file}: expected a range within 0 to {size}, its samples")
    return begin, end
