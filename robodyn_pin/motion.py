"""Motion logs: read, brought to SI, checked, put on a uniform clock."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.limits import speed_limits, torque_limits
from robodyn_pin.log_table import column, read_table
from robodyn_pin.log_units import FACTORS, Scale, Units, factors
from robodyn_pin.quality import UNSEEN, Quality, counted, merged
from robodyn_pin.robot import Robot

if TYPE_CHECKING:
    import polars as pl

PREFIXES = ("q_", "dq_", "ddq_", "tau_")
IRREGULAR = 0.01  # a step further than this from the mean step, relative, makes a clock irregular
TOO_FAST = 3.0  # times the speed limit: no robot does that, a wrong unit does


@dataclass(frozen=True, eq=False)
class Log:
    """N samples of all motors, SI units."""

    name: str
    t: np.ndarray  # (N,) [s], increasing
    q: np.ndarray  # (N, n) motor positions [rad or m]
    tau: np.ndarray | None  # (N, n) motor torques [N m or N]
    dq: np.ndarray | None = None  # (N, n) measured rates
    ddq: np.ndarray | None = None
    simulated: bool = False  # the file says so
    loaded: bool = False  # the robot carried the payload of the run
    first_row: int = 2  # line of the file that holds sample 0
    quality: Quality = UNSEEN

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def rate(self) -> float:
        """Mean sampling rate [Hz]."""
        return (len(self.t) - 1) / float(self.t[-1] - self.t[0])

    @property
    def efforts(self) -> np.ndarray:
        """Motor torques (N, n) of a log that must hold them.

        Raises:
            BadLog: it holds none.
        """
        if self.tau is None:
            raise BadLog(f"{self.name} has no columns tau_<motor>; record torques too")
        return self.tau

    def row(self, i: int) -> str:
        """How to call sample i in a message."""
        return f"row {i + self.first_row} of {self.name} (t = {self.t[i]:.4g} s)"

    def section(self, begin: int, end: int) -> "Log":
        """Samples begin..end."""
        tau, dq, ddq = (None if x is None else x[begin:end] for x in (self.tau, self.dq, self.ddq))
        t, q, row = self.t[begin:end], self.q[begin:end], self.first_row + begin
        return replace(self, t=t, q=q, tau=tau, dq=dq, ddq=ddq, first_row=row)

    window = section


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
    log = layout.take(table, 0)
    _check_clock(log)
    check_speed(log, robot, layout.units)
    return replace(log, quality=replace(quality_of(log, robot), unused=layout.unused))


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
        t, q = block("t", True, FACTORS[self.units.time]), block("q_", True, position)
        assert t is not None
        assert q is not None
        return Log(
            self.path.name, t[:, 0], q, block("tau_", self.torque, effort), block("dq_", False, position),
            block("ddq_", False, position), simulated="simulated" in self.notes.lower(), first_row=first_row,
            quality=replace(UNSEEN, unused=self.unused),
        )  # fmt: skip


def _check_clock(log: Log) -> None:
    t = log.t
    if len(t) < 2:
        raise BadLog(f"{log.name}: {len(t)} rows; a log needs at least two")
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        i = int(back[0])
        raise BadLog(
            f"{log.name}: time does not increase in {len(back)} rows, first in row {i + 1 + log.first_row} "
            f"(column t: {t[i]:.9g} s, then {t[i + 1]:.9g} s)"
        )


def check_speed(log: Log, robot: Robot, units: Units) -> None:
    """Degrees that were declared radians, or millimetres metres, show as speeds that no motor reaches."""
    span = max(1, round(0.02 * log.rate))  # over 20 ms, so that encoder steps do not count as speed
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


def quality_of(log: Log, robot: Robot) -> Quality:
    """Oddities of a log in memory."""
    limits = torque_limits(robot)
    found = counted(log.t, log.q, log.dq, log.tau, 1 / log.rate, limits)
    return merged([found], robot.motors.names, log.rate, limits)


def uniform(log: Log) -> Log:
    """The log on a uniform clock of its mean step, by linear interpolation; unchanged if its clock is regular.

    The same object each time, so that what is found of it is found once.
    """
    if log.quality.irregular <= IRREGULAR:
        return log
    if log not in _EVEN:
        _EVEN[log] = _resampled(log)
    return _EVEN[log]


_EVEN: WeakKeyDictionary[Log, Log] = WeakKeyDictionary()  # irregular logs on a uniform clock


def _resampled(log: Log) -> Log:
    clock = log.t[0] + np.arange(len(log.t)) / log.rate

    def even(x: np.ndarray | None) -> np.ndarray | None:
        return None if x is None else resample(clock, log.t, x)

    q = resample(clock, log.t, log.q)
    return replace(log, t=clock, q=q, tau=even(log.tau), dq=even(log.dq), ddq=even(log.ddq))


def resample(clock: np.ndarray, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Columns of x (N, k) at other times, linear."""
    return np.stack([np.interp(clock, t, column) for column in x.T], axis=1)
