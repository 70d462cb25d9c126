"""How sure the strut forces of an identified robot are: 95 % intervals from a covariance of all its parameters.

The covariance is `identification.posterior`'s; a force R pi has the variance R Sigma R'.
"""

from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.strut_regressor import strut_regressor
from robodyn_pin.families.reduced_delta import Lump
from robodyn_pin.forces.strut_history import Reach, StrutHistory, strut_history
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import at_positions, at_rows, uniform
from robodyn_pin.robot.robot import Robot

BLOCK = 250  # samples whose regressors are held at once


def strut_history_with_reach(
    robot: Robot, log: Log, preparation: Preparation, reduced: Lump | None, covariance: np.ndarray | None
) -> StrutHistory:
    """As `strut_history`, of the full model with its intervals where the covariance (p, p) of the parameters is known."""
    history = strut_history(robot, log, preparation, reduced)
    if covariance is None or reduced is not None:
        return history
    return replace(history, reach=force_reach(robot, covariance, log, preparation))


def force_reach(robot: Robot, covariance: np.ndarray, log: Log, preparation: Preparation) -> Reach:
    """Half widths of the intervals along a log, for the full model.

    Args:
        robot: as identified, also with tools and payloads. covariance: (p, p) of its parameters, order of `columns(robot)`.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    log = at_positions(log)
    even = uniform(log)
    states = (
        part.state[part.keep][i : i + BLOCK]
        for part in along_log(robot, even, preparation, 20 * BLOCK)
        for i in range(0, part.end - part.begin, BLOCK)
    )
    found = [np.linalg.norm(strut_regressor(robot, state) @ root, axis=3) for state in states]
    reach = quantile() * np.concatenate(found)
    lower, upper = (at_rows(log, reach[:, i]) for i in range(2))
    return Reach(lower, upper)
