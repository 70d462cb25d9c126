"""Numbers of the package that exported functions are compared with."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import gravity, inverse_dynamics, mass_matrix
from robodyn_pin.robot.robot import Robot

SAMPLES, STEP = 50, 0.002  # of a motion from home, [s]
FAR, SLOW = 0.05, 0.5  # [rad or m] and [Hz] of each coordinate's swing


@dataclass(frozen=True)
class Vectors:
    """Inputs and output of a function along a motion."""

    function: str
    inputs: tuple[np.ndarray, ...]  # each (N, d)
    output: np.ndarray  # (N, k)


def vectors_of(robot: Robot, function: str, size: int) -> Vectors:
    """What the package gives for a function of `size` outputs along a motion that begins at home, at rest."""
    t, w = STEP * np.arange(SAMPLES)[:, None], 2 * np.pi * SLOW
    far = FAR * (1 + np.arange(len(robot.coordinates.names)) / 10) * np.abs(robot.coordinates.S).max(axis=1)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c, cd, cdd = home + far * (1 - np.cos(w * t)), far * w * np.sin(w * t), far * w**2 * np.cos(w * t)
    if function == "inverse_dynamics":
        return Vectors(function, (c, cd, cdd), inverse_dynamics(robot, c, cd, cdd))
    found = {"gravity": gravity, "mass_matrix": mass_matrix}[function](robot, c)
    return Vectors(function, (c,), found.reshape(len(c), size))
