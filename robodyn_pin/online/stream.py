"""From motor positions and torques as they come in to the tracker: many samples at once, or one by one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.online.causal_rates import CausalRates, Moments
from robodyn_pin.online.tracker import Tracker, Update
from robodyn_pin.robot.robot import Robot

PIECE = 500  # samples whose rows are made at once


@dataclass(frozen=True)
class Measured:
    """One sample that the estimate has seen, or refused."""

    t: float  # [s]
    q: np.ndarray  # (n_motors,) [rad or m]
    tau: np.ndarray  # (n_motors,) [N m or N]
    update: Update


class Stream:
    """Feeds a tracker from encoders and torque signals.

    Args:
        tracker: what is fed.
        rates: makes rates; the tracker sees each motion `rates.delay` seconds late.
    """

    def __init__(self, tracker: Tracker, rates: CausalRates):
        self.tracker, self.rates = tracker, rates

    def push(self, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> Iterator[Measured]:
        """Take samples t (N,), q, tau (N, n_motors) [s; rad or m; N m or N]; gives what they complete, in order.

        Nothing is taken before it is asked for: read to the end. A sample that comes alone, as in a live stream, costs less
        than the first of many.
        """
        moments = self.rates.push(t, q, tau)
        for begin in range(0, len(moments.t), PIECE):
            yield from self._take(moments.at(slice(begin, begin + PIECE)))

    def _take(self, moments: Moments) -> Iterator[Measured]:
        tracker, tracked = self.tracker, self.tracker.tracked
        if len(moments.t) == 1 and tracked.robot.coordinates.names == tracked.robot.motors.names:
            q, tau, t = moments.q[0], moments.tau[0], float(moments.t[0])
            yield Measured(t, q, tau, tracker.update(q, moments.dq[0], moments.ddq[0], tau, t))
            return
        try:
            state = close_motors(tracked.robot, moments.q, moments.dq, moments.ddq)
        except ClosureFailed:
            yield from self._around(moments)
            return
        rows, known = tracked.rows(state)
        B = tracked.robot.motors.S @ state.T
        effort = np.einsum("nij,ni->nj", B, moments.tau) - known
        whiten = tracker.whitener(state)
        for i, (t, tau) in enumerate(zip(moments.t.tolist(), moments.tau, strict=True)):
            update = tracker.take(t, rows[i], effort[i], tau, whiten[i])
            yield Measured(t, moments.q[i], tau, update)

    def _around(self, moments: Moments) -> Iterator[Measured]:
        """Refuse samples that are out of reach; the rest of the piece is as good as ever."""
        closed, middle = within_reach(self.tracker.tracked.robot, moments.q), len(moments.t) // 2
        cuts = [middle] if closed.all() and middle else np.flatnonzero(np.diff(closed)) + 1
        for part in np.split(np.arange(len(closed)), cuts):
            if closed[part].all() and middle:
                yield from self._take(moments.at(part))
                continue
            for i in part:
                refused = self.tracker.refuse("out of reach")
                yield Measured(float(moments.t[i]), moments.q[i], moments.tau[i], refused)


def within_reach(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Which motor positions (N, n) close the loops, as far as can be told at once: with more motors than degrees of freedom
    all.
    """
    if len(robot.motors.names) != len(robot.coordinates.names):
        return np.ones(len(q), bool)
    driven = robot.with_coordinates(robot.motors.names)
    return reachable(driven.loops, driven.coordinates.S, driven.coordinates.offset, q, driven.home)[1]
