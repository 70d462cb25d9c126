"""How much of every limit a motion uses, by the model itself, between the points of the plan, too."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.limits import Limits
from robodyn_pin.planning.model import Curve, Model, third_derivative
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms, values

INSIDE = 1e-9  # of an interval: jerk jumps at knots, both sides are looked at


@dataclass(frozen=True)
class Check:
    """Shares of the limits at N places, several to an interval."""

    s: np.ndarray  # (N,)
    rates: tuple[np.ndarray, np.ndarray, np.ndarray]  # ds/dt and its derivatives (N,)
    labels: tuple[tuple[str, str], ...]  # (m,) kind and axis
    shares: np.ndarray  # (N, m) 1 at the limit
    finer: int  # places to an interval

    @property
    def worst(self) -> float:
        """Largest share over a limit; negative where all have room."""
        return float(self.shares.max()) - 1

    @property
    def excess(self) -> dict[tuple[str, str], float]:
        """Largest share over each limit."""
        return {label: float(most) - 1 for label, most in zip(self.labels, self.shares.max(axis=0), strict=True)}


def check(model: Model, path: Curve, limits: Limits, profile: Profile, finer: int) -> Check:
    """Shares of all limits at `finer` places to an interval."""
    r = np.linspace(0.0, 1.0, finer * profile.intervals + 1)
    s, rates = profile.grading.at(r)[0], profile.rates(r)
    shares = shares_at(model, path, limits, s, rates)
    jerks = [k for k, (kind, _) in enumerate(limits.labels) if kind == "jerk"]
    if jerks:  # it jumps at the knots
        knots = r[:-1:finer] + (1 - INSIDE) / profile.intervals
        shares[finer::finer, jerks] = np.maximum(
            shares[finer::finer, jerks],
            shares_at(model, path, limits, s[finer::finer], profile.rates(knots), ("jerk",)),
        )
    return Check(s, rates, tuple(limits.labels), shares, finer)


def shares_at(
    model: Model,
    path: Curve,
    limits: Limits,
    s: np.ndarray,
    rates: tuple[np.ndarray, np.ndarray, np.ndarray],
    kinds: tuple[str, ...] | None = None,
) -> np.ndarray:
    """Shares (N, m) of the limits (of some kinds) that a motion uses at s (N,) with ds/dt and its derivatives."""
    if kinds is not None:
        limits = Limits(tuple(b for b in limits.bounds if b.kind in kinds))
    third = third_derivative(model, path, s) if any(b.kind == "jerk" for b in limits.bounds) else None
    centre, half = limits.scale
    return np.asarray(np.abs(values(model.posture(path.at(s)), limits, rates, third) - centre) / half)


def mismatch(terms: Terms, seen: Check) -> float:
    """Largest difference between the terms and the model at the points of the plan, in shares of a limit."""
    if not terms.labels:
        return 0.0
    sd, sdd = (x[:: seen.finer, None] for x in seen.rates[:2])
    expected = np.abs(terms.a * sdd + terms.b * sd**2 + terms.c + terms.d * sd)
    columns = [seen.labels.index(label) for label in terms.labels]
    found = seen.shares[:: seen.finer, columns] * terms.room
    return float(np.abs(found - expected).max())
