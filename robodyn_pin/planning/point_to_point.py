"""Plans whose limits bound derivatives of the motion alone, on a path along which all limited axes move in proportion: in closed form."""

import numpy as np

from robodyn_pin.planning.jerk_profile import JerkProfile, jerk_profile
from robodyn_pin.planning.limit_check import check_profile
from robodyn_pin.planning.path_dynamics import joint_path_at
from robodyn_pin.planning.plan import Plan
from robodyn_pin.planning.problem import Problem
from robodyn_pin.planning.terms import terms_along

DERIVATIVES = ("velocity", "acceleration", "jerk")
STRAIGHT = 1e-9  # share of an axis' travel that its first derivatives by s may change and still count as constant
OVER = 1e-6  # share of a limit by which the check may find it exceeded: the path is not as straight as it looked


def point_to_point(problem: Problem) -> Plan | None:
    """Return the fastest motion in closed form; None where the path bends, or where other limits matter."""
    limits, at_knots = problem.limits, problem.at_knots
    if limits.kinds - {"position", *DERIVATIVES} or any(b.centre.any() for b in limits.of(DERIVATIVES).bounds):
        return None
    most = dict.fromkeys(DERIVATIVES, np.inf)
    for b in limits.of(DERIVATIVES).bounds:
        q1, q2 = at_knots.q1 @ b.S.T, at_knots.q2 @ b.S.T
        if max(np.abs(q1 - q1[0]).max(), np.abs(q2).max()) > STRAIGHT * np.abs(q1).max():
            return None
        with np.errstate(divide="ignore"):
            most[b.kind] = min(most[b.kind], float((b.half / np.abs(q1[0])).min()))
    if not np.isfinite(min(most["acceleration"], most["jerk"])):
        return None
    speed, acceleration, jerk = (most[kind] for kind in ("velocity", "acceleration", "jerk"))
    profile = jerk_profile(speed, acceleration, jerk, problem.grading.ends, problem.space.intervals)
    return _plan(problem, profile)


def _plan(problem: Problem, profile: JerkProfile) -> Plan | None:
    """The plan, checked at both sides of every knot: between them the acceleration is linear in time, the jerk constant."""
    third = "jerk" in problem.limits.kinds
    at_knots = joint_path_at(problem.dynamics, problem.path, profile.s, third)
    checked = check_profile(problem.dynamics, at_knots, problem.limits, profile, np.ones(profile.intervals, int))
    if not checked.worst <= OVER:
        return None
    terms = terms_along(problem.dynamics, at_knots, problem.limits, np.ones(len(at_knots.s)))
    return Plan(
        problem.dynamics, problem.path, problem.limits, profile, terms, checked, 0.0, (profile.time,), converged=True
    )
