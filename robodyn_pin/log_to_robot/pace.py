"""How fast a log moves, and where."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.loads import worst_beyond
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot, State

LOOKED_AT = 20_000  # samples of a log, its first ones
USUAL = 0.99  # share of them that are not faster than the speed of the log
STATES = 300  # that stand for them


@dataclass(frozen=True)
class Pace:
    """The motion of a log's first samples."""

    fast: np.ndarray  # (d,) usual speed of each coordinate [rad/s or m/s]
    sharp: np.ndarray  # (d,) usual acceleration
    q: np.ndarray  # (STATES, nv) joints of some samples, spread evenly
    cd: np.ndarray  # (STATES, d) rates of the coordinates there
    cdd: np.ndarray  # (STATES, d)
    beyond: tuple[str, ...]  # joints outside their limits: the row of the log where each is farthest


class PaceOfLog:
    """The pace of a log that is read block by block."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.blocks = robot, list[np.ndarray]()

    def add(self, begin: int, state: State) -> None:
        """Add the states of consecutive samples of the log from `begin` on."""
        if begin < LOOKED_AT:
            S = self.robot.coordinates.S
            self.blocks.append(np.concatenate([state.q, state.v @ S.T, state.a @ S.T], axis=1)[: LOOKED_AT - begin])

    def found(self, log: AnyLog) -> Pace:
        """Return the pace of all that was added."""
        seen, (d, nv) = np.concatenate(self.blocks), self.robot.coordinates.S.shape
        fast, sharp = np.quantile(np.abs(seen[:, nv:]), USUAL, axis=0).reshape(2, d)
        q, cd, cdd = np.split(seen[np.linspace(0, len(seen) - 1, STATES).astype(int)], [nv, nv + d], axis=1)
        return Pace(fast, sharp, q, cd, cdd, tuple(self._beyond(log, seen[:, :nv])))

    def _beyond(self, log: AnyLog, q: np.ndarray) -> list[str]:
        limits = limits_of(self.robot, {}, 0.0).of(["position"])
        values = np.concatenate([np.zeros((len(q), 0)), *(q @ b.S.T for b in limits.bounds)], axis=1)
        return [f"{log.row(found.sample)}: {found}" for found in worst_beyond(self.robot, limits, values)]
