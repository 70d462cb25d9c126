"""The limits of a plan: those of joints, motors and struts, the jerk, and what the end-effector's joint carries."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.robot import limits
from robodyn_pin.robot.limits import Bounds, Limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import Limit

KINDS = ("position", "velocity", "acceleration", "jerk", "torque", "force", "end_effector")
CARRIED = {"force": ("force x", "force y", "force z"), "torque": ("torque x", "torque y")}


def planning_limits(
    robot: Robot,
    given: Mapping[str, Limit],
    margins: Mapping[str, float] | None = None,
    end_effector: Mapping[str, float] | None = None,
) -> Limits:
    """Limits of all joints, motors and struts: `given`, else those of the robot file, else of the URDF.

    Args:
        given: by joint, motor or strut; `struts` for all struts that have none of their own.
        margins: part of the limits of a kind that is kept free, 0 to 1; kinds as in `KINDS`, default 0.
        end_effector: largest "force" [N] and "torque" [N m], each component, in the joint that carries the end-effector.

    Raises:
        UnknownName, BadFile: as `limits_of`; a margin outside 0 to 1.
    """
    bounds = [
        *map(_once, limits.limits_of(robot, given, 0.0).bounds),
        *map(_once, _jerks(robot, given)),
        *_carried(end_effector or {}),
    ]
    return Limits(tuple(replace(b, half=b.half * _kept(b.kind, margins or {})) for b in bounds))


def symmetric(kind: str, names: tuple[str, ...], most: np.ndarray) -> Bounds:
    """Limits +- most (k,) of k quantities, each one axis."""
    return Bounds(kind, names, np.eye(len(names)), np.zeros(len(names)), np.asarray(most, float))


def _once(bounds: Bounds) -> Bounds:
    """Each axis once, by its narrowest range: a joint that a motor turns directly counts as the motor."""
    least, most = bounds.centre - bounds.half, bounds.centre + bounds.half
    inside = (bounds.S[:, None] == bounds.S).all(axis=2) & (least >= least[:, None]) & (most <= most[:, None])
    first = np.tri(len(least), k=-1, dtype=bool)  # of two equal ranges
    kept = ~(inside & (~inside.T | first)).any(axis=1)
    names = tuple(np.array(bounds.names)[kept].tolist())
    return replace(bounds, names=names, S=bounds.S[kept], centre=bounds.centre[kept], half=bounds.half[kept])


def said(label: tuple[str, str]) -> str:
    """A limited quantity in a sentence."""
    kind, name = label
    return f"the {name} in the end-effector's joint" if kind == "end_effector" else limits.said(label)


def _jerks(robot: Robot, given: Mapping[str, Limit]) -> list[Bounds]:
    axes = dict(zip(list(robot.model.names)[1:], np.eye(robot.model.nv), strict=True))
    axes |= dict(zip(robot.motors.names, robot.motors.S, strict=True))
    found = []
    for name, row in axes.items():
        jerks = [source[name].jerk for source in (given, robot.file.limits) if name in source]
        most = next((jerk for jerk in jerks if jerk is not None), None)
        if most is not None:
            found.append((name, row, most))
    names, rows, half = tuple(f[0] for f in found), np.array([f[1] for f in found]), np.array([f[2] for f in found])
    return [Bounds("jerk", names, rows, np.zeros(len(names)), half)] if found else []


def _carried(end_effector: Mapping[str, float]) -> list[Bounds]:
    chosen = [(name, k, end_effector[what]) for what, first in (("force", 0), ("torque", 3)) if what in end_effector
              for k, name in enumerate(CARRIED[what], first)]  # fmt: skip
    if not chosen:
        return []
    names, columns, most = zip(*chosen, strict=True)
    return [Bounds("end_effector", names, np.eye(5)[list(columns)], np.zeros(len(names)), np.array(most, float))]


def _kept(kind: str, margins: Mapping[str, float]) -> float:
    """Share of the limits of a kind that may be used."""
    margin = margins.get(kind, 0.0)
    if not 0 <= margin < 1:
        raise BadFile(f"margin {margin:g} of the {kind} limits; expected a share from 0 to below 1 that is kept free")
    return 1 - margin
