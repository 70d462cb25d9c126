"""The fastest motion along a path within all limits.

Bobrow's problem with z = (ds/dt)^2 as the unknown (Verscheure et al., IEEE TAC 54(10), 2009), with viscous friction and
jerk by sequential convexification; Gnad et al. (IRB 360), section 5.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from robodyn_pin.errors import InfeasiblePlan, RobodynError
from robodyn_pin.planning.end_grading import End, Grading
from robodyn_pin.planning.feasibility import infeasible, momentum_start
from robodyn_pin.planning.grid import NO_LIMIT, Grid
from robodyn_pin.planning.interior_point import Optimum, minimise
from robodyn_pin.planning.limit_check import LimitCheck, shares_at
from robodyn_pin.planning.objectives import objective_of
from robodyn_pin.planning.parabolas import SplineSpace
from robodyn_pin.planning.path_dynamics import Curve, InverseDynamics
from robodyn_pin.planning.plan import Plan
from robodyn_pin.planning.point_to_point import point_to_point
from robodyn_pin.planning.problem import DENSE, Problem, path_dynamics
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import Terms
from robodyn_pin.planning.tightening import OVER, Iterate, Tightening
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import one_thread

LEAST_POINTS = 4
LOWER_RATES = (0.3, 0.1)  # reference ds/dt [1/s] to try next where the terms at the usual one forbid slow motion
FREE = 0.1  # share of the cap from which y counts as limited by nothing
NEARLY = 0.02  # points with less than this share of a limit left are checked again when the motion is slowed
SLOWEST = 0.9  # least factor that slows a whole motion
BISECTIONS = 14


@one_thread()
def fastest(
    robot: Robot | InverseDynamics,
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
    """Return the fastest motion along a path, from rest to rest.

    Args:
        robot: with the path's coordinates; or its inverse dynamics f(q, q', q'') -> torques (N, m), for limits
            "torque".
        limits: as `planning_limits` returns them.
        points: number of intervals of the path.
        ends: acceleration at the beginning and at the end: "rest" zero, "free" any. Without jerk limits it is always
            free.
        objective: "time"; or "speed", the integral of z over s, as in Gnad et al., eq. (43).
        jerk: False leaves the jerk limits out.
        reduced: strut forces come from the reduced model.
        iterations: most iterations of each search; a motion of which the search ended before the optimum keeps the
            limits, too.

    Raises:
        InfeasiblePlan: no motion keeps the limits; names where on the path, which limit and by how much.
        RobodynError: nothing limits the motion. ClosureFailed: the path leaves the workspace. BadPath: it crosses a
            singularity.
    """
    if points < LEAST_POINTS:
        raise RobodynError(f"a plan on {points} points; expected {LEAST_POINTS} or more")
    if not jerk:
        limits = limits.of(limits.kinds - {"jerk"})
    if limits.kinds <= {"position"}:
        raise RobodynError(NO_LIMIT)
    smooth = "jerk" in limits.kinds
    grading = Grading((ends[0], ends[1]) if smooth else ("free", "free"))
    problem = Problem(
        path_dynamics(robot, limits, reduced), path, limits, grading, SplineSpace(points, 1 if smooth else 0)
    )
    problem.check_limits()
    problem.check_singular()
    problem.check_standstill()
    if objective == "time" and (plan := point_to_point(problem)) is not None:
        return plan
    refused: InfeasiblePlan | None = None
    for attempt, grid in _attempts(problem):
        try:
            return _plan(attempt, grid, objective, iterations)
        except InfeasiblePlan as error:
            refused = error
    assert refused is not None
    raise refused


def _attempts(problem: Problem) -> Iterator[tuple[Problem, Grid]]:
    """Yield the ways to plan, the simplest one first: each a problem, and its limits on the grid.

    Where slow motion keeps all limits, that is the only way. Otherwise the terms are taken about lower rates (friction
    that is neither Coulomb nor viscous may be less there), and at last the motion must pass with momentum.
    """
    grid = problem.grid(problem.terms)
    if grid.slow_y > 0:
        yield problem, grid
        return
    for rate in LOWER_RATES:
        slower = replace(problem, reference_rate=rate)
        grid = slower.grid(slower.terms)
        if grid.slow_y > 0:
            yield slower, grid
    yield problem, problem.grid(problem.terms, problem.reversal_limits)


def _plan(problem: Problem, grid: Grid, objective: Literal["time", "speed"], iterations: int) -> Plan:
    """Return the fastest motion within limits at the knots that are tightened until they hold between them, too."""
    grading, space = problem.grading, problem.space
    start = momentum_start(problem, grid) if grid.slow_y == 0 else None
    begin = start.x if start else np.full(space.size, grid.slow_y / 2)
    chosen, time = (objective_of(kind, space, grading, float(np.median(begin))) for kind in (objective, "time"))
    optimum = minimise(time, grid.search_limits, begin, iterations=iterations)
    _check_limited(optimum, grid, problem.terms)
    tightening = Tightening(problem, chosen, start, iterations)
    if objective != "time":  # with a jerk limit it has several local optima; one near the fastest motion is a good one
        optimum = tightening.optimise_again(grid, optimum) or optimum
    first = Iterate(problem.terms, problem.reversal_limits if start else None, grid, optimum)
    iterate, checked, history = tightening.run(first)
    profile = Profile(grading, space, iterate.optimum.x)
    unscaled_time = profile.time
    if start is None and OVER < checked.worst < np.inf:  # a motion that needs momentum cannot be slowed down
        profile = profile.scaled(_slowing_factor(problem, checked))
        checked = problem.check(profile, DENSE)
    if not checked.worst <= OVER:
        raise _violation(checked)
    cost, converged = profile.time / unscaled_time - 1, iterate.optimum.converged
    return Plan(
        problem.dynamics, problem.path, problem.limits, profile, iterate.terms, checked, cost, history, converged
    )


def _violation(checked: LimitCheck) -> InfeasiblePlan:
    """Return the error for a motion that breaks a limit between its knots and cannot be slowed down enough."""
    shares = np.nan_to_num(checked.shares, nan=np.inf)  # not a number: the motion stops on its way
    i, k = np.unravel_index(shares.argmax(), shares.shape)
    excess, how = float(shares[i, k]) - 1, "over its limit in the best that was tried"
    return infeasible(float(checked.s[i]), checked.labels[k], excess, how, proved=False)


def _check_limited(optimum: Optimum, grid: Grid, terms: Terms) -> None:
    """Raise RobodynError where no limit but the cap of y holds the motion."""
    y = grid.constraints[0].motion(optimum.x)[:, 0]
    if (free := y > FREE * grid.y_cap).any():
        raise RobodynError(f"at s = {terms.s[free.argmax()]:.4f} of the path {NO_LIMIT}")


def _slowing_factor(problem: Problem, checked: LimitCheck) -> float:
    """Return the factor, by bisection, with which the whole motion must be slowed to keep the limits that it breaks."""
    near = checked.shares.max(axis=1) > 1 - NEARLY
    joint_path, rates = problem.joint_path(DENSE).at(checked.points[near]), tuple(x[near] for x in checked.rates)
    low, high = SLOWEST, 1.0
    for _ in range(BISECTIONS):
        factor = (low + high) / 2
        sd, sdd, sddd = (x * factor**n for n, x in enumerate(rates, 1))
        worst = shares_at(problem.dynamics, joint_path, problem.limits, (sd, sdd, sddd)).max() - 1
        low, high = (factor, high) if worst <= OVER / 2 else (low, factor)
    return low
