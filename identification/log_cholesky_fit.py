"""The feasible fit without constraints, over log-Cholesky variables: the second opinion on the convex program.

Source: Rucker & Wensing, IEEE RA-L 7(2), 2022.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import RobodynError, SolverFailed
from robodyn_pin.identification.bounds import Bounds, Equality, reduction
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.identification.log_cholesky import curvature, from_log_cholesky, slice_basis, to_log_cholesky
from robodyn_pin.identification.objective import stacked_rows
from robodyn_pin.identification.parameters import PSEUDO_INERTIA, UNIT, Layout
from robodyn_pin.identification.prior import Prior, check_prior

INSIDE = 1e-3  # the start lies so far inside its mass bounds, in parts of their width
START = 0.01  # where a scalar without prior starts, in units that give its column length one
FLAT = 1e-7  # gradient of the cost, which is about one where the model explains the rows
GAIN = 1e-9  # of the cost: what the next step may still promise
STEPS = 2000
ONE = np.linalg.lstsq(PSEUDO_INERTIA, np.eye(4).ravel(), rcond=None)[0]  # (10,) the body whose pseudo-inertia is one


@dataclass(frozen=True)
class LogCholeskyEstimate:
    """A local minimum; bodies exist by construction."""

    values: np.ndarray  # (p,) SI, in the layout's order
    cost: float  # what was minimised
    steps: int
    free: int  # variables


@dataclass(frozen=True)
class _Body:
    """x = x(theta) + shift over z: theta = start + basis z, but where the mass is free e^2alpha = low + width / (1 + e^-z0)."""

    start: np.ndarray  # (10,)
    basis: np.ndarray  # (10, k)
    shift: np.ndarray  # (10,) eigenvalue ONE
    low: float
    width: float

    @property
    def mass_is_free(self) -> bool:
        return bool(self.basis[0].any())

    def first(self) -> np.ndarray:
        """z (k,) of the start, its mass moved inside its bounds."""
        z = np.zeros(self.basis.shape[1])
        if self.mass_is_free:
            part = np.clip((np.exp(2 * self.start[0]) - self.low) / self.width, INSIDE, 1 - INSIDE)
            z[0] = np.log(part / (1 - part))
        return z

    def theta(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """theta (10,), its Jacobian (10, k), and the second derivative of alpha by z0."""
        if not self.mass_is_free:
            return self.start + self.basis @ z, self.basis, 0.0
        theta = self.start + self.basis[:, 1:] @ z[1:]
        part = 1 / (1 + np.exp(-np.clip(z[0], -500, 500)))
        m = self.low + self.width * part
        m1 = self.width * part * (1 - part)
        m2 = m1 * (1 - 2 * part)
        theta[0] = np.log(m) / 2
        J = self.basis.copy()
        J[0, 0] = m1 / m / 2
        return theta, J, (m2 / m - (m1 / m) ** 2) / 2


def fit_log_cholesky(
    groups: Sequence[Factor], sigma: np.ndarray, layout: Layout, bounds: Bounds, prior: Prior
) -> LogCholeskyEstimate:
    """Minimise what `fit_feasible` minimises, without constraints: Newton steps in a trust region, from the prior.

    P = U U' + eigenvalue I; masses are sigmoids between their bounds, friction and armature squares, equalities leave
    fewer variables. Newton and not Gauss-Newton: where a body wants to be thinner than any can, the second derivatives
    of the map are all that tells how fast an e^d goes to zero (Gauss-Newton had 2 % of the noise left after 500 steps).

    Args:
        groups: folded rows per motor. sigma: (groups,) noise of each.

    Raises:
        NotPhysical: a body of the prior cannot exist.
        RobodynError: bounds or a distance that this parametrisation cannot express.
        SolverFailed: no minimum within the steps.
    """
    from scipy.optimize import minimize

    if bounds.total_mass is not None or bounds.boxes or bounds.ellipsoids or prior.distance == "entropic":
        raise RobodynError(
            "the log-Cholesky fit knows mass bounds, equalities and quadratic priors; total mass, centres of mass and the "
            "entropic prior are for the feasible fit"
        )
    check_prior(prior, layout.bodies)
    p = layout.size
    stacked, scale = stacked_rows(groups, sigma, layout, prior)
    cone = triangle(stacked)
    A, b = cone[:, :p], cone[:, p]
    bodies = [_body(i, layout, bounds, prior, scale) for i in range(len(layout.bodies))]
    squared = np.array(layout.nonnegative, bool)
    scalars = prior.scalars / scale[layout.first_scalar :] if len(prior.scalars) else np.full(len(squared), START)
    scalars = np.where(squared, np.sqrt(np.maximum(scalars, 0)), scalars)
    z0 = np.concatenate([*(body.first() for body in bodies), scalars])

    last: list[tuple[bytes, tuple[float, np.ndarray, np.ndarray]]] = []

    def at(z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Cost, gradient and Hessian; the optimiser asks for them one after the other."""
        if not last or last[0][0] != z.tobytes():
            last[:] = [(z.tobytes(), _derivatives(A, b, bodies, squared, z))]
        return last[0][1]

    cost, gradient, hessian = (lambda z, k=k: at(z)[k] for k in range(3))
    options = {"gtol": FLAT, "maxiter": STEPS, "max_trust_radius": 10.0}
    found = minimize(cost, z0, jac=gradient, hess=hessian, method="trust-exact", options=options)
    # Near round-off the optimiser may give up where there is nothing left to gain.
    left = float(found.jac @ np.linalg.lstsq(found.hess, found.jac, rcond=1e-15)[0]) / 2
    if not (found.success or abs(left) <= GAIN * max(found.fun, 1.0)):
        raise SolverFailed(f"the log-Cholesky fit found no minimum: {found.message}", str(found.status))
    values = _expand(bodies, squared, found.x)[0] * scale
    return LogCholeskyEstimate(values, float(found.fun), int(found.nit), len(z0))


def _body(i: int, layout: Layout, bounds: Bounds, prior: Prior, scale: np.ndarray) -> _Body:
    """Body i about its prior.

    Raises:
        RobodynError: the prior does not meet an equality, or is thinner than the bounds allow.
    """
    name, shift, part = layout.bodies[i], bounds.eigenvalue * ONE, slice(10 * i, 10 * i + 10)
    x = prior.bodies[i] / UNIT - shift
    start = to_log_cholesky(x)
    own = [Equality(0, e.row, e.value, e.text) for e in bounds.linear if e.body == i]
    reduced, basis = reduction(own, [name], scale[part]), np.eye(10)
    if reduced is not None:
        for e in own:
            if abs(e.row @ prior.bodies[i] - e.value) > 1e-9 * max(abs(e.row) @ abs(prior.bodies[i]), abs(e.value)):
                raise RobodynError(f"the prior of body {name!r} does not meet its equality {e.text}")
        basis = slice_basis(start, x, reduced[1], name)
    low, high = np.maximum(bounds.mass[i] - bounds.eigenvalue, 0.0)
    return _Body(start, basis, shift, float(low), float(high - low))


def _expand(bodies: Sequence[_Body], squared: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parameters x (p,) of all variables z, in the units of the fit, and their Jacobian (p, len(z))."""
    p, begin = 10 * len(bodies) + len(squared), 0
    x, J = np.zeros(p), np.zeros((p, len(z)))
    for i, body in enumerate(bodies):
        own, part = slice(10 * i, 10 * i + 10), slice(begin, begin + body.basis.shape[1])
        theta, dtheta, _ = body.theta(z[part])
        value, jacobian = from_log_cholesky(theta)
        x[own], J[own, part] = value + body.shift, jacobian @ dtheta
        begin = part.stop
    s, k = z[begin:], np.arange(len(squared))
    x[10 * len(bodies) :] = np.where(squared, s**2, s)
    J[10 * len(bodies) + k, begin + k] = np.where(squared, 2 * s, 1.0)
    return x, J


def _derivatives(
    A: np.ndarray, b: np.ndarray, bodies: Sequence[_Body], squared: np.ndarray, z: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """||A x(z) - b||^2, its gradient and its Hessian."""
    x, J = _expand(bodies, squared, z)
    r, AJ = A @ x - b, A @ J
    w, H, begin = 2 * A.T @ r, 2 * AJ.T @ AJ, 0
    for i, body in enumerate(bodies):
        own, part = slice(10 * i, 10 * i + 10), slice(begin, begin + body.basis.shape[1])
        theta, dtheta, bend = body.theta(z[part])
        H[part, part] += dtheta.T @ curvature(theta, w[own]) @ dtheta
        H[begin, begin] += bend * (from_log_cholesky(theta)[1].T @ w[own])[0]
        begin = part.stop
    k = begin + np.flatnonzero(squared)
    H[k, k] += 2 * w[10 * len(bodies) :][squared]
    return float(r @ r), J.T @ w, H
