"""Lengths, bodies and limits of a robot that look like another unit than SI: millimetres, kg mm^2, degrees."""

import numpy as np

from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.urdf_tree import body_joints, body_name

LONGEST = 50.0  # [m] along the joints of a robot
# A body reaches further than its robot if it does so by so many lengths of the robot, and by so many metres.
FAR, WIDE = 3.0, 5.0
# [rad] from a joint's least to its greatest position: more than any needs, and less than what stands for no limit.
TURNS = (20.0, 1500.0)
MANY = 3  # joints whose limits are so, if these are all that turn


def other_units(robot: Robot) -> list[str]:
    """Return sentences on what is so large that its unit is in doubt; none for a robot whose sizes can be."""
    said = too_long(robot)
    return [*([said] if said else _of_bodies(robot, max(WIDE, FAR * _length(robot)))), *_of_limits(robot)]


def too_long(robot: Robot) -> str:
    """Return a sentence on a robot that is longer than any; empty for others."""
    if (length := _length(robot)) <= LONGEST:
        return ""
    return f"the robot is {length:.4g} m long, from joint to joint: are the lengths in its files in millimetres?"


def _length(robot: Robot) -> float:
    """Return how far the joints and frames of the longest branch lie from the base [m], one after the other."""
    model = robot.model
    along = np.zeros(model.njoints)
    for j in range(1, model.njoints):
        along[j] = along[model.parents[j]] + np.linalg.norm(model.jointPlacements[j].translation)
    return max(float(along[f.parentJoint] + np.linalg.norm(f.placement.translation)) for f in model.frames)


def _of_bodies(robot: Robot, furthest: float) -> list[str]:
    found = []
    for j in body_joints(robot.model):
        body, name = robot.model.inertias[j], body_name(robot.model, j)
        if body.mass <= 0:
            continue
        away, radius = float(np.linalg.norm(body.lever)), float(np.sqrt(max(np.trace(body.inertia), 0) / 2 / body.mass))
        if away > furthest:
            found.append(f"{name}: its centre of mass lies {away:.3g} m from its joint: is it in millimetres?")
        elif radius > furthest:
            found.append(
                f"{name}: {body.mass:.4g} kg with its moments of inertia would be a hoop of {radius:.3g} m radius: are they "
                "in another unit than kg m^2?"
            )
    return found


def _of_limits(robot: Robot) -> list[str]:
    """Return what is said where all turning joints may go as far as degrees are."""
    wide, turning = list[str](), 0
    for bounds in limits_of(robot, {}, 0.0).of(["position"]).bounds:
        own = ~robot.slides(bounds.S) & (np.abs(bounds.S).sum(axis=1) == 1)
        turning += int(own.sum())
        far = own & (2 * bounds.half > TURNS[0]) & (2 * bounds.half < TURNS[1])
        wide += [bounds.names[k] for k in np.flatnonzero(far)]
    if len(wide) < max(MANY, turning):
        return []
    return [f"{', '.join(wide)} may each turn by more than {TURNS[0]:g} rad: are their limits in degrees?"]
