"""Identical bodies: a robot file says that they are one design, so the URDF must give them one inertia."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.urdf_tree import body_joints, body_name

ROUNDED = 1e-5  # relative difference of two bodies that numbers with six digits leave


def check_identical(model: pin.Model, groups: Sequence[Sequence[str]], where: str) -> None:
    """Check that bodies which share one parameter set are equal.

    Raises:
        BadFile: they differ by more than the round-off of written numbers; says in what.
    """
    bodies = {body_name(model, j): model.inertias[j] for j in body_joints(model)}
    for group in groups:
        for name in group[1:]:
            share, what = _difference(bodies[group[0]], bodies[name])
            if share > ROUNDED:
                raise BadFile(
                    f"{where}: {group[0]!r} and {name!r} are identical by the robot file, but in the URDF {what}; "
                    "give them one inertia, take one out of 'identical', or write 'separate: true' for parameters of their own"
                )


def _difference(a: pin.Inertia, b: pin.Inertia) -> tuple[float, str]:
    """Return the largest difference of two bodies, as a share of their size, and a half sentence that says it."""
    mass = max(abs(a.mass), abs(b.mass))
    inertias = [_about_joint(body) for body in (a, b)]
    turning = max(np.abs(I).max() for I in inertias)
    found = [(abs(a.mass - b.mass), mass, f"their masses are {a.mass:.6g} and {b.mass:.6g} kg")]
    moments = a.mass * a.lever, b.mass * b.lever
    size = max(np.sqrt(mass * turning), *(np.linalg.norm(h) for h in moments))
    for k, axis in enumerate("xyz"):
        what = f"their centres of mass are at {axis} = {a.lever[k]:.6g} and {b.lever[k]:.6g} m"
        found.append((abs(moments[0][k] - moments[1][k]), size, what))
    for i, k in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)):
        values = [I[i, k] for I in inertias]
        what = f"their I{'xyz'[i]}{'xyz'[k]} about the joint are {values[0]:.6g} and {values[1]:.6g} kg m²"
        found.append((abs(values[0] - values[1]), turning, what))
    return max((difference / whole if whole else 0.0, what) for difference, whole, what in found)


def _about_joint(body: pin.Inertia) -> np.ndarray:
    """Return the rotational inertia (3, 3) about the joint's frame [kg m^2]."""
    r = body.lever
    return np.asarray(body.inertia + body.mass * (r @ r * np.eye(3) - np.outer(r, r)))
