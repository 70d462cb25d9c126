"""Forces along struts and along the axes of bearings, of what rigid bodies ask of the tree."""

from collections.abc import Collection, Mapping

import numpy as np

from robodyn_pin.dynamics.loop_forces import closure_forces, multipliers
from robodyn_pin.dynamics.struts import along_strut, closed_end, held_struts
from robodyn_pin.robot.robot import Robot, State


def axial_forces(
    robot: Robot, state: State, rest: np.ndarray, struts: Collection[str], at_bearings: Mapping[str, np.ndarray]
) -> dict[tuple[str, str], np.ndarray]:
    """Forces (N,) by `strut` or `bearing` and its name [N]: along struts at their closed ends, along the axes of bearings.

    Args:
        rest: what the tree asks (N, nv) beyond what its motors give. struts: whose forces are asked for. at_bearings: what bodies ask of each bearing's slide (N,).
    """
    lam = multipliers(robot, state, rest)
    found = {}
    for name, asked in at_bearings.items():
        there = robot.bearings[name]
        held = there.loops.jacobian(there.moved(state.q))[:, :, there.slide] if there.loops.size else lam
        found["bearing", name] = asked - (held * lam).sum(axis=1)
    if struts:
        placed, named = robot.loops.placed(state.q), closure_forces(robot, lam)
        for strut in (one for one in held_struts(robot) if one.name in struts):
            force = closed_end(robot, placed, strut, named) * along_strut(placed, strut)
            found["strut", strut.name] = force.sum(axis=0)
    return found
