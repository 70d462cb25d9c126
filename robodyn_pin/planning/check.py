"""How much of every limit a motion uses, by the model itself, between the points of the plan, too."""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.limits import Limits
from robodyn_pin.planning.model import Model, Posture
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms, values

STEEP = 0.9  # shares from here on are compared with the terms: at standstill friction is not yet Coulomb's


@dataclass(frozen=True)
class Check:
    """Shares of m limits at p places of each of K intervals, both ends among them: motions may jump at knots."""

    s: np.ndarray  # (K, p)
    rates: tuple[np.ndarray, np.ndarray, np.ndarray]  # ds/dt and its derivatives (K, p)
    labels: tuple[tuple[str, str], ...]  # (m,) kind and axis
    shares: np.ndarray  # (K, p, m) 1 at the limit

    @property
    def worst(self) -> float:
        """Largest share over a limit; negative where all have room."""
        return float(self.shares.max()) - 1

    @property
    def excess(self) -> dict[tuple[str, str], float]:
        """Largest share over each limit."""
        return {label: float(most) - 1 for label, most in zip(self.labels, self.shares.max(axis=(0, 1)), strict=True)}

    @property
    def at_knots(self) -> np.ndarray:
        """Shares at the knots (K + 1, m), the larger of both sides."""
        begin, end = self.shares[:, 0], self.shares[:, -1]
        return np.vstack([begin[:1], np.maximum(begin[1:], end[:-1]), end[-1:]])


def check(model: Model, posture: Posture, limits: Limits, profile: Profile, finer: int) -> Check:
    """Shares of all limits by the model itself, at the K finer + 1 places of a posture."""
    K, sides = profile.intervals, []
    inner, last = np.divmod(np.arange(K * finer), finer), (np.arange(K), np.full(K, finer))
    for at, (k, place) in ((slice(None, -1), inner), (slice(finer, None, finer), last)):  # slices copy no posture
        here, rates = posture.at(at), profile.rates_in(k, place / finer)
        found = here.s, *rates, shares_at(model, here, limits, rates)
        sides.append([x.reshape(K, -1, *x.shape[1:]) for x in found])
    s, sd, sdd, sddd, shares = (np.hstack(both) for both in zip(*sides, strict=True))
    return Check(s, (sd, sdd, sddd), tuple(limits.labels), shares)


def shares_at(
    model: Model, posture: Posture, limits: Limits, rates: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> np.ndarray:
    """Shares (N, m) of the limits that a motion uses at N places with ds/dt and its derivatives (N,)."""
    centre, half = limits.scale
    return np.asarray(np.abs(values(model, posture, limits, rates) - centre) / half)


def corrected(terms: Terms, seen: Check) -> tuple[Terms, float]:
    """The terms with what the model says beyond them at a motion nearly at its limits, and the largest such difference.

    At the begin of the intervals, in shares of a limit: friction that is neither Coulomb's nor viscous.
    """
    if not terms.labels:
        return terms, 0.0
    sd, sdd = (x[:, :1] for x in seen.rates[:2])
    a, b, c, d = (x[:-1] for x in (terms.a, terms.b, terms.c, terms.d))
    expected = a * sdd + b * sd**2 + c + d * sd
    found = seen.shares[:, 0, [seen.labels.index(label) for label in terms.labels]] / terms.room[:-1]
    beyond = found - np.abs(expected)
    beyond = np.where(np.maximum(found, np.abs(expected)) > STEEP, beyond, 0.0)
    rest = terms.c.copy()
    rest[:-1] += np.sign(expected) * beyond
    return replace(terms, c=rest), float(np.abs(beyond).max())
