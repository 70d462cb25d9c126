"""How sure the strut forces of an identified robot are: 95 % intervals from a covariance of all its parameters.

The covariance is `identification.posterior`'s; a force R pi has the variance R Sigma R'.
"""

from dataclasses import replace

import numpy as np

from robodyn_pin.dynamics.strut_regressor import strut_regressor
from robodyn_pin.families.reduced_delta import Lump
from robodyn_pin.forces.strut_history import Reach, StrutHistory, history_of, strut_history
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import at_positions, at_rows
from robodyn_pin.robot.robot import Robot, State

BLOCK = 250  # samples whose regressors are held at once


def strut_history_with_reach(
    robot: Robot, log: Log, preparation: Preparation, reduced: Lump | None, covariance: np.ndarray | None
) -> StrutHistory:
    """As `strut_history`, of the full model with its intervals where the covariance of the parameters is known.

    Args:
        robot: as identified, also with tools and payloads. covariance: (p, p) of its parameters, order of `columns(robot)`.
    """
    if covariance is None or reduced is not None:
        return strut_history(robot, log, preparation, reduced)
    values, vectors = np.linalg.eigh(covariance)
    root, found = vectors * np.sqrt(np.maximum(values, 0.0)), list[np.ndarray]()

    def seen(state: State) -> None:
        parts = (state[i : i + BLOCK] for i in range(0, len(state.q), BLOCK))
        found.extend(np.linalg.norm(strut_regressor(robot, part) @ root, axis=3) for part in parts)

    history = history_of(robot, log, preparation, None, seen)
    widths, log = quantile() * np.concatenate(found), at_positions(log)  # half of the intervals'
    return replace(history, reach=Reach(*(at_rows(log, widths[:, end]) for end in range(2))))
