"""The loads that a film shows: the force in each strut, or the torque of each motor, and their limits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.families.reduced_delta import Lump
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.forces.strut_intervals import strut_history_with_reach
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_rows, inside
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.limits import strut_limits, torque_limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import effort_unit

KEYS, MOST = 25.0, 100.0  # least and largest number of rows per second that a film keeps
TOLERANCE = 0.01  # of the limit


@dataclass(frozen=True)
class DrawnLoads:
    """Loads of k struts or motors at N rows of a log."""

    what: str  # "axial strut force, full model", "motor torque"
    names: tuple[str, ...]
    units: tuple[str, ...]
    t: np.ndarray  # (N,) [s]
    ends: np.ndarray  # (e, N, k) at the upper and the lower end of a strut, tension positive; e = 1 for motors
    limits: tuple[float | None, ...]  # of the absolute value; None: not known
    reach: np.ndarray | None = None  # (e, N, k) half width of the 95 % intervals; None: not known

    @cached_property
    def worst(self) -> np.ndarray:
        """Load of the end that carries more (N, k)."""
        larger = np.abs(self.ends).argmax(axis=0)
        return np.take_along_axis(self.ends, larger[None], axis=0)[0]

    def interval(self, k: int) -> tuple[float, float] | None:
        """95 % interval of the largest load of strut or motor k; None if it is not known."""
        if self.reach is None:
            return None
        end, row = np.unravel_index(int(np.abs(self.ends[:, :, k]).argmax()), self.ends.shape[:2])
        load, far = float(self.ends[end, row, k]), float(self.reach[end, row, k])
        return load - far, load + far

    @cached_property
    def full(self) -> np.ndarray:
        """Load at the end of the colour scale (k,): the limit, or the largest load of all members without one."""
        most = np.abs(self.worst).max(axis=0)
        free = max((x for x, limit in zip(most, self.limits, strict=True) if limit is None), default=0.0) or 1.0
        return np.array([free if limit is None else limit for limit in self.limits])

    def keys(self, k: int) -> np.ndarray:
        """Rows that a film keeps of strut or motor k, so that straight lines between them are within TOLERANCE of every row.

        Noise may need more than MOST rows a second; then the rows with the largest errors are kept first.
        """
        x, seconds = self.worst[:, k] / self.full[k], self.t[-1] - self.t[0]
        kept = np.unique(np.linspace(0, len(x) - 1, round(KEYS * seconds) + 2).astype(int))
        while (free := round(MOST * seconds) - len(kept)) > 0:
            error = np.abs(x - np.interp(self.t, self.t[kept], x[kept]))
            largest = np.maximum.reduceat(error, kept[:-1])
            gaps = np.argsort(-largest)[: min(free, int((largest > TOLERANCE).sum()))]
            if not len(gaps):
                break
            kept = np.sort([*kept, *(kept[g] + int(error[kept[g] : kept[g + 1]].argmax()) for g in gaps)])
        return kept


def strut_film_loads(
    robot: Robot,
    log: Log,
    preparation: Preparation,
    limit: float | None,
    reduced: Lump | None = None,
    covariance: np.ndarray | None = None,
) -> DrawnLoads:
    """Forces along the struts inside a log's edges; limit [N], else the robot's. Raises as `strut_history`.

    Args:
        covariance: (p, p) of the robot's parameters, for the intervals; None: they are not known.
    """
    history = strut_history_with_reach(robot, log, preparation, reduced, covariance).inside
    ends, k = np.stack([history.upper, history.lower]), len(history.names)
    what = f"axial strut force, {history.model} model"
    far = None if history.reach is None else np.stack([history.reach.upper, history.reach.lower])
    limits = tuple(strut_limits(robot).values()) if limit is None else (limit,) * k
    return DrawnLoads(what, history.names, ("N",) * k, history.t, ends, limits, far)


def motor_film_loads(robot: Robot, log: Log, preparation: Preparation, limit: float | None) -> DrawnLoads:
    """Torques of the motors inside a log's edges; limit [N m or N] of each, else the robot's. Raises as `predict`."""
    tau, motors = predict(robot, log, preparation), robot.motors
    limits = tuple(limit or (most if np.isfinite(most) else None) for most in torque_limits(robot).tolist())
    units = tuple(effort_unit(robot.model, row) for row in motors.S)
    kept = inside(len(tau), edge_rows(log, preparation))
    return DrawnLoads("motor torque", motors.names, units, log.t[kept], tau[None, kept], limits)
