"""Which errors a robot's geometry can have: each is a number that is zero on the drawing, with a name and a tolerance.

A joint's axis is a line: four numbers place it where it turns, two where it slides. They lie across the axis, so that parallel axes
need no other convention (Hayati's remedy for Denavit and Hartenberg's numbers), and nothing counts twice with the joint's own offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin

from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.closures.kinds import DISTANCE, KINDS, Closure
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import Positive, Strict
from robodyn_pin.robot.axes import joint_index
from robodyn_pin.robot.robot import Robot

Group = Literal["offsets", "gears", "joints", "closures", "lengths", "base", "tool", "stiffness"]
GROUPS: tuple[Group, ...] = (
    "offsets", "gears", "joints", "closures", "lengths", "base", "tool", "stiffness",
)  # fmt: skip
AXES = np.eye(3)
MILLI = 1e-3


class Tolerances(Strict):
    """By how much the machine may differ from its drawing: standard deviations of the priors."""

    length: Positive = 0.5  # [mm] of a place, a length or the offset of a sliding joint
    angle: Positive = 1.0  # [mrad] of an axis, or the offset of a turning joint
    gear: Positive = 1.0  # [per mille] of a gear's ratio
    base: Positive = (
        10.0  # [mm and mrad] of the robot in the axes of the measuring device, after both were laid over each other
    )
    tool: Positive = 5.0  # [mm and mrad] of what is measured: reflectors, ball bars, touched planes, further encoders
    stiffness: Positive = 30.0  # [%] of a drive's spring, up or down


@dataclass(frozen=True, eq=False)
class GeometryError:
    """One number that is zero on the drawing."""

    name: str
    group: Group
    place: tuple[str, ...]  # what it belongs to: ("joint", NAME), ("end", CLOSURE, "a" or "b"), ("target", NAME), ...
    turns: bool  # in radians; else in metres, or a ratio (gears)
    direction: np.ndarray  # (3,) along or about which, in the axes of its place; zeros where it has none
    tolerance: float  # [rad, m or 1] standard deviation of its prior; of a stiffness of its logarithm

    @property
    def unit(self) -> str:
        """Unit of its value."""
        return "1" if self.group in ("gears", "stiffness") else "rad" if self.turns else "m"

    @property
    def moves_a_frame(self) -> bool:
        """Whether it is a joint of one degree of freedom between two frames."""
        return self.place[0] in ("joint", "end", "base", "target")


def possible_errors(
    robot: Robot,
    coordinates: Sequence[str],
    targets: dict[str, TargetSpec],
    wanted: Sequence[str],
    tolerances: Tolerances,
    springs: bool = False,
) -> tuple[GeometryError, ...]:
    """The errors that `wanted` names, by group or one by one; those of stiffness are there with `springs` in the drives.

    Raises:
        UnknownName: no such group or error.
    """
    every = _every_error(robot, coordinates, targets, tolerances)
    if springs:
        size = float(np.log1p(tolerances.stiffness / 100))
        every += [
            GeometryError(f"{name} stiffness", "stiffness", ("drive", name), False, np.zeros(3), size)
            for name in coordinates
        ]
    elif "stiffness" in wanted:
        raise BadFile(
            f"'calibrate' names stiffness, and the run file says nothing of springs; add 'drives: {{stiffness: {{{coordinates[0]}: ...}}}}' "
            "[N m/rad] with a value of each drive, and 'load'"
        )
    names = {error.name for error in every}
    for name in wanted:
        if name not in GROUPS and name not in names:
            raise UnknownName("group or error", name, f"the geometry of {robot.name!r}", [*GROUPS, *names])
    found = tuple(error for error in every if error.group in wanted or error.name in wanted)
    if not found:
        raise BadFile(f"robot {robot.name!r} has none of the errors {', '.join(wanted)}; name others under 'calibrate'")
    return found


def reads_a_length(robot: Robot, spec: TargetSpec) -> bool:
    """Whether a target is the encoder of a joint that slides; raises UnknownName for no such joint."""
    return spec.kind == "encoder" and bool(robot.loops.sliding[joint_index(robot.model, str(spec.joint))])


def _every_error(
    robot: Robot, coordinates: Sequence[str], targets: dict[str, TargetSpec], tolerances: Tolerances
) -> list[GeometryError]:
    length, angle = MILLI * tolerances.length, MILLI * tolerances.angle
    base, tool = MILLI * tolerances.base, MILLI * tolerances.tool
    none = np.zeros(3)
    axes = robot.with_coordinates(coordinates).coordinates
    slides = robot.slides(axes.S)
    every = [
        *_six(("base",), "base", "base", base, base),
    ]
    for name, sliding in zip(axes.names, slides, strict=True):
        place, size = ("offset", name), length if sliding else angle
        every.append(GeometryError(f"{name} offset", "offsets", place, not sliding, none, size))
        every.append(GeometryError(f"{name} gear", "gears", ("gear", name), False, none, MILLI * tolerances.gear))
    for name, axis, sliding in _joint_axes(robot):
        across = _across(axis)
        place = ("joint", name)
        if not sliding:
            every += [
                GeometryError(f"{name} t{label}", "joints", place, False, along, length)
                for label, along in across.items()
            ]
        every += [
            GeometryError(f"{name} r{label}", "joints", place, True, about, angle) for label, about in across.items()
        ]
    for closure in robot.loops.closures:
        if not isinstance(closure, Closure):
            continue
        for k, side in enumerate("ab"):
            every += _six(("end", closure.name, side), f"{closure.name} {side}", "closures", length, None)
            every += [
                GeometryError(
                    f"{closure.name} {side} r{x}", "closures", ("end", closure.name, side), True, about, angle
                )
                for x, about in _turns_of_end(closure, k).items()
            ]
        if KINDS[closure.kind].formula == DISTANCE:
            every.append(
                GeometryError(f"{closure.name} length", "lengths", ("length", closure.name), False, none, length)
            )
    for name, spec in targets.items():
        if spec.kind != "encoder":
            every += _six(("target", name), name, "tool", tool, tool if spec.kind == "pose" else None)
        if spec.kind == "encoder":
            turns = not reads_a_length(robot, spec)
            every.append(GeometryError(f"{name} offset", "tool", ("encoder", name), turns, none, tool))
        elif spec.kind == "distance":
            every += [
                GeometryError(f"{name} centre {x}", "tool", ("centre", name), False, along, tool)
                for x, along in zip("xyz", AXES, strict=True)
            ]
        elif spec.kind == "plane":
            across = _across(np.array(spec.normal) / np.linalg.norm(spec.normal))
            every.append(GeometryError(f"{name} height", "tool", ("plane", name), False, none, tool))
            every += [GeometryError(f"{name} r{x}", "tool", ("plane", name), True, u, tool) for x, u in across.items()]
    return every


def _six(place: tuple[str, ...], name: str, group: Group, length: float, angle: float | None) -> list[GeometryError]:
    """Three translations along x, y, z, and three rotations unless `angle` is None."""
    moves = [GeometryError(f"{name} t{x}", group, place, False, e, length) for x, e in zip("xyz", AXES, strict=True)]
    turns = [
        GeometryError(f"{name} r{x}", group, place, True, e, angle or 0.0) for x, e in zip("xyz", AXES, strict=True)
    ]
    return moves + (turns if angle is not None else [])


def _joint_axes(robot: Robot) -> list[tuple[str, np.ndarray, bool]]:
    """Name, axis (3,) in its own frame, and whether it slides, of each joint of the tree."""
    model, data, found = robot.model, robot.model.createData(), []
    pin.computeJointJacobians(model, data, np.zeros(model.nv))
    for j in range(1, model.njoints):
        k = model.joints[j].idx_v
        column = pin.getJointJacobian(model, data, j, pin.ReferenceFrame.LOCAL).reshape(6, -1)[:, k]
        sliding = bool(robot.loops.sliding[k])
        found.append((str(model.names[j]), column[:3] if sliding else column[3:], sliding))
    return found


def _turns_of_end(closure: Closure, k: int) -> dict[str, np.ndarray]:
    """About what the first (k = 0) or second end of a cut joint may be turned, in the axes of its frame: across a free axis, else about all."""
    kind = KINDS[closure.kind]
    if kind.formula == DISTANCE or not (
        kind.turns or (kind.onto and k == 0)
    ):  # a ball, a rod; a plane lies in the first frame
        return {}
    if not kind.onto or "rx" in kind.rows:
        return dict(zip("xyz", AXES, strict=True))
    placement = (closure.placement_a, closure.placement_b)[k]
    return _across(placement.rotation[:, "xyz".index(kind.onto[k])])


def _across(axis: np.ndarray) -> dict[str, np.ndarray]:
    """Two directions across a unit vector (3,): x, y or z where it lies along the third of them, else u and v."""
    main = int(np.abs(axis).argmax())
    if abs(axis[main]) > 1 - 1e-9:
        return {"xyz"[k]: AXES[k] for k in range(3) if k != main}
    u = np.cross(axis, AXES[int(np.abs(axis).argmin())])
    u /= np.linalg.norm(u)
    return {"u": u, "v": np.cross(axis, u)}
