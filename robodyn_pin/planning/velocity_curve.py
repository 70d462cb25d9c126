"""The maximum velocity curve: the largest speed at each point for which some acceleration keeps the limits."""

import numpy as np

from robodyn_pin.planning.terms import Terms

BISECTIONS = 60
DECADES = 40  # that are searched for a speed that is too large, where no velocity is limited
FLAT = 1e-9  # a quantity with a coefficient a below this share of the largest one does not depend on the acceleration


def maximum_velocity(terms: Terms, feasible: np.ndarray) -> np.ndarray:
    """Return the largest z = (ds/dt)^2 (N,) at each point for which some acceleration keeps all limits.

    inf where no limit bounds it. `feasible` (N,) is the z of a motion that keeps the limits: at lower speeds it may be
    that no acceleration keeps them, so the search begins there.
    """
    limited = np.isfinite(terms.max_z)
    high = np.where(limited, terms.max_z, 1.0)
    for _ in range(DECADES):
        too_low = ~limited & _has_acceleration(terms, high)
        if not too_low.any():
            break
        high = np.where(too_low, 10 * high, high)
    whole = _has_acceleration(terms, high)
    low = np.where(whole, high, np.minimum(feasible, high))
    for _ in range(BISECTIONS):
        z = (low + high) / 2
        possible = _has_acceleration(terms, z)
        low, high = np.where(possible, z, low), np.where(possible, high, z)
    return np.where(whole & ~limited, np.inf, low)


def _has_acceleration(terms: Terms, z: np.ndarray) -> np.ndarray:
    """Return whether some acceleration keeps the quantities (N,) at z (N,)."""
    rest = terms.b * z[:, None] + terms.c + terms.d * np.sqrt(z)[:, None]
    size = np.abs(terms.a)
    depends = size > FLAT * size.max(initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(depends, (-1 - np.sign(terms.a) * rest) / size, -np.inf)
        most = np.where(depends, (1 - np.sign(terms.a) * rest) / size, np.inf)
    others_kept = (depends | (np.abs(rest) <= 1)).all(axis=1)
    return np.asarray(others_kept & (least.max(axis=1, initial=-np.inf) <= most.min(axis=1, initial=np.inf)))
