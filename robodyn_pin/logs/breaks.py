"""Places where a log is not one recording of one motion: samples are missing, or positions jump."""

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.jumps import HARDLY, JUMP, WITHIN
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.repeats import encoder_steps
from robodyn_pin.robot.robot import Robot

GAP, STEPS = 0.25, 5  # [s], and usual steps, that a missing part lasts at least: what is shorter is interpolated
NEAR = 5  # steps on either side of one that jumps
TURN, LIKE = 2 * np.pi, 0.05  # [rad], and share of it by which a step of a whole turn may differ


class BrokenLog(BadLog):
    """A log of several parts, each of which may be good."""


def unbroken(log: Log, robot: Robot, first: bool = True, last: bool = True) -> Log:
    """The log, if neither time nor positions jump; jumps within a second of its ends are left out later.

    Args:
        first, last: whether the log begins and ends there, or is a piece of a longer one.

    Raises:
        BrokenLog: where, and how its parts can be used.
    """
    steps = np.diff(log.t)
    usual = float(np.median(steps))
    if len(gaps := np.flatnonzero(steps > max(GAP, STEPS * usual))):
        k = int(gaps[0])
        raise BrokenLog(
            f"{log.name}: between rows {_row(log, k)} and {_row(log, k + 1)} samples of {steps[k]:.3g} s are missing "
            f"(column t: {log.t[k]:.9g} s, then {log.t[k + 1]:.9g} s){_more(len(gaps))}; expected one recording; {parts_of(log, k)}"
        )
    jumps = _jumps(log, usual, first, last)
    if not jumps.any():
        return log
    k = int(np.flatnonzero(jumps.any(axis=1))[0])
    j = int(np.flatnonzero(jumps[k])[0])
    size, unit = abs(float(log.q[k + 1, j] - log.q[k, j])), "m" if robot.slides(robot.motors.S)[j] else "rad"
    raise BrokenLog(
        f"{log.name}: column q of motor {robot.motors.names[j]!r} jumps by {size:.4g} {unit} in row {_row(log, k + 1)}"
        f"{_more(int(jumps.any(axis=1).sum()))}, as if two recordings stood in one file or samples were lost; expected one motion; "
        f"{parts_of(log, k)}"
    )


def wrapped(q: np.ndarray) -> int | None:
    """The number of the first of the angles q (N,) [rad] behind a step of whole turns; None where there is no such step."""
    turns = np.diff(q) / TURN
    found = np.flatnonzero((np.abs(turns) > 0.5) & (np.abs(turns - np.round(turns)) < LIKE))
    return int(found[0]) + 1 if len(found) else None


def _jumps(log: Log, usual: float, first: bool, last: bool) -> np.ndarray:
    """Steps (N - 1, n) that are far longer than their neighbours, than motors hardly ever exceed, and than encoders show."""
    least = 2 * NEAR + 1
    moved = np.abs(np.diff(log.q, axis=0)) / np.maximum(np.diff(log.t) / usual, 1.0)[:, None]
    found = np.zeros(moved.shape, bool)
    if len(moved) < least:
        return found
    hardly = np.quantile(moved, HARDLY, axis=0)
    candidates = moved > JUMP * np.maximum(hardly, 1e-9 + 2 * encoder_steps(log.q))
    end = round(WITHIN / usual)
    candidates[: end if first else 0] = False
    candidates[len(moved) - (end if last else 0) :] = False
    for k, j in zip(*np.nonzero(candidates), strict=True):
        around = np.delete(moved[max(0, k - NEAR) : k + NEAR + 1, j], min(k, NEAR))
        found[k, j] = moved[k, j] > JUMP * around.max()
    return found


def _row(log: Log, i: int) -> str:
    return str(log.line(log.begin + i))


def _more(count: int) -> str:
    return f", and in {count - 1} more places" if count > 1 else ""


def parts_of(log: Log, k: int) -> str:
    """What to do with a log that breaks after sample k."""
    return (
        f"take each part as a log of its own: a file, 'rows: [0, {log.begin + k + 1}]' and so on in the run file, or a section of a log "
        "in memory"
    )
