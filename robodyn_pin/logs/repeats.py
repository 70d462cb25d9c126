"""Rows that repeat the row before although the robot moves, told from rows at standstill."""

from collections.abc import Sequence

import numpy as np

LONGEST = 64  # rows: longer runs of equal rows count as standstill, steps further away tell no speed
CONTEXT = 4 * LONGEST  # rows on both sides that a decision depends on
SHARE = 0.15  # of the way at the speeds before and after; a robot that goes less far in equal rows has stood
FINEST = 0.1  # share of the changes that are smaller than an encoder's step
STEPS = 1.5  # encoder steps: who moves less may repeat because the encoder is coarse


def encoder_steps(q: np.ndarray) -> np.ndarray:
    """About the least change of each motor's position (N, n) from row to row, zero where it never changes.

    A tenth of the changes is smaller: text with so many digits is finer near zero.
    """
    steps = np.abs(np.diff(q, axis=0))
    return np.array([np.quantile(x[x > 0], FINEST) if (x > 0).any() else 0.0 for x in steps.T])


def equal_rows(columns: Sequence[np.ndarray | None]) -> np.ndarray:
    """Whether a row (N,) of these columns is that before."""
    given = [x for x in columns if x is not None]
    same = np.zeros(len(given[0]), bool)
    same[1:] = np.all([(x[1:] == x[:-1]).all(axis=1) for x in given], axis=0)
    return same


def repeated_rows(same: np.ndarray, q: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Which of the equal rows `same` (N,) repeat a row in motion.

    The robot goes on while rows repeat: it is found further away, as far as the speeds before and after ask for, and further
    than its encoders' steps. Else it stood.

    Args:
        q: positions (N, n). steps: of the encoders (n,).
    """
    own = np.flatnonzero(~same)  # rows with values of their own
    if len(own) < 3 or len(own) == len(same):
        return np.zeros(len(same), bool)
    rows, ways = np.diff(own), np.diff(q[own], axis=0)
    speeds = np.where((rows <= LONGEST)[:, None], ways / rows[:, None], 0.0)
    lone = np.flatnonzero(rows > 1)  # runs of equal rows begin after own[lone]
    before, after = speeds[np.maximum(lone - 1, 0)], speeds[np.minimum(lone + 1, len(rows) - 1)]
    expected = (before + after) / 2 * rows[lone, None]
    way = ways[lone]
    gone = (way * expected > 0) & (np.abs(way) >= SHARE * np.abs(expected)) & (np.abs(way) >= STEPS * steps)
    moving = gone.any(axis=1) & (rows[lone] <= LONGEST)
    found = np.zeros(len(same), bool)
    for k, length in zip(own[lone[moving]], rows[lone[moving]], strict=True):
        found[k + 1 : k + length] = True
    return found
