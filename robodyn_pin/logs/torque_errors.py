"""How far predicted torques are from those of a log, where its rates are known and its filter has settled."""

import numpy as np

from robodyn_pin.identification.accuracy import Accuracy, accuracy
from robodyn_pin.logs.filters import SETTLED, Lowpass
from robodyn_pin.logs.log import Log


def torque_errors(log: Log, tau: np.ndarray, edge: int, lowpass: Lowpass | None) -> Accuracy:
    """The accuracy of torques (N, n), a row for each row of the log.

    Args:
        edge: rows left out at both ends. lowpass: on both torques before they are compared; more rows are left out for it.
    """
    measured = log.efforts
    if lowpass:
        edge = min(edge + lowpass.reach(log.rate, log.name, SETTLED), len(tau) // 4)
        measured, tau = (lowpass.apply(x, log.rate, log.name) for x in (measured, tau))
    kept = slice(edge, len(tau) - edge)
    return accuracy(measured[kept], tau[kept])


def relative_error(found: Accuracy) -> float:
    """Rms error over rms torque, mean over the motors that have any; 0 where none has."""
    some = found.energy > 0
    return float(np.mean(np.sqrt(found.squares[some] / found.energy[some]))) if some.any() else 0.0
