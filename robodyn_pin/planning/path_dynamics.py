"""What a plan knows of a robot: all joints along the path, and the loads that a motion along the path causes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from robodyn_pin.closures.singularity import determinant_signs
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.loads import loads
from robodyn_pin.dynamics.memory import saturated
from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.families.reduced_arms import StrutModel, strut_model
from robodyn_pin.families.reduced_delta import ReducedForces, reduced_model, tree_forces
from robodyn_pin.planning.path import Geometry
from robodyn_pin.robot.bearing_axes import refuse_bearing
from robodyn_pin.robot.robot import Robot, State

STEP = 1e-4  # of s: q''' of all joints is a central difference of the exact q''
BLOCK = 5_000  # rows that are computed at once, which bounds the memory

InverseDynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # q, v, a (N, n) -> torques (N, m)


class Curve(Protocol):
    """A path: anything that returns coordinates and their derivatives by s."""

    def at(self, s: np.ndarray) -> Geometry:
        """Return the path at s (N,) in [0, 1]."""


@dataclass(frozen=True)
class JointPath:
    """All joints at N points of a path, and their derivatives by s."""

    s: np.ndarray  # (N,)
    q: np.ndarray  # (N, n)
    q1: np.ndarray
    q2: np.ndarray
    T: np.ndarray  # (N, n, d) with q' = T c'
    g: np.ndarray  # (N, n) with q'' = T c'' + g
    q3: np.ndarray  # (N, n); (N, 0) where no jerk is limited

    def at(self, points: slice | np.ndarray | list[int]) -> "JointPath":
        """Return some of the points, in any order."""
        return JointPath(**{name: x[points] for name, x in vars(self).items()})

    def state(self, sd: np.ndarray, sdd: np.ndarray) -> State:
        """Return the state of motion at the points, for ds/dt and its derivative by time (N,)."""
        sd, sdd = sd[:, None], sdd[:, None]
        return State(self.q, self.q1 * sd, self.q2 * sd**2 + self.q1 * sdd, self.T, self.g * sd**2)


class PathDynamics(Protocol):
    """A robot that moves along a path."""

    def joint_path(self, geometry: Geometry) -> JointPath:
        """Return all joints at the points of a path, without q'''."""

    def loads(self, s: np.ndarray, state: State) -> dict[str, np.ndarray]:
        """Return the loads (N, m) by kind at states of motion; s (N,) tells where they are."""

    def crosses_singularity(self, joint_path: JointPath) -> np.ndarray:
        """Return whether a singularity lies between neighbouring points (N - 1,)."""


@dataclass(frozen=True)
class CallbackDynamics:
    """A robot of which only the inverse dynamics are known. Its path is in the joints themselves."""

    inverse_dynamics: InverseDynamics
    motors: int | None  # how many torques the limits expect; None: no torque is limited

    def joint_path(self, geometry: Geometry) -> JointPath:
        """Return all joints at the points of a path, without q'''."""
        c = geometry.c
        T = np.broadcast_to(np.eye(c.shape[1]), (*c.shape, c.shape[1]))
        return JointPath(geometry.s, c, geometry.c1, geometry.c2, T, np.zeros_like(c), c[:, :0])

    def loads(self, s: np.ndarray, state: State) -> dict[str, np.ndarray]:
        """Return the torques (N, m); s (N,) tells where they are."""
        torque, N = np.asarray(self.inverse_dynamics(state.q, state.v, state.a), float), len(s)
        if torque.ndim != 2 or len(torque) != N or self.motors not in (None, torque.shape[1]):
            raise ShapeMismatch(
                f"the inverse dynamics gave shape {torque.shape} for {N} samples; "
                f"expected ({N}, {self.motors or 'motors'})"
            )
        if not np.isfinite(torque).all():
            i = int(np.argwhere(~np.isfinite(torque))[0, 0])
            raise ShapeMismatch(f"the inverse dynamics gave {torque[i]} at s = {s[i]:.4f}; it must be finite")
        return {"torque": torque}

    def crosses_singularity(self, joint_path: JointPath) -> np.ndarray:
        """Return False (N - 1,): a function of joints tells nothing of singularities."""
        return np.zeros(len(joint_path.s) - 1, bool)


@dataclass(frozen=True)
class RobotDynamics:
    """A robot of this package. Its path is in its coordinates."""

    robot: Robot
    kinds: frozenset[str]  # kinds of loads that are limited
    reduced: StrutModel | None  # where one of these loads comes from it
    reduced_struts: bool  # whether strut forces come from the reduced model

    def joint_path(self, geometry: Geometry) -> JointPath:
        """Return all joints at the points of a path, without q'''.

        Raises:
            ClosureFailed: a point is out of reach or singular; names its s.
        """
        state = self.robot.close(
            geometry.c, geometry.c1, geometry.c2, label=lambda i: f"the path's point s = {geometry.s[i]:.4f}"
        )
        return JointPath(geometry.s, state.q, state.v, state.a, state.T, state.g, state.q[:, :0])

    def loads(self, s: np.ndarray, state: State) -> dict[str, np.ndarray]:
        """Return the limited loads (N, m) by kind; s (N,) is not needed."""
        kinds = self.kinds - {"force"} if self.reduced_struts else self.kinds
        found = loads(self.robot, saturated(self.robot, state), kinds)
        if self.reduced is not None:
            forces = self.reduced(state.q, state.v, state.a)
            if isinstance(forces, ReducedForces):
                found["end_effector"] = forces.end_effector
            if self.reduced_struts:
                found["force"] = np.hstack([forces.lower, forces.upper])
        return found

    def crosses_singularity(self, joint_path: JointPath) -> np.ndarray:
        """Return whether det [J; S] of the coordinates or det B of the motors changes sign between points (N - 1,)."""
        robot, ones = self.robot, np.ones(len(joint_path.s))
        signs = determinant_signs(robot.loops, robot.coordinates.S, joint_path.q)
        B = motor_map(robot, joint_path.state(ones, 0 * ones))
        motor_signs = np.sign(np.linalg.det(B)) if B.shape[1] == B.shape[2] else ones
        return np.asarray((np.diff(signs) != 0) | (np.diff(motor_signs) != 0))


def point_blocks(n: int) -> Iterator[slice]:
    """Cut n rows into slices of at most BLOCK rows."""
    return (slice(begin, begin + BLOCK) for begin in range(0, n, BLOCK))


def robot_dynamics(robot: Robot, kinds: Iterable[str], reduced: bool) -> RobotDynamics:
    """Return a robot on a path whose loads of these kinds are limited.

    Args:
        kinds: "torque", "force" of the struts, "end_effector"; the last one always comes from the reduced model of a
            Delta, the force that moves the end-effector itself.
        reduced: strut forces, too, come from the reduced model, of a Delta or of more arms.

    Raises:
        BadFile: friction that grows with the load: along a path it is not of second degree in the speed.
        RobodynError: the reduced model does not fit the robot.
    """
    refuse_bearing(robot.efforts, "plan")
    kinds = frozenset(kinds)
    model: StrutModel | None = None
    if "end_effector" in kinds:
        model = partial(tree_forces, reduced_model(robot))
    elif reduced and "force" in kinds:
        model = strut_model(robot)
    return RobotDynamics(robot, kinds, model, reduced)


def joint_path_at(dynamics: PathDynamics, path: Curve, s: np.ndarray, third: bool) -> JointPath:
    """Return all joints at s (N,). `third`: also q''', a difference of q'' STEP before and behind."""
    if not third:
        return dynamics.joint_path(path.at(s))
    around = np.clip(s[:, None] + (-STEP, 0.0, STEP), 0.0, 1.0)
    all_points = dynamics.joint_path(path.at(around.ravel()))
    change = all_points.q2[2::3] - all_points.q2[::3]
    return replace(all_points.at(slice(1, None, 3)), q3=change / (around[:, 2] - around[:, 0])[:, None])
