"""The convex constraints of the feasible fit, each with a name, so that those which cannot hold can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.identification.bounds import Bounds, Equality, copies_of
from robodyn_pin.identification.parameters import LENGTH, PSEUDO_INERTIA, UNIT, Layout, smallest_eigenvalues
from robodyn_pin.identification.solving import solve

if TYPE_CHECKING:
    import cvxpy as cp

SLACK = 1.05  # the solver meets constraints to a tolerance; asking for a little more keeps the answer inside
INSET = 1e-6  # likewise for masses, in parts of their bounds
ROUND_OFF = 1e-12  # of a fixed mass
NEAR = 1e-5  # [m] what centres and, in parts, total masses may miss their bounds by; scalars in units of their columns


def pseudo_inertias(x: cp.Expression, n: int) -> list[cp.Expression]:
    """Symmetric P (4, 4) of each body, for parameters x in units of 1 kg and 0.1 m."""
    import cvxpy as cp

    flat = [cp.reshape(PSEUDO_INERTIA @ x[10 * i : 10 * i + 10], (4, 4), order="C") for i in range(n)]
    return [(P + P.T) / 2 for P in flat]


def constraints(x: cp.Expression, layout: Layout, bounds: Bounds) -> dict[str, cp.Constraint]:
    """What x (p,) must meet besides equalities, in units of 1 kg and 0.1 m: name -> constraint."""
    import cvxpy as cp

    names, n = layout.bodies, len(layout.bodies)
    held = {
        f"{name!r} is a body": P >> SLACK * bounds.eigenvalue * np.eye(4)
        for name, P in zip(names, pseudo_inertias(x, n), strict=True)
    }
    free = np.flatnonzero(~bounds.fixed)
    held |= {
        f"mass of {names[i]!r} at least {bounds.mass[i, 0]:.4g} kg": x[10 * i] >= bounds.mass[i, 0] * (1 + INSET)
        for i in free
    }
    held |= {
        f"mass of {names[i]!r} at most {bounds.mass[i, 1]:.4g} kg": x[10 * i] <= bounds.mass[i, 1] * (1 - INSET)
        for i in free
    }
    for k in np.flatnonzero(layout.nonnegative):
        held[f"{layout.scalars[k]} not negative"] = x[10 * n + int(k)] >= 0
    if bounds.total_mass is not None:
        least, most = bounds.total_mass
        total = copies_of(bounds) @ x[np.arange(n) * 10]
        held[f"total mass at least {least:.4g} kg"] = total >= least
        held[f"total mass at most {most:.4g} kg"] = total <= most
    for i, box in bounds.boxes.items():
        m, h = x[10 * i], x[10 * i + 1 : 10 * i + 4]
        held[f"centre of mass of {names[i]!r} in its box, lower side"] = h >= m * (box[:, 0] / LENGTH)
        held[f"centre of mass of {names[i]!r} in its box, upper side"] = h <= m * (box[:, 1] / LENGTH)
    for i, (centre, axes) in bounds.ellipsoids.items():
        m, h = x[10 * i], x[10 * i + 1 : 10 * i + 4]
        away = cp.multiply(LENGTH / axes, h) - m * (centre / axes)
        held[f"centre of mass of {names[i]!r} in its ellipsoid"] = cp.SOC(m, away)
    return held


def _equalities(x: cp.Expression, layout: Layout, bounds: Bounds) -> dict[str, cp.Constraint]:
    """The equalities that x (p,) must meet, likewise; those written together have one name."""
    written: dict[tuple[int, str], list[Equality]] = {}
    for e in bounds.linear:
        written.setdefault((e.body, e.text), []).append(e)
    return {
        f"{text} of {layout.bodies[i]!r}": np.array([e.row * UNIT for e in own]) @ x[10 * i : 10 * i + 10]
        == np.array([e.value for e in own])
        for (i, text), own in written.items()
    }


def still_met(values: np.ndarray, layout: Layout, bounds: Bounds) -> bool:
    """Whether parameters (p,) in SI meet the bounds, looked at without the solver."""
    bodies = values[: layout.first_scalar].reshape(-1, 10)
    mass = bodies[:, 0]
    if (smallest_eigenvalues(bodies) < bounds.eigenvalue).any():
        return False
    low, high = bounds.mass.T
    if (mass < low * (1 - ROUND_OFF)).any() or (mass > high * (1 + ROUND_OFF)).any():
        return False
    if bounds.total_mass is not None:
        total = copies_of(bounds) @ mass
        if not bounds.total_mass[0] * (1 - NEAR) <= total <= bounds.total_mass[1] * (1 + NEAR):
            return False
    centres = bodies[:, 1:4] / mass[:, None]
    if any(
        (centres[i] < box[:, 0] - NEAR).any() or (centres[i] > box[:, 1] + NEAR).any()
        for i, box in bounds.boxes.items()
    ):
        return False
    away = [
        np.linalg.norm((centres[i] - centre) / axes) * axes.min() - axes.min()
        for i, (centre, axes) in bounds.ellipsoids.items()
    ]
    return max(away, default=0.0) <= NEAR


def conflict(layout: Layout, bounds: Bounds) -> list[str]:
    """Names of bounds and equalities that cannot hold together, none of which could be spared; empty where all can hold.

    A deletion filter: each in turn is left out, and stays out where the others still contradict each other.
    """
    import cvxpy as cp

    x = cp.Variable(layout.size)
    named = constraints(x, layout, bounds) | _equalities(x, layout, bounds)
    left = list(named)
    if _can_hold([named[name] for name in left]):
        return []
    for name in list(named):
        others = [other for other in left if other != name]
        if not _can_hold([named[other] for other in others]):
            left = others
    return left


def _can_hold(chosen: list[cp.Constraint]) -> bool:
    import cvxpy as cp

    status = solve(cp.Problem(cp.Minimize(0), chosen), "CLARABEL")
    return status not in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE)  # a solver that gives up has not shown it
