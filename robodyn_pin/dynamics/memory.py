"""Friction that remembers: stretches of stops along a log, from its first sample on, where they are relaxed.

Stops run over the positions as measured, in chunks that are counted from the log's first sample, so that every reader of a
sample sees the same bits, whatever the blocks that rates and filters are computed in.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from robodyn_pin.closures.loops import Loops
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import BadLog
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import WIDTH
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.robot.stops import run_stops

CHUNK = 4096  # samples whose stops run at once
KEPT = 64  # chunks of a log that stay in memory

Part = TypeVar("Part")


def with_memory(robot: Robot, log: AnyLog, begin: int, state: State) -> State:
    """The states of a log's samples from `begin` on, with the stops of the robot's friction, and its warmth.

    Raises:
        BadFile: friction with memory that names no stops. ClosureFailed: a measured position out of reach.
    """
    state = _warm(robot, log, begin, state)
    remembering = [effort for effort in robot.efforts if effort.memory]
    if not remembering:
        return state
    trace = trace_of(robot, log, remembering)
    y, place, found = trace.outputs(begin, begin + len(state.q)), 0, {}
    for effort in remembering:
        r, k = len(effort.rows), len(effort.radii)
        found[effort.memory] = y[:, place : place + r * k].reshape(-1, r, k)
        place += r * k
    return replace(state, stops=found)


def _warm(robot: Robot, log: AnyLog, begin: int, state: State) -> State:
    """The states with what efforts grow with besides the motion.

    Raises:
        BadLog: the log has no such column.
    """
    asked = {effort.spec.warmth for effort in robot.efforts if effort.spec.warmth}
    if not asked:
        return state
    part, warmth = log.section(begin, begin + len(state.q)), {}
    for each in asked:
        if each.time is not None:  # since the first row of the file
            warmth[each] = np.exp(-(part.t - part.t[0] + part.begin / log.rate) / each.time)
        elif each.column is not None and each.column in part.further:
            warmth[each] = part.further[each.column] - each.at
        else:
            raise BadLog(
                f"{log.name} has no column {each.column!r}, which an effort of {robot.name!r} grows with; record it, name it by 'columns', or "
                "take the effort's 'warmth' out"
            )
    return replace(state, warmth=warmth)


def saturated(robot: Robot, state: State) -> State:
    """The states with every stop at its radius, on the side of its rate: Coulomb friction, as far as its states do not follow each other."""
    return _with(robot, state, lambda e: np.tanh(state.v @ e.rows.T / WIDTH)[:, :, None] * np.ones(len(e.radii)))


def relaxed(robot: Robot, state: State) -> State:
    """The states with no stop stretched: what holds a robot at rest is not known."""
    return _with(robot, state, lambda e: np.zeros((len(state.q), len(e.rows), len(e.radii))))


def stops_along(robot: Robot, states: Iterable[tuple[Part, State]]) -> Iterator[tuple[Part, State]]:
    """States of one motion, part by part, with stops that run along it; they are relaxed where it begins."""
    before: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for part, state in states:

        def stops(e: Effort, q: np.ndarray = state.q) -> np.ndarray:
            x, radii = np.repeat(q @ e.rows.T, len(e.radii), axis=1), np.tile(e.radii, len(e.rows))
            z = run_stops(x, radii, *before.get(e.memory, (0 * x[0], x[0])))
            before[e.memory] = z[-1], x[-1]
            return (z / radii).reshape(len(q), len(e.rows), -1)

        yield part, _with(robot, state, stops)


def anyhow(robot: Robot, state: State, rng: np.random.Generator) -> State:
    """The states with stops and warmth at random: what coefficients can show at all."""
    warmth = {e.spec.warmth: rng.uniform(-1, 1, len(state.q)) for e in robot.efforts if e.spec.warmth}
    state = replace(state, warmth=warmth or None)
    return _with(robot, state, lambda e: rng.uniform(-1, 1, (len(state.q), len(e.rows), len(e.radii))))


def _with(robot: Robot, state: State, stops: Callable[[Effort], np.ndarray]) -> State:
    found = {effort.memory: stops(effort) for effort in robot.efforts if effort.memory}
    return replace(state, stops=found) if found else state


@dataclass
class Trace:
    """The stops of one log: their stretches where chunks begin, and the chunks that were looked at last."""

    places: "KeptPositions"
    rows: np.ndarray  # (m, nv) axis of each stop
    radii: np.ndarray  # (m,)
    begins: list[tuple[np.ndarray, np.ndarray]]  # stretch and position one sample before each chunk
    chunks: OrderedDict[int, np.ndarray] = field(default_factory=OrderedDict)

    def outputs(self, begin: int, end: int) -> np.ndarray:
        """y = z / r (end - begin, m) of the stops, between -1 and 1."""
        first, last = begin // CHUNK, max(begin, end - 1) // CHUNK
        y = np.concatenate([self._chunk(k) for k in range(first, last + 1)])
        return y[begin - first * CHUNK : end - first * CHUNK]

    def _chunk(self, number: int) -> np.ndarray:
        if number not in self.chunks:
            for k in range(min(number, len(self.begins) - 1), number + 1):
                self._run(k)
        self.chunks.move_to_end(number)
        return self.chunks[number]

    def _run(self, number: int) -> None:
        x = self.places.chunk(number) @ self.rows.T
        z0, x0 = self.begins[number]
        z = run_stops(x, self.radii, z0, x[0] if number == 0 else x0)
        if number + 1 == len(self.begins):
            self.begins.append((z[-1], x[-1]))
        self.chunks[number] = z / self.radii
        if len(self.chunks) > KEPT:
            self.chunks.popitem(last=False)


def trace_of(robot: Robot, log: AnyLog, efforts: Sequence[Effort], starts: tuple[float, ...] = (0.0,)) -> Trace:
    """The stops of efforts with memory along a log; the same object each time.

    Args:
        starts: stretches at the log's first sample, in parts of the radius; every stop is followed from each, the first ones first.
    """
    known = _TRACES.setdefault(log, {})
    key = robot.loops, tuple(effort.memory for effort in efforts), starts
    if key not in known:
        rows = np.concatenate([np.repeat(e.rows, len(e.radii), axis=0) for e in efforts])
        radii = np.concatenate([np.tile(e.radii, len(e.rows)) for e in efforts])
        first = np.outer(starts, radii).ravel()
        rows, radii = np.tile(rows, (len(starts), 1)), np.tile(radii, len(starts))
        known[key] = Trace(_places_of(robot, log), rows, radii, [(first, 0 * first)])
    return known[key]


@dataclass
class KeptPositions:
    """Positions of all joints along a log, chunk by chunk; the chunks that were looked at last are kept."""

    robot: Robot
    log: AnyLog
    chunks: OrderedDict[int, np.ndarray] = field(default_factory=OrderedDict)

    def chunk(self, number: int) -> np.ndarray:
        """Positions (n, nv) of a chunk [rad or m], as measured."""
        if number not in self.chunks:
            begin = number * CHUNK
            self.chunks[number] = positions(self.robot, self.log, begin, min(begin + CHUNK, self.log.size))
            if len(self.chunks) > KEPT:
                self.chunks.popitem(last=False)
        self.chunks.move_to_end(number)
        return self.chunks[number]


def _places_of(robot: Robot, log: AnyLog) -> KeptPositions:
    known = _PLACES.setdefault(log, {})
    return known.setdefault(robot.loops, KeptPositions(robot, _alone(log)))


def chunks_of(robot: Robot, log: AnyLog) -> Iterator[np.ndarray]:
    """Positions (n, nv) of all joints along a log, chunk after chunk [rad or m], as measured."""
    places = _places_of(robot, log)
    for number in range(-(-log.size // CHUNK)):
        yield places.chunk(number)


# Logs do not change, and an identification reads them many times.
_PLACES: WeakKeyDictionary[AnyLog, dict[Loops, KeptPositions]] = WeakKeyDictionary()
_TRACES: WeakKeyDictionary[AnyLog, dict[tuple[Loops, tuple[bytes, ...], tuple[float, ...]], Trace]] = (
    WeakKeyDictionary()
)


def _alone(log: AnyLog) -> AnyLog:
    """The log as another object, so that what is remembered of it does not keep it."""
    return log.window(0, log.size)


def positions(robot: Robot, log: AnyLog, begin: int, end: int) -> np.ndarray:
    """Positions of all joints (end - begin, nv) [rad or m] at samples of a log, as measured."""
    part = log.section(begin, end)
    return close_motors(robot, part.q, 0 * part.q, 0 * part.q, part.row).q
