"""The limits of a plan: of joints, motors and struts, of jerks, and of the load in the end-effector's joint."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.robot import limits
from robodyn_pin.robot.limits import AxisLimits, Limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import Limit

COMPONENTS = {
    "force": ("force x", "force y", "force z"),
    "torque": ("torque x", "torque y"),
}  # torque z moves the joint


def planning_limits(
    robot: Robot,
    given: Mapping[str, Limit],
    margins: Mapping[str, float] | None = None,
    end_effector: Mapping[str, float] | None = None,
) -> Limits:
    """Return the limits of all joints, motors and struts: `given`, else those of the robot file, else of the URDF.

    Args:
        given: by joint, motor or strut; `struts` is for all struts without a limit of their own.
        margins: share of the limits that is kept free, 0 (default) to 1, by kind: "position", "velocity",
            "acceleration", "jerk", "torque", "force", "end_effector".
        end_effector: largest "force" [N] and "torque" [N m] of each component in the joint that carries the
            end-effector.

    Raises:
        UnknownName, BadFile: as `limits_of`; also for a margin outside 0 to 1.
    """
    bounds = [
        *map(_without_repeats, limits.limits_of(robot, given, 0.0).bounds),
        *map(_without_repeats, _jerk_bounds(robot, given)),
        *_end_effector_bounds(end_effector or {}),
    ]
    return Limits(tuple(replace(b, half=b.half * _usable_share(b.kind, margins or {})) for b in bounds))


def symmetric(kind: str, names: tuple[str, ...], most: np.ndarray) -> AxisLimits:
    """Return the limits +- most (k,) of k quantities, one axis each."""
    return AxisLimits(kind, names, np.eye(len(names)), np.zeros(len(names)), np.asarray(most, float))


def _without_repeats(bounds: AxisLimits) -> AxisLimits:
    """Return each axis once, with its narrowest range: a motor and the joint that it turns directly are one axis."""
    least, most = bounds.centre - bounds.half, bounds.centre + bounds.half
    inside = (bounds.S[:, None] == bounds.S).all(axis=2) & (least >= least[:, None]) & (most <= most[:, None])
    first = np.tri(len(least), k=-1, dtype=bool)  # of two equal ranges the first one stays
    kept = ~(inside & (~inside.T | first)).any(axis=1)
    names = tuple(np.array(bounds.names)[kept].tolist())
    return replace(bounds, names=names, S=bounds.S[kept], centre=bounds.centre[kept], half=bounds.half[kept])


def limit_phrase(label: tuple[str, str]) -> str:
    """Return what a limited quantity is called in a sentence, from its kind and axis."""
    kind, name = label
    return f"the {name} in the end-effector's joint" if kind == "end_effector" else limits.described(label)


def _jerk_bounds(robot: Robot, given: Mapping[str, Limit]) -> list[AxisLimits]:
    axes = dict(zip(list(robot.model.names)[1:], np.eye(robot.model.nv), strict=True))
    axes |= dict(zip(robot.motors.names, robot.motors.S, strict=True))
    jerks = {name: limit.jerk for source in (robot.file.limits, given) for name, limit in source.items() if limit.jerk}
    names = tuple(name for name in axes if name in jerks)
    if not names:
        return []
    rows, half = (np.array([of[name] for name in names]) for of in (axes, jerks))
    return [AxisLimits("jerk", names, rows, np.zeros(len(names)), half)]


def _end_effector_bounds(end_effector: Mapping[str, float]) -> list[AxisLimits]:
    every = [(what, name) for what, names in COMPONENTS.items() for name in names]
    limited = [k for k, (what, _) in enumerate(every) if what in end_effector]
    if not limited:
        return []
    names, most = tuple(every[k][1] for k in limited), [end_effector[every[k][0]] for k in limited]
    return [AxisLimits("end_effector", names, np.eye(len(every))[limited], np.zeros(len(names)), np.array(most, float))]


def _usable_share(kind: str, margins: Mapping[str, float]) -> float:
    """Return the share of the limits of a kind that may be used."""
    margin = margins.get(kind, 0.0)
    if not 0 <= margin < 1:
        raise BadFile(f"margin {margin:g} of the {kind} limits; expected a share from 0 to below 1 that is kept free")
    return 1 - margin
