"""A jump at the begin of a log, from values that were left there before the first measured one."""

import numpy as np

from robodyn_pin.logs.repeats import encoder_steps

WITHIN = 1.0  # [s] of a log's begin: later jumps are mistakes that are told
JUMP = 6.0  # times the steps that a motor hardly ever exceeds
HARDLY = 0.99  # share of the steps


def jump_at_start(q: np.ndarray, rate: float) -> int:
    """How many of the first samples (N, n) stand before a jump, within the first second."""
    steps = np.abs(np.diff(q, axis=0))
    first = min(int(WITHIN * rate), len(steps) // 10)
    if not first:
        return 0
    usual = np.maximum(np.quantile(steps[first:], HARDLY, axis=0), np.median(steps[:first], axis=0))
    jumps = np.flatnonzero((steps[:first] > JUMP * np.maximum(usual, 1e-9 + 2 * encoder_steps(q))).any(axis=1))
    return int(jumps[-1]) + 1 if len(jumps) else 0
