"""Motion logs: read, brought to SI, checked, put on a uniform clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.clock import (
    BLOCK,
    HEAD,
    Clock,
    between,
    evened,
    find_clock,
    repeats,
    row_times,
    rows_around,
    sampled,
)
from robodyn_pin.logs.quality import UNSEEN, Quality, counted, merged
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot


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
    begin: int = 0  # row of the file that is sample 0, from 0
    line: Callable[[int], int] = (2).__add__  # of the file that holds a row
    quality: Quality = UNSEEN
    after: np.ndarray | None = None  # (N,) [s] after t at which torques were sampled, of a log put on a uniform clock

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
        return f"row {self.line(self.begin + i)} of {self.name} (t = {self.t[i]:.4g} s)"

    def section(self, begin: int, end: int) -> "Log":
        """Samples begin..end."""
        tau, dq, ddq, after = (None if x is None else x[begin:end] for x in (self.tau, self.dq, self.ddq, self.after))
        t, q = self.t[begin:end], self.q[begin:end]
        return replace(self, t=t, q=q, tau=tau, dq=dq, ddq=ddq, begin=self.begin + begin, after=after)

    window = section


def joined(parts: Sequence[Log]) -> Log:
    """Consecutive parts of a log as one."""

    def whole(columns: Sequence[np.ndarray | None]) -> np.ndarray | None:
        given = [x for x in columns if x is not None]
        return np.concatenate(given) if given else None

    return replace(
        parts[0], t=np.concatenate([p.t for p in parts]), q=np.concatenate([p.q for p in parts]),
        tau=whole([p.tau for p in parts]), dq=whole([p.dq for p in parts]), ddq=whole([p.ddq for p in parts]),
        after=whole([p.after for p in parts]),
    )  # fmt: skip


def quality_of(log: Log, robot: Robot) -> Quality:
    """Oddities of a log in memory."""
    limits, clock = torque_limits(robot), clock_of(log)
    again = int(repeats(log, clock).sum())
    found = counted(log.t, log.q, log.dq, log.tau, 1 / log.rate, limits, again)
    return merged([found], robot.motors.names, log.rate, limits, clock.late)


def clock_of(log: Log) -> Clock:
    """The clock of a log in memory."""
    return find_clock(log.section(0, min(log.size, HEAD)), log.rate)


def uniform(log: Log) -> Log:
    """The log on a uniform clock of its mean step: sampled when its values show that it was, without repeated rows; unchanged
    if its clock is regular, its values come in time and no row is repeated.

    The same object each time, so that what is found of it is found once.
    """
    if log.quality.regular:
        return log
    return _even(log)[0]


def torque_times(log: Log) -> np.ndarray:
    """Times (N,) [s] on the uniform clock at which the torques of a log's rows were sampled; its stamps if these are true."""
    return log.t if log.quality.regular else _even(log)[1]


_EVEN: WeakKeyDictionary[Log, tuple[Log, np.ndarray]] = (
    WeakKeyDictionary()
)  # on a uniform clock, and the times of the rows


def _even(log: Log) -> tuple[Log, np.ndarray]:
    if log not in _EVEN:
        _EVEN[log] = _evened(log)
    return _EVEN[log]


def _evened(log: Log) -> tuple[Log, np.ndarray]:
    clock, start, n = clock_of(log), float(log.t[0]), log.size
    parts, times = [], []
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        low, high = rows_around(log.t, clock, start, begin, end)
        rows = log.section(low, high)
        parts.append(evened(rows, clock, start, begin, end, log.begin))
        inner = slice(*(np.searchsorted(rows.t, start + np.array([begin, end if end < n else np.inf]) / clock.rate)))
        times.append(start + row_times(rows, sampled(rows, clock, start))[inner] / clock.rate)
    return joined(parts), np.concatenate(times)


def at_rows(log: Log, x: np.ndarray) -> np.ndarray:
    """Columns x (M, k) of the log on its uniform clock, at the times of its own rows (N, k)."""
    even = uniform(log)
    if even is log:
        return x
    t = even.t if even.after is None else even.t + even.after
    own = np.concatenate([[True], np.diff(np.maximum.accumulate(t)) > 0])
    return between(torque_times(log), t[own], x[own])
