"""A robot as its excitation sees it: base columns in units of the noise, loads in units of the limits, and their slopes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.loads import limited
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.identification.excitation import Sampled
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot, State

STEP = 1e-5  # [rad, m or per s] of differences: the loops stay closed to 1e-15, slopes are right to about 1e-5


def noisy(robot: Robot) -> Axes:
    """Return what has noise of its own: the motors where these are more than the coordinates, else the coordinates."""
    return robot.motors if len(robot.motors.names) > len(robot.coordinates.names) else robot.coordinates


@dataclass(frozen=True)
class ExcitationModel:
    """`robot` moves along its coordinates; the log is fitted in those of `identified`, which may be others."""

    robot: Robot
    identified: Robot
    limits: Limits
    sigma: np.ndarray  # noise of one sample [N m or N]: of `noisy(identified)`
    columns: np.ndarray  # (p,) of the base parameters

    def at(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Sampled:
        """Return the values for a motion of the coordinates (N, d)."""
        return self._sampled(self.robot.state(self._closed(c), cd, cdd))

    def slopes(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> tuple[Sampled, Sampled]:
        """Return the values, and their derivatives along c, c', c'' by forward differences on the loops."""
        state, n = self.robot.state(self._closed(c), cd, cdd), len(c)
        moved = list(self._moved(state, c, cd, cdd))
        states = [state, *(m for m, _ in moved)]
        q, v, a, T, g = (np.concatenate([getattr(s, key) for s in states]) for key in ("q", "v", "a", "T", "g"))
        all_of = self._sampled(State(q, v, a, T, g))
        steps = np.array([h for _, h in moved])

        def slope(x: np.ndarray) -> np.ndarray:
            x = x.reshape(len(states), n, *x.shape[1:])
            return np.moveaxis(x[1:] - x[0], 0, -1) / steps

        values = Sampled(all_of.rows[:n], all_of.loads[:n])
        return values, Sampled(slope(all_of.rows), slope(all_of.loads))

    def _moved(self, state: State, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Iterator[tuple[State, float]]:
        """Yield the state with each of c, c', c'' moved a little, and by how much it was moved."""
        robot, axes, still = self.robot, np.eye(c.shape[1]), np.zeros_like(cdd)
        for axis in axes:  # along the loops to second order: what is left open is below round-off
            bend = robot.state(state.q, np.broadcast_to(axis, cd.shape), still).g
            yield robot.state(state.q + STEP * state.T @ axis + STEP**2 / 2 * bend, cd, cdd), STEP
        for axis in axes:
            yield robot.state(state.q, cd + STEP * axis, cdd), STEP
        for axis in axes:  # everything is affine in the accelerations
            yield replace(state, a=state.a + state.T @ axis), 1.0

    def _closed(self, c: np.ndarray) -> np.ndarray:
        """Return all joints (N, nv). A search often tries what is out of reach, so this is found without naming the closure."""
        robot, axes = self.robot, self.robot.coordinates
        q, closed = reachable(robot.loops, axes.S, axes.offset, c, robot.home)
        if not closed.all():
            sample = int(np.argmin(closed))
            raise ClosureFailed(f"the motion is out of reach at sample {sample}", sample, "", np.inf)
        return q

    def every(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of all columns (N, d, p) in units of the noise, and limited quantities (N, m) in their own units."""
        robot = self.identified
        if robot is not self.robot:  # T of the coordinates that are fitted
            state = state.along(robot.coordinates.S)
        rows = state_regressor(robot, state)
        if noisy(robot) is robot.coordinates:
            rows = rows / self.sigma[:, None]
        else:
            rows = whitened(rows, motor_map(robot, state), self.sigma)
        return rows, limited(robot, self.limits, state)

    def _sampled(self, state: State) -> Sampled:
        rows, quantities = self.every(state)
        centre, half = self._scale
        return Sampled(rows[:, :, self.columns], (quantities - centre) / half)

    @cached_property
    def _scale(self) -> tuple[np.ndarray, np.ndarray]:
        return self.limits.scale
