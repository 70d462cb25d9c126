"""Intervals of bodies that can exist: how far each parameter may go while the rows still agree and no body is left.

The interval of a parameter is its range over {x: ||B x - beta||_C <= rho} and the constraints of the feasible fit, with
beta, C the weighted least squares and its covariance, and rho^2 the quantile of one parameter above what the feasible
estimate itself misses: the profile likelihood's interval, cut by the cone. Two convex programmes for each parameter; both
ends are bodies that can exist. The prior takes no part: a parameter that the rows do not show gets the range that
bounds and cone leave it.

Source: profile likelihood with constraints, as in Murphy & van der Vaart, JASA 95(450), 2000; cone as in `feasible`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.bounds import Bounds, reduction
from robodyn_pin.identification.cones import Programme, bodies_that_exist, usual
from robodyn_pin.identification.constraints import constraints, still_met
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import UNIT, Layout
from robodyn_pin.identification.solving import solve
from robodyn_pin.identification.uncertainty import quantile

SHOWN = 1e-9  # singular values below that of the largest are directions that the rows do not show
FAR = 1e4  # [1 kg, 0.1 m] how far such a direction is followed, in parts of the largest parameter
OPEN = 1e-2 * FAR  # ends beyond are called infinite


@dataclass(frozen=True)
class FeasibleIntervals:
    """Ranges of linear functions of the parameters, and the bodies at their ends."""

    ends: np.ndarray  # (k, 2) lower and upper, SI; infinite where nothing bounds them, NaN where the solver failed
    bodies: np.ndarray  # (k, 2, p) parameters at the ends, SI; NaN where there is no end


def feasible_intervals(
    directions: np.ndarray,
    feasible: FeasibleEstimate,
    estimate: BaseEstimate,
    layout: Layout,
    bounds: Bounds,
    freedom: float = np.inf,
) -> FeasibleIntervals:
    """Ranges of directions @ x over all bodies that the rows and the bounds allow.

    Args:
        directions: (k, p); unit rows for single parameters, the base set's matrix for base parameters.
        freedom: of the residuals, as in `intervals`.
    """
    scale = np.concatenate([np.tile(UNIT, len(layout.bodies)), _scalar_units(estimate, layout)])
    size = estimate.deviations
    variances, axes = np.linalg.eigh(estimate.covariance / np.outer(size, size))
    known = len(size) * np.finfo(float).eps * variances[-1]  # round-off: combinations that the rows tell exactly
    whiten = (axes / np.sqrt(np.maximum(variances, known))).T / size
    A = whiten @ estimate.base.matrix * scale
    at = feasible.values / scale
    miss = A @ at - whiten @ estimate.values
    rho = float(np.hypot(np.linalg.norm(miss), quantile(freedom)))
    far = FAR * max(1.0, np.abs(at[: layout.first_scalar]).max(initial=0.0))

    # Steps from the feasible estimate: u along what the rows show, in standard deviations, w along what they do not.
    _, N = reduction(bounds.linear, layout.bodies, scale) or (at, np.eye(layout.size))
    U, s, Vt = np.linalg.svd(A @ N)
    shown = int((s > SHOWN * s[0]).sum())
    steps = np.concatenate([N @ (Vt[:shown].T / s[:shown]), N @ Vt[shown:].T], axis=1)
    beside = miss - U[:, :shown] @ (U[:, :shown].T @ miss)
    ball = Ball(U[:, :shown].T @ miss, float(np.sqrt(rho**2 - beside @ beside)), far)
    farthest = (_by_cones if usual(bounds) else _modelled)(at, steps, ball, layout, bounds)

    bodies, ends = np.full((len(directions), 2, layout.size), np.nan), np.full((len(directions), 2), np.nan)
    for k, row in enumerate(directions * scale):
        length = np.linalg.norm(row)
        for end, sign in enumerate((1.0, -1.0)):
            if (v := farthest(sign * row / length @ steps)) is None:
                continue
            found = at + steps @ v
            if abs(row @ found) > OPEN / FAR * far * length:
                ends[k, end] = -sign * np.inf
            elif still_met(found * scale, layout, bounds):  # inaccurate ends are looked at here
                ends[k, end], bodies[k, end] = row @ found, found * scale
    return FeasibleIntervals(ends, bodies)


@dataclass(frozen=True)
class Ball:
    """How far steps v = (u, w) may go: ||u + miss|| <= radius along what the rows show, |w| <= far along what they do not."""

    miss: np.ndarray  # (shown,)
    radius: float
    far: float


Farthest = Callable[[np.ndarray], np.ndarray | None]  # goal (n,) -> the step (n,) of least goal @ v, or None


def _by_cones(at: np.ndarray, steps: np.ndarray, ball: Ball, layout: Layout, bounds: Bounds) -> Farthest:
    """Clarabel alone, set up once for all directions."""
    import clarabel

    G, h, cones = bodies_that_exist(layout, bounds, at, steps)
    shown, n = len(ball.miss), steps.shape[1]
    wide, long = np.eye(n)[shown:], np.zeros((1 + shown, n))
    long[1:, :shown] = -np.eye(shown)
    G = np.concatenate([G, wide, -wide, long])
    h = np.concatenate([h, np.full(2 * len(wide), ball.far), [ball.radius], ball.miss])
    cones = [*cones, clarabel.NonnegativeConeT(2 * len(wide)), clarabel.SecondOrderConeT(1 + shown)]
    return Programme(G, h, cones).least


def _modelled(at: np.ndarray, steps: np.ndarray, ball: Ball, layout: Layout, bounds: Bounds) -> Farthest:
    """Any bounds, by cvxpy."""
    import cvxpy as cp

    shown = len(ball.miss)
    v, goal = cp.Variable(steps.shape[1]), cp.Parameter(steps.shape[1])
    near = cp.SOC(cp.Constant(ball.radius), v[:shown] + ball.miss)
    held = [near, cp.norm_inf(v[shown:]) <= ball.far, *constraints(at + steps @ v, layout, bounds).values()]
    problem = cp.Problem(cp.Minimize(goal @ v), held)

    def least(direction: np.ndarray) -> np.ndarray | None:
        goal.value = direction
        return v.value if solve(problem, "CLARABEL") in cp.settings.SOLUTION_PRESENT else None

    return least


def _scalar_units(estimate: BaseEstimate, layout: Layout) -> np.ndarray:
    """Sizes (scalars,) of friction and the like: their deviations where they are base parameters, else one."""
    units = np.ones(layout.size)
    units[estimate.base.columns] = estimate.deviations
    return units[layout.first_scalar :]
