"""Where a tool may be: at a point or in a region, its axis within a cone, all joints within limits; and poses drawn there."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from robodyn_pin.elastic.elastic_file import Vector
from robodyn_pin.elastic.springs import Placed, Springs, Tool, place
from robodyn_pin.errors import BadFile, ClosureFailed, RobodynError
from robodyn_pin.families.inverse_kinematics import inverse_kinematics
from robodyn_pin.families.spherical_wrist import NoClosedForm, spherical_wrist
from robodyn_pin.files import Strict
from robodyn_pin.robot.limits import limits_of

TRIES = 60  # times as many poses as are asked for
LEAST = 6000  # tries in any case
WOUND = 4 * np.pi  # [rad]


class ConeSpec(Strict):
    """How far a direction of the tool may lean."""

    axis: Vector | None = None  # in the tool's frame; default: from the frame's origin to the tool's point
    towards: Vector | None = None  # in the base's; default: level, from the base to the tool's point
    angle: Annotated[float, Field(gt=0, le=180)] = 80.0  # [deg] between them, at most


@dataclass(frozen=True)
class Cone:
    """Where a direction of the tool may point."""

    axis: np.ndarray  # (3,) in the tool's frame, length 1
    towards: np.ndarray  # (3,) in the base's, length 1
    cosine: float  # least


@dataclass(frozen=True)
class Where:
    """Rules for poses of a robot."""

    springs: Springs
    position: np.ndarray | None  # (3,) [m] of the tool's point
    region: np.ndarray | None  # (3, 2) [m]
    cone: Cone | None
    low: np.ndarray  # (d,) limits of coordinates
    high: np.ndarray  # (d,)
    rows: np.ndarray  # (r, nv) of joints and motors with limits of their own, not coordinates
    centre: np.ndarray  # (r,)
    half: np.ndarray  # (r,)


Region = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]


def where_of(
    springs: Springs, position: Vector | None, region: Region | None, cone: ConeSpec | None, margin: float
) -> Where:
    """The rules for a robot's poses; `margin`: part of every joint limit that is kept free.

    Raises:
        BadFile: a cone without a direction, limits without room.
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
    turns = ~(high - low <= WOUND)  # what turns without end, or without limits, is tried within one turn
    low, high = np.where(turns, -np.pi, low), np.where(turns, np.pi, high)
    return Where(
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


def room(where: Where, at: Placed) -> tuple[np.ndarray, np.ndarray]:
    """What is left (N, r) to limits of joints that are no coordinates, to the region and to the cone; slopes (N, r, d)."""
    off = at.q @ where.rows.T - where.centre
    slope = where.rows @ at.T
    values, slopes = [where.half - off, where.half + off], [-slope, slope]
    if where.region is not None:
        values += [at.point - where.region[:, 0], where.region[:, 1] - at.point]
        slopes += [at.J, -at.J]
    if where.cone is not None:
        axis = at.turn @ where.cone.axis
        # The axis turns with the frame: d axis = w x axis, its part towards the cone's middle is w . (axis x towards).
        values.append((axis @ where.cone.towards - where.cone.cosine)[:, None])
        swing = np.cross(axis, where.cone.towards)
        slopes.append(swing[:, None] @ at.tree[:, 3:] @ at.T)
    return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)


def random_poses(where: Where, count: int, rng: np.random.Generator) -> np.ndarray:
    """Coordinates (count, d) within all rules: by inverse kinematics, a branch at random, where the tool's place is ruled.

    Raises:
        RobodynError: found too few; says what is in the way.
    """
    found: list[np.ndarray] = []
    why, tried, by_place = "", 0, where.position is not None or (where.region is not None and _invertible(where))
    while sum(map(len, found)) < count and tried < max(LEAST, TRIES * count):
        batch = max(64, count - sum(map(len, found)))
        tried += batch
        c, why = _at_places(where, batch, rng) if by_place else _anywhere(where, batch, rng)
        found.append(c[_kept(where, c)] if len(c) else c)
    c = np.concatenate(found)
    if len(c) < count:
        there = "" if where.position is None else " at (" + ", ".join(f"{x:g}" for x in where.position) + ") m"
        raise RobodynError(
            f"only {len(c)} of {tried} random poses{there} keep all rules, {count} are needed; widen cone, region or limits"
            + (f" (for instance, {why})" if why else "")
        )
    return c[:count]


def _kept(where: Where, c: np.ndarray) -> np.ndarray:
    left = room(where, place(where.springs, c))[0]
    return np.asarray((left >= 0).all(axis=1) & (c >= where.low).all(axis=1) & (c <= where.high).all(axis=1))


def _invertible(where: Where) -> bool:
    try:
        spherical_wrist(where.springs.robot, where.springs.tool.frame)
    except NoClosedForm:
        return False
    return True


def _at_places(where: Where, count: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Coordinates of reached orientations at the position or in the region, and why one of the others is not reached."""
    tool, turn = where.springs.tool, turns(where.cone, count, rng)
    point = where.position
    if point is None:
        assert where.region is not None
        point = rng.uniform(where.region[:, 0], where.region[:, 1], (count, 3))
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = turn, point - turn @ np.array(tool.at)
    ways = inverse_kinematics(where.springs.robot, poses, tool.frame)
    reached = ways.inside.any(axis=1)
    chosen = np.where(ways.inside, rng.random(ways.inside.shape), -1.0).argmax(axis=1)
    why = "" if reached.all() else ways.why_not(int(np.argmin(reached)))
    return ways.c[np.arange(count), chosen][reached], why


def turns(cone: Cone | None, count: int, rng: np.random.Generator) -> np.ndarray:
    """Rotations (count, 3, 3), uniform among those whose axis is in the cone."""
    spun = Rotation.random(count, random_state=rng)
    if cone is None:
        return np.asarray(spun.as_matrix())
    axis = spun.apply(cone.axis)
    cosine, around = rng.uniform(cone.cosine, 1, count), rng.uniform(0, 2 * np.pi, count)
    across = np.cross(cone.towards, np.eye(3)[np.abs(cone.towards).argmin()])
    across /= np.linalg.norm(across)
    ring = np.outer(np.cos(around), across) + np.outer(np.sin(around), np.cross(cone.towards, across))
    wanted = cosine[:, None] * cone.towards + np.sqrt(1 - cosine**2)[:, None] * ring
    # Half a turn about the middle of both puts one onto the other, and leaves the spin uniform.
    middle = axis + wanted
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    return np.asarray((Rotation.from_rotvec(np.pi * middle) * spun).as_matrix())


def _anywhere(where: Where, count: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Coordinates uniform within their limits, those whose loops close."""
    c = rng.uniform(where.low, where.high, (count, len(where.low)))
    try:
        place(where.springs, c)
        return c, ""
    except ClosureFailed:
        closed, why = [], ""
        for one in c:
            try:
                place(where.springs, one[None])
                closed.append(one)
            except ClosureFailed as error:
                why = str(error)
        return np.array(closed).reshape(-1, len(where.low)), why
