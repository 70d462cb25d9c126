"""Logs that begin in motion: how far their stops are stretched there is not known, and counts until they have forgotten it.

A stop maps its stretch at the log's begin to clip(start + a, low, high) at each later sample, and has forgotten it where low = high.
Until then it is taken for a mixture of stops of its radius that began at STARTS, as several in parallel are one stop: what each would
change of the torques is a column, which goes into the rows in front of the parameters and out again when they are folded
(`without_start`). A stop of an axis that rests where the log begins is taken as relaxed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.dynamics.memory import CHUNK, Trace, chunks_of, trace_of
from robodyn_pin.identification.fold import Factor
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.robot import Robot, State

STARTS = (-1.0, -0.5, 0.5, 1.0)  # in parts of the radius; stretches between two of them are nearly mixtures of theirs
SHORTLY = 0.1  # [s] from the log's begin in which its speed there is found
FEWEST = 5  # samples in it
MOVING = 0.1  # of an axis' rms speed: whose speed at the begin is larger is in motion there
ROUND_OFF = 1e-9  # [rad or m] of positions: an axis that travels less rests, whatever that speed


@dataclass(frozen=True)
class UnknownStart:
    """The stops of axes that are in motion where a log begins."""

    relaxed: Trace  # from no stretch
    others: Trace  # from each of STARTS

    @property
    def size(self) -> int:
        """How many columns stand for their stretches."""
        return len(self.others.radii)

    @cached_property
    def forgotten(self) -> int:
        """The first sample from which on no stretch depends on where it began; the log's size if there is none."""
        size = self.relaxed.places.log.size
        for begin in range(0, size, CHUNK):
            end = min(begin + CHUNK, size)
            if not self._off(begin, end)[-1].any():
                return begin + int((self._off(begin, end) != 0).any(axis=1).sum())
        return size

    def columns(self, begin: int, state: State) -> np.ndarray:
        """What stops of strength one that began elsewhere change of the coordinates' torques (n, d, size), at samples from `begin` on."""
        along = np.einsum("nvd,sv->nds", state.T, self.others.rows)
        return along * self._off(begin, begin + len(state.q))[:, None]

    def _off(self, begin: int, end: int) -> np.ndarray:
        relaxed = self.relaxed.outputs(begin, end)
        return self.others.outputs(begin, end) - np.tile(relaxed, (1, len(STARTS)))


def unknown_start(robot: Robot, log: AnyLog) -> UnknownStart | None:
    """The stops of a log whose stretch at its begin is not known; None: there are no stops, or their axes rest there."""
    efforts = [moving for e in robot.efforts if e.memory and (moving := _moving(robot, log, e))]
    if not efforts:
        return None
    return UnknownStart(trace_of(robot, log, efforts), trace_of(robot, log, efforts, STARTS))


def start_counts(robot: Robot, log: AnyLog) -> int:
    """How many samples at a log's begin depend on how far its stops were stretched there, at most half: for who leaves them out."""
    start = unknown_start(robot, log)
    return min(start.forgotten, log.size // 2) if start else 0


def _moving(robot: Robot, log: AnyLog, effort: Effort) -> Effort | None:
    """The effort on those of its axes that are in motion where the log begins."""
    x = next(chunks_of(robot, log)) @ effort.rows.T
    n = max(FEWEST, round(SHORTLY * log.rate) + 1)
    if len(x) < n:
        return None
    at_first = np.abs(np.polyfit(np.arange(n) / log.rate, x[:n], 2)[1])
    usual = np.sqrt(np.mean((np.diff(x, axis=0) * log.rate) ** 2, axis=0))
    rows = effort.rows[(at_first > MOVING * usual) & (np.ptp(x, axis=0) > ROUND_OFF)]
    return replace(effort, rows=rows) if len(rows) else None


def without_start(groups: Sequence[Factor], size: int) -> list[Factor]:
    """Factors of rows [start, W, y] without the first columns, whose unknowns are left free: what other rows say of them is gone."""
    return [replace(factor, R=factor.R[size:, size:]) for factor in groups]
