"""The limits at the points of a plan, tightened until they hold between them, too."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.planning.grid import Grid, used
from robodyn_pin.planning.interior_point import Optimum, minimise, within
from robodyn_pin.planning.limit_check import Check, corrected, room
from robodyn_pin.planning.objectives import Objective
from robodyn_pin.planning.passing import Start
from robodyn_pin.planning.problem import CLOSE, DENSE, Inner, Problem
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms

OVER = 1e-3  # share of a limit by which the motion may be over it between the points
ROUGH = 2  # places to an interval where it is looked at first
Stage = tuple[int, float, int]  # places to an interval, share of a limit that is good enough, passes
STAGES: tuple[Stage, ...] = ((ROUGH, OVER / 2, 2), (DENSE, OVER, 6))
LAST: Stage = (CLOSE, OVER, 6)  # of motions that pass with momentum
RISK = 0.02  # share of a limit by which a motion breaks it that counted on less friction than there is
BACK = 0.97  # of y: so far a new start stays behind a motion that is on its limits
TRIES = 50  # before a start from scratch
WARM = 1e-3  # gap of a new start, as a share of the objective


@dataclass(frozen=True)
class State:
    """The limits at the points, and the best motion within."""

    found: Terms  # at the knots
    inner: Inner | None  # of motions that pass with momentum
    held: Grid
    optimum: Optimum


@dataclass(frozen=True)
class Search:
    """What stays the same while limits are tightened."""

    problem: Problem
    goal: Objective
    start: Start | None  # of motions that pass with momentum
    most: int  # iterations

    def settled(self, now: State) -> tuple[State, Check, tuple[float, ...]]:
        """The limits that hold between the points, too, and their motion; what the model says of it, and all objectives."""
        history, both = now.optimum.history, True
        for finer, enough, passes in (*STAGES, LAST) if self.start else STAGES:
            before: tuple[State, Check] | None = None
            for attempt in range(passes + 1):
                seen = self.problem.check(Profile(self.problem.grading, self.problem.space, now.optimum.x), finer)
                if before and seen.worst > max(before[1].worst, RISK):  # friction came back with the speed
                    both, (now, seen) = False, before
                better, beyond = corrected(now.found, seen, slice(1, -1), seen.begins[1:], both)
                off = finer == ROUGH and beyond > OVER / 5
                if attempt == passes or not np.isfinite(seen.worst) or (seen.worst <= enough and not off):
                    break
                before = (now, seen) if off and both else None
                narrower = self._narrower(now, better if off else now.found, seen, finer > ROUGH)
                if narrower is None:
                    break
                now = narrower
                history += now.optimum.history
        return now, seen, history

    def _narrower(self, now: State, found: Terms, seen: Check, close: bool) -> State | None:
        """The limits less what they are exceeded by between the points; None where no motion within is found."""
        least = room(seen, found)
        if self.start is not None:  # half of what the start leaves of a limit stays
            kept = ((1 + np.minimum(share, 1.0)) / 2 for share in used(now.held.points, self.start.x, found))
            least = tuple(np.maximum(x, keep) for x, keep in zip(least, kept, strict=True))
        found = found.tightened(*least)
        for inner in (now.inner.corrected(seen), now.inner) if now.inner and close else (now.inner,):
            held = self.problem.grid(found, inner)
            optimum = self.again(held, now.optimum)
            if optimum is not None:
                return State(found, inner, held, optimum)
        return None

    def again(self, held: Grid, near: Optimum) -> Optimum | None:
        """From a motion that was optimal for limits nearby, else from the start, or a slow motion; None where none is within."""
        begin = self.start.x if self.start else np.full(len(near.x), held.slow / 2)
        origin = self.start.x if self.start else 0 * begin
        warm = None
        for tries in range(1, TRIES + 1):
            x = origin + BACK**tries * (near.x - origin)
            if (self.start or x.max() > held.slow) and within(held.points, x) and np.isfinite(self.goal.value(x)):
                warm = minimise(self.goal, held.points, x, gap=WARM, most=self.most)
                break
        if (warm and warm.converged) or not within(held.points, begin):
            return warm
        cold = minimise(self.goal, held.points, begin, most=self.most)
        return warm if warm and self.goal.value(warm.x) < self.goal.value(cold.x) else cold
