"""The limits at the knots, tightened until the motion keeps the original limits between the knots, too."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.planning.feasibility import MomentumStart
from robodyn_pin.planning.grid import Grid, used_shares
from robodyn_pin.planning.interior_point import Optimum, minimise, strictly_feasible
from robodyn_pin.planning.limit_check import LimitCheck, corrected_terms, tightening_factors
from robodyn_pin.planning.objectives import Objective
from robodyn_pin.planning.problem import CLOSE, DENSE, Problem, ReversalLimits
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms

OVER = 1e-3  # share of a limit by which a motion may exceed it between the knots
ROUGH = 2  # points per interval of the first checks
Stage = tuple[int, float, int]  # points per interval, violation that is small enough, number of passes
STAGES: tuple[Stage, ...] = ((ROUGH, OVER / 2, 2), (DENSE, OVER, 6))
MOMENTUM_STAGE: Stage = (CLOSE, OVER, 6)  # the last one for motions that pass with momentum
TOO_LOOSE = 0.02  # a correction after which a limit is exceeded by more had loosened the limits too far
# Of the way to an optimum, where the tries to begin near it are, one after the other: the nearer, the fewer iterations.
SHARES = (0.999, 0.997, 0.99, *0.97 ** np.arange(1, 51))
WARM_GAP = 1e-3  # complementarity gap, relative to the objective, of a search that begins near an optimum


@dataclass(frozen=True)
class Iterate:
    """Limits at the knots, and the best motion within them."""

    terms: Terms  # at the knots
    reversal_limits: ReversalLimits | None  # of motions that pass with momentum
    grid: Grid
    optimum: Optimum


@dataclass(frozen=True)
class Tightening:
    """What stays the same while the limits are tightened."""

    problem: Problem
    objective: Objective
    start: MomentumStart | None  # of motions that pass with momentum
    iterations: int  # of each search, at most

    def run(self, iterate: Iterate) -> tuple[Iterate, LimitCheck, tuple[float, ...]]:
        """Return the iterate that keeps the limits between the knots, its check, and all objectives on the way.

        Each pass checks the motion, corrects the terms where friction is neither Coulomb nor viscous, tightens the
        limits that are exceeded, and optimises again.
        """
        history, both_ways = iterate.optimum.history, True
        for density, enough, passes in (*STAGES, MOMENTUM_STAGE) if self.start else STAGES:
            before: tuple[Iterate, LimitCheck] | None = None
            for attempt in range(passes + 1):
                profile = Profile(self.problem.grading, self.problem.space, iterate.optimum.x)
                checked = self.problem.check(profile, density)
                if before and checked.worst > max(before[1].worst, TOO_LOOSE):
                    both_ways, (iterate, checked) = False, before
                terms, difference = corrected_terms(iterate.terms, checked, slice(1, -1), checked.begins[1:], both_ways)
                inexact = density == ROUGH and difference > OVER / 5
                kept = checked.worst <= enough and not inexact
                if attempt == passes or not np.isfinite(checked.worst) or kept:
                    break
                before = (iterate, checked) if inexact and both_ways else None
                tighter = self._tighter(iterate, terms if inexact else iterate.terms, checked, density > ROUGH)
                if tighter is None:
                    break
                iterate = tighter
                history += iterate.optimum.history
        return iterate, checked, history

    def _tighter(self, iterate: Iterate, terms: Terms, checked: LimitCheck, correct: bool) -> Iterate | None:
        """Return the optimum within limits tightened by what the check found; None: no motion is found within them.

        With `correct` the reversal limits are corrected, too, if a motion is found within the corrected ones.
        """
        factors = tightening_factors(checked, terms)
        if self.start is not None:  # at least half of what the start leaves of a limit remains
            used = used_shares(iterate.grid.constraints, self.start.x, terms)
            kept = [(1 + np.minimum(share, 1.0)) / 2 for share in used]
            terms = terms.tightened(map(np.maximum, factors, kept))
        else:
            terms = terms.tightened(factors)
        limits = iterate.reversal_limits
        for reversal_limits in (limits.corrected(checked), limits) if limits and correct else (limits,):
            grid = self.problem.grid(terms, reversal_limits)
            optimum = self.optimise_again(grid, iterate.optimum)
            if optimum is not None:
                return Iterate(terms, reversal_limits, grid, optimum)
        return None

    def optimise_again(self, grid: Grid, near: Optimum) -> Optimum | None:
        """Return the optimum within limits that differ little from another optimum's; None: no start is feasible.

        The search begins a little inside that optimum. If this fails, it begins at the start with momentum or at a slow
        motion.
        """
        cold_start = self.start.x if self.start else np.full(len(near.x), grid.slow_y / 2)
        origin = self.start.x if self.start else 0 * cold_start
        warm = None
        for share in SHARES:
            x = origin + share * (near.x - origin)
            usable = self.start or x.max() > grid.slow_y
            if usable and strictly_feasible(grid.search_limits, x) and np.isfinite(self.objective.value(x)):
                warm = minimise(self.objective, grid.search_limits, x, gap=WARM_GAP, iterations=self.iterations)
                break
        if (warm and warm.converged) or not strictly_feasible(grid.search_limits, cold_start):
            return warm
        cold = minimise(self.objective, grid.search_limits, cold_start, iterations=self.iterations)
        return warm if warm and self.objective.value(warm.x) < self.objective.value(cold.x) else cold
