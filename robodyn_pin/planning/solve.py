"""The fastest motion along a path within all limits.

Bobrow's problem with z = (ds/dt)^2 as the unknown (Verscheure et al., IEEE TAC 54(10), 2009), viscous friction and jerk by
sequential convexification; Gnad et al. (IRB 360), section 5.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from robodyn_pin.errors import InfeasiblePlan, RobodynError
from robodyn_pin.limits import Limits
from robodyn_pin.planning.check import Check, check, corrected, shares_at
from robodyn_pin.planning.constraints import NO_LIMIT, Grid, grid
from robodyn_pin.planning.feasibility import passing
from robodyn_pin.planning.grading import End, Grading
from robodyn_pin.planning.interior import Optimum, minimise, within
from robodyn_pin.planning.model import Callback, Curve, Dynamics, Model, Posture, mechanism, posture_at
from robodyn_pin.planning.objectives import Objective
from robodyn_pin.planning.objectives import objective as aim
from robodyn_pin.planning.plan import Plan
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.spline import Space
from robodyn_pin.planning.terms import LOADS, Terms, terms
from robodyn_pin.robot import Robot

OVER = 1e-3  # share of a limit by which the motion may be over it between the points
ROUGH = 2  # places to an interval where it is looked at first
DENSE = 10  # places to an interval where the motion is checked in the end
CLOSE = 40  # and one that has passed with momentum
MISSED = 5e-3  # share of a limit over which such a motion is none
BACK = 0.97  # of y: so far a new start stays behind a motion that is on its limits
TRIES = 50  # before a start from scratch
WARM = 1e-3  # gap of a new start, as a share of the objective
LEAST_POINTS = 4
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
        RobodynError: nothing limits the motion. ClosureFailed: the path leaves the workspace or crosses a singularity.
    """
    if points < LEAST_POINTS:
        raise RobodynError(f"a plan on {points} points; expected {LEAST_POINTS} or more")
    if not jerk:
        limits = Limits(tuple(b for b in limits.bounds if b.kind != "jerk"))
    if all(b.kind == "position" for b in limits.bounds):
        raise RobodynError(NO_LIMIT)
    smooth = any(b.kind == "jerk" for b in limits.bounds)
    grading, space = Grading(ends if smooth else ("free", "free")), Space(points, 1 if smooth else 0)
    task = _Task(_model(robot, limits, reduced), path, limits, grading, space)
    task.stand()
    first = task.terms(np.ones(points + 1))
    held = grid(first, grading, space)
    goal, time = (aim(kind, space, grading, held.slow) for kind in (objective, "time"))
    start = _solve(time, held, first, grading, iterations)
    _check_held(start, held, first)
    if objective != "time":  # with a limited jerk it has more than one optimum; the fastest motion is near a good one
        start = _solve(goal, held, first, grading, iterations, start)
    found, optimum, seen, history = _settled(task, goal, first, start, iterations)
    profile = Profile(grading, space, optimum.x)
    before = profile.time
    if seen.worst > OVER:
        slower = profile.scaled(_slower(task, seen))
        again = task.check(slower, DENSE)
        if again.worst < seen.worst:  # what passes with momentum must not be slowed down
            profile, seen = slower, again
    if held.slow == 0:  # friction that turns is not held to at points where it forbids standing still
        seen = task.check(profile, CLOSE)
        if not (seen.worst <= MISSED and np.isfinite(profile.time)):
            raise _missed(seen)
    return Plan(task.model, path, limits, profile, found, seen, profile.time / before - 1, history, optimum.converged)


def _missed(seen: Check) -> InfeasiblePlan:
    """What a motion that cannot be slowed down, nor kept within the limits between its points, ends with."""
    shares = np.nan_to_num(seen.shares, nan=np.inf)  # of a motion that stops on its way
    i, j, k = np.unravel_index(shares.argmax(), shares.shape)
    s, (kind, name) = float(seen.s[i, j]), seen.labels[k]
    return InfeasiblePlan(
        f"no motion is known that keeps the limits: at s = {s:.4f} the {kind} of {name!r} is over its limit in "
        "the best that was tried; take more points, raise the limit or move the path",
        s, (kind, name), float(shares[i, j, k]) - 1, False,
    )  # fmt: skip


@dataclass(frozen=True)
class _Task:
    """What stays the same while a plan is made."""

    model: Model
    path: Curve
    limits: Limits
    grading: Grading
    space: Space

    def postures(self, finer: int) -> Posture:
        """At the knots and `finer` - 1 places in each interval between them."""
        step, rest = divmod(DENSE, finer)
        return self._dense.at(slice(None, None, step)) if rest == 0 else self._closed(finer)

    @cached_property
    def _dense(self) -> Posture:
        return self._closed(DENSE)

    def _closed(self, finer: int) -> Posture:
        s = self.grading.at(np.linspace(0.0, 1.0, self.space.intervals * finer + 1))[0]
        return posture_at(self.model, self.path, s, any(b.kind == "jerk" for b in self.limits.bounds))

    def terms(self, rate: np.ndarray) -> Terms:
        """At the knots, for a ds/dt (K + 1,) near by."""
        return terms(self.model, self.postures(1), self.limits, rate)

    def check(self, profile: Profile, finer: int) -> Check:
        """By the model itself."""
        return check(self.model, self.postures(finer), self.limits, profile, finer)

    def stand(self) -> None:
        """Raise InfeasiblePlan where the path leaves a position's range, or a limit forbids standing still at its ends."""
        positions = Limits(tuple(b for b in self.limits.bounds if b.kind == "position"))
        knots = self.postures(1)
        for limits, posture in ((positions, knots), (self.limits, knots.at([0, -1]))):
            if not limits.bounds:
                continue
            s = posture.s
            shares = shares_at(self.model, posture, limits, (np.zeros_like(s),) * 3)
            i, k = np.unravel_index(shares.argmax(), shares.shape)
            over, (kind, name) = float(shares[i, k]) - 1, limits.labels[k]
            if over > 0:
                when = "" if limits is positions else " at standstill already, where the motion begins or ends"
                raise InfeasiblePlan(
                    f"at s = {s[i]:.4g} the {kind} of {name!r} is {100 * over:.3g} % over its limit{when}; raise the limit or "
                    "move the path", float(s[i]), (kind, name), over,
                )  # fmt: skip


def _settled(
    task: _Task, goal: Objective, found: Terms, optimum: Optimum, most: int
) -> tuple[Terms, Optimum, Check, tuple[float, ...]]:
    """Tighten the limits at the points of the plan until they hold between them, too; the last check is the dense one."""
    history = optimum.history
    for finer, enough, passes in ((ROUGH, OVER / 2, 2), (DENSE, OVER, 6)):
        for attempt in range(passes + 1):
            profile = Profile(task.grading, task.space, optimum.x)
            seen = task.check(profile, finer)
            if not np.isfinite(seen.worst):
                raise _missed(seen)
            better, beyond = corrected(found, seen)
            off = finer == ROUGH and beyond > OVER / 5
            if attempt == passes or (seen.worst <= enough and not off):
                break
            found = (better if off else found).tightened(*_room(seen, found))
            try:
                optimum = _solve(goal, grid(found, task.grading, task.space), found, task.grading, most, optimum)
            except InfeasiblePlan:  # of the tightened limits: the motion is slowed down instead
                break
            history += optimum.history
    return found, optimum, seen, history


def _model(robot: Robot | Dynamics, limits: Limits, reduced: bool) -> Model:
    kinds = {b.kind for b in limits.bounds if b.kind in LOADS}
    if isinstance(robot, Robot):
        return mechanism(robot, kinds, reduced)
    if kinds - {"torque"}:
        raise RobodynError(
            f"limits of {', '.join(sorted(kinds - {'torque'}))} need a robot; inverse dynamics give torques only"
        )
    return Callback(robot)


def _solve(
    goal: Objective, held: Grid, found: Terms, grading: Grading, most: int, near: Optimum | None = None
) -> Optimum:
    """From a motion that was optimal for limits nearby, else from a slow one, else from any."""
    if near is not None:
        for points in (held.points, held.sure) if held.slow == 0 else (held.points,):
            for tries in range(1, TRIES + 1):
                x = BACK**tries * near.x
                if x.max() > held.slow and within(points, x) and np.isfinite(goal.value(x)):
                    return minimise(goal, points, x, gap=WARM, most=most)
    if held.slow == 0:
        points, x = passing(held, found, grading)
        return minimise(goal, points, x, most=most)
    return minimise(goal, held.points, np.full(held.points[0].space.size, held.slow / 2), most=most)


def _check_held(optimum: Optimum, held: Grid, found: Terms) -> None:
    """Raise RobodynError where nothing but the cap holds the motion."""
    y = held.points[0].motion(optimum.x)[:, 0]
    if (free := y > FREE * held.cap).any():
        raise RobodynError(f"at s = {found.s[free.argmax()]:.4f} of the path {NO_LIMIT}")


def _room(seen: Check, found: Terms) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of the limits to keep to at the knots, so that they hold in the intervals beside, too."""
    over = np.maximum(seen.shares.max(axis=1), 1.0)
    room = 1 / np.vstack([over[:1], np.maximum(over[1:], over[:-1]), over[-1:]])
    columns = {label: k for k, label in enumerate(seen.labels)}
    quantities, jerks = (room[:, [columns[label] for label in labels]] for labels in (found.labels, found.jerk_labels))
    speeds = room[:, [k for label, k in columns.items() if label[0] == "velocity"]]
    return quantities, jerks, speeds.min(axis=1, initial=1.0)


def _slower(task: _Task, seen: Check) -> float:
    """How much slower all of the motion must be for the limits to hold where they do not: by bisection."""
    at = seen.shares.max(axis=2) > 1 - NEARLY
    k, place = np.nonzero(at)
    posture, rates = task.postures(DENSE).at(k * DENSE + place), tuple(x[at] for x in seen.rates)
    low, high = 0.9, 1.0
    for _ in range(BISECTIONS):
        factor = (low + high) / 2
        slowed = tuple(x * factor**n for n, x in enumerate(rates, 1))
        worst = shares_at(task.model, posture, task.limits, slowed).max() - 1
        low, high = (factor, high) if worst <= OVER / 2 else (low, factor)
    return low
