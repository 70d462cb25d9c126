"""How much of every limit a motion uses, by the model itself, between the points of the plan, too."""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.planning.path_dynamics import Model, Posture, blocks
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms, values
from robodyn_pin.robot.limits import Limits

STEEP = 0.9  # shares from here on are compared with the terms: at standstill friction is not yet Coulomb's


@dataclass(frozen=True)
class Check:
    """Shares of m limits at P places of K intervals, both ends of each among them: motions may jump at knots."""

    at: np.ndarray  # (P,) which of the posture's places; the last K are the ends of the intervals, seen from before
    begins: np.ndarray  # (K,) first place of each interval
    s: np.ndarray  # (P,)
    rates: tuple[np.ndarray, np.ndarray, np.ndarray]  # ds/dt and its derivatives (P,)
    labels: tuple[tuple[str, str], ...]  # (m,) kind and axis
    shares: np.ndarray  # (P, m) 1 at the limit

    @property
    def worst(self) -> float:
        """Largest share over a limit; negative where all have room."""
        return float(self.shares.max()) - 1

    @property
    def excess(self) -> dict[tuple[str, str], float]:
        """Largest share over each limit."""
        return {label: float(most) - 1 for label, most in zip(self.labels, self.shares.max(axis=0), strict=True)}

    @property
    def in_intervals(self) -> np.ndarray:
        """Largest shares in the intervals (K, m)."""
        K = len(self.begins)
        return np.maximum(np.maximum.reduceat(self.shares[:-K], self.begins), self.shares[-K:])

    @property
    def at_knots(self) -> np.ndarray:
        """Shares at the knots (K + 1, m), the larger of both sides."""
        begin, end = self.shares[self.begins], self.shares[-len(self.begins) :]
        return np.vstack([begin[:1], np.maximum(begin[1:], end[:-1]), end[-1:]])


def check(model: Model, posture: Posture, limits: Limits, profile: Profile, steps: np.ndarray) -> Check:
    """Shares of all limits by the model itself, at a posture's places: `steps` (K,) to the intervals."""
    K, knots = len(steps), np.append(0, np.cumsum(steps))
    k = np.repeat(np.arange(K), steps)
    x = (np.arange(len(k)) - knots[k]) / steps[k]
    sides = []
    for at, places in ((slice(None, -1), (k, x)), (knots[1:], (np.arange(K), np.ones(K)))):  # slices copy no posture
        here, rates = posture.at(at), profile.rates_in(*places)
        sides.append((here.s, *rates, shares_at(model, here, limits, rates)))
    s, sd, sdd, sddd, shares = (np.concatenate(both) for both in zip(*sides, strict=True))
    at = np.append(np.arange(len(k)), knots[1:])
    return Check(at, knots[:-1], s, (sd, sdd, sddd), tuple(limits.labels), shares)


def shares_at(
    model: Model, posture: Posture, limits: Limits, rates: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> np.ndarray:
    """Shares (N, m) of the limits that a motion uses at N places with ds/dt and its derivatives (N,)."""
    centre, half = limits.scale
    sd, sdd, sddd = rates
    parts = [values(model, posture.at(at), limits, (sd[at], sdd[at], sddd[at])) for at in blocks(len(sd))]
    found = np.concatenate(parts)
    return np.asarray(np.abs(found - centre) / half)


def corrected(terms: Terms, seen: Check, rows: slice, at: np.ndarray, both: bool) -> tuple[Terms, float]:
    """The terms with what the model says beyond them at a motion nearly at its limits, and the largest such difference.

    Friction that is neither Coulomb's nor viscous.

    Args:
        rows: N' points of the terms. at: (N',) which of the places that were looked at they are.
        both: where the model says less, too: the next motion is faster, and then it may not.
    """
    if not terms.labels:
        return terms, 0.0
    sd, sdd = (x[at, None] for x in seen.rates[:2])
    a, b, c, d = (x[rows] for x in (terms.a, terms.b, terms.c, terms.d))
    expected = a * sdd + b * sd**2 + c + d * sd
    found = seen.shares[at][:, [seen.labels.index(label) for label in terms.labels]] / terms.room[rows]
    beyond = found - np.abs(expected)
    beyond = np.where(np.maximum(found, np.abs(expected)) > STEEP, beyond if both else np.maximum(beyond, 0.0), 0.0)
    rest = terms.c.copy()
    rest[rows] += np.sign(expected) * beyond
    return replace(terms, c=rest), float(np.abs(beyond).max(initial=0.0))


def room(seen: Check, terms: Terms) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of the limits to keep to at the knots, so that they hold in the intervals beside, too: (K + 1, m), (K + 1, k), (K + 1,)."""
    over = np.maximum(seen.in_intervals, 1.0)
    least = 1 / np.vstack([over[:1], np.maximum(over[1:], over[:-1]), over[-1:]])
    columns = {label: k for k, label in enumerate(seen.labels)}
    quantities, jerks = (least[:, [columns[label] for label in labels]] for labels in (terms.labels, terms.jerk_labels))
    speeds = least[:, [k for label, k in columns.items() if label[0] == "velocity"]]
    return quantities, jerks, speeds.min(axis=1, initial=1.0)
