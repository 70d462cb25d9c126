"""The ends of a log that are no motion: a jump from where the robot was not, and standstill."""

import numpy as np

from robodyn_pin.logs.jumps import jump_at_start
from robodyn_pin.logs.quality import LITTLE
from robodyn_pin.logs.repeats import encoder_steps
from robodyn_pin.logs.stored_log import AnyLog

LOOKED_AT = 100_000  # samples at either end
RESTING = 0.5  # [s] of standstill that are no pause of a motion
MOTION, LEAST = 2.0, 0.1  # [s], and share of a log, that must be left: else it is one of standstill
STILL = 2e-3  # of a motor's travel: who moves less stands


def motion_of(log: AnyLog) -> tuple[int, int, str]:
    """The samples begin..end of a log between a jump or a standstill at either end, and a sentence on what is left out."""
    n = log.size
    head, tail = log.section(0, min(n, LOOKED_AT)).q, log.section(max(0, n - LOOKED_AT), n).q[::-1]
    least = np.minimum(head.min(axis=0), tail.min(axis=0))
    travel = np.maximum(head.max(axis=0), tail.max(axis=0)) - least
    (begin, first), (end, last) = (_not_moving(q, travel, log.rate) for q in (head, tail))
    if n - begin - end < max(MOTION * log.rate, LEAST * n):
        return 0, n, ""
    ends = [
        f"{count} at its {where} ({why})"
        for count, where, why in ((begin, "begin", first), (end, "end", last))
        if count
    ]
    return begin, n - end, f"left out of {n} samples: {' and '.join(ends)}" if ends else ""


def _not_moving(q: np.ndarray, travel: np.ndarray, rate: float) -> tuple[int, str]:
    """How many of the first samples (N, n) are no motion, and why."""
    jumped = jump_at_start(q, rate)
    rest = q[jumped:]
    far = np.where(travel > LITTLE, np.maximum(STILL * travel, 2 * encoder_steps(rest)), np.inf)
    away = (np.abs(rest - rest[0]) > far).any(axis=1)
    stood = int(np.argmax(away)) if away.any() else 0
    if stood < RESTING * rate:
        return jumped, "a jump of the positions" if jumped else ""
    return jumped + stood, "a jump of the positions, then standstill" if jumped else "standstill"
