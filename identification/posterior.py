"""A covariance of all parameters, also of those that the data do not show.

Torques do not show all parameters that strut forces depend on: a covariance of the base parameters alone would promise too
much, and all bodies that physics allows leave thousands of newtons. So what the log does not show is taken to lie as far from
the prior of the run file, in parts of each body's own size, as what it does show: pi ~ N(pi_0, s^2 D) with the s that makes
the base parameters found most likely (empirical Bayes, MacKay 1992), then conditioned on them and their covariance C,

    Sigma = D_s - D_s B' (C + B D_s B')^-1 B D_s,        D_s = s^2 D.

That bodies must be able to exist takes no part: intervals are rather too wide than too narrow. Weighed masses and symmetries do.
"""

import numpy as np

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.prior import Prior, own_size

SPREADS = (1e-3, 1e2)  # of bodies about the prior, in parts of their own size: where the most likely one is looked for


def posterior(estimate: BaseEstimate, values: np.ndarray, prior: Prior, bounds: Bounds) -> np.ndarray:
    """Sigma (p, p) of all parameters, also of those that the log does not show; values (p,) as found, SI."""
    B, C, first = estimate.base.matrix, estimate.covariance, prior.bodies.size
    weights = np.ones(len(prior.bodies)) if prior.factors is None else prior.factors
    sizes = np.array([own_size(body) / w for body, w in zip(prior.bodies, weights, strict=True)]).reshape(-1)
    scalars = np.abs(values[first:]) + np.abs(values[first:]).mean() if len(values) > first else values[first:]
    bodies = _given(np.diag(np.append(sizes, 0 * scalars) ** 2), bounds)
    friction = np.diag(np.append(0 * sizes, scalars) ** 2)
    off = estimate.values - B @ np.append(prior.bodies.ravel(), values[first:])
    of_bodies = np.abs(B[:, first:]).max(axis=1, initial=0.0) == 0  # of bodies alone: these say how far bodies are off
    spread = _most_likely(
        off[of_bodies], C[np.ix_(of_bodies, of_bodies)], (B @ bodies @ B.T)[np.ix_(of_bodies, of_bodies)]
    )
    D = spread**2 * bodies + friction
    M = C + B @ D @ B.T
    size = np.sqrt(np.diag(M))
    root = np.linalg.solve(np.linalg.cholesky(M / np.outer(size, size)), (B @ D) / size[:, None])
    return np.asarray(D - root.T @ root)


def _given(D: np.ndarray, bounds: Bounds) -> np.ndarray:
    """The covariance of parameters that meet the equalities exactly."""
    rows = np.zeros((len(bounds.linear), len(D)))
    for row, e in zip(rows, bounds.linear, strict=True):
        row[10 * e.body : 10 * e.body + 10] = e.row
    root = np.sqrt(np.diag(D))
    shown = rows * root
    return D - root[:, None] * (np.linalg.pinv(shown) @ shown) * root


def _most_likely(off: np.ndarray, C: np.ndarray, D: np.ndarray) -> float:
    """s with which N(0, C + s^2 D) is most likely to give off (r,)."""
    from scipy.optimize import minimize_scalar

    def unlikely(log_spread: float) -> float:
        M = C + np.exp(2 * log_spread) * D
        size = np.sqrt(np.diag(M))
        M = M / np.outer(size, size)
        z = off / size
        return float(z @ np.linalg.solve(M, z) + np.linalg.slogdet(M)[1] + 2 * np.log(size).sum())

    if not len(off):
        return 1.0
    low, high = np.log(SPREADS)
    return float(np.exp(minimize_scalar(unlikely, bounds=(low, high), method="bounded").x))
