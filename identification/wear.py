"""Whether something of a member changes steadily from log to log, and is it more than its usual scatter.

Each log l shows the parameters with information J_l. From log to log they scatter, each by a standard deviation that all
members have in common (friction is another one each morning), so that about its member a log shows them with
M_l = (J_l^-1 + scatter^2)^-1. A cause that grows by theta a unit of time moves log l along theta t_l a_l. With the pull
g_l = M_l (x_l - x) of each log on what all of them give together, least squares in x and theta has

    theta = sum_l t_l a_l'g_l / D,     D = sum_l t_l^2 a_l'M_l a_l - c'M^-1 c,     c = sum_l t_l M_l a_l,     M = sum_l M_l.

So a motor's constant is seen where friction does not hide it. How far chance goes is told by what is left about the lines,
pooled over the members.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.hierarchy import ShownByLogs, marginal, solved_as_shown, type_of

FEWEST = 4  # logs of a member that a line needs
MOST = 200  # logs by which the scatter is estimated


def scatter_of_logs(members: Sequence[Sequence[ShownByLogs]]) -> np.ndarray:
    """Standard deviations (r,) from log to log about a member's mean, alike in all members."""
    off: list[ShownByLogs] = []
    many = sum(len(logs) for logs in members)
    used = members[:: -(-many // MOST)]
    for logs in used:
        whole, pull = (np.sum(x, axis=0) for x in zip(*((x.information, x.pull) for x in logs), strict=True))
        mean = solved_as_shown(whole, pull)
        off += [ShownByLogs(x.values - mean, x.information) for x in logs]
    free = len(off) - len(used)  # the means are estimated, too
    return type_of(off).spread * np.sqrt(len(off) / free) if free else np.zeros(len(off[0].values))


@dataclass(frozen=True)
class LogByLog:
    """What each of the L logs of a member shows about what all of them give together."""

    when: np.ndarray  # (L,)
    M: np.ndarray  # (L, r, r)
    pulls: np.ndarray  # (L, r)
    mean: np.ndarray  # (r,)

    def along(self, directions: np.ndarray) -> "AlongLogs":
        """Along a cause that moves the logs in directions (L, r) or all in one (r,)."""
        a = np.broadcast_to(directions, self.pulls.shape)
        cross = (self.M @ a[:, :, None])[:, :, 0]
        return AlongLogs(
            self.when, np.sum(a * self.pulls, axis=1), np.sum(a * cross, axis=1), cross, self.M.sum(axis=0)
        )


def log_by_log(when: np.ndarray, logs: Sequence[ShownByLogs], scatter: np.ndarray) -> LogByLog:
    """The logs of a member, whose parameters scatter from log to log by standard deviations (r,)."""
    M, x = marginal(np.array([log.information for log in logs]), scatter**2), np.array([log.values for log in logs])
    weighed = (M @ x[:, :, None])[:, :, 0]
    mean = solved_as_shown(M.sum(axis=0), weighed.sum(axis=0))
    return LogByLog(when, M, weighed - M @ mean, mean)


@dataclass(frozen=True)
class AlongLogs:
    """A cause in each of the L logs of a member."""

    when: np.ndarray  # (L,)
    pull: np.ndarray  # (L,) a_l'g_l
    weight: np.ndarray  # (L,) a_l'M_l a_l
    cross: np.ndarray  # (L, r) M_l a_l
    M: np.ndarray  # (r, r) of all logs

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
        D[i] = t**2 @ m.weight - c @ solved_as_shown(m.M, c)
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
