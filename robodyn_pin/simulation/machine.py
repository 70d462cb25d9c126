"""A robot as plain arrays, for the compiled step: tree and loops, bodies, motors, and every effort along an axis or in a closure."""

from typing import NamedTuple

import numpy as np

from robodyn_pin.closures.kernel_tables import LoopTable, Tree
from robodyn_pin.closures.kinds import Closure
from robodyn_pin.dynamics.equations import Wrench
from robodyn_pin.dynamics.rigid_loads import body_parameters, borne_bodies
from robodyn_pin.robot.bearing_axes import bearer
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import MEMORY, RUBBING, WIDTH, over_position
from robodyn_pin.robot.robot import Robot

CODES = (
    "viscous", "coulomb", "load", "stribeck", "saturating", "quadratic", "cbrt", "directional", "offset", "armature",
    "spring", "lever_spring", "polynomial", "cogging", "position_splines", "position_waves",
)  # fmt: skip
NO_LOAD, OF_MOTOR, OF_JOINT = 0, 1, 2  # what a friction grows with


class Curves(NamedTuple):
    """Efforts along axes, E of them; those that rub come first."""

    rubbing: int  # how many rub
    model: np.ndarray  # (E,) place in CODES
    axis: np.ndarray  # (E,) row of `Machine.rows`
    shift: np.ndarray  # (E,)
    width: np.ndarray  # (E,) of the change of sign
    speed: np.ndarray  # (E,)
    values: np.ndarray  # (E, k) coefficients
    points: np.ndarray  # (E, k) places, waves, or what a spring's ends are
    points_used: np.ndarray  # (E,) how many of these, or powers
    each_way: np.ndarray  # (E,)
    load: np.ndarray  # (E, 2) NO_LOAD, OF_MOTOR or OF_JOINT, and which
    gear: np.ndarray  # (E,) of the axis against that
    degree: np.ndarray  # (E,) of splines


class Balls(NamedTuple):
    """Friction in closures: a curve over the angular rate of joint b against joint a."""

    curve: np.ndarray  # (B,) of `Machine.turning`
    a: np.ndarray  # (B,)
    b: np.ndarray  # (B,)


class StopTable(NamedTuple):
    """Springs that slide, m of them (robot/stops.py)."""

    axis: np.ndarray  # (m,) row of `Machine.rows`
    radius: np.ndarray  # (m,) [rad or m]
    strength: np.ndarray  # (m,) [N m or N]


class Push(NamedTuple):
    """A load from outside at a point of a joint's body; of the world, which does not move, where there is none."""

    joint: int
    point: np.ndarray  # (3,) in the joint's frame
    values: np.ndarray  # (6,) force, moment, along the world's axes


class Machine(NamedTuple):
    """All that the compiled step knows of a robot."""

    tree: Tree
    loops: LoopTable
    closed: bool  # has loops; else q = inverse (c - offset)
    S: np.ndarray  # (d, nv)
    offset: np.ndarray  # (d,)
    inverse: np.ndarray  # (nv, d) of S in an open chain
    gravity: np.ndarray  # (3,)
    bodies: np.ndarray  # (joints, 10)
    borne: np.ndarray  # (joints, 10) by which loads count
    motors: np.ndarray  # (n, nv)
    rows: np.ndarray  # (A, nv) axes along which anything acts
    curves: Curves  # along them
    turning: Curves  # of `balls`
    balls: Balls
    stops: StopTable
    push: Push


def machine_of(robot: Robot, axes: np.ndarray, wrench: Wrench | None = None) -> Machine | None:
    """The tables of a robot with efforts as its files give them; None where kernels cannot serve.

    Args:
        axes: (r, nv) of its friction, which get the first rows.
    """
    S = robot.coordinates.S
    compiled = robot.loops.compiled(S)
    if compiled is None or any(e.carriers for e in robot.efforts):  # forces of struts and bearings are not compiled
        return None
    nv = robot.model.nv
    efforts = [e for e in robot.efforts if e.spec.model != MEMORY and not e.spec.warmth]  # a simulated robot is warm
    remembering = [e for e in robot.efforts if e.memory]
    along = [(e, row, shift) for e in efforts for row, shift in zip(e.rows, e.shifts, strict=True)]
    along.sort(key=lambda item: item[0].spec.model not in RUBBING)
    found = np.concatenate([axes.reshape(-1, nv), *(e.rows for e in (*efforts, *remembering))])
    _, first = np.unique(found, axis=0, return_index=True)
    rows = found[np.sort(first)]

    def place(row: np.ndarray) -> int:
        return int((rows == row).all(axis=1).argmax())

    rubbing = sum(e.spec.model in RUBBING for e, _, _ in along)
    curves = _curves(
        robot, rows, [e for e, _, _ in along], [place(row) for _, row, _ in along], [x for *_, x in along], rubbing
    )
    inside = [(e, name) for e in efforts for name in e.closures]
    turning = _curves(robot, rows, [e for e, _ in inside], [0] * len(inside), [0.0] * len(inside), len(inside))
    members = [_members(robot, name) for _, name in inside]
    balls = Balls(np.arange(len(inside)), *np.array(members, np.int64).reshape(-1, 2).T.copy())
    stops = [
        (place(row), radius, strength)
        for e in remembering for row in e.rows for radius, strength in zip(e.radii, e.initial, strict=True)
    ]  # fmt: skip
    axis, radius, strength = np.array(stops).reshape(-1, 3).T
    open_chain = robot.loops.size == 0
    inverse = np.linalg.inv(S) if open_chain else np.zeros((nv, len(S)))
    ready = _floats(S, robot.coordinates.offset, inverse, robot.model.gravity.linear, body_parameters(robot))
    further = _floats(borne_bodies(robot, True), robot.motors.S, rows, radius, strength)
    return Machine(
        tree=compiled[0], loops=compiled[1], closed=not open_chain, S=ready[0], offset=ready[1], inverse=ready[2], gravity=ready[3],
        bodies=ready[4], borne=further[0], motors=further[1], rows=further[2], curves=curves, turning=turning, balls=balls,
        stops=StopTable(axis.astype(np.int64), further[3], further[4]), push=_push(robot, wrench),
    )  # fmt: skip


def _floats(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.require(x, float, ["C", "W", "O"]) for x in arrays]


def _curves(
    robot: Robot, rows: np.ndarray, efforts: list[Effort], places: list[int], shifts: list[float], rubbing: int
) -> Curves:
    points = [_points(e) for e in efforts]
    values = [_values(e) for e in efforts]
    longest = max([5, *map(len, values), *map(len, points)])
    E = len(efforts)
    table = Curves(
        rubbing=rubbing, model=np.array([CODES.index(_form(e)) for e in efforts], np.int64), axis=np.array(places, np.int64),
        shift=np.array(shifts, float), width=np.array([e.spec.width or WIDTH for e in efforts], float),
        speed=np.array([e.spec.speed or 1.0 for e in efforts], float), values=np.zeros((E, longest)), points=np.zeros((E, longest)),
        points_used=np.zeros(E, np.int64), each_way=np.array([e.spec.each_way for e in efforts], bool),
        load=np.zeros((E, 2), np.int64), gear=np.ones(E), degree=np.array([e.spec.degree or 1 for e in efforts], np.int64),
    )  # fmt: skip
    for i, (effort, own) in enumerate(zip(efforts, points, strict=True)):
        table.values[i, : len(values[i])], table.points[i, : len(own)] = values[i], own
        table.points_used[i] = len(effort.initial) if effort.spec.model == "polynomial" else len(own)
        if effort.bears:
            said = bearer(rows[places[i]], robot.motors, len(robot.coordinates.names), robot.loops)
            assert said is not None  # checked when the robot was built
            table.load[i], table.gear[i] = (OF_MOTOR if said.motor else OF_JOINT, said.number), said.gear
    return table


def _form(effort: Effort) -> str:
    spec = effort.spec
    if spec.model == "position":
        return "position_waves" if spec.waves else "position_splines"
    return spec.model


def _values(effort: Effort) -> np.ndarray:
    """Coefficients; those of splines as coefficients of powers."""
    if _form(effort) != "position_splines":
        return effort.initial
    powers = over_position(effort.spec).in_powers
    return (effort.initial.reshape(-1, len(powers)) @ powers).ravel()


def _points(effort: Effort) -> list[float]:
    spec = effort.spec
    match spec.model:
        case "position":
            return list(spec.waves or spec.places or [])
        case "cogging":
            return list(spec.waves or [])
        case "spring":
            return [spec.rest]
        case "lever_spring":
            assert spec.radii is not None
            return [*spec.radii, spec.free_length, spec.angle, spec.turn]
    return []


def _members(robot: Robot, name: str) -> tuple[int, int]:
    """The joints that carry the two frames of a closure."""
    closure = next(c for c in robot.loops.closures if c.name == name and isinstance(c, Closure))
    a, b = (robot.model.frames[robot.model.getFrameId(frame)] for frame in (closure.frame_a, closure.frame_b))
    return int(a.parentJoint), int(b.parentJoint)


def _push(robot: Robot, wrench: Wrench | None) -> Push:
    if wrench is None:
        return Push(0, np.zeros(3), np.zeros(6))
    frame = robot.model.frames[robot.model.getFrameId(wrench.frame)]
    return Push(
        int(frame.parentJoint),
        np.array(frame.placement.translation),
        np.array(np.broadcast_to(wrench.values, (1, 6))[0], float),
    )
