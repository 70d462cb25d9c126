"""What the torques of a log say against the model that moves along it."""

from typing import Any

import numpy as np

from robodyn_pin.forces.calmer_rates import why_far_off
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.log_to_robot.mispredicted import not_explained
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_rows
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.torque_errors import torque_errors
from robodyn_pin.robot.robot import Robot


def contradictions(
    robot: Robot, log: Log, run: RunFile | None, preparation: Preparation, tau: np.ndarray | None = None
) -> dict[str, Any]:
    """`far off`, a sentence, and `not explained`, a list of them; both empty where the torques of the log are explained, or it has none.

    Args:
        run: as the robot was identified; None: its bodies are those of its files. tau: (N, n) as predicted; None: not yet.
    """
    if log.tau is None:
        return {"far off": "", "not explained": []}
    tau = predict(robot, log, preparation) if tau is None else tau
    lowpass = run.score.filter if run else None
    errors = torque_errors(log, tau, edge_rows(log, preparation), lowpass)
    return {
        "far off": why_far_off(robot, log, tau, preparation, lowpass),
        "not explained": not_explained(robot, log, run, errors),
    }
