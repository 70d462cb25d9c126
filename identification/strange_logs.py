"""Logs that are unlike the others of their robot: the same parameters explain them far worse.

A log is strange by its error in N m and by that in parts of its torques, so that neither slow nor fast motions are.
"""

from collections.abc import Sequence

import numpy as np

WELL = 1.0  # [%] of its torques, the error up to which a log is explained well, however well the others are
FAR = 1.5  # times the error of a robot's other logs, and of all logs
USUALLY = 8  # times the usual scatter of the logs' errors
FEWEST = 3  # logs of a robot, from which one can be told from the others


def times_worse(errors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """How many times worse each log is explained than the others of its robot and all logs: of each robot (logs,).

    Args:
        errors: of each robot, those of its logs by the same parameters: [N m or N], and [%] of the torques (logs, 2).
    """
    tiny = np.finfo(float).tiny  # logs without torques
    usual = np.maximum(np.median(np.concatenate(errors), axis=0), [tiny, WELL])
    return [np.maximum((e / np.maximum(np.median(e, axis=0), usual)).min(axis=1), tiny) for e in errors]


def strange(worse: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Which logs of each robot are explained so much worse that it is no usual scatter: of each robot, numbers of its logs."""
    scatter = 1.4826 * np.median(np.abs(np.log(np.concatenate(worse))))
    far = max(FAR, np.exp(USUALLY * scatter))
    return [np.flatnonzero((x > far) & (len(x) >= FEWEST)) for x in worse]
