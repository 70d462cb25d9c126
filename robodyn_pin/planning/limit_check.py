"""The share of every limit that a motion uses, by the inverse dynamics themselves, at the knots and between them."""

from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.planning.grid import beside_knots
from robodyn_pin.planning.jerk_profile import JerkProfile
from robodyn_pin.planning.path_dynamics import JointPath, PathDynamics, point_blocks
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import PerLimit, Rates, Terms, limited_quantities
from robodyn_pin.robot.limits import Limits

NEAR_LIMIT = 0.9  # share of a limit from which on terms are corrected; where motion is slow, friction is not saturated


@dataclass(frozen=True)
class LimitCheck:
    """Shares of m limits at P places of K intervals, both ends of each among them: rates may jump at knots."""

    points: np.ndarray  # (P,) index of each place in the joint path; the last K places are the intervals' ends
    begins: np.ndarray  # (K,) first place of each interval
    s: np.ndarray  # (P,)
    rates: Rates  # (P,) each
    labels: tuple[tuple[str, str], ...]  # (m,) kind and axis
    shares: np.ndarray  # (P, m) 1 at the limit

    @property
    def worst(self) -> float:
        """Largest violation of any limit, as a share of it; negative where all have room."""
        return float(self.shares.max()) - 1

    @property
    def excess(self) -> dict[tuple[str, str], float]:
        """Largest violation of each limit, as a share of it."""
        return {label: float(most) - 1 for label, most in zip(self.labels, self.shares.max(axis=0), strict=True)}

    @property
    def in_intervals(self) -> np.ndarray:
        """Largest shares in each interval (K, m)."""
        K = len(self.begins)
        return np.maximum(np.maximum.reduceat(self.shares[:-K], self.begins), self.shares[-K:])

    @property
    def at_knots(self) -> np.ndarray:
        """Shares at the knots (K + 1, m), the larger one of both sides."""
        begin, end = self.shares[self.begins], self.shares[-len(self.begins) :]
        return np.vstack([begin[:1], np.maximum(begin[1:], end[:-1]), end[-1:]])


def check_profile(
    dynamics: PathDynamics, joint_path: JointPath, limits: Limits, profile: Profile | JerkProfile, steps: np.ndarray
) -> LimitCheck:
    """Return the shares of all limits at the points of a joint path, of which the intervals have `steps` (K,) each."""
    K, knots = len(steps), np.append(0, np.cumsum(steps))
    k = np.repeat(np.arange(K), steps)
    x = (np.arange(len(k)) - knots[k]) / steps[k]
    sides = []
    for points, places in ((slice(None, -1), (k, x)), (knots[1:], (np.arange(K), np.ones(K)))):  # slices copy nothing
        part, rates = joint_path.at(points), profile.rates_in(*places)
        sides.append((part.s, *rates, shares_at(dynamics, part, limits, rates)))
    s, sd, sdd, sddd, shares = (np.concatenate(both) for both in zip(*sides, strict=True))
    points = np.append(np.arange(len(k)), knots[1:])
    return LimitCheck(points, knots[:-1], s, (sd, sdd, sddd), tuple(limits.labels), shares)


def shares_at(dynamics: PathDynamics, joint_path: JointPath, limits: Limits, rates: Rates) -> np.ndarray:
    """Return the shares (N, m) of the limits that a motion with these rates (N,) uses at N points."""
    centre, half = limits.scale
    sd, sdd, sddd = rates
    parts = [
        limited_quantities(dynamics, joint_path.at(part), limits, (sd[part], sdd[part], sddd[part]))
        for part in point_blocks(len(sd))
    ]
    return np.asarray(np.abs(np.concatenate(parts) - centre) / half)


def corrected_terms(
    terms: Terms, checked: LimitCheck, knots: slice, places: np.ndarray, both_ways: bool
) -> tuple[Terms, float]:
    """Return the terms with c shifted to what a check found near the limits, and the largest such difference.

    They differ where friction is neither Coulomb nor viscous.

    Args:
        knots: which N' points of the terms are corrected. places: (N',) which places of the check they are.
        both_ways: also where the check found less than the terms. That loosens the limits: the next motion is faster,
            and at its higher speed it may break them.
    """
    if not terms.labels:
        return terms, 0.0
    sd, sdd = (x[places, None] for x in checked.rates[:2])
    a, b, c, d = (x[knots] for x in (terms.a, terms.b, terms.c, terms.d))
    expected = a * sdd + b * sd**2 + c + d * sd
    found = checked.shares[places][:, [checked.labels.index(label) for label in terms.labels]] / terms.factor[knots]
    more = found - np.abs(expected)
    more = np.where(np.maximum(found, np.abs(expected)) > NEAR_LIMIT, more if both_ways else np.maximum(more, 0.0), 0.0)
    shifted = terms.c.copy()
    shifted[knots] += np.sign(expected) * more
    return replace(terms, c=shifted), float(np.abs(more).max(initial=0.0))


def tightening_factors(checked: LimitCheck, terms: Terms) -> PerLimit:
    """Return factors for the limits at the knots: one over the largest share used beside each knot, 1 at most."""
    least = 1 / beside_knots(np.maximum(checked.in_intervals, 1.0))
    columns = {label: k for k, label in enumerate(checked.labels)}
    quantities, jerks = (least[:, [columns[label] for label in labels]] for labels in (terms.labels, terms.jerk_labels))
    velocities = least[:, [k for label, k in columns.items() if label[0] == "velocity"]]
    return quantities, jerks, velocities.min(axis=1, initial=1.0)
