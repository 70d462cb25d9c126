"""Motor torques that a model predicts for the motion of a log, one row for each row of the log."""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.loads import Beyond, quantities, worst_beyond
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.errors import BadLog
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.edges import inside
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import at_rows, uniform
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot

BLOCK = 20_000  # samples closed at once
LIMITED = ("position", "velocity", "torque")  # what is held against the robot's limits; accelerations are the noisiest


@dataclass(frozen=True)
class Prediction:
    """What a model says of a log."""

    tau: np.ndarray  # (N, n_motors) [N m or N]
    beyond: tuple[Beyond, ...]  # limits that the motion exceeds, each where it does most; the log's edges do not count


def predict(robot: Robot, log: Log, preparation: Preparation, internal: bool = False) -> np.ndarray:
    """Motor torques (N, n_motors) [N m or N] for a log with positions; parameters of the robot's files.

    Args:
        internal: with more motors than degrees of freedom, add the torque that moves nothing and that the log's own torques
            contain; else the torques of least norm.

    Raises:
        ClosureFailed: the log leaves the workspace. BadLog: too short for the filter; no torques in the log.
    """
    return predicted(robot, log, preparation, internal).tau


def predicted(robot: Robot, log: Log, preparation: Preparation, internal: bool = False) -> Prediction:
    """As `predict`, with the limits of the robot that the log's motion exceeds: it should not have been possible."""
    if internal and log.tau is None:
        raise BadLog(f"{log.name} has no columns tau_<motor>, so its internal torque is not known")
    even = uniform(log)
    tau = np.empty((even.size, len(robot.motors.names)))
    limits = limits_of(robot, {}, 0.0).of(LIMITED)
    first, last, _ = inside(even.size, rates_of(even, preparation).edge).indices(even.size)
    worst: dict[tuple[str, str], Beyond] = {}
    for part in along_log(robot, even, preparation, BLOCK):
        low, own = part.begin - part.keep.start, part.log.tau if internal else None
        torque = Loads(robot, part.state, None, own, part.log.row).tau
        tau[part.begin : part.end] = torque[part.keep]
        counted = slice(max(part.begin, first) - low, max(min(part.end, last) - low, 0))
        for found in worst_beyond(robot, limits, quantities(limits, part.state, {"torque": torque})[counted]):
            found = replace(found, sample=found.sample + low + counted.start)
            key = found.kind, found.name
            worst[key] = max(worst.get(key, found), found, key=lambda beyond: beyond.excess)
    return Prediction(at_rows(log, tau), tuple(worst.values()))
