"""The maximum velocity curve: how fast a point of the path can be passed with any acceleration."""

import numpy as np

from robodyn_pin.planning.terms import Terms

STEPS = 60  # of bisection
FLAT = 1e-9  # a quantity that an acceleration changes by less, relative to the largest, does not know it


def maximum_velocity(terms: Terms, known: np.ndarray) -> np.ndarray:
    """Largest z = (ds/dt)^2 (N,) at each point for which some acceleration keeps all quantities and velocities.

    inf where nothing limits it. `known` (N,): z of a motion; slower ones need not be possible.
    """
    high = np.where(np.isfinite(terms.fastest), terms.fastest, 1.0)
    for _ in range(40):  # until too fast, where no velocity is limited
        free = ~np.isfinite(terms.fastest) & _possible(terms, high)
        if not free.any():
            break
        high = np.where(free, 10 * high, high)
    whole = _possible(terms, high)
    low = np.where(whole, high, np.minimum(known, high))
    for _ in range(STEPS):
        z = (low + high) / 2
        possible = _possible(terms, z)
        low, high = np.where(possible, z, low), np.where(possible, high, z)
    return np.where(whole & ~np.isfinite(terms.fastest), np.inf, low)


def _possible(terms: Terms, z: np.ndarray) -> np.ndarray:
    """Whether an acceleration keeps the quantities (N,) at z (N,)."""
    rest = terms.b * z[:, None] + terms.c + terms.d * np.sqrt(z)[:, None]
    size = np.abs(terms.a)
    known = size > FLAT * size.max(initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(known, (-1 - np.sign(terms.a) * rest) / size, -np.inf)
        most = np.where(known, (1 - np.sign(terms.a) * rest) / size, np.inf)
    still = (known | (np.abs(rest) <= 1)).all(axis=1)
    return np.asarray(still & (least.max(axis=1, initial=-np.inf) <= most.min(axis=1, initial=np.inf)))
