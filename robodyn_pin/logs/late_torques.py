"""Torques that come later than the positions of their rows: put beside the motion that they belong to.

Drives filter currents and buses carry them apart from positions, so that a row holds a torque of some milliseconds before (or, where
positions are filtered, after). Rows stay as they are: torques move by whole samples, what is left of the delay, at most half a
sample, goes to the times at which rates are evaluated. Interpolated torques would have less noise halfway between two samples
than at them, and friction's jumps would be rounded off.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.log import Log, joined

LONGEST = 0.1  # [s] of a delay; more is another recording, not a late torque


def late_log(log: Log, delay: float) -> Log:
    """A log on a uniform clock with each torque beside the motion that it belongs to; raises as `paired`.

    Args:
        delay: [s] by which torques come later than positions; negative: earlier.
    """
    paired(log.name, log.size, log.rate, delay)
    return late_rows(log, log.rate, delay, 0, log.size)


def late_rows(rows: Log, rate: float, delay: float, begin: int, end: int) -> Log:
    """Rows begin..end of a section that reaches as far as their torques; those without one have that of the last row that has one.

    Args:
        rate: [Hz] of the log.
    """
    steps = round(delay * rate)
    wanted = np.arange(begin, end) + steps
    found = np.clip(wanted, 0, rows.size - 1)
    after = (0.0 if rows.after is None else rows.after[found]) - (delay - steps / rate)
    part = rows.section(begin, end)
    tau = None if rows.tau is None else rows.tau[found]
    return replace(part, tau=tau, after=np.where(found == wanted, after, 0.0), delay=0.0)


def paired(name: str, size: int, rate: float, delay: float) -> slice:
    """The samples of a log that still have torques of their own.

    Raises:
        BadLog: there are none, or the delay [s] is longer than LONGEST.
    """
    steps = round(delay * rate)
    if abs(delay) > LONGEST or abs(steps) >= size:
        raise BadLog(
            f"{name}: its torques would come {delay:g} s after its positions; expected a delay of at most {LONGEST:g} s that is shorter "
            "than the log; give 'delay' in seconds"
        )
    return slice(max(0, -steps), size - max(0, steps))


def late_pieces(pieces: Iterator[Log], delay: float) -> Iterator[Log]:
    """Consecutive pieces of a log, each torque beside the motion of the nearest row; rows without a partner are left out."""
    kept: Log | None = None
    steps = 0
    for piece in pieces:
        rows = piece if kept is None else joined([kept, piece])
        steps = steps or round(delay * rows.rate)
        n = rows.size - abs(steps)
        if n <= 0:
            kept = rows
            continue
        moved, given = max(0, -steps), max(0, steps)
        yield replace(rows.section(moved, moved + n), tau=rows.efforts[given : given + n], delay=0.0)
        kept = rows.section(n, rows.size)
