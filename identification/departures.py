"""Which members of a type differ, in what, and is it more than chance.

Each member is judged by the others. What would explain its difference is a list of causes (a parameter, a body, a gain):
each shifts the parameters along a direction. The cause that explains most counts; its chance is multiplied by the number of
causes (Bonferroni), and the members' chances are judged together, so that of those that are named 5 % are false. Where the
others' looks along a cause scatter more than noise and spread say, that scatter counts, with one degree of freedom less than
there are others.

Source: Benjamini & Hochberg, J. Royal Statistical Society B 57(1), 1995.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.identification.hierarchy import ShownByLogs, TypeOfRobots, marginal, type_of, without

FALSE = 0.05  # share of the members that are named wrongly, of all that are named
ALIKE = 6.63  # log-likelihood ratio, doubled, up to which two causes explain as much: 99 % of chi-square
SUSPECTS = 3  # members of each round that are judged by a spread of the others, their own difference left out


@dataclass(frozen=True)
class Departure:
    """How a member differs from the others, by the cause that explains most of it."""

    cause: int  # its number
    size: float  # how often its direction
    deviation: float  # standard deviation of the size: the member's noise, the others' and their spread
    probability: float  # of a difference at least as large by chance, all causes looked at
    as_well: tuple[int, ...]  # causes that explain it hardly worse
    named: bool = False  # more than chance, all members looked at


def departures(members: Sequence[ShownByLogs], causes: Sequence[np.ndarray]) -> tuple[TypeOfRobots, list[Departure]]:
    """The type as those members show it that do not differ, and how each member differs from it.

    Members are set aside one after the other, the least probable first, so that they do not widen the spread that
    judges the next.

    Args:
        causes: of each member, directions (k, r) of the same k causes.
    """
    kept, named = list(range(len(members))), set[int]()
    while True:
        whole = type_of([members[i] for i in kept])
        z, seen = _looks(members, causes, [without(whole, m) if i in kept else whole for i, m in enumerate(members)])
        found = [_judged(z, seen, i, kept) for i in range(len(members))]
        # Not by probability: of several that differ, all may be one before they are judged by a spread without themselves.
        many = SUSPECTS if len(kept) > 2 else 0
        suspects = sorted(kept, key=lambda i: -abs(found[i].size) / found[i].deviation)[:many]
        for i in suspects:
            others = type_of([members[j] for j in kept if j != i], whole.spread)
            z[i], seen[i] = (x[0] for x in _looks([members[i]], [causes[i]], [others]))
            found[i] = _judged(z, seen, i, kept)
        real = false_discoveries([x.probability for x in found], FALSE)
        new = [i for i in suspects if real[i]]
        if not new:
            return whole, [replace(x, named=i in named) for i, x in enumerate(found)]
        named.add(new[0])
        kept.remove(new[0])


def _looks(
    members: Sequence[ShownByLogs], causes: Sequence[np.ndarray], others: Sequence[TypeOfRobots]
) -> tuple[np.ndarray, np.ndarray]:
    """Each cause's size in each member over its standard deviation (n, k), and one over that deviation (n, k)."""
    z, seen = [], []
    for member, directions, type_ in zip(members, causes, others, strict=True):
        M = directions @ marginal(member.information, np.diag(type_.spread**2) + type_.covariance)
        weight = np.sqrt(np.maximum(np.sum(M * directions, axis=1), np.finfo(float).tiny))
        z.append(M @ (member.values - type_.mean) / weight)
        seen.append(weight)
    return np.array(z), np.array(seen)


def _judged(z: np.ndarray, seen: np.ndarray, i: int, kept: Sequence[int]) -> Departure:
    """How member i differs from the others; what an estimated spread misses, the scatter of the others' looks shows."""
    from scipy.stats import t as student

    others = [j for j in kept if j != i]
    scatter = np.sqrt(np.maximum(np.mean(z[others] ** 2, axis=0), 1.0))
    own = z[i] / scatter
    p = 2 * student.sf(np.abs(own), max(len(others) - 1, 1))  # their mean is estimated, too
    best = int(np.argmax(np.abs(own)))
    deviation = float(scatter[best] / seen[i, best])
    chance = min(1.0, float(p[best]) * len(p))
    return Departure(best, float(own[best] * deviation), deviation, chance, alike_causes(own**2, best))


def alike_causes(squares: np.ndarray, best: int) -> tuple[int, ...]:
    """Causes that explain a difference hardly worse than the best, of squared looks (k,); the better ones first."""
    return tuple(int(k) for k in np.argsort(-squares) if k != best and squares[k] > squares[best] - ALIKE)


def false_discoveries(probabilities: Sequence[float], share: float) -> np.ndarray:
    """Which of n looks are called real so that `share` of them, on the mean, are chance: (n,)."""
    p = np.asarray(probabilities)
    order = np.argsort(p)
    below = np.flatnonzero(p[order] <= share * np.arange(1, len(p) + 1) / len(p))
    real = np.zeros(len(p), bool)
    if len(below):
        real[order[: below[-1] + 1]] = True
    return real
