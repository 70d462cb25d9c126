"""What each strut carries at both of its ends, along it and across it, from the multipliers of its closure."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.batch import Placed
from robodyn_pin.closures.kinds import DISTANCE, KINDS, Closure
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.robot.robot import Robot, State


@dataclass(frozen=True)
class StrutLoads:
    """N samples of k struts, in the order of the robot file [N]; tension positive."""

    names: tuple[str, ...]
    lower: np.ndarray  # (N, k) along the strut, at the end that a closure holds
    lower_across: np.ndarray  # (N, k) size of what is across it there
    upper: np.ndarray  # (N, k) along the strut, at the joint of the tree that carries it
    upper_across: np.ndarray  # (N, k)

    @property
    def worst(self) -> np.ndarray:
        """Along the struts (N, k), at the end that carries more."""
        return np.where(np.abs(self.upper) > np.abs(self.lower), self.upper, self.lower)


@dataclass(frozen=True)
class Held:
    """A strut, and the closure at its end."""

    name: str
    bodies: tuple[int, ...]  # joints from the one that carries the far end up to the one that carries the near end
    near: np.ndarray  # (3,) in the frame of the last body [m]
    far: np.ndarray  # (3,) in the frame of the first body
    closure: int
    sign: float  # of the multiplier as a force on the strut


def strut_loads(robot: Robot, state: State, named: dict[str, np.ndarray]) -> StrutLoads:
    """Forces along and across each strut at both ends.

    The joint that carries a strut gives what its momentum asks beyond its weight and the force at its closed end.

    Args:
        named: multipliers (N, rows) by closure.

    Raises:
        UnknownName: a strut's far end is held by no closure.
    """
    placed = robot.loops.placed(state.q)
    V, A = placed.motions(state.v, state.a)
    columns = []
    for strut in held_struts(robot):
        along, far = along_strut(placed, strut), closed_end(robot, placed, strut, named)
        near = sum(_lifting(robot, placed, V[joint], A[joint], joint) for joint in strut.bodies) - far
        columns.append([_split(far, along), _split(-near, along)])
    (lower, lower_across), (upper, upper_across) = (
        np.array(columns).reshape(-1, 2, 2, len(state.q)).transpose(1, 2, 3, 0)
    )
    return StrutLoads(tuple(robot.file.struts), lower, lower_across, upper, upper_across)


def _lifting(robot: Robot, placed: Placed, V: np.ndarray, A: np.ndarray, joint: int) -> np.ndarray:
    """Force (3, N) that a body's motion asks beyond its weight; V, A (6, N) its motion at the world's origin."""
    body = robot.model.inertias[joint]
    centre = placed.point(joint, body.lever)
    rate = V[:3] + np.cross(V[3:], centre, axis=0)
    acceleration = A[:3] + np.cross(A[3:], centre, axis=0) + np.cross(V[3:], rate, axis=0)
    return body.mass * (acceleration - robot.model.gravity.linear[:, None])


def _split(force: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Along and across, (N,) each."""
    axial = (force * along).sum(axis=0)
    return axial, np.linalg.norm(force - axial * along, axis=0)


def along_strut(placed: Placed, strut: Held) -> np.ndarray:
    """Unit vector from the carried to the closed end, (3, N)."""
    d = placed.point(strut.bodies[0], strut.far) - placed.point(strut.bodies[-1], strut.near)
    return d / np.linalg.norm(d, axis=0)


def closed_end(robot: Robot, placed: Placed, strut: Held, named: dict[str, np.ndarray]) -> np.ndarray:
    """Force on the strut at its closed end, world axes (3, N)."""
    closure = robot.loops.closures[strut.closure]
    kind = KINDS[closure.kind]
    components = named[closure.name][:, : kind.moves].T  # of a planar point two: none along its normal
    axes = placed.ends[0][strut.closure][:, kind.linear]
    return strut.sign * np.einsum("ijn,jn->in", axes, components)


def held_struts(robot: Robot) -> list[Held]:
    ends: dict[str, tuple[int, float]] = {}
    for k, closure in enumerate(robot.loops.closures):
        if isinstance(closure, Closure) and KINDS[closure.kind].formula != DISTANCE:
            ends[closure.frame_a], ends[closure.frame_b] = (k, -1.0), (k, 1.0)
    model, found = robot.model, []
    for name, (near, far) in robot.file.struts.items():
        if far not in ends:
            raise UnknownName("closure at the strut end", far, f"robot {robot.name!r}", ends)
        upper, lower = (model.frames[frame_id(model, end)] for end in (near, far))
        bodies = [lower.parentJoint]
        while bodies[-1] not in (upper.parentJoint, 0):
            bodies.append(model.parents[bodies[-1]])
        if bodies[-1] == 0:
            raise RobodynError(
                f"robot {robot.name!r}: strut {name!r} goes from {near!r} to {far!r}, but no joint between the base and "
                f"{far!r} carries {near!r}; name the strut's own ends"
            )
        found.append(Held(name, tuple(bodies), upper.placement.translation, lower.placement.translation, *ends[far]))
    return found
