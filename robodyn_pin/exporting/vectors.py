"""Numbers of the package that exported functions are compared with."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import forward_dynamics, gravity, mass_matrix, nearest_torques
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.families.reduced_arms import strut_model
from robodyn_pin.robot.kinematics import forward_kinematics, told_frames
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
    if function in ("inverse_dynamics", "strut_forces"):
        loads = Loads(robot, robot.close(c, cd, cdd))
        struts = loads.struts if function == "strut_forces" else None
        return Vectors(function, (c, cd, cdd), loads.tau if struts is None else np.hstack([struts.lower, struts.upper]))
    if function == "forward_dynamics":
        tau = nearest_torques(robot, c, cd, cdd).torques
        tau = tau + 0.1 * np.abs(tau).max(axis=0) * np.cos(3 * w * t)  # else the answer were the motion itself
        return Vectors(function, (c, cd, tau), forward_dynamics(robot, c, cd, tau))
    if function == "reduced_forces":
        state = robot.close(c, cd, cdd)
        forces = strut_model(robot, "U2")(state.q, state.v, state.a)
        return Vectors(function, (c, cd, cdd), np.hstack([forces.lower, forces.upper]))
    if function == "forward_kinematics":
        found = forward_kinematics(robot, c, *told_frames(robot)).reshape(len(c), -1, 4, 4)[:, :, :3]
    else:
        found = {"gravity": gravity, "mass_matrix": mass_matrix}[function](robot, c)
    return Vectors(function, (c,), found.reshape(len(c), size))
