"""What a plan needs to know of a robot: joints along a path, and the loads that a motion along it causes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from robodyn_pin.dynamics.loads import loads
from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.families.reduced_delta import ReducedModel, reduced_model, tree_forces
from robodyn_pin.planning.path import Geometry
from robodyn_pin.robot.robot import Robot, State

STEP = 1e-4  # of the path: third derivatives of dependent joints are differences of exact second ones

BLOCK = 5_000  # rows worked out at once

Dynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # q, q', q'' (N, n) -> torques (N, m)


class Curve(Protocol):
    """A path: anything that gives coordinates and their derivatives."""

    def at(self, s: np.ndarray) -> Geometry:
        """At s (N,) in [0, 1]."""


@dataclass(frozen=True)
class Posture:
    """Joints at N places of a path and their derivatives by s."""

    s: np.ndarray  # (N,)
    q: np.ndarray  # (N, n)
    q1: np.ndarray
    q2: np.ndarray
    T: np.ndarray  # (N, n, d) and (N, n): q' = T c', q'' = T c'' + g
    g: np.ndarray
    q3: np.ndarray  # (N, n); (N, 0) where it is not asked for

    def at(self, places: slice | np.ndarray | list[int]) -> "Posture":
        """Some of the places, in any order."""
        return Posture(**{name: x[places] for name, x in vars(self).items()})

    def moving(self, rate: np.ndarray, acceleration: np.ndarray) -> State:
        """A motion through the places, by ds/dt and its derivative (N,)."""
        rate, acceleration = rate[:, None], acceleration[:, None]
        v, a = self.q1 * rate, self.q2 * rate**2 + self.q1 * acceleration
        return State(self.q, v, a, self.T, self.g * rate**2)


class Model(Protocol):
    """A robot on a path."""

    def crossings(self, posture: Posture) -> np.ndarray:
        """Whether a singularity lies between neighbouring places (N - 1,)."""

    def posture(self, geometry: Geometry) -> Posture:
        """Joints at the points of a path."""

    def loads(self, posture: Posture, rate: np.ndarray, acceleration: np.ndarray) -> dict[str, np.ndarray]:
        """Loads (N, m) by kind, for ds/dt and its derivative (N,)."""


@dataclass(frozen=True)
class Callback:
    """A robot of which only the inverse dynamics are known; the path's coordinates are its joints."""

    dynamics: Dynamics
    motors: int | None  # that the limits speak of

    def crossings(self, posture: Posture) -> np.ndarray:
        """None is known (N - 1,)."""
        return np.zeros(len(posture.s) - 1, bool)

    def posture(self, geometry: Geometry) -> Posture:
        """Joints at the points of a path."""
        c = geometry.c
        T = np.broadcast_to(np.eye(c.shape[1]), (*c.shape, c.shape[1]))
        return Posture(geometry.s, c, geometry.c1, geometry.c2, T, np.zeros_like(c), c[:, :0])

    def loads(self, posture: Posture, rate: np.ndarray, acceleration: np.ndarray) -> dict[str, np.ndarray]:
        """Torques (N, m), for ds/dt and its derivative (N,)."""
        state, N = posture.moving(rate, acceleration), len(rate)
        torque = np.asarray(self.dynamics(state.q, state.v, state.a), float)
        if torque.ndim != 2 or len(torque) != N or self.motors not in (None, torque.shape[1]):
            raise ShapeMismatch(
                f"the inverse dynamics gave shape {torque.shape} for {N} samples; expected ({N}, {self.motors or 'motors'})"
            )
        if not np.isfinite(torque).all():
            i = int(np.argwhere(~np.isfinite(torque))[0, 0])
            raise ShapeMismatch(f"the inverse dynamics gave {torque[i]} at s = {posture.s[i]:.4f}; it must be finite")
        return {"torque": torque}


@dataclass(frozen=True)
class Mechanism:
    """A robot of this package; the path is in its coordinates."""

    robot: Robot
    kinds: frozenset[str]  # of loads that are limited
    reduced: ReducedModel | None  # where one of them needs it
    reduced_struts: bool  # strut forces are its

    def crossings(self, posture: Posture) -> np.ndarray:
        """Where the coordinates, or as many motors, stop determining the robot: a determinant changes sign (N - 1,)."""
        robot = self.robot
        J, S = robot.loops.jacobian(posture.q), robot.coordinates.S
        square = np.concatenate([J, np.broadcast_to(S, (len(J), *S.shape))], axis=1)
        sides = [np.linalg.slogdet(square)[0]] if square.shape[1] == square.shape[2] else []
        B = robot.motors.S @ posture.T
        sides += [np.sign(np.linalg.det(B))] if B.shape[1] == B.shape[2] else []
        return np.any([side[1:] != side[:-1] for side in sides], axis=0)

    def posture(self, geometry: Geometry) -> Posture:
        """Joints at the points of a path.

        Raises:
            ClosureFailed: a point out of reach, or singular; names its s.
        """
        state = self.robot.close(
            geometry.c, geometry.c1, geometry.c2, label=lambda i: f"the path's point s = {geometry.s[i]:.4f}"
        )
        return Posture(geometry.s, state.q, state.v, state.a, state.T, state.g, state.q[:, :0])

    def loads(self, posture: Posture, rate: np.ndarray, acceleration: np.ndarray) -> dict[str, np.ndarray]:
        """Loads (N, m) of the kinds that are limited, for ds/dt and its derivative (N,)."""
        robot, state = self.robot, posture.moving(rate, acceleration)
        found = loads(robot, state, self.kinds - {"force"} if self.reduced_struts else self.kinds)
        if self.reduced is not None:
            forces = tree_forces(self.reduced, state.q, state.v, state.a)
            found["end_effector"] = forces.end_effector
            if self.reduced_struts:
                found["force"] = np.hstack([forces.lower, forces.upper])
        return found


def blocks(n: int) -> Iterator[slice]:
    """Of n rows: what is worked out of them takes no more memory than BLOCK of them need."""
    return (slice(begin, begin + BLOCK) for begin in range(0, n, BLOCK))


def mechanism(robot: Robot, kinds: Iterable[str], reduced: bool) -> Mechanism:
    """A robot whose loads of these kinds are limited; `reduced`: strut forces by the reduced model of a Delta.

    What the end-effector's joint carries is the reduced model's: the force that moves the end-effector itself.
    """
    kinds = frozenset(kinds)
    parts = reduced_model(robot) if "end_effector" in kinds or (reduced and "force" in kinds) else None
    return Mechanism(robot, kinds, parts, reduced)


def posture_at(model: Model, path: Curve, s: np.ndarray, third: bool) -> Posture:
    """At s (N,); `third`: with q''', from q'' a step before and behind (at the ends of the path one-sided)."""
    posture = model.posture(path.at(s))
    if not third:
        return posture
    before, behind = (np.clip(s + step, 0.0, 1.0) for step in (-STEP, STEP))
    change = model.posture(path.at(behind)).q2 - model.posture(path.at(before)).q2
    return replace(posture, q3=change / (behind - before)[:, None])
