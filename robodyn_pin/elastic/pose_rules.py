"""Rules for poses: the tool at a point or in a region, its axis within a cone, all joints within limits; random poses there."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.springs import PoseKinematics, Springs, Tool, pose_kinematics
from robodyn_pin.errors import BadFile, ClosureFailed, RobodynError
from robodyn_pin.families.inverse_kinematics import inverse_kinematics
from robodyn_pin.families.spherical_wrist import NoClosedForm, spherical_wrist
from robodyn_pin.files import Strict
from robodyn_pin.robot.limits import limits_of

TRIES_PER_POSE = 60
LEAST_TRIES = 6000
WIDEST_RANGE = 4 * np.pi  # [rad] of a joint that is searched over its whole range


class ConeSpec(Strict):
    """A cone that an axis of the tool must stay in."""

    axis: Vector | None = None  # in the tool's frame; default: from the frame's origin to the tool's point
    towards: Vector | None = None  # middle of the cone, in the base; default: level, from the base to the tool's point
    angle: Annotated[float, Field(gt=0, le=180)] = 80.0  # [deg] largest angle between axis and middle


@dataclass(frozen=True)
class Cone:
    """Directions that an axis of the tool may have."""

    axis: np.ndarray  # (3,) unit vector in the tool's frame
    towards: np.ndarray  # (3,) unit vector of the middle, in the base
    cosine: float  # of the largest angle


@dataclass(frozen=True)
class PoseRules:
    """What a pose of the robot must keep to."""

    springs: Springs
    position: np.ndarray | None  # (3,) of the tool's point [m]
    region: np.ndarray | None  # (3, 2) bounds of the tool's point [m]
    cone: Cone | None
    low: np.ndarray  # (d,) lower limits of the coordinates
    high: np.ndarray  # (d,) upper limits
    rows: np.ndarray  # (r, nv) the other joints and motors that have limits: |rows q - centre| <= half
    centre: np.ndarray  # (r,)
    half: np.ndarray  # (r,)


Region = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


def pose_rules(
    springs: Springs, position: Vector | None, region: Region | None, cone: ConeSpec | None, margin: float
) -> PoseRules:
    """The rules for a robot's poses.

    Args:
        margin: share of every joint's range that is kept free at the limits.

    Raises:
        BadFile: a cone has no direction, or limits leave no range.
    """
    robot = springs.robot
    bounds = next((b for b in limits_of(robot, {}, margin).bounds if b.kind == "position"), None)
    d = len(robot.coordinates.names)
    low, high, others = np.full(d, -np.inf), np.full(d, np.inf), []
    rows, centre, half = np.zeros((0, robot.model.nv)), np.zeros(0), np.zeros(0)
    if bounds is not None:
        for i, row in enumerate(bounds.S):
            same = np.flatnonzero((row == robot.coordinates.S).all(axis=1))
            offset = robot.coordinates.offset[same]
            low[same] = np.maximum(low[same], bounds.centre[i] - bounds.half[i] + offset)
            high[same] = np.minimum(high[same], bounds.centre[i] + bounds.half[i] + offset)
            others += [] if len(same) else [i]
        rows, centre, half = bounds.S[others], bounds.centre[others], bounds.half[others]
    wide = ~(high - low <= WIDEST_RANGE)  # without limits, or wider: searched within one turn
    low, high = np.where(wide, -np.pi, low), np.where(wide, np.pi, high)
    return PoseRules(
        springs, None if position is None else np.array(position), None if region is None else np.array(region),
        None if cone is None else _cone(cone, springs.tool, position), low, high, rows, centre, half,
    )  # fmt: skip


def _cone(spec: ConeSpec, tool: Tool, position: Vector | None) -> Cone:
    axis, towards = np.array(spec.axis or tool.at), spec.towards
    if towards is None and position is None:
        raise BadFile("'cone' needs 'towards', a direction of the base, where 'position' is not given")
    middle = np.array(towards if towards is not None or position is None else (*position[:2], 0.0))
    for name, direction in (("axis", axis), ("towards", middle)):
        if np.linalg.norm(direction) < 1e-9:
            raise BadFile(f"'cone.{name}' has no direction; give three numbers that are not all zero")
    return Cone(axis / np.linalg.norm(axis), middle / np.linalg.norm(middle), float(np.cos(np.radians(spec.angle))))


def slack(rules: PoseRules, poses: PoseKinematics) -> tuple[np.ndarray, np.ndarray]:
    """Distances (N, r) to the limits of other joints, the region and the cone, negative outside; derivatives (N, r, d).

    The position and the limits of the coordinates are not among them.
    """
    offset = poses.q @ rules.rows.T - rules.centre
    slope = rules.rows @ poses.T
    values, slopes = [rules.half - offset, rules.half + offset], [-slope, slope]
    if rules.region is not None:
        values += [poses.point - rules.region[:, 0], rules.region[:, 1] - poses.point]
        slopes += [poses.J, -poses.J]
    if rules.cone is not None:
        axis = poses.rotation @ rules.cone.axis
        # The axis turns with the frame: d axis = w x axis, its part towards the cone's middle is w . (axis x towards).
        values.append((axis @ rules.cone.towards - rules.cone.cosine)[:, None])
        normal = np.cross(axis, rules.cone.towards)
        slopes.append(normal[:, None] @ poses.tree_jacobian[:, 3:] @ poses.T)
    return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)


def random_poses(rules: PoseRules, count: int, rng: np.random.Generator) -> np.ndarray:
    """Coordinates (count, d) of random poses that keep all rules.

    Where the tool's position or region is given, its pose is drawn and inverse kinematics gives the coordinates, on a
    random branch; otherwise the coordinates are drawn.

    Raises:
        RobodynError: too few poses keep the rules; the message names what is in the way.
    """
    found: list[np.ndarray] = []
    reason, tried = "", 0
    by_tool = rules.position is not None or (rules.region is not None and _has_closed_form(rules))
    while sum(map(len, found)) < count and tried < max(LEAST_TRIES, TRIES_PER_POSE * count):
        batch = max(64, count - sum(map(len, found)))
        tried += batch
        c, reason = _draw_tool_poses(rules, batch, rng) if by_tool else _draw_coordinates(rules, batch, rng)
        found.append(c[_keep_rules(rules, c)] if len(c) else c)
    c = np.concatenate(found)
    if len(c) < count:
        place = "" if rules.position is None else " at (" + ", ".join(f"{x:g}" for x in rules.position) + ") m"
        raise RobodynError(
            f"only {len(c)} of {tried} random poses{place} keep all rules, {count} are needed; widen cone, region or limits"
            + (f" (for instance, {reason})" if reason else "")
        )
    return c[:count]


def _keep_rules(rules: PoseRules, c: np.ndarray) -> np.ndarray:
    values = slack(rules, pose_kinematics(rules.springs, c))[0]
    return np.asarray((values >= 0).all(axis=1) & (c >= rules.low).all(axis=1) & (c <= rules.high).all(axis=1))


def _has_closed_form(rules: PoseRules) -> bool:
    try:
        spherical_wrist(rules.springs.robot, rules.springs.tool.frame)
    except NoClosedForm:
        return False
    return True


def _draw_tool_poses(rules: PoseRules, count: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Coordinates of random tool poses within reach, and why one of the others is out of reach."""
    tool, rotation = rules.springs.tool, random_orientations(rules.cone, count, rng)
    point = rules.position
    if point is None:
        assert rules.region is not None
        point = rng.uniform(rules.region[:, 0], rules.region[:, 1], (count, 3))
    frames = np.tile(np.eye(4), (count, 1, 1))
    frames[:, :3, :3], frames[:, :3, 3] = rotation, point - rotation @ np.array(tool.at)
    branches = inverse_kinematics(rules.springs.robot, frames, tool.frame)
    reached = branches.inside.any(axis=1)
    chosen = np.where(branches.inside, rng.random(branches.inside.shape), -1.0).argmax(axis=1)
    reason = "" if reached.all() else branches.why_not(int(np.argmin(reached)))
    return branches.c[np.arange(count), chosen][reached], reason


def random_orientations(cone: Cone | None, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rotations (count, 3, 3), uniform among those whose axis is in the cone."""
    uniform = Rotation.random(count, random_state=rng)
    if cone is None:
        return np.asarray(uniform.as_matrix())
    axis = uniform.apply(cone.axis)
    cosine, azimuth = rng.uniform(cone.cosine, 1, count), rng.uniform(0, 2 * np.pi, count)
    across = np.cross(cone.towards, np.eye(3)[np.abs(cone.towards).argmin()])
    across /= np.linalg.norm(across)
    radial = np.outer(np.cos(azimuth), across) + np.outer(np.sin(azimuth), np.cross(cone.towards, across))
    wanted = cosine[:, None] * cone.towards + np.sqrt(1 - cosine**2)[:, None] * radial
    # Half a turn about the bisector takes one direction to the other, and leaves the rotation about the axis uniform.
    bisector = axis + wanted
    bisector /= np.linalg.norm(bisector, axis=1, keepdims=True)
    return np.asarray((Rotation.from_rotvec(np.pi * bisector) * uniform).as_matrix())


def _draw_coordinates(rules: PoseRules, count: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Coordinates uniform within their limits for which the loops close, and why they do not close for one of the others."""
    c = rng.uniform(rules.low, rules.high, (count, len(rules.low)))
    try:
        pose_kinematics(rules.springs, c)
        return c, ""
    except ClosureFailed:
        closed, reason = [], ""
        for one in c:
            try:
                pose_kinematics(rules.springs, one[None])
                closed.append(one)
            except ClosureFailed as error:
                reason = str(error)
        return np.array(closed).reshape(-1, len(rules.low)), reason
