"""From motor positions and torques as they come in to the tracker: many samples at once, or one by one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.dynamics.equations import along, motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.online.causal_rates import CausalRates, MotionSamples
from robodyn_pin.online.tracker import Tracker, Update
from robodyn_pin.robot.robot import Robot

PART = 500  # samples whose rows are made at once


@dataclass(frozen=True)
class ProcessedSample:
    """One sample, and what the tracker did with it."""

    t: float  # [s]
    q: np.ndarray  # (n_motors,) [rad or m]
    tau: np.ndarray  # (n_motors,) [N m or N]
    update: Update


class Stream:
    """Feeds a tracker with encoder and torque signals.

    Args:
        tracker: takes the samples.
        rates: differentiates the positions; the tracker sees each motion `rates.delay` seconds late.
    """

    def __init__(self, tracker: Tracker, rates: CausalRates):
        self.tracker, self.rates = tracker, rates

    def push(self, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> Iterator[ProcessedSample]:
        """Take samples t (N,) [s], q [rad or m], tau [N m or N] (N, n_motors); yield those that they complete, in order.

        The iterator must be read to its end: a sample is processed when it is asked for. A single sample, as in a live
        stream, costs less than the first of many.
        """
        motion = self.rates.push(t, q, tau)
        for begin in range(0, len(motion.t), PART):
            yield from self._take(motion.select(slice(begin, begin + PART)))

    def _take(self, motion: MotionSamples) -> Iterator[ProcessedSample]:
        tracker, tracked = self.tracker, self.tracker.tracked
        if len(motion.t) == 1 and tracked.robot.coordinates.names == tracked.robot.motors.names:
            q, tau, t = motion.q[0], motion.tau[0], float(motion.t[0])
            yield ProcessedSample(t, q, tau, tracker.update(q, motion.dq[0], motion.ddq[0], tau, t))
            return
        try:
            state = close_motors(tracked.robot, motion.q, motion.dq, motion.ddq)
        except ClosureFailed:
            yield from self._refuse_unreachable(motion)
            return
        rows, known = tracked.rows(state)
        effort = along(motor_map(tracked.robot, state), motion.tau) - known
        whiten = tracker.whitener(state)
        for i, (t, tau) in enumerate(zip(motion.t.tolist(), motion.tau, strict=True)):
            update = tracker.take(t, rows[i], effort[i], tau, whiten[i])
            yield ProcessedSample(t, motion.q[i], tau, update)

    def _refuse_unreachable(self, motion: MotionSamples) -> Iterator[ProcessedSample]:
        """Refuse the samples that are out of reach, and take the others."""
        reached, middle = within_reach(self.tracker.tracked.robot, motion.q), len(motion.t) // 2
        cuts = [middle] if reached.all() and middle else np.flatnonzero(np.diff(reached)) + 1
        for part in np.split(np.arange(len(reached)), cuts):
            if reached[part].all() and middle:
                yield from self._take(motion.select(part))
                continue
            for i in part:
                refused = self.tracker.refuse("out of reach")
                yield ProcessedSample(float(motion.t[i]), motion.q[i], motion.tau[i], refused)


def within_reach(robot: Robot, q: np.ndarray) -> np.ndarray:
    """For which motor positions (N, n) the loops close; all, if the robot has more motors than degrees of freedom."""
    if len(robot.motors.names) != len(robot.coordinates.names):
        return np.ones(len(q), bool)
    driven = robot.with_coordinates(robot.motors.names)
    return reachable(driven.loops, driven.coordinates.S, driven.coordinates.offset, q, driven.home)[1]
