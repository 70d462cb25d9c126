"""How much slower this machine is just now than a quiet one: bounds on processor time count in seconds of a quiet machine."""

import time

STEPS, QUIET = 400_000, 0.03  # [s] that a quiet machine takes for them


def slowness() -> float:
    """Return a factor, at least one."""
    begin, step = time.process_time(), 0
    while step < STEPS:
        step += 1
    return max(1.0, (time.process_time() - begin) / QUIET)
