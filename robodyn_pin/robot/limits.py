"""What a robot survives: limits of joints, motors and struts, from the robot file, the URDF or a run file.

One answer for all: exciting motions, plans, simulated and measured logs, jogging. A joint keeps the limits of the URDF also
where a geared motor drives it; the motor's own, of the robot file, count on the motor's side of the gear.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import Limit

ENDLESS = (
    1e6  # [rad or m] a range of a URDF as wide as this is none: the format asks for numbers where there is no limit
)
UNKNOWN = 1e9  # [per s, N m or N] likewise a speed or an effort
ENDS = ("lower", "upper")  # of a strut: that which a closure holds, that which the tree carries
MOTION = ("position", "velocity", "acceleration")
KINDS = (*MOTION, "torque", "force")


@dataclass(frozen=True)
class AxisLimits:
    """One kind of limit on k axes: quantities stay within centre +- half."""

    kind: str  # position, velocity, acceleration, torque, force
    names: tuple[str, ...]
    S: (
        np.ndarray
    )  # (k, nv) of the joints' motion; (k, n_motors) of the torques; (k, 2 struts), lower ends first, of the forces
    centre: np.ndarray  # (k,)
    half: np.ndarray  # (k,) positive


@dataclass(frozen=True)
class Limits:
    """All limits of a robot, and the share of them that may be used."""

    bounds: tuple[AxisLimits, ...]

    def of(self, kinds: Collection[str]) -> "Limits":
        """Return the limits of some kinds."""
        return Limits(tuple(b for b in self.bounds if b.kind in kinds))

    @property
    def kinds(self) -> set[str]:
        """Return the kinds that are limited."""
        return {b.kind for b in self.bounds}

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Return kind and axis of each limited quantity."""
        return [(b.kind, name) for b in self.bounds for name in b.names]

    @property
    def ranges(self) -> np.ndarray:
        """Return the least and greatest allowed value of each quantity (m, 2)."""
        centre, half = self.scale
        return np.stack([centre - half, centre + half], axis=1)

    @cached_property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Return centre and half range of each quantity (m,)."""
        none = np.zeros(0)
        centre = np.concatenate([none, *(b.centre for b in self.bounds)])
        return centre, np.concatenate([none, *(b.half for b in self.bounds)])


def described(label: tuple[str, str]) -> str:
    """Return a limited quantity in the words of a sentence, from its kind and axis."""
    kind, name = label
    if kind != "force":
        return f"the {kind} of {name!r}"
    strut, end = name.rsplit(" ", 1)
    return f"the force at the {end} end of {strut!r}"


@dataclass(frozen=True)
class Axis:
    """A motor, or a joint that is no motor itself, and what is known of its limits."""

    name: str  # a joint whose name is also that of a geared motor is called `joint NAME`
    row: np.ndarray  # (nv,) x = row q + offset
    offset: float
    torques: np.ndarray  # (n_motors,) its torque from those of the motors
    limit: Limit


Range = tuple[str, np.ndarray, float, float]  # name, row of S, least, greatest


def limits_of(robot: Robot, given: Mapping[str, Limit], margin: float) -> Limits:
    """Return the limits of all joints and motors, and of the struts at both ends.

    Args:
        given: limits of a run file by joint, motor or strut, `struts` for all that have none of their own; they count before
            those of the robot file, and these before the URDF's.
        margin: part of every limit that is kept free, 0 to 1.

    Raises:
        UnknownName: limits of something that is not there. BadFile: a range without room, a limit that limits nothing.
    """
    axes = list(_axes(robot, given))
    _check_given(robot, given, axes)
    found: dict[str, list[Range]] = {kind: [] for kind in KINDS}
    for axis in axes:
        low, high = axis.limit.position or (-np.inf, np.inf)
        found["position"].append((axis.name, axis.row, low - axis.offset, high - axis.offset))
        for kind, most in (("velocity", axis.limit.velocity), ("acceleration", axis.limit.acceleration)):
            found[kind].append((axis.name, axis.row, *_around_zero(most)))
        if axis.torques.any():
            found["torque"].append((axis.name, axis.torques, *_around_zero(axis.limit.torque)))
    struts = len(robot.file.struts)
    for k, (name, most) in enumerate(strut_limits(robot, given).items()):
        for end, row in zip(ENDS, np.eye(2 * struts)[[k, struts + k]], strict=True):
            found["force"].append((f"{name} {end}", row, *_around_zero(most)))
    found["force"].sort(key=lambda r: not r[0].endswith(ENDS[0]))
    return Limits(tuple(b for kind, ranges in found.items() if (b := _bounds(kind, ranges, margin)).names))


def strut_limits(robot: Robot, given: Mapping[str, Limit] | None = None) -> dict[str, float | None]:
    """Return the largest axial force of each strut at either end [N]; None: no limit is known."""
    found = {}
    for name in robot.file.struts:
        forces = (s[key].force for key in (name, "struts") for s in (given or {}, robot.file.limits) if key in s)
        found[name] = next((force for force in forces if force is not None), None)
    return found


def torque_limits(robot: Robot, given: Mapping[str, Limit] | None = None) -> np.ndarray:
    """Return the largest torque of each motor (n,) [N m or N] by its own limit and that of a joint that it drives alone; infinite without."""
    found = np.full(len(robot.motors.names), np.inf)
    for axis in _axes(robot, given or {}):
        (driving,) = np.nonzero(axis.torques)
        if len(driving) == 1 and axis.limit.torque is not None:
            k = int(driving[0])
            found[k] = min(found[k], axis.limit.torque / abs(axis.torques[k]))
    return found


def speed_limits(robot: Robot) -> np.ndarray:
    """Return the greatest speed of each motor (n,) [rad/s or m/s] by its own limit and those of the joints that it turns; infinite without."""
    own = np.full(len(robot.motors.names), np.inf)
    joints = np.full(robot.model.nv, np.inf)
    for axis in _axes(robot, {}):
        most = np.inf if axis.limit.velocity is None else axis.limit.velocity
        if axis.name in robot.motors.names:
            own[robot.motors.names.index(axis.name)] = most
        if np.count_nonzero(axis.row) == 1:
            j = int(np.flatnonzero(axis.row)[0])
            joints[j] = min(joints[j], most / abs(axis.row[j]))
    by_joints = [sum(abs(k) * joints[j] for j, k in enumerate(row) if k) for row in robot.motors.S]
    return np.minimum(own, np.array(by_joints, float))


def _axes(robot: Robot, given: Mapping[str, Limit]) -> Iterator[Axis]:
    """Yield all motors, then the joints that are no motor themselves."""
    motors, joints = robot.motors, list(robot.model.names)[1:]
    units = dict(zip(joints, np.eye(robot.model.nv), strict=True))
    direct = {
        name for name, row, offset in zip(motors.names, motors.S, motors.offset, strict=True)
        if name in units and offset == 0 and np.array_equal(row, units[name])
        and np.count_nonzero(motors.S @ units[name]) == 1
    }  # fmt: skip
    sources = (robot.file.limits, given)
    for k, name in enumerate(motors.names):
        limit = _merged(_of_urdf(robot, name) if name in direct else Limit(), name, sources)
        yield Axis(name, motors.S[k], float(motors.offset[k]), np.eye(len(motors.names))[k], limit)
    for j, name in enumerate(joints):
        if name in direct:
            continue
        taken = name in motors.names  # then robot and run file speak of the motor
        limit = _merged(_of_urdf(robot, name), name, () if taken else sources)
        yield Axis(f"joint {name}" if taken else name, units[name], 0.0, motors.S[:, j], limit)


def _of_urdf(robot: Robot, joint: str) -> Limit:
    """Return the limits of a URDF's joint. A URDF writes 0 where it knows no range, speed or effort, and a huge number for no limit."""
    model, i = robot.model, joint_index(robot.model, joint)
    low, high = float(model.lowerPositionLimit[i]), float(model.upperPositionLimit[i])
    velocity, effort = float(model.upperVelocityLimit[i]), float(model.upperEffortLimit[i])
    return Limit.model_construct(  # as the URDF says it, also where a range is open at one end
        position=None if (low <= -ENDLESS and high >= ENDLESS) or low == high == 0 else (low, high),
        velocity=velocity if 0 < velocity < UNKNOWN else None,
        torque=effort if 0 < effort < UNKNOWN else None,
    )


def _merged(limit: Limit, name: str, sources: tuple[Mapping[str, Limit], ...]) -> Limit:
    for source in sources:
        if name in source:
            limit = limit.model_copy(update=source[name].model_dump(exclude_none=True))
    return limit


def _check_given(robot: Robot, given: Mapping[str, Limit], axes: list[Axis]) -> None:
    """Check that each limit means something: torques belong to motors and joints that they drive, forces to struts."""
    driven = {axis.name: bool(axis.torques.any()) for axis in axes}
    struts = [*robot.file.struts, "struts"] if robot.file.struts else []
    for name, limit in given.items():
        meant = ["position", "velocity", "acceleration", "jerk"] if name in driven else []
        meant += ["torque"] * driven.get(name, False) + ["force"] * (name in struts)
        if not meant:
            known = [*driven, *struts]
            raise UnknownName("joint, motor or strut", name, f"robot {robot.name!r}, which 'limits' names", known)
        for kind in limit.model_dump(exclude_none=True):
            if kind not in meant:
                raise BadFile(f"limits: {kind!r} of {name!r} would limit nothing; it has {', '.join(meant)}")


def _around_zero(most: float | None) -> tuple[float, float]:
    return (-np.inf, np.inf) if most is None else (-most, most)


def _bounds(kind: str, ranges: list[Range], margin: float) -> AxisLimits:
    """Return those ranges that are finite.

    Raises:
        BadFile: a range without room, or open at one end.
    """
    for name, _, low, high in ranges:
        if np.isfinite(low) != np.isfinite(high):
            raise BadFile(
                f"{kind} limits of {name!r}: from {low:g} to {high:g}; expected two numbers, or none for no limit"
            )
        if low >= high:
            raise BadFile(f"{kind} limits of {name!r}: from {low:g} to {high:g} leaves no room to move")
    kept = [r for r in ranges if np.isfinite(r[3] - r[2])]
    least, most = (np.array([r[k] for r in kept]) for k in (2, 3))
    rows = np.array([r[1] for r in kept]) if kept else np.zeros((0, 0))
    return AxisLimits(kind, tuple(r[0] for r in kept), rows, (least + most) / 2, (1 - margin) * (most - least) / 2)


def torque_limit(robot: Robot, name: str) -> float:
    """Return the largest torque [N m] or force [N] of a motor, or of a coordinate as the robot's file says; zero: not known."""
    if name in robot.motors.names:
        most = float(torque_limits(robot)[robot.motors.names.index(name)])
        return most if np.isfinite(most) else 0.0
    limit = robot.file.limits.get(name)
    return float((limit and (limit.torque or limit.force)) or 0.0)
