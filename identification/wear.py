"""Whether something of a member changes steadily from log to log, and is it more than its usual scatter.

A cause that grows by theta a unit of time adds theta t_l A_l a to log l. With g_l = A_l'(y_l - A_l x) the pull of each log on
what all of them give together, least squares in x and theta has

    theta = sum_l t_l a'g_l / D,     D = sum_l t_l^2 a'H_l a - c'H^-1 c,     c = sum_l t_l H_l a.

How far chance goes is told by the scatter of the logs about their lines, pooled over the members: friction that is
another one each morning is no wear.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 4  # logs of a member that a line needs


@dataclass(frozen=True)
class AlongLogs:
    """A cause in each of the L logs of a member, in units of the rows' noise."""

    when: np.ndarray  # (L,)
    pull: np.ndarray  # (L,) a'g_l
    weight: np.ndarray  # (L,) a'H_l a
    cross: np.ndarray  # (L, r) H_l a
    H: np.ndarray  # (r, r) of all logs

    @property
    def sizes(self) -> np.ndarray:
        """The cause in each log, off what all of them give together (L,)."""
        return self.pull / self.weight


@dataclass(frozen=True)
class Wear:
    """How a cause grows in each of n members."""

    slope: np.ndarray  # (n,) a unit of time; zero where a member has too few logs
    deviation: np.ndarray  # (n,)
    probability: np.ndarray  # (n,) of a slope at least as steep by chance


def wear_of(members: Sequence[AlongLogs]) -> Wear:
    """The slopes of one cause in all members."""
    from scipy.stats import t as student

    n = len(members)
    slope, D, squares, freedom = np.zeros(n), np.zeros(n), 0.0, 0
    for i, m in enumerate(members):
        if len(m.when) < FEWEST or np.ptp(m.when) == 0 or m.weight.min() <= 0:
            continue
        t = m.when - np.average(m.when, weights=m.weight)
        c = t @ m.cross
        unit = 1 / np.sqrt(np.maximum(np.diag(m.H), np.finfo(float).tiny))
        D[i] = t**2 @ m.weight - (unit * c) @ np.linalg.lstsq(m.H * np.outer(unit, unit), unit * c, rcond=1e-12)[0]
        if D[i] < 1e-6 * (t**2 @ m.weight):  # as if another parameter grew
            D[i] = 0.0
            continue
        slope[i] = t @ m.pull / D[i]
        left = m.sizes - slope[i] * t
        left -= np.average(left, weights=m.weight)
        squares += float(m.weight @ left**2)
        freedom += len(t) - 2
    known = D > 0
    scatter = np.sqrt(max(squares / freedom, np.finfo(float).tiny)) if freedom else np.inf
    deviation = np.where(known, scatter / np.sqrt(np.where(known, D, 1.0)), np.inf)
    p = np.where(known, 2 * student.sf(np.abs(slope) / deviation, max(freedom, 1)), 1.0)
    return Wear(slope, deviation, p)
