"""From motor positions and torques as they come in to the tracker: many samples at once, or one by one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import ClosureFailed
from robodyn_pin.observations import close_motors
from robodyn_pin.online.causal import CausalRates, Moments
from robodyn_pin.online.tracker import Tracker, Update

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
            part = slice(begin, begin + PIECE)
            yield from self._take(Moments(*(getattr(moments, k)[part] for k in ("t", "q", "dq", "ddq", "tau"))))

    def _take(self, moments: Moments) -> Iterator[Measured]:
        tracker, tracked = self.tracker, self.tracker.tracked
        if len(moments.t) == 1 and tracked.robot.coordinates.names == tracked.robot.motors.names:
            q, tau, t = moments.q[0], moments.tau[0], float(moments.t[0])
            yield Measured(t, q, tau, tracker.update(q, moments.dq[0], moments.ddq[0], tau, t))
            return
        try:
            state = close_motors(tracked.robot, moments.q, moments.dq, moments.ddq)
        except ClosureFailed:
            if len(moments.t) == 1:
                yield Measured(float(moments.t[0]), moments.q[0], moments.tau[0], tracker.refuse("out of reach"))
                return
            middle = len(moments.t) // 2  # the rest of the piece is as good as ever
            for half in (slice(None, middle), slice(middle, None)):
                yield from self._take(Moments(*(getattr(moments, k)[half] for k in ("t", "q", "dq", "ddq", "tau"))))
            return
        rows, known = tracked.rows(state)
        B = tracked.robot.motors.S @ state.T
        effort = np.einsum("nij,ni->nj", B, moments.tau) - known
        whiten = tracker.whitener(state)
        for i, (t, tau) in enumerate(zip(moments.t.tolist(), moments.tau, strict=True)):
            update = tracker.take(t, rows[i], effort[i], tau, whiten[i])
            yield Measured(t, moments.q[i], tau, update)
