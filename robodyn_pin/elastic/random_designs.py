"""Designs drawn by chance that keep the same rules: to start a search from, and to be compared with."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_pin.branches import inverse_kinematics
from robodyn_pin.elastic.design_file import Direction
from robodyn_pin.elastic.experiments import Cone, Plan, Setting, forces, inputs, levers, room, told
from robodyn_pin.elastic.springs import place
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.identification.design import Criterion, posterior, size
from robodyn_pin.spherical_wrist import NoClosedForm, spherical_wrist

TRIES = 60  # times as many poses as are asked for
LEAST = 6000  # tries in any case


@dataclass(frozen=True)
class Drawn:
    """Designs by chance."""

    plans: list[Plan]
    u: np.ndarray  # (r, n)
    covariances: np.ndarray  # (r, p, p), forces anywhere within their bounds
    full: np.ndarray  # (r, p, p) the same with all forces at their bounds

    def best(self, criterion: Criterion, count: int) -> np.ndarray:
        """Numbers of the best, all forces at their bounds."""
        return np.argsort(size(self.full, criterion))[:count]


def draw(setting: Setting, directions: list[Direction], poses: int, count: int, rng: np.random.Generator) -> Drawn:
    """Designs with so many poses, forces uniform within their bounds.

    Raises:
        RobodynError: no pose to be reached; says what is in the way.
    """
    c = random_poses(setting, count * poses, rng).reshape(count, poses, -1)
    L = levers(setting, place(setting.springs, c.reshape(count * poses, -1))).reshape(count, poses, 3, -1)
    plans, u, covariances = [], [], []
    for i in range(count):
        plan = random_plan(directions, poses, rng)
        plans.append(plan)
        s = rng.uniform(-1, 1, sum(plan.widths))
        both = [inputs(c[i], s), inputs(c[i], np.sign(s))]
        rows = [told(setting, L[i, list(plan.pose)], forces(setting, plan, x)).reshape(-1, L.shape[-1]) for x in both]
        u.append(both[0])
        covariances.append([posterior(r, setting.precision) for r in rows])
    found = np.array(covariances)
    return Drawn(plans, np.array(u), found[:, 0], found[:, 1])


def random_plan(directions: list[Direction], poses: int, rng: np.random.Generator) -> Plan:
    """Measurements dealt to the poses so that each has one, and none has two of one direction."""
    order = rng.permutation(len(directions))
    pose, taken = [0] * len(directions), [set[str]() for _ in range(poses)]
    # First the most frequent direction, which needs most poses; then poses that are empty before those that are not.
    for m in sorted(order, key=lambda m: -directions.count(directions[m])):
        free = [g for g in range(poses) if directions[m] not in taken[g]]
        left = [g for g in free if not taken[g]]
        g = int(rng.choice(left or free))
        pose[m] = g
        taken[g].add(directions[m])
    return Plan(tuple(directions), tuple(pose))


def random_poses(setting: Setting, count: int, rng: np.random.Generator) -> np.ndarray:
    """Coordinates (count, d) within all rules: by inverse kinematics, a branch at random, where the tool's place is ruled.

    Raises:
        RobodynError: found too few; says what is in the way.
    """
    found: list[np.ndarray] = []
    why, tried, by_place = "", 0, setting.position is not None or (setting.region is not None and _invertible(setting))
    while sum(map(len, found)) < count and tried < max(LEAST, TRIES * count):
        batch = max(64, count - sum(map(len, found)))
        tried += batch
        c, why = _at_places(setting, batch, rng) if by_place else _anywhere(setting, batch, rng)
        found.append(c[_kept(setting, c)] if len(c) else c)
    c = np.concatenate(found)
    if len(c) < count:
        where = "" if setting.position is None else " at (" + ", ".join(f"{x:g}" for x in setting.position) + ") m"
        raise RobodynError(
            f"only {len(c)} of {tried} random poses{where} keep all rules, {count} are needed; widen cone, region or limits"
            + (f" (for instance, {why})" if why else "")
        )
    return c[:count]


def _kept(setting: Setting, c: np.ndarray) -> np.ndarray:
    left = room(setting, place(setting.springs, c))[0]
    return np.asarray((left >= 0).all(axis=1) & (c >= setting.low).all(axis=1) & (c <= setting.high).all(axis=1))


def _invertible(setting: Setting) -> bool:
    try:
        spherical_wrist(setting.springs.robot, setting.springs.tool.frame)
    except NoClosedForm:
        return False
    return True


def _at_places(setting: Setting, count: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Coordinates of reached orientations at the position or in the region, and why one of the others is not reached."""
    tool, turn = setting.springs.tool, turns(setting.cone, count, rng)
    point = setting.position
    if point is None:
        assert setting.region is not None
        point = rng.uniform(setting.region[:, 0], setting.region[:, 1], (count, 3))
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = turn, point - turn @ np.array(tool.at)
    ways = inverse_kinematics(setting.springs.robot, poses, tool.frame)
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


def _anywhere(setting: Setting, count: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Coordinates uniform within their limits, those whose loops close."""
    c = rng.uniform(setting.low, setting.high, (count, len(setting.low)))
    try:
        place(setting.springs, c)
        return c, ""
    except ClosureFailed:
        closed, why = [], ""
        for one in c:
            try:
                place(setting.springs, one[None])
                closed.append(one)
            except ClosureFailed as error:
                why = str(error)
        return np.array(closed).reshape(-1, len(setting.low)), why
