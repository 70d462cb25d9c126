"""Delta-like robots: which bodies play which part, found from the topology, and their motion in closed form.

A Delta has three arms on the base, each with a parallelogram of two struts that end on one platform in point closures;
so the platform only translates. A strut is a body on two joints below an arm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Closure
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.robot.robot import Robot

# A cross product in two steps: np.cross costs more than all the rest of one sample.
AFTER, BEFORE = [1, 2, 0], [2, 0, 1]
SAME = 1e-9  # [m] by which geometry may miss a parallelogram


@dataclass(frozen=True)
class Turning:
    """Points of bodies that turn about fixed axes: centre + cosine cos(angle) + sine sin(angle), along the world's axes."""

    centre: np.ndarray  # (k, 3) [m]
    cosine: np.ndarray  # (k, 3)
    sine: np.ndarray  # (k, 3)

    def at(self, cos: np.ndarray, sin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the offset from the centre and its derivative by the angle, of which cos and sin are given (N, k); both (N, k, 3)."""
        c, s = cos[..., None], sin[..., None]
        return self.cosine * c + self.sine * s, self.sine * c - self.cosine * s


@dataclass(frozen=True)
class Delta:
    """Parts of a Delta; joints by their number in Pinocchio's model, bodies by the joint that carries them."""

    struts: tuple[str, ...]  # (6,) names as in the robot file
    strut_joints: tuple[int, ...]  # (6,)
    arm_joints: tuple[int, ...]  # (3,)
    arm_of: np.ndarray  # (6,) index of the strut's arm
    first: np.ndarray  # (3,) index of the arm's first strut
    platform_joint: int
    origin: np.ndarray  # (3,) platform origin = origin + slide q
    slide: np.ndarray  # (3, nv)
    elbow: Turning  # (6,) upper balls
    ball: np.ndarray  # (6, 3) lower balls from the platform origin, along the world's axes
    length: np.ndarray  # (6,)
    side: float  # of the elbows' plane on which the platform hangs

    @cached_property
    def arm_columns(self) -> np.ndarray:
        """Return the columns of q that are the arms' angles, (3,)."""
        return np.array(self.arm_joints) - 1

    @cached_property
    def arms(self) -> Turning:
        """Return the elbow of each arm's first strut, (3,)."""
        return Turning(*(x[self.first] for x in (self.elbow.centre, self.elbow.cosine, self.elbow.sine)))

    @cached_property
    def hanging(self) -> np.ndarray:
        """Return the lower balls (6, 3) from the platform origin, less the elbows' centres."""
        return self.ball - self.elbow.centre

    @cached_property
    def pairs(self) -> np.ndarray:
        """Return which struts hang on which arm, (6, 3)."""
        return np.equal.outer(self.arm_of, np.arange(3)).astype(float)


@dataclass(frozen=True)
class DeltaMotion:
    """N samples of what moves."""

    phi: np.ndarray  # (N, 3) arms [rad]
    phid: np.ndarray
    phidd: np.ndarray
    x: np.ndarray  # (N, 3) platform origin [m]
    xdd: np.ndarray


def delta_parts(robot: Robot) -> Delta:
    """Find arms, struts and platform of a Delta.

    Raises:
        RobodynError: the robot has no struts, or they do not hang two by two between three arms and one platform.
    """
    refused = f"robot {robot.name!r} is no Delta, the reduced model does not fit it: "
    model, frame = robot.model, {f.name: f for f in robot.model.frames}
    if not robot.file.struts:
        raise RobodynError(refused + "its file names no struts")
    lower = [frame[end] for _, end in robot.file.struts.values()]
    joints = [f.parentJoint for f in lower]
    arms = [model.parents[model.parents[j]] for j in joints]
    on_platform = [frame[end] for f in lower if (end := _closed_onto(robot, f.name))]
    order = tuple(dict.fromkeys(arms))
    if len(on_platform) != len(lower) or len({f.parentJoint for f in on_platform}) != 1:
        raise RobodynError(refused + "its struts do not all end on one platform, in closures of kind point")
    if len(order) != 3 or any(arms.count(arm) != 2 or model.parents[arm] != 0 for arm in order):
        raise RobodynError(refused + "below each of three arms on the base two struts are expected, each on two joints")
    platform = on_platform[0].parentJoint
    data = _placed(model, robot.home)
    turn = data.oMi[platform].rotation
    origin, slide = _translation(model, platform)
    struts = tuple(robot.file.struts), tuple(joints)
    arm_of, first = np.array([order.index(arm) for arm in arms]), np.array([arms.index(arm) for arm in order])
    elbow = turning(model, arms, joints, [np.zeros(3)] * 6)
    ball = np.array([turn @ f.placement.translation for f in on_platform])
    length = np.array([np.linalg.norm(f.placement.translation) for f in lower])
    found = Delta(*struts, order, arm_of, first, platform, origin, slide, elbow, ball, length, 1.0)
    _check_parallel(found, refused)
    phi, x = robot.home[None, found.arm_columns], data.oMi[platform].translation
    return found if np.allclose(platform_position(found, phi), x, atol=1e-6) else replace(found, side=-1.0)


def _closed_onto(robot: Robot, end: str) -> str | None:
    """Return the frame that a point closure puts onto the frame `end`."""
    for closure in robot.loops.closures:
        if isinstance(closure, Closure) and closure.kind == "point" and end in (closure.frame_a, closure.frame_b):
            return closure.frame_b if end == closure.frame_a else closure.frame_a
    return None


def _placed(model: pin.Model, q: np.ndarray) -> pin.Data:
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    return data


def _translation(model: pin.Model, platform: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the origin (3,) of a body on a chain that slides before it turns, and how it moves with q (3, nv)."""
    origin = _placed(model, np.zeros(model.nv)).oMi[platform].translation.copy()
    shifted = [_placed(model, unit).oMi[platform].translation - origin for unit in np.eye(model.nv)]
    return origin, np.array(shifted).T


def turning(model: pin.Model, carriers: Sequence[int], bodies: Sequence[int], points: Sequence[np.ndarray]) -> Turning:
    """Return how points (3,) of bodies move with the joints that carry them, all other joints at zero."""
    columns, at = np.array(carriers) - 1, []
    for angle in (0.0, np.pi / 2, np.pi):
        q = np.zeros(model.nv)
        q[columns] = angle
        data = _placed(model, q)
        at.append(np.array([data.oMi[j].act(point) for j, point in zip(bodies, points, strict=True)]))
    centre = (at[0] + at[2]) / 2
    return Turning(centre, at[0] - centre, at[1] - centre)


def _check_parallel(delta: Delta, refused: str) -> None:
    for k in range(3):
        i, j = np.flatnonzero(delta.arm_of == k)
        across = delta.ball[i] - delta.ball[j]
        apart = [
            delta.elbow.centre[i] - delta.elbow.centre[j] - across,
            delta.elbow.cosine[i] - delta.elbow.cosine[j],
            delta.elbow.sine[i] - delta.elbow.sine[j],
            delta.length[i] - delta.length[j],
        ]
        worst = max(float(np.abs(x).max()) for x in apart)
        if worst > SAME:
            raise RobodynError(
                refused
                + f"struts {delta.struts[i]} and {delta.struts[j]} form no parallelogram, they miss it by {worst:.2g} m"
            )


def tree_motion(delta: Delta, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> DeltaMotion:
    """Return the moving parts of a closed motion of all joints q, v, a (N, nv)."""
    arms = delta.arm_columns
    return DeltaMotion(q[:, arms], v[:, arms], a[:, arms], delta.origin + q @ delta.slide.T, a @ delta.slide.T)


def platform_position(delta: Delta, phi: np.ndarray) -> np.ndarray:
    """Return the platform origin (N, 3) [m] for the arms' angles (N, 3) [rad].

    Raises:
        ClosureFailed: the arms stand too far apart for the struts to meet; names the sample.
    """
    return _meet(delta, delta.arms.at(np.cos(phi), np.sin(phi))[0] - delta.hanging[delta.first])


def _meet(delta: Delta, centres: np.ndarray) -> np.ndarray:
    """Return where spheres about three centres (N, 3, 3), with the struts' lengths as radii, meet on the platform's side."""
    first, second, third = delta.length[delta.first] ** 2
    a, u, w = centres[:, 0], centres[:, 1] - centres[:, 0], centres[:, 2] - centres[:, 0]
    uu, ww, uw = np.vecdot(u, u), np.vecdot(w, w), np.vecdot(u, w)
    area = uu * ww - uw * uw
    du, dw = (uu + first - second) / 2, (ww + first - third) / 2
    foot = ((du * ww - dw * uw) / area)[:, None] * u + ((dw * uu - du * uw) / area)[:, None] * w
    height = first - np.vecdot(foot, foot)
    if not (height >= 0).all():
        i = int(np.flatnonzero(~(height >= 0))[0])
        raise ClosureFailed(
            f"sample {i}: the arms stand too far apart for the struts to meet",
            i,
            delta.struts[0],
            float(np.sqrt(-height[i])),
        )
    normal = u[:, AFTER] * w[:, BEFORE] - u[:, BEFORE] * w[:, AFTER]
    return a + foot + (delta.side * np.sqrt(height / area))[:, None] * normal
