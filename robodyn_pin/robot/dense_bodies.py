"""Bodies of a robot file that are denser than any material: a mass in grams, or lengths in millimetres."""

import numpy as np
import pinocchio as pin

from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.urdf_tree import body_joints, body_name

DENSEST = 22_600.0  # [kg/m^3] osmium
LIGHT = 0.1  # [kg] lighter bodies are often written as points, on purpose


def too_dense(robot: Robot) -> dict[str, str]:
    """Return, for each body that no material could be dense enough for, the reason.

    Of all bodies with the same mass and sum of principal moments of inertia a solid ball fills the largest part of its
    extent, so its density is held against the densest metal.
    """
    found = {}
    for j in body_joints(robot.model):
        body: pin.Inertia = robot.model.inertias[j]
        trace = float(np.trace(body.inertia))
        if body.mass < LIGHT or trace <= 0:
            continue
        radius = np.sqrt(5 * trace / (6 * body.mass))  # of a solid ball: trace = 3 * 2/5 m r^2
        density = body.mass / (4 / 3 * np.pi * radius**3)
        if density > DENSEST:
            found[body_name(robot.model, j)] = (
                f"{body.mass:.4g} kg with its moments of inertia would be a ball of radius {1000 * radius:.2g} mm, "
                f"{density:.2g} kg/m^3; no material is denser than {DENSEST:.0f}: is its mass in grams, or its inertia in another unit?"
            )
    return found
