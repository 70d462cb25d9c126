"""Jogging: a robot led by hand along its coordinates, one closed state after the other, and what it carries at rest."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.closing import reachable
from robodyn_pin.closures.kinds import DISTANCE, KINDS, Closure
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.closures.singularity import smallest_singular_values
from robodyn_pin.dynamics.equations import Wrench
from robodyn_pin.dynamics.memory import relaxed
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.dynamics.struts import StrutLoads
from robodyn_pin.errors import ClosureFailed, WrongMobility
from robodyn_pin.robot.axes import resolve_axes
from robodyn_pin.robot.limits import AxisLimits, limits_of
from robodyn_pin.robot.mobility import rank
from robodyn_pin.robot.robot import Robot, State

TURNS = 2 * np.pi  # [rad] to each side of home: what a slider spans of a joint that turns without end
STEP = 0.05  # [rad or m] of the way between two poses: where it leaves the workspace, the assembly mode behind it is left to chance
FREE = (np.pi, 1.0)  # [rad], [m] to each side of home where no limit is known


@dataclass(frozen=True)
class Pose:
    """A robot closed and at rest."""

    c: np.ndarray  # (d,) coordinates
    state: State  # one sample, v = a = 0
    residual: float  # largest of the closures [m or rad]
    singularity: float  # as Robot.singularity; 0: the coordinates no longer determine the mechanism
    side: float  # sign of det [J; S], 0 where closures are redundant; it changes at a singularity


@dataclass(frozen=True)
class LimitDistance:
    """How far a joint or motor is along the range that it may use."""

    name: str
    value: float  # [rad or m]
    low: float
    high: float
    sliding: bool

    @property
    def share(self) -> float:
        """-1 at the lower limit, 1 at the upper one, beyond outside."""
        return 2 * (self.value - self.low) / (self.high - self.low) - 1


@dataclass(frozen=True)
class StaticLoads:
    """What holds a pose at rest."""

    torques: np.ndarray  # (n_motors,) [N m or N]
    struts: StrutLoads | None  # None: the robot file names no struts
    closures: dict[str, tuple[np.ndarray, np.ndarray]]  # point (3,) [m], force on the second member (3,) [N], world


def pose_at(robot: Robot, q: np.ndarray) -> Pose:
    """The pose of closed joint positions q (nv,), home for one.

    Raises:
        ClosureFailed: singular in the robot's coordinates.
    """
    return _pose(robot, robot.coordinates.S @ q + robot.coordinates.offset, q)


def jogged(robot: Robot, pose: Pose, c: np.ndarray) -> Pose:
    """The pose at coordinates c (d,), reached from `pose`, the assembly mode kept.

    Raises:
        ClosureFailed: out of reach, singular, or only to be reached through a singularity.
    """
    found = _pose(robot, c, pose.state.q[0])
    steps = int(np.ceil(np.abs(c - pose.c).max() / STEP))
    way = pose.c + np.arange(1, steps + 1)[:, None] / steps * (c - pose.c)
    _, closed = reachable(robot.loops, robot.coordinates.S, robot.coordinates.offset, way, pose.state.q[0])
    if found.side * pose.side < 0 or not closed.all():
        raise ClosureFailed("a singularity lies between here and there: the mechanism would fold over", 0, "", 0.0)
    return found


def _pose(robot: Robot, c: np.ndarray, start: np.ndarray) -> Pose:
    rest = np.zeros((1, len(c)))
    state = relaxed(robot, robot.close(c[None], rest, rest, start, lambda _: "these coordinates"))
    rows, S = robot.loops.evaluate(state.q), robot.coordinates.S
    K = np.concatenate([rows.J[0], S])
    side = float(np.linalg.slogdet(K)[0]) if K.shape[0] == K.shape[1] else 0.0
    value = float(smallest_singular_values(robot.loops, S, state.q, robot.home)[0])
    return Pose(c, state, float(np.abs(rows.phi).max(initial=0.0)), value, side)


def coordinate_choices(robot: Robot) -> dict[str, Robot]:
    """The robot by the coordinates of its file, by its motors and by its platform, as far as each determines it."""
    model, d = robot.model, len(robot.coordinates.names)
    platform: list[str] = []
    for joint in range(1, model.njoints):  # the chain that begins with a slider on the base
        behind = model.names[model.parents[joint]]
        if (robot.loops.sliding[joint - 1] and model.parents[joint] == 0) or behind in platform:
            platform.append(model.names[joint])
    found = {robot.coordinates.names: robot}
    for names in (robot.motors.names, platform):
        if chosen := _independent(robot, list(names), d):
            try:
                found.setdefault(chosen, robot.with_coordinates(chosen))
            except WrongMobility:
                continue
    return {", ".join(names): choice for names, choice in found.items()}


def _independent(robot: Robot, names: list[str], d: int) -> tuple[str, ...] | None:
    """The first d of the axes that move the mechanism each in a way of its own at home, None if they are too few."""
    J = robot.loops.evaluate(robot.home[None]).J[0]
    chosen: list[str] = []
    for name in names:
        more = resolve_axes(robot.model, [*chosen, name], robot.motors).S
        if len(chosen) < d and rank(np.concatenate([J, more])) > rank(J) + len(chosen):
            chosen.append(name)
    return tuple(chosen) if len(chosen) == d else None


def position_bounds(robot: Robot) -> AxisLimits | None:
    """Limits of the positions of all joints and motors, along S q; raises as `limits_of`."""
    return next((b for b in limits_of(robot, {}, 0.0).bounds if b.kind == "position"), None)


def slider_ranges(robot: Robot, bounds: AxisLimits | None) -> np.ndarray:
    """What sliders span of each coordinate (d, 2): its limits, else some room around home."""
    axes, spans = robot.coordinates, []
    for row, offset, slide in zip(axes.S, axes.offset, robot.slides(axes.S), strict=True):
        home = float(row @ robot.home + offset)
        low, high = home - FREE[int(slide)], home + FREE[int(slide)]
        same = np.zeros(0, int) if bounds is None else np.flatnonzero((row == bounds.S).all(axis=1))
        if bounds is not None and len(same):
            low = float((bounds.centre - bounds.half)[same].max() + offset)
            high = float((bounds.centre + bounds.half)[same].min() + offset)
            if not slide and high - low > 2 * TURNS:
                low, high = home - TURNS, home + TURNS
        spans.append((min(low, home), max(high, home)))
    return np.array(spans)


def nearest_limits(robot: Robot, bounds: AxisLimits | None, pose: Pose) -> list[LimitDistance]:
    """All joints and motors with limits, the nearest to one first."""
    if bounds is None:
        return []
    offsets = dict(zip(robot.motors.names, robot.motors.offset, strict=True))
    found: dict[tuple[float, ...], LimitDistance] = {}  # a motor and its joint are one where their limits are the same
    slides = robot.slides(bounds.S).tolist()
    for name, row, centre, half, slide in zip(bounds.names, bounds.S, bounds.centre, bounds.half, slides, strict=True):
        offset = float(offsets.get(name, 0.0))
        value = float(row @ pose.state.q[0]) + offset
        near = LimitDistance(name, value, float(centre - half) + offset, float(centre + half) + offset, slide)
        found.setdefault((*row, centre, half), near)
    return sorted(found.values(), key=lambda near: -abs(near.share))


def static_loads(robot: Robot, pose: Pose, wrench: Wrench | None = None) -> StaticLoads:
    """Motor torques, forces in the struts and in the cut joints that hold a pose at rest, under `wrench` if given."""
    forces = Loads(robot, pose.state, wrench)
    model, data = robot.model, robot.model.createData()
    pin.framesForwardKinematics(model, data, pose.state.q[0])
    closures = {}
    for closure in robot.loops.closures:
        if not isinstance(closure, Closure):
            continue  # a coupling of joints has no point
        at_a, at_b = (
            data.oMf[frame_id(model, frame)] * placement
            for frame, placement in ((closure.frame_a, closure.placement_a), (closure.frame_b, closure.placement_b))
        )
        kind = KINDS[closure.kind]
        lam = forces.multipliers[closure.name][0, : kind.moves]
        if kind.formula == DISTANCE:
            along = at_b.translation - at_a.translation
            force = lam[0] * along / np.linalg.norm(along)
        else:
            force = at_a.rotation[:, kind.linear] @ lam
        closures[closure.name] = (at_b.translation, force)
    return StaticLoads(forces.tau[0], forces.struts if robot.file.struts else None, closures)
