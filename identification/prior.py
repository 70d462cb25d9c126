"""The prior: where parameters go that the rows do not show, and how far they are from there."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from robodyn_pin.errors import NotPhysical
from robodyn_pin.identification.parameters import INERTIAL, PSEUDO_INERTIA, UNIT, unit_scale, why_not_physical
from robodyn_pin.identification.simple_bodies import nearest_body

MARGIN = 1e-6  # the nearest body that is suggested has this smallest eigenvalue, in units of 1 kg and 0.1 m

Distance = Literal["euclidean", "relative", "entropic"]


@dataclass(frozen=True)
class Prior:
    """weight^2 times the sum of each body's distance d, and scalar_weight^2 times the relative one of the scalars.

    euclidean: d = ||P - P0||^2, pseudo-inertias in units of 1 kg and 0.1 m.
    relative:  d = sum_j ((pi_j - p_j) / max(|p_j|, floor u_j))^2, u_j the prior's own size: m, m r, m r^2 with its
               mass m and radius of gyration r; entries where the prior is zero are compared with `floor` of that.
               Gnad et al. (IRB 360), eq. (11).
    entropic:  d = tr X - log det X - 4 with X = P0^-1/2 P P0^-1/2; does not depend on frames and units.
               Lee, Wensing & Park, IEEE T-RO 36(1), 2020.
    """

    bodies: np.ndarray  # (bodies, 10) SI
    weight: float  # against the rows' mean squared error in units of their noise
    distance: Distance = "euclidean"
    floor: float = 0.1  # of relative distances
    factors: np.ndarray | None = None  # (bodies,) on the weight, None: ones
    scalars: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (scalars,) SI, empty: not known
    scalar_weight: float = 0.0

    def of_body(self, i: int) -> float:
        """Weight of body i."""
        return self.weight if self.factors is None else self.weight * float(self.factors[i])


def prior_rows(prior: Prior, scale: np.ndarray) -> np.ndarray:
    """Rows [A, b] (k, p + 1) whose ||A x - b||^2 is the quadratic part of the prior, for parameters x in units `scale` (p,)."""
    n, p = len(prior.bodies), len(scale)
    rows = []
    if prior.distance == "euclidean":
        euclidean = np.zeros((16 * n, p + 1))
        for i, body in enumerate(prior.bodies):
            w, own = prior.of_body(i), slice(16 * i, 16 * i + 16)
            euclidean[own, 10 * i : 10 * i + 10] = w * PSEUDO_INERTIA
            euclidean[own, p] = w * (PSEUDO_INERTIA @ (body / UNIT))
        rows.append(euclidean)
    elif prior.distance == "relative":
        relative = np.zeros((10 * n, p + 1))
        for i, body in enumerate(prior.bodies):
            own = slice(10 * i, 10 * i + 10)
            w = prior.of_body(i) / np.maximum(np.abs(body), prior.floor * own_size(body))
            relative[own, own], relative[own, p] = np.diag(w * scale[own]), w * body
        rows.append(relative)
    if prior.scalar_weight > 0 and len(prior.scalars):
        s0, u = prior.scalars, scale[10 * n :]
        typical = np.abs(s0).mean() or 1.0
        w = prior.scalar_weight / np.maximum(np.abs(s0), prior.floor * typical)
        rows.append(np.concatenate([np.zeros((len(s0), 10 * n)), np.diag(w * u), (w * s0)[:, None]], axis=1))
    return np.concatenate([np.zeros((0, p + 1)), *rows])


def own_size(body: np.ndarray) -> np.ndarray:
    """A body's own units (10,): m, m r and m r^2 with mass m and radius of gyration r about the joint frame."""
    inertia = body[[4, 6, 9]].sum() / 2  # the sum of m (x^2 + y^2 + z^2)
    return unit_scale(body[0], float(np.sqrt(inertia / body[0])))


def check_prior(prior: Prior, names: tuple[str, ...]) -> None:
    """See that every body of the prior can exist.

    Raises:
        NotPhysical: one cannot; names it, says why, and gives the nearest one that can.
    """
    for name, body in zip(names, prior.bodies, strict=True):
        if why := why_not_physical(body):
            nearest = nearest_body(body / UNIT, MARGIN) * UNIT
            moved = np.flatnonzero(abs(nearest - body) > 1e-9 * abs(body).max())
            changed = [f"{INERTIAL[k]}: {nearest[k]:.6g}" for k in moved]
            raise NotPhysical(
                f"the prior of body {name!r} is none that can exist: {why}. The nearest one that can has "
                f"{{{', '.join(changed)}}}"
            )
