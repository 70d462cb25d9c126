"""Named linear combinations of tree joints: motors, coordinates, what friction acts on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import UnknownName
from robodyn_pin.robot.robot_file import MotorSpec


@dataclass(frozen=True)
class Axes:
    """Named linear combinations of tree joints, x = S q + offset: the motors, or the coordinates."""

    names: tuple[str, ...]
    S: np.ndarray  # (k, nv)
    offset: np.ndarray  # (k,)


def joint_index(model: pin.Model, name: str) -> int:
    """Return the index of a joint in q and v."""
    if not model.existJointName(name):
        raise UnknownName("joint", name, model.name, list(model.names)[1:])
    return int(model.joints[model.getJointId(name)].idx_v)


def as_motor(of: str | Mapping[str, float]) -> str | MotorSpec:
    """Return a joint, a motor, or a combination of joints under a name that says it."""
    if isinstance(of, str):
        return of
    name = " + ".join(joint if factor == 1 else f"{factor:g} {joint}" for joint, factor in of.items())
    return MotorSpec(name=name, of=dict(of))


def resolve_axes(model: pin.Model, specs: Sequence[str | MotorSpec], motors: Axes | None) -> Axes:
    """Resolve joints, motors and combinations of joints to rows of S and offsets."""
    names, rows, offsets = [], [], []
    for spec in specs:
        row, offset = np.zeros(model.nv), 0.0
        if isinstance(spec, MotorSpec):
            name, offset = spec.name, spec.offset
            for joint, factor in spec.of.items():
                row[joint_index(model, joint)] += factor
        elif motors is not None and spec in motors.names:
            name, k = spec, motors.names.index(spec)
            row, offset = motors.S[k], float(motors.offset[k])
        elif motors is not None and not model.existJointName(spec):
            raise UnknownName("joint or motor", spec, model.name, [*list(model.names)[1:], *motors.names])
        else:
            name = spec
            row[joint_index(model, spec)] = 1.0
        names.append(name)
        rows.append(row)
        offsets.append(offset)
    return Axes(tuple(names), np.array(rows).reshape(-1, model.nv), np.array(offsets))


def parallel(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two combinations of joints (nv,) are one axis, up to a gear."""
    return bool(np.abs(a @ b) >= (1 - 1e-12) * np.linalg.norm(a) * np.linalg.norm(b))
