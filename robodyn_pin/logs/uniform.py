"""Logs on a uniform clock, and the oddities of their own."""

from collections.abc import Iterable
from dataclasses import replace
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
from robodyn_pin.logs.late_torques import late_log
from robodyn_pin.logs.log import Log, joined
from robodyn_pin.logs.quality import Quality, counted, merged
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot

SAME_RATE = 0.01  # relative


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
    if its clock is regular, its values come in time and no row is repeated. Torques that come late are beside their motion.

    The same object each time, so that what is found of it is found once.
    """
    return log if _in_time(log) else _even(log)[0]


def at_positions(log: Log) -> Log:
    """The log without the delay of its torques: for what the motion alone decides, each row at the time of its positions."""
    return replace(log, delay=0.0) if log.delay else log


def torque_times(log: Log) -> np.ndarray:
    """Times (N,) [s] on the uniform clock at which the torques of a log's rows were sampled; its stamps if these are true."""
    return log.t if _in_time(log) else _even(log)[1]


def _in_time(log: Log) -> bool:
    return log.quality.regular and not log.delay


_EVEN: WeakKeyDictionary[Log, tuple[Log, np.ndarray]] = (
    WeakKeyDictionary()
)  # on a uniform clock, and the times of the rows


def _even(log: Log) -> tuple[Log, np.ndarray]:
    if log not in _EVEN:
        even, times = (log, log.t) if log.quality.regular else _evened(log)
        _EVEN[log] = (late_log(even, log.delay), times - log.delay) if log.delay else (even, times)
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


def check_rates(logs: Iterable[tuple[str, float]]) -> None:
    """Refuse logs, by name and rate [Hz], of different sampling rates, since filters, decimation and deviations count samples."""
    (first, rate), *others = logs
    for name, other in others:
        if abs(other / rate - 1) > SAME_RATE:
            raise BadLog(
                f"fit logs have different sampling rates, {first} {rate:.6g} Hz and {name} {other:.6g} Hz; resample them to one rate"
            )
