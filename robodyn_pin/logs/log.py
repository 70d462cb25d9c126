"""Motion logs: read, brought to SI, checked, put on a uniform clock."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.quality import UNSEEN, Quality, counted, merged
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot

IRREGULAR = 0.01  # a step further than this from the mean step, relative, makes a clock irregular


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
        tau, dq, ddq = (None if x is None else x[begin:end] for x in (self.tau, self.dq, self.ddq))
        t, q = self.t[begin:end], self.q[begin:end]
        return replace(self, t=t, q=q, tau=tau, dq=dq, ddq=ddq, begin=self.begin + begin)

    window = section


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
