"""Clocks that no log may have, each refused in a sentence; rows that were written twice with their stamp are kept apart."""

from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.breaks import BrokenLog, parts_of
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.repeats import equal_rows

APART = 1e-3  # of the median step: from a row to its copy


def checked(log: Log) -> Log:
    """The log, if its times increase; a row that repeats the one before, time included, comes a little later.

    Raises:
        BadLog: fewer than two rows, a second recording behind the first, or times that go back or stand.
    """
    t = log.t
    if len(t) < 2:
        raise BadLog(f"{log.name}: {len(t)} rows; a log needs at least two")
    steps = np.diff(t)
    copies = np.zeros(len(t), bool)
    copies[1:] = steps == 0
    copies &= equal_rows([log.q, log.dq, log.ddq, log.tau])
    back = np.flatnonzero((steps <= 0) & ~copies[1:])
    if len(back):
        i = int(back[0])
        again = np.flatnonzero(steps < 0)
        found = f"in row {log.line(log.begin + i + 1)} (column t: {t[i]:.9g} s, then {t[i + 1]:.9g} s)"
        if len(again) == len(back) <= 9 and (t[again + 1] <= t[0] + np.abs(np.median(steps))).all():
            raise BrokenLog(
                f"{log.name}: found a clock that starts again {found}, as if {len(again) + 1} recordings stood in one file; expected one "
                f"recording; {parts_of(log, i)}"
            )
        raise BadLog(
            f"{log.name}: time does not increase in {len(back)} rows, first {found}; expected stamps that increase from row to row: sort the "
            "rows by time if they were written out of order, else take the clock that the controller counts"
        )
    if not copies.any():
        return log
    order = np.arange(len(t))
    own = np.maximum.accumulate(np.where(copies, 0, order))
    return replace(log, t=t + (order - own) * APART * float(np.median(steps[steps > 0])))
