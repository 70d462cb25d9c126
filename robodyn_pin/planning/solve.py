"""The fastest motion along a path within all limits.

Bobrow's problem with z = (ds/dt)^2 as the unknown (Verscheure et al., IEEE TAC 54(10), 2009), viscous friction and jerk by
sequential convexification; Gnad et al. (IRB 360), section 5.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from robodyn_pin.errors import InfeasiblePlan, RobodynError
from robodyn_pin.planning.end_grading import End, Grading
from robodyn_pin.planning.grid import NO_LIMIT, Grid
from robodyn_pin.planning.interior_point import Optimum, minimise
from robodyn_pin.planning.limit_check import Check, shares_at
from robodyn_pin.planning.limits import said
from robodyn_pin.planning.objectives import objective as aim
from robodyn_pin.planning.parabolas import Space
from robodyn_pin.planning.passing import passing
from robodyn_pin.planning.path_dynamics import Curve, Dynamics
from robodyn_pin.planning.plan import Plan
from robodyn_pin.planning.problem import DENSE, Problem, model_of
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms
from robodyn_pin.planning.tightening import OVER, Search, State
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot

LEAST_POINTS = 4
SLOWER = (0.3, 0.1)  # ds/dt [1/s] about which quantities are looked at where they seem to forbid slow motion
FREE = 0.1  # of the cap
NEARLY = 0.02  # places that use all but this share of a limit are looked at when the motion is slowed
BISECTIONS = 14


def fastest(
    robot: Robot | Dynamics,
    path: Curve,
    limits: Limits,
    *,
    points: int = 300,
    ends: tuple[End, End] = ("rest", "rest"),
    objective: Literal["time", "speed"] = "time",
    jerk: bool = True,
    reduced: bool = False,
    iterations: int = 100,
) -> Plan:
    """The fastest motion along a path, from rest to rest.

    Args:
        robot: its coordinates are the path's; or its inverse dynamics f(q, q', q'') -> torques (N, m), for limits "torque".
        limits: as `planning_limits` gives them.
        points: intervals of the path.
        ends: acceleration at the begin and at the end: "rest" zero, "free" (without a limited jerk always free).
        objective: "time", or "speed", the integral of z over s, as Gnad et al., eq. (43).
        jerk: keep the jerk limits, if there are any.
        reduced: strut forces by the reduced model of a Delta.
        iterations: most of them; a motion that was stopped before the optimum keeps the limits, too.

    Raises:
        InfeasiblePlan: no motion keeps the limits; names where on the path, which limit and by how much.
        RobodynError: nothing limits the motion. ClosureFailed: the path leaves the workspace. BadPath: it crosses a singularity.
    """
    if points < LEAST_POINTS:
        raise RobodynError(f"a plan on {points} points; expected {LEAST_POINTS} or more")
    if not jerk:
        limits = Limits(tuple(b for b in limits.bounds if b.kind != "jerk"))
    if all(b.kind == "position" for b in limits.bounds):
        raise RobodynError(NO_LIMIT)
    smooth = any(b.kind == "jerk" for b in limits.bounds)
    grading, space = Grading(ends if smooth else ("free", "free")), Space(points, 1 if smooth else 0)
    problem = Problem(model_of(robot, limits, reduced), path, limits, grading, space)
    problem.check_limits()
    problem.check_singular()
    problem.check_standing()
    refused: InfeasiblePlan | None = None
    for way, held in _ways(problem):
        try:
            return _planned(way, held, objective, iterations)
        except InfeasiblePlan as error:
            refused = error
    assert refused is not None
    raise refused


def _ways(problem: Problem) -> Iterator[tuple[Problem, Grid]]:
    """With quantities known about rates at which slow motion keeps the limits; if that is not the usual one momentum, too."""
    held = problem.grid(problem.terms)
    if held.slow > 0:
        yield problem, held
        return
    for rate in SLOWER:
        other = replace(problem, rate=rate)
        slower = other.grid(other.terms)
        if slower.slow > 0:
            yield other, slower
    yield problem, problem.grid(problem.terms, problem.inner)


def _planned(problem: Problem, held: Grid, objective: Literal["time", "speed"], iterations: int) -> Plan:
    """The fastest motion within the limits at the points, tightened until they hold between them; raises as `fastest`."""
    grading, space = problem.grading, problem.space
    start = passing(problem, held) if held.slow == 0 else None
    begin = start.x if start else np.full(space.size, held.slow / 2)
    goal, time = (aim(kind, space, grading, float(np.median(begin))) for kind in (objective, "time"))
    optimum = minimise(time, held.points, begin, most=iterations)
    _check_held(optimum, held, problem.terms)
    search = Search(problem, goal, start, iterations)
    if objective != "time":  # with a limited jerk it has more than one optimum; the fastest motion is near a good one
        optimum = search.again(held, optimum) or optimum
    state, seen, history = search.settled(State(problem.terms, problem.inner if start else None, held, optimum))
    profile = Profile(grading, space, state.optimum.x)
    before = profile.time
    if start is None and OVER < seen.worst < np.inf:  # what passes with momentum cannot be slowed down
        profile = profile.scaled(_slower(problem, seen))
        seen = problem.check(profile, DENSE)
    if not seen.worst <= OVER:
        raise _missed(seen)
    cost, converged = profile.time / before - 1, state.optimum.converged
    return Plan(problem.model, problem.path, problem.limits, profile, state.found, seen, cost, history, converged)


def _missed(seen: Check) -> InfeasiblePlan:
    """What a motion ends with that is not kept within the limits between its points, nor can be slowed down enough."""
    shares = np.nan_to_num(seen.shares, nan=np.inf)  # of a motion that stops on its way
    i, k = np.unravel_index(shares.argmax(), shares.shape)
    s, label = float(seen.s[i]), seen.labels[k]
    return InfeasiblePlan(
        f"no motion is known that keeps the limits: at s = {s:.4f} {said(label)} is over its limit in "
        "the best that was tried; take more points, raise the limit or move the path",
        s, label, float(shares[i, k]) - 1, False,
    )  # fmt: skip


def _check_held(optimum: Optimum, held: Grid, found: Terms) -> None:
    """Raise RobodynError where nothing but the cap holds the motion."""
    y = held.points[0].motion(optimum.x)[:, 0]
    if (free := y > FREE * held.cap).any():
        raise RobodynError(f"at s = {found.s[free.argmax()]:.4f} of the path {NO_LIMIT}")


def _slower(problem: Problem, seen: Check) -> float:
    """How much slower all of the motion must be for the limits to hold where they do not: by bisection."""
    near = seen.shares.max(axis=1) > 1 - NEARLY
    posture, rates = problem.postures(DENSE).at(seen.at[near]), tuple(x[near] for x in seen.rates)
    low, high = 0.9, 1.0
    for _ in range(BISECTIONS):
        factor = (low + high) / 2
        slowed = tuple(x * factor**n for n, x in enumerate(rates, 1))
        worst = shares_at(problem.model, posture, problem.limits, slowed).max() - 1
        low, high = (factor, high) if worst <= OVER / 2 else (low, factor)
    return low
