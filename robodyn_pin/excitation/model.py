"""A robot as its excitation sees it: base columns in units of the noise, loads in units of the limits, and their slopes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.closures.closing import reachable
from robodyn_pin.dynamics.derivatives import asked_of, regressor_slopes
from robodyn_pin.dynamics.effort_slopes import Moved, onto
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.loads import limited
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.dynamics.strut_slopes import limited_slopes
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.identification.excitation import Sampled
from robodyn_pin.identification.whitening import whitened, whitened_slopes
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot, State


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
        state = self.robot.state(self._closed(c), cd, cdd)
        return Sampled(self._rows(state), self._loads(state))

    def rows(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
        """Return the rows alone."""
        return self._rows(self.robot.state(self._closed(c), cd, cdd))

    def loads(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
        """Return the loads alone."""
        return self._loads(self.robot.state(self._closed(c), cd, cdd))

    def slopes(self, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> tuple[Sampled, Sampled]:
        """Return the values, and their derivatives along c, c', c''."""
        robot, state = self.robot, self.robot.state(self._closed(c), cd, cdd)
        asked = asked_of(robot, state)
        quantities, of_quantities = limited_slopes(robot, self.limits, asked)
        rows, of_rows = self._row_slopes(asked.moved)
        centre, half = self._scale
        of_loads = np.concatenate(list(of_quantities / half[:, None]), axis=-1)
        return Sampled(rows, (quantities - centre) / half), Sampled(of_rows.reshape(*rows.shape, -1), of_loads)

    def _row_slopes(self, moved: Moved) -> tuple[np.ndarray, np.ndarray]:
        """Return the base columns' rows (N, d, p) in units of the noise, and their derivatives (N, d, p, 3, d)."""
        identified, (rows, slopes) = self.identified, regressor_slopes(self.robot, moved)
        rows, slopes = rows[:, :, self.columns], np.take(slopes, self.columns, axis=3)  # of these, by far the quickest
        T, bent = moved.state.T, moved.bends.T
        if noisy(identified) is identified.motors:  # white rows do not depend on the coordinates but for a rotation
            B, dB = onto(identified.motors.S, T), onto(identified.motors.S, bent)
            rows, slopes = whitened_slopes(rows, slopes, B, dB, self.sigma)
            return rows, np.stack(list(slopes), axis=3)
        if identified is not self.robot:  # on the coordinates that are fitted: B'rows there are those here
            inverse, dB = np.linalg.inv(onto(identified.coordinates.S, T)), onto(identified.coordinates.S, bent)
            rows = inverse.transpose(0, 2, 1) @ rows
            slopes[0] -= np.einsum("nijk,nip->njpk", dB, rows)
            slopes = np.einsum("nji,xnjpk->xnipk", inverse, slopes)
        found = np.empty((*slopes.shape[1:4], 3, slopes.shape[4]))
        for along, by in enumerate(slopes):
            np.divide(by, self.sigma[:, None, None], out=found[:, :, :, along])
        return rows / self.sigma[:, None], found

    def _closed(self, c: np.ndarray) -> np.ndarray:
        """Return all joints (N, nv). A search often tries what is out of reach, so this is found without naming the closure."""
        robot, axes = self.robot, self.robot.coordinates
        q, closed = reachable(robot.loops, axes.S, axes.offset, c, robot.home, searching=False)
        if not closed.all():
            sample = int(np.argmin(closed))
            raise ClosureFailed(f"the motion is out of reach at sample {sample}", sample, "", np.inf)
        return q

    def every(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of all columns (N, d, p) in units of the noise, and limited quantities (N, m) in their own units."""
        return self._all_rows(state), self._quantities(state)

    def _all_rows(self, state: State) -> np.ndarray:
        if (
            noisy(self.identified) is self.identified.motors
        ):  # white rows are the same along any coordinates but for a rotation
            return whitened(state_regressor(self.robot, state), motor_map(self.robot, state), self.sigma)
        return state_regressor(self.identified, self._on_identified(state)) / self.sigma[:, None]

    def _quantities(self, state: State) -> np.ndarray:
        return limited(self.identified, self.limits, self._on_identified(state))

    def _on_identified(self, state: State) -> State:
        """Return the state with T of the coordinates that are fitted."""
        return state if self.identified is self.robot else state.along(self.identified.coordinates.S)

    def _rows(self, state: State) -> np.ndarray:
        return self._all_rows(state)[:, :, self.columns]

    def _loads(self, state: State) -> np.ndarray:
        centre, half = self._scale
        return (self._quantities(state) - centre) / half

    @cached_property
    def _scale(self) -> tuple[np.ndarray, np.ndarray]:
        return self.limits.scale
