"""Motion logs: read, brought to SI, checked, put on a uniform clock."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.files import Strict
from robodyn_pin.limits import speed_limits, torque_limits
from robodyn_pin.quality import Quality, counted, merged
from robodyn_pin.robot import Robot

if TYPE_CHECKING:
    import polars as pl

PREFIXES = ("q_", "dq_", "ddq_", "tau_")
NOTE = "robodyn_pin"  # key of our note in a Parquet file
IRREGULAR = 0.01  # a step further than this from the mean step, relative, makes a clock irregular
TOO_FAST = 3.0  # times the speed limit: no robot does that, a wrong unit does


class Units(Strict):
    """Units of a log that is not in SI."""

    time: Literal["s", "ms", "us"] = "s"
    angle: Literal["rad", "deg", "m", "mm"] = "rad"
    torque: Literal["N m", "mN m", "N"] = "N m"


FACTORS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "rad": 1.0, "deg": np.pi / 180, "m": 1.0, "mm": 1e-3,
           "N m": 1.0, "mN m": 1e-3, "N": 1.0}  # fmt: skip


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
    quality: Quality = field(default_factory=lambda: Quality(0, 0.0, 0.0, 0, 0))

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
) -> Log:
    """Read a CSV or Parquet log: `t, q_<motor>, tau_<motor>` and, where present, `dq_`, `ddq_`.

    Args:
        columns: our name -> header, where the file's headers differ.
        units: of the file, where not SI.
        torque: whether torques must be there.

    Raises:
        BadLog: names the file, the column and the row of what is wrong.
    """
    path = Path(path)
    table, notes = read_table(path)
    layout = LogColumns(path, robot, columns or {}, units or Units(), torque, notes, tuple(table.columns))
    log = layout.take(table, 0)
    _check_clock(log)
    check_speed(log, robot, layout.units)
    return replace(log, quality=quality_of(log, robot))


@dataclass(frozen=True)
class LogColumns:
    """Which columns of a file hold what, checked against the robot."""

    path: Path
    robot: Robot
    columns: Mapping[str, str]
    units: Units
    torque: bool
    notes: str
    headers: tuple[str, ...]
    gaps: bool = False  # cells without a number become NaN

    def __post_init__(self) -> None:
        motors = self.robot.motors.names
        ours = ["t", *(prefix + m for prefix in PREFIXES for m in motors)]
        for name in self.columns:
            if name not in ours:
                where = f"the column map for {self.path.name}; robot {self.robot.name!r} has no such motor"
                raise UnknownName("column", name, where, ours)
        mapped = set(self.columns.values())
        for header in self.headers:
            if header.startswith(PREFIXES) and header not in ours and header not in mapped:
                raise BadLog(
                    f"{self.path}: column {header!r} names a motor that robot {self.robot.name!r} lacks; its motors are "
                    f"{', '.join(motors)}"
                )

    def needed(self) -> list[str]:
        """Headers that are read."""
        return [h for prefix in ("t", *PREFIXES) for h in self._headers(prefix) if h in self.headers]

    def _headers(self, prefix: str) -> list[str]:
        names = ["t"] if prefix == "t" else [prefix + m for m in self.robot.motors.names]
        return [self.columns.get(name, name) for name in names]

    def take(self, table: "pl.DataFrame", begin: int) -> Log:
        """A part of the file that starts at sample `begin`, in SI."""
        first_row = self.notes.count("\n") + 2 + begin

        def block(prefix: str, needed: bool, factor: float) -> np.ndarray | None:
            headers = self._headers(prefix)
            if not needed and not any(h in table.columns for h in headers):
                return None
            return np.stack([column(table, h, self.path, first_row, self.gaps) for h in headers], axis=1) * factor

        angle, effort = FACTORS[self.units.angle], FACTORS[self.units.torque]
        t, q = block("t", True, FACTORS[self.units.time]), block("q_", True, angle)
        assert t is not None
        assert q is not None
        return Log(
            self.path.name, t[:, 0], q, block("tau_", self.torque, effort), block("dq_", False, angle),
            block("ddq_", False, angle), simulated="simulated" in self.notes.lower(), first_row=first_row,
        )  # fmt: skip


def read_columns(path: Path, headers: Sequence[str]) -> list[np.ndarray]:
    """Columns (N,) of a CSV or Parquet file.

    Raises:
        BadLog: not readable, or a cell that is no number. UnknownName: a column that is not there.
    """
    table, notes = read_table(path)
    return [column(table, header, path, notes.count("\n") + 2) for header in headers]


def read_table(path: Path) -> tuple["pl.DataFrame", str]:
    """A log's table, and the notes in it."""
    import polars as pl

    notes = notes_of(path)
    with readable(path):
        # infer_schema=False keeps text: a bad cell is then named with its row instead of failing the whole file.
        table = (
            pl.read_parquet(path)
            if path.suffix == ".parquet"
            else pl.read_csv(path, infer_schema=False, comment_prefix="#")
        )
    return table, notes


def notes_of(path: Path) -> str:
    """The notes in a log: comment lines at the head of a CSV, metadata of a Parquet file.

    Raises:
        BadLog: neither, or not readable.
    """
    import polars as pl

    if path.suffix not in (".csv", ".parquet"):
        raise BadLog(f"{path}: expected a .csv or .parquet log, found {path.suffix or 'no suffix'}")
    with readable(path):
        return pl.read_parquet_metadata(path).get(NOTE, "") if path.suffix == ".parquet" else _comments(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what reading a file can raise into one sentence."""
    import polars as pl

    try:
        yield
    except FileNotFoundError:
        raise BadLog(f"cannot read {path}: no such file") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadLog(f"{path} is not a readable {path.suffix[1:]} file: {' '.join(str(error).split())[:200]}") from None


def _comments(path: Path) -> str:
    lines = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith("#"):
                break
            lines.append(line)
    return "".join(lines)


def column(table: "pl.DataFrame", header: str, path: Path, first_row: int, gaps: bool = False) -> np.ndarray:
    """A column (N,) of numbers, NaN where there is none and `gaps` are allowed; raises as `read_columns`."""
    import polars as pl

    if header not in table.columns:
        raise UnknownName("column", header, str(path), table.columns)
    values = table[header].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad) and not gaps:
        shown = table[header][int(bad[0])]
        raise BadLog(
            f"{path}: column {header!r} is not a number in {len(bad)} rows, first in row {bad[0] + first_row} ({shown!r})"
        )
    return np.asarray(values, float)


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
    """Angles in degrees that were declared radians show as speeds that no motor reaches."""
    span = max(1, round(0.02 * log.rate))  # over 20 ms, so that encoder steps do not count as speed
    if log.size <= span:
        return
    speed = np.abs(log.q[span:] - log.q[:-span]) / (log.t[span:] - log.t[:-span])[:, None]
    for k, limit in enumerate(speed_limits(robot)):
        worst = int(speed[:, k].argmax())
        if speed[worst, k] > TOO_FAST * limit:
            raise BadLog(
                f"{log.name}: column q of motor {robot.motors.names[k]!r} moves at {speed[worst, k]:.4g} per second near row "
                f"{worst + log.first_row}, its limit is {limit:.4g}; are the angles in another unit than {units.angle!r}? "
                "Declare 'units: {angle: deg}' in the run file"
            )


def quality_of(log: Log, robot: Robot) -> Quality:
    """Oddities of a log in memory."""
    limits = torque_limits(robot)
    found = counted(log.t, log.q, log.dq, log.tau, 1 / log.rate, limits)
    return merged([found], robot.motors.names, log.rate, limits)


def uniform(log: Log) -> Log:
    """The log on a uniform clock of its mean step, by linear interpolation; unchanged if its clock is regular."""
    if log.quality.irregular <= IRREGULAR:
        return log
    clock = log.t[0] + np.arange(len(log.t)) / log.rate

    def even(x: np.ndarray | None) -> np.ndarray | None:
        return None if x is None else resample(clock, log.t, x)

    q = resample(clock, log.t, log.q)
    return replace(log, t=clock, q=q, tau=even(log.tau), dq=even(log.dq), ddq=even(log.ddq))


def resample(clock: np.ndarray, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Columns of x (N, k) at other times, linear."""
    return np.stack([np.interp(clock, t, column) for column in x.T], axis=1)
