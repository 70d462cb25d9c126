"""What a robot survives: limits of joints, motors and struts, and how much of them a motion uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from robodyn_pin.axes import joint_index
from robodyn_pin.dynamics import motor_torques, tree_efforts
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.forces import closure_forces, multipliers
from robodyn_pin.robot import Robot, State
from robodyn_pin.robot_file import Limit
from robodyn_pin.struts import axial_forces


@dataclass(frozen=True)
class Bounds:
    """One kind of limit on k axes: quantities stay within centre +- half."""

    kind: str  # position, velocity, acceleration, torque, force
    names: tuple[str, ...]
    S: np.ndarray  # (k, nv) joints and motors in the tree's joints; (k, n_motors), (k, struts): which of them
    centre: np.ndarray  # (k,)
    half: np.ndarray  # (k,) positive


@dataclass(frozen=True)
class Limits:
    """All limits of a robot, and the share of them that may be used."""

    bounds: tuple[Bounds, ...]

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Kind and axis of each limited quantity."""
        return [(b.kind, name) for b in self.bounds for name in b.names]

    @property
    def ranges(self) -> np.ndarray:
        """Least and greatest allowed value of each quantity (m, 2)."""
        return np.concatenate([np.stack([b.centre - b.half, b.centre + b.half], axis=1) for b in self.bounds])

    @property
    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre and half range of each quantity (m,)."""
        return np.concatenate([b.centre for b in self.bounds]), np.concatenate([b.half for b in self.bounds])


def limits_of(robot: Robot, given: Mapping[str, Limit], margin: float) -> Limits:
    """Limits of all joints, motors and struts: `given`, else those of the robot file, else of the URDF.

    Args:
        given: limits of a run file by joint, motor or strut; `struts` for all that have none of their own.
        margin: part of every limit that is kept free, 0 to 1.

    Raises:
        UnknownName: limits of something that is not there. BadFile: a range without room, a limit that limits nothing.
    """
    motors, struts = robot.motors, list(robot.file.struts)
    axes = dict(zip(motors.names, zip(motors.S, motors.offset, strict=True), strict=True))
    for name, row in zip(list(robot.model.names)[1:], np.eye(robot.model.nv), strict=True):
        axes.setdefault(name, (row, 0.0))
    _check_given(robot, given, list(axes))
    found: dict[str, list[Range]] = {kind: [] for kind in ("position", "velocity", "acceleration", "torque", "force")}
    for name, (row, offset) in axes.items():
        limit = _limit(robot, given, name)
        low, high = limit.position or (-np.inf, np.inf)
        found["position"].append((name, row, low - offset, high - offset))
        for kind, most in (("velocity", limit.velocity), ("acceleration", limit.acceleration)):
            found[kind].append((name, row, -(most or np.inf), most or np.inf))
    for name, row in zip(motors.names, np.eye(len(motors.names)), strict=True):
        most = _limit(robot, given, name).torque or np.inf
        found["torque"].append((name, row, -most, most))
    for name, row in zip(struts, np.eye(len(struts)), strict=True):
        own = given[name].force if name in given else None
        most = own or _limit(robot, given, "struts").force or np.inf
        found["force"].append((name, row, -most, most))
    return Limits(tuple(b for kind, ranges in found.items() if (b := _bounds(kind, ranges, margin)).names))


def _check_given(robot: Robot, given: Mapping[str, Limit], axes: list[str]) -> None:
    """No limit without a meaning: torques are of motors, forces of struts."""
    struts = [*robot.file.struts, "struts"] if robot.file.struts else []
    for name, limit in given.items():
        meant = ["position", "velocity", "acceleration", "jerk"] if name in axes else []
        meant += ["torque"] * (name in robot.motors.names) + ["force"] * (name in struts)
        if not meant:
            known = [*axes, *struts]
            raise UnknownName("joint, motor or strut", name, f"robot {robot.name!r}, which 'limits' names", known)
        for kind in limit.model_dump(exclude_none=True):
            if kind not in meant:
                raise BadFile(f"limits: {kind!r} of {name!r} would limit nothing; it has {', '.join(meant)}")


Range = tuple[str, np.ndarray, float, float]  # name, row of S, least, greatest


def _limit(robot: Robot, given: Mapping[str, Limit], name: str) -> Limit:
    """What the run file says of an axis, what it leaves open from the robot file, then from the URDF."""
    model, limit = robot.model, Limit()
    if model.existJointName(name):
        i = joint_index(model, name)
        limit = Limit(  # a URDF writes 0 where it knows no speed or effort
            position=(float(model.lowerPositionLimit[i]), float(model.upperPositionLimit[i])),
            velocity=float(model.upperVelocityLimit[i]) or None,
            torque=float(model.upperEffortLimit[i]) or None,
        )
    for source in (robot.file.limits, given):
        if name in source:
            limit = limit.model_copy(update=source[name].model_dump(exclude_none=True))
    return limit


def _bounds(kind: str, ranges: list[Range], margin: float) -> Bounds:
    """Those ranges that are finite.

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
    return Bounds(kind, tuple(r[0] for r in kept), rows, (least + most) / 2, (1 - margin) * (most - least) / 2)


def limited(robot: Robot, limits: Limits, state: State) -> np.ndarray:
    """The limited quantities of N samples (N, m), columns as `limits.labels`."""
    kinds = {b.kind for b in limits.bounds}
    of: dict[str, np.ndarray] = {"position": state.q, "velocity": state.v, "acceleration": state.a}
    if kinds & {"torque", "force"}:
        asked = tree_efforts(robot, state)
        of["torque"] = motor_torques(robot, state, np.einsum("nij,ni->nj", state.T, asked))
    if "force" in kinds:
        lam = multipliers(robot, state, asked - of["torque"] @ robot.motors.S)
        of["force"] = np.stack([*axial_forces(robot, state, closure_forces(robot, lam)).values()], axis=1)
    return np.concatenate([of[b.kind] @ b.S.T for b in limits.bounds], axis=1)


def check_positions(robot: Robot, q: np.ndarray, label: Callable[[int], str]) -> None:
    """Raise BadFile for the first of N positions of all joints (N, nv) that is beyond a limit, and name the limit."""
    for bounds in limits_of(robot, {}, 0.0).bounds:
        if bounds.kind != "position":
            continue
        excess = np.abs(q @ bounds.S.T - bounds.centre) - bounds.half
        for i, k in np.argwhere(excess > 1e-9):
            low, high = bounds.centre[k] - bounds.half[k], bounds.centre[k] + bounds.half[k]
            raise BadFile(
                f"{label(int(i))} is out of reach: {bounds.names[k]} would be at {q[i] @ bounds.S[k]:.4g}, its limits are {low:.4g} and "
                f"{high:.4g} rad or m"
            )
