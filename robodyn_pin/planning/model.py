"""What a plan needs to know of a robot: joints along a path, and the loads that a motion along it causes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from robodyn_pin.dynamics import motor_torques, tree_efforts
from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.forces import closure_forces, multipliers
from robodyn_pin.planning.path import Geometry
from robodyn_pin.reduced import ReducedModel, reduced_model, tree_forces
from robodyn_pin.robot import Robot, State
from robodyn_pin.struts import strut_loads

STEP = 1e-4  # of the path: third derivatives of dependent joints are differences of exact second ones

Dynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # q, q', q'' (N, n) -> torques (N, m)
Loads = Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]]  # ds/dt, its derivative (N,) -> loads (N, m) by kind


class Curve(Protocol):
    """A path: anything that gives coordinates and their derivatives."""

    def at(self, s: np.ndarray) -> Geometry:
        """At s (N,) in [0, 1]."""


@dataclass(frozen=True)
class Posture:
    """Joints along a path and their derivatives by s, and what loads them."""

    q: np.ndarray  # (N, n)
    q1: np.ndarray
    q2: np.ndarray
    loads: Loads


class Model(Protocol):
    """A robot on a path."""

    def posture(self, geometry: Geometry) -> Posture:
        """Joints at the points of a path."""


@dataclass(frozen=True)
class Callback:
    """A robot of which only the inverse dynamics are known; the path's coordinates are its joints."""

    dynamics: Dynamics

    def posture(self, geometry: Geometry) -> Posture:
        """Joints at the points of a path."""
        c, c1, c2 = geometry.c, geometry.c1, geometry.c2

        def loads(rate: np.ndarray, acceleration: np.ndarray) -> dict[str, np.ndarray]:
            rate, acceleration = rate[:, None], acceleration[:, None]
            torque = np.asarray(self.dynamics(c, c1 * rate, c2 * rate**2 + c1 * acceleration), float)
            if torque.ndim != 2 or len(torque) != len(c):
                raise ShapeMismatch(
                    f"the inverse dynamics gave shape {torque.shape} for {len(c)} samples; expected ({len(c)}, motors)"
                )
            if not np.isfinite(torque).all():
                i = int(np.argwhere(~np.isfinite(torque))[0, 0])
                raise ShapeMismatch(
                    f"the inverse dynamics gave {torque[i]} at s = {geometry.s[i]:.4f}; it must be finite"
                )
            return {"torque": torque}

        return Posture(c, c1, c2, loads)


@dataclass(frozen=True)
class Mechanism:
    """A robot of this package; the path is in its coordinates."""

    robot: Robot
    kinds: frozenset[str]  # of loads that are limited
    reduced: ReducedModel | None  # where one of them needs it
    reduced_struts: bool  # strut forces are its

    def posture(self, geometry: Geometry) -> Posture:
        """Joints at the points of a path.

        Raises:
            ClosureFailed: a point out of reach, or singular; names its s.
        """
        state = self.robot.close(
            geometry.c, geometry.c1, geometry.c2, label=lambda i: f"the path's point s = {geometry.s[i]:.4f}"
        )

        def loads(rate: np.ndarray, acceleration: np.ndarray) -> dict[str, np.ndarray]:
            rate, acceleration = rate[:, None], acceleration[:, None]
            moving = replace(state, v=state.v * rate, a=state.a * rate**2 + state.v * acceleration)
            return self._loads(moving)

        return Posture(state.q, state.v, state.a, loads)

    def _loads(self, state: State) -> dict[str, np.ndarray]:
        found, robot = {}, self.robot
        if self.kinds & {"torque", "force"}:
            asked = tree_efforts(robot, state)
            found["torque"] = motor_torques(robot, state, np.einsum("nij,ni->nj", state.T, asked))
        if "force" in self.kinds and not self.reduced_struts:
            lam = multipliers(robot, state, asked - found["torque"] @ robot.motors.S)
            struts = strut_loads(robot, state, closure_forces(robot, lam))
            found["force"] = np.hstack([struts.lower, struts.upper])
        if self.reduced is not None:
            forces = tree_forces(self.reduced, state.q, state.v, state.a)
            found["end_effector"] = forces.end_effector
            if self.reduced_struts:
                found["force"] = np.hstack([forces.lower, forces.upper])
        return found


def mechanism(robot: Robot, kinds: Iterable[str], reduced: bool) -> Mechanism:
    """A robot whose loads of these kinds are limited; `reduced`: strut forces by the reduced model of a Delta.

    What the end-effector's joint carries is the reduced model's: the force that moves the end-effector itself.
    """
    kinds = frozenset(kinds)
    parts = reduced_model(robot) if "end_effector" in kinds or (reduced and "force" in kinds) else None
    return Mechanism(robot, kinds, parts, reduced)


def third_derivative(model: Model, path: Curve, s: np.ndarray) -> np.ndarray:
    """q''' by s (N, n) at s (N,), from q'' a step before and behind (at the ends of the path one-sided)."""
    before, behind = np.clip(s - STEP, 0.0, 1.0), np.clip(s + STEP, 0.0, 1.0)
    q2 = model.posture(path.at(np.concatenate([before, behind]))).q2
    return (q2[len(s) :] - q2[: len(s)]) / (behind - before)[:, None]
