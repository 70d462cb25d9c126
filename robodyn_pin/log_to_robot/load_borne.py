"""Friction that grows with the load, whose columns need the bodies that are sought: iterated to a fixed point.

It starts at the fit without such friction. Each round takes the loads by the bodies of the fit before, and ends where that changes
next to nothing. Estimates and intervals then take the loads as known.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.fold import Factor
from robodyn_pin.robot.robot import Robot

SETTLED = 1e-4  # of a coordinate's rms torque: a change of the prediction that is next to nothing
ROUNDS = 10

Fit = Callable[
    [Robot], tuple[Sequence[Factor], np.ndarray]
]  # rows of a robot's columns by coordinate, feasible parameters


def bears_load(robot: Robot) -> bool:
    """Whether any friction of the robot grows with the load."""
    return any(effort.bears for effort in robot.efforts)


def first_loads(robot: Robot, fit: Fit, progress: Callable[[str], None]) -> Robot:
    """The robot with loads by the bodies of the fit without friction that grows with them; raises as the fit."""
    if not bears_load(robot):
        return robot
    progress("loads without their friction")
    return bearing(robot, fit(replace(robot, efforts=tuple(e for e in robot.efforts if not e.bears)))[1])


def settled_loads(robot: Robot, fit: Fit, progress: Callable[[str], None]) -> tuple[Robot, tuple[str, ...]]:
    """The robot with loads by the bodies that these loads lead to, and a caution where they do not settle; raises as the fit."""
    if not bears_load(robot):
        return robot, ()
    before, change = np.zeros(columns(robot).layout.size), np.inf
    for turn in range(ROUNDS):
        progress(f"loads of the axes, round {turn + 1}")
        groups, found = fit(robot)
        change = max(_size(group, found - before) for group in groups)
        if change < SETTLED:
            return robot, ()
        before, robot = found, bearing(robot, found)
    return robot, (
        f"friction that grows with the load: after {ROUNDS} rounds the loads still change the prediction by {change:.2g} of its rms "
        f"(asked: {SETTLED:g}); its coefficients are less sure than their intervals say",
    )


def bearing(robot: Robot, values: np.ndarray) -> Robot:
    """The robot with loads by parameters (p,)."""
    return replace(robot, borne=tuple(values[: 10 * len(robot.body_groups)].tolist()))


def _size(group: Factor, step: np.ndarray) -> float:
    """What a step of the parameters (p,) changes of the prediction, relative to the measured torques."""
    return float(np.linalg.norm(group.R[:, :-1] @ step) / np.sqrt(group.energy or 1.0))
