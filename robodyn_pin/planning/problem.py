"""What stays the same while a plan is made: the joint path, the limits along it, and the check of a motion."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.errors import BadPath, InfeasiblePlan, RobodynError, ShapeMismatch
from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.grid import Grid, make_grid
from robodyn_pin.planning.limit_check import LimitCheck, check_profile, corrected_terms, shares_at
from robodyn_pin.planning.limit_rows import ConstraintSet, rows_at
from robodyn_pin.planning.limits import limit_phrase
from robodyn_pin.planning.parabolas import SplineSpace
from robodyn_pin.planning.path_dynamics import (
    CallbackDynamics,
    Curve,
    InverseDynamics,
    JointPath,
    PathDynamics,
    joint_path_at,
    robot_dynamics,
)
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import LOADS, REVERSAL, Terms, limited_quantities, terms_along
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot

DENSE = 10  # points per interval of the last check
CLOSE = 40  # points per interval where friction reverses, at both ends of the path, and where only momentum passes
REVERSAL_STEPS = 8  # parts of an interval with a reversal, at whose ends a motion with momentum is limited
ROUND_OFF = 1e-9  # share of a limit
COMPARED = (0.3, 3.0)  # times the reference rate: where the terms are compared with the inverse dynamics


@dataclass(frozen=True)
class ReversalLimits:
    """The limits at P places inside the intervals in which dry friction reverses."""

    intervals: np.ndarray  # (P,)
    places: np.ndarray  # (P,) in them, from 0 to 1
    terms: Terms

    def corrected(self, checked: LimitCheck) -> "ReversalLimits":
        """Return the limits with what a check with CLOSE points per interval found beyond the terms."""
        if not len(self.intervals):
            return self
        places = checked.begins[self.intervals] + np.round(CLOSE * self.places).astype(int)
        return replace(self, terms=corrected_terms(self.terms, checked, slice(None), places, both_ways=False)[0])


@dataclass(frozen=True)
class Problem:
    """A robot, a path and limits, on the intervals of a plan."""

    dynamics: PathDynamics
    path: Curve
    limits: Limits
    grading: Grading
    space: SplineSpace
    reference_rate: float = 1.0  # ds/dt [1/s] about which the terms are taken

    @cached_property
    def at_knots(self) -> JointPath:
        """All joints at the ends of the intervals."""
        return self._joint_path(self.steps(1))

    @cached_property
    def terms(self) -> Terms:
        """The terms at the ends of the intervals."""
        return self._terms(self.at_knots)

    def steps(self, density: int) -> np.ndarray:
        """Return the points per interval (K,); for DENSE more where friction reverses, and at both ends of the path."""
        steps = np.full(self.space.intervals, density)
        if density == DENSE:
            steps[[0, -1, *self.terms.reversals]] = CLOSE
        return steps

    def joint_path(self, density: int) -> JointPath:
        """Return all joints at `steps(density)` points per interval."""
        if density in (DENSE, CLOSE):
            return self._dense if density == DENSE else self._close
        steps = self.steps(DENSE)[:, None]
        points = np.cumsum(steps)[:, None] - steps + steps // density * np.arange(density)
        return self._dense.at(np.append(points, steps.sum()))

    @cached_property
    def _dense(self) -> JointPath:
        return self._joint_path(self.steps(DENSE))

    @cached_property
    def _close(self) -> JointPath:
        return self._joint_path(self.steps(CLOSE))

    def _joint_path(self, steps: np.ndarray) -> JointPath:
        k = np.repeat(np.arange(len(steps)), steps)
        r = (k + (np.arange(len(k)) - (np.cumsum(steps) - steps)[k]) / steps[k]) / len(steps)
        s = self.grading.at(np.append(r, 1.0))[0]
        return joint_path_at(self.dynamics, self.path, s, third="jerk" in self.limits.kinds)

    def _terms(self, joint_path: JointPath) -> Terms:
        rate = np.full(len(joint_path.s), self.reference_rate)
        return terms_along(self.dynamics, joint_path, self.limits, rate)

    def refined(self, factor: int) -> "Problem":
        """Return the problem without jerk limits, on `factor` times as many intervals."""
        limits, space = self.limits.of(self.limits.kinds - {"jerk"}), SplineSpace(factor * self.space.intervals, 0)
        return replace(self, limits=limits, space=space)

    def grid(self, terms: Terms, reversal_limits: ReversalLimits | None = None) -> Grid:
        """Return the limits on the intervals; `reversal_limits` where the motion passes with momentum."""
        grid = make_grid(terms, self.grading, self.space, momentum=reversal_limits is not None)
        if reversal_limits is None or not len(reversal_limits.intervals):
            return grid
        k, places = reversal_limits.intervals, reversal_limits.places
        factors = (terms.factor, terms.jerk_factor, terms.velocity_factor)
        inside = reversal_limits.terms.tightened(np.minimum(x[k], x[k + 1]) for x in factors)
        rows = rows_at(inside, self.grading, (k + places) / self.space.intervals)
        constraints = (*grid.constraints, ConstraintSet(self.space, k, places, rows.with_speed(grid.y_cap)))
        return replace(grid, constraints=constraints)

    @cached_property
    def reversal_limits(self) -> ReversalLimits:
        """The limits inside the intervals with a friction reversal, also on both sides of the reversal itself."""
        k, places = self.terms.reversals, np.arange(CLOSE + 1)
        if not len(k):
            return ReversalLimits(k, k / 1, self.terms)
        close = self._terms(self.joint_path(CLOSE).at((CLOSE * k[:, None] + places).ravel()))
        change = np.abs(np.diff(close.c.reshape(len(k), len(places), -1), axis=1)).max(axis=2)
        reverses = change > REVERSAL / 2
        chosen = np.tile(places % (CLOSE // REVERSAL_STEPS) == 0, (len(k), 1))
        chosen[:, 1:] |= reverses
        chosen[:, :-1] |= reverses
        chosen[:, [0, -1]] = False  # at the knots there are limits already
        of, place = np.nonzero(chosen)
        return ReversalLimits(k[of], place / CLOSE, close.at(chosen.ravel()))

    def check(self, profile: Profile, density: int) -> LimitCheck:
        """Return the shares of the limits that a motion uses, at `steps(density)` points per interval."""
        return check_profile(self.dynamics, self.joint_path(density), self.limits, profile, self.steps(density))

    @cached_property
    def exact(self) -> bool:
        """Whether the terms hold at other speeds, too: they do if friction is Coulomb and viscous.

        Not at speeds so low that the dry friction of the inverse dynamics, a smooth function, has not saturated yet.
        """
        terms, (centre, half) = self.terms, self.limits.scale
        columns = [self.limits.labels.index(label) for label in terms.labels]
        for rate in (part * self.reference_rate for part in COMPARED):
            sd = np.full(len(terms.s), rate)
            values = limited_quantities(self.dynamics, self.at_knots, self.limits, (sd, 0 * sd, 0 * sd))
            error = np.abs(((values - centre) / half)[:, columns] - (terms.b * rate**2 + terms.c + terms.d * rate))
            if np.median(error, axis=0).max(initial=0.0) > REVERSAL:  # the median: not the few points of a reversal
                return False
        return True

    def check_limits(self) -> None:
        """Raise RobodynError for limits without room, or with another number of joints than the robot."""
        joints = self.at_knots.q.shape[1]
        for b in self.limits.bounds:
            if not (b.half > 0).all():
                raise RobodynError(f"limits of {b.kind} have the half ranges {b.half}; expected positive numbers")
            if b.kind not in LOADS and b.S.shape[1] != joints:
                raise ShapeMismatch(f"limits of {b.kind} are of {b.S.shape[1]} joints; the robot has {joints}")

    def check_standstill(self) -> None:
        """Raise InfeasiblePlan where the path leaves a position's range, or a limit forbids standstill at its ends."""
        at_knots = self.at_knots
        for limits, joint_path in ((self.limits.of(["position"]), at_knots), (self.limits, at_knots.at([0, -1]))):
            if not limits.bounds:
                continue
            s = joint_path.s
            shares = shares_at(self.dynamics, joint_path, limits, (np.zeros_like(s),) * 3)
            i, k = np.unravel_index(shares.argmax(), shares.shape)
            excess, label = float(shares[i, k]) - 1, limits.labels[k]
            if excess > ROUND_OFF:
                when = " at standstill, where the motion begins or ends" if limits is self.limits else ""
                over = f"{limit_phrase(label)} is {100 * excess:.3g} % over its limit{when}"
                reason = f"at s = {s[i]:.4g} {over}; raise the limit or move the path"
                raise InfeasiblePlan(reason, float(s[i]), label, excess)

    def check_singular(self) -> None:
        """Raise BadPath where the path crosses a singularity: there motor torques do not determine the motion."""
        crossed, s = self.dynamics.crosses_singularity(self.at_knots), self.at_knots.s
        if crossed.any():
            i = int(crossed.argmax())
            raise BadPath(
                f"the path crosses a singularity between s = {s[i]:.4f} and {s[i + 1]:.4f}: "
                "the motors do not hold the robot there; move the path"
            )


def path_dynamics(robot: Robot | InverseDynamics, limits: Limits, reduced: bool) -> PathDynamics:
    """Return a robot, or its inverse dynamics, on a path; `reduced`: strut forces by the reduced model.

    Raises:
        RobodynError: limits that inverse dynamics alone cannot check.
    """
    kinds = limits.kinds.intersection(LOADS)
    if isinstance(robot, Robot):
        return robot_dynamics(robot, kinds, reduced)
    if kinds - {"torque"}:
        raise RobodynError(
            f"limits of {', '.join(sorted(kinds - {'torque'}))} need a robot; inverse dynamics give torques only"
        )
    return CallbackDynamics(robot, next((b.S.shape[1] for b in limits.bounds if b.kind == "torque"), None))
