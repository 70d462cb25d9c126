"""Intervals of bodies that can exist: how far each parameter may go while the rows still agree and no body is left.

The interval of a parameter is its range over {x: ||B x - beta||_C <= rho} and the constraints of the feasible fit, with
beta, C the weighted least squares and its covariance, and rho^2 the quantile of one parameter above what the feasible
estimate itself misses: the profile likelihood's interval, cut by the cone. Two convex programmes for each parameter; both
ends are bodies that can exist. The prior takes no part: a parameter that the rows do not show gets the range that
bounds and cone leave it.

Source: profile likelihood with constraints, as in Murphy & van der Vaart, JASA 95(450), 2000; cone as in `feasible`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from robodyn_pin.identification.bounds import Bounds, reduction
from robodyn_pin.identification.cones import Rows, least, of_bodies
from robodyn_pin.identification.constraints import still_met
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.identification.parameters import UNIT, Layout
from robodyn_pin.identification.uncertainty import quantile
from robodyn_pin.workers import each

SHOWN = 1e-9  # singular values below that of the largest are directions that the rows do not show
ROUND_OFF = 1e-13  # of a row's largest entry: less is round-off, and would fill the solver's matrix
FAR = 1e4  # [1 kg, 0.1 m] how far any parameter is followed, at least
LARGER = 10  # and in parts of the largest one
OPEN = 0.1  # d log end / d log FAR from which an end has no bound: where nothing bounds an inertia, a moment grows as its root, by 0.5
BLOCKS = 4  # into which the programmes are divided for processes to share


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
    far = FAR + LARGER * np.abs(at[: layout.first_scalar]).max(initial=0.0)

    # Steps z from the feasible estimate, of which the rows show `seen` z.
    _, N = reduction(bounds.linear, layout.bodies, scale) or (at, np.eye(layout.size))
    U, s, V = np.linalg.svd(A @ N, full_matrices=False)
    shown = int((s > SHOWN * s[0]).sum())
    U, seen, unit = U[:, :shown], s[:shown, None] * V[:shown], np.eye(N.shape[1])
    seen = np.where(np.abs(seen) > ROUND_OFF * np.abs(seen).max(axis=1, keepdims=True), seen, 0.0)
    missed = U.T @ miss
    radius = np.sqrt(rho**2 - np.sum((miss - U @ missed) ** 2))
    near = Rows(np.concatenate([0 * unit[:1], -seen]), np.append(radius, missed), "SecondOrder", 1 + shown)
    close = Rows(np.concatenate([unit, -unit]), np.full(2 * len(unit), far), "Nonnegative", 2 * len(unit))

    rows = directions * scale
    length = np.linalg.norm(rows, axis=1)
    goals = np.stack([rows, -rows], axis=1) / length[:, None, None] @ N
    held = [close, near, *of_bodies(layout, bounds, at, N)]
    found_by_block = each(partial(_steps, held), np.array_split(goals.reshape(-1, N.shape[1]), BLOCKS))
    steps = [step for block in found_by_block for step in block]
    bodies, ends = np.full((len(directions), 2, layout.size), np.nan), np.full((len(directions), 2), np.nan)
    for (k, end), step in zip(np.ndindex(ends.shape), steps, strict=True):
        for z, growth in _tries(step, held, goals[k, end]):
            found = at + N @ z
            if growth > OPEN * max(1.0, abs(goals[k, end] @ z)):
                ends[k, end] = np.inf if end else -np.inf
                break
            if still_met(found * scale, layout, bounds):
                ends[k, end], bodies[k, end] = rows[k] @ found, found * scale
                break
    return FeasibleIntervals(ends, bodies)


class Step(NamedTuple):
    """From the feasible estimate to an end."""

    z: np.ndarray  # (n,)
    growth: float  # d end / d log FAR: the duals of the box, which are the first rows, times its size


def _steps(held: list[Rows], goals: np.ndarray, scaled: bool = True) -> list[Step]:
    box = held[0]
    return [Step(x.v, float(x.duals[: box.size] @ box.h)) for x in least(held, goals, scaled)] if len(goals) else []


def _tries(step: Step, held: list[Rows], goal: np.ndarray) -> Iterator[Step]:
    """The step that was found among many; should it be none, or not exact enough, as the solver finds it alone, with rows scaled or not."""
    for x in chain([step], (_steps(held, goal[None], scaled)[0] for scaled in (True, False))):
        if np.isfinite(x.z).all():
            yield x


def _scalar_units(estimate: BaseEstimate, layout: Layout) -> np.ndarray:
    """Sizes (scalars,) of friction and the like: their deviations where they are base parameters, else one."""
    units = np.ones(layout.size)
    units[estimate.base.columns] = estimate.deviations
    return units[layout.first_scalar :]
