"""Rows of one sample from the one before: what regressor and closing do for many, at the price of one."""

import numpy as np

from robodyn_pin.closures.neighbour import close_near
from robodyn_pin.online.model import Tracked
from robodyn_pin.robot import State


class SampleRows:
    """Makes rows of single samples for what is tracked; keeps the arrays that do not change."""

    def __init__(self, tracked: Tracked):
        self._tracked, self._robot = tracked, tracked.robot

    def close(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, near: np.ndarray | None) -> State:
        """The closed state (one sample) at c, c', c'' (d,), from joint positions (nv,) close to it if there are any.

        Raises:
            ClosureFailed: out of reach.
        """
        robot = self._robot
        if near is None:
            return robot.close(c[None], cd[None], cdd[None])
        axes = robot.coordinates
        q, v, a, T = close_near(robot.loops, axes.S, axes.offset, c, cd, cdd, near)
        return State(q[None], v[None], a[None], T[None], (a - T @ cdd)[None])

    def rows(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Rows (d, r) and known efforts (d,) of one closed state."""
        rows, known = self._tracked.rows(state)
        return rows[0], known[0]

    def measured(self, state: State, tau: np.ndarray) -> np.ndarray:
        """B'tau (d,) of motor torques tau (n_motors,)."""
        return np.asarray((self._robot.motors.S @ state.T[0]).T @ tau)
