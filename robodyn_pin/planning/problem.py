"""What stays the same while a plan is made: the path's postures, the limits along it, and how a motion is held against them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robodyn_pin.errors import BadPath, InfeasiblePlan, RobodynError, ShapeMismatch
from robodyn_pin.planning.end_grading import Grading
from robodyn_pin.planning.grid import Grid, grid
from robodyn_pin.planning.limit_check import Check, check, corrected, shares_at
from robodyn_pin.planning.limit_rows import Point, rows_at
from robodyn_pin.planning.limits import said
from robodyn_pin.planning.parabolas import Space
from robodyn_pin.planning.path_dynamics import Callback, Curve, Dynamics, Model, Posture, mechanism, posture_at
from robodyn_pin.planning.profile import Profile
from robodyn_pin.planning.terms import LOADS, TURN, Terms, terms, values
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot

DENSE = 10  # places to an interval where a motion is checked in the end
INNER = 8  # steps in an interval in which friction turns, where only momentum passes
ROUND = 1e-9  # share of a limit
COMPARED = (0.3, 3.0)  # times the rate: where the terms are compared with the model
CLOSE = 40  # in the first and the last interval, and where a motion passes with momentum


@dataclass(frozen=True)
class Inner:
    """The limits at P places inside intervals in which friction turns."""

    intervals: np.ndarray  # (P,)
    places: np.ndarray  # (P,) in them, from 0 to 1
    terms: Terms

    def corrected(self, seen: Check) -> "Inner":
        """With what the model says beyond the terms, where it was looked at as closely."""
        at = seen.begins[self.intervals] + np.round(CLOSE * self.places).astype(int)
        return replace(self, terms=corrected(self.terms, seen, slice(None), at, both=False)[0]) if len(at) else self


@dataclass(frozen=True)
class Problem:
    """A robot, a path and limits, on the intervals of a plan."""

    model: Model
    path: Curve
    limits: Limits
    grading: Grading
    space: Space
    rate: float = 1.0  # ds/dt [1/s] about which quantities are looked at

    @property
    def _jerk(self) -> bool:
        return any(b.kind == "jerk" for b in self.limits.bounds)

    @cached_property
    def knots(self) -> Posture:
        """At the ends of the intervals."""
        return self._closed(self.steps(1))

    @cached_property
    def terms(self) -> Terms:
        """At the ends of the intervals."""
        return self._terms(self.knots)

    def steps(self, finer: int) -> np.ndarray:
        """Places to each interval (K,): more where friction turns, at the begin and at the end of the motion, too."""
        steps = np.full(self.space.intervals, finer)
        if finer == DENSE:
            steps[[0, -1, *self.terms.turns]] = CLOSE
        return steps

    def postures(self, finer: int) -> Posture:
        """At the knots, and in the steps between them."""
        if finer in (DENSE, CLOSE):
            return self._dense if finer == DENSE else self._close
        steps = self.steps(DENSE)[:, None]
        at = np.cumsum(steps)[:, None] - steps + steps // finer * np.arange(finer)
        return self._dense.at(np.append(at, steps.sum()))

    @cached_property
    def _dense(self) -> Posture:
        return self._closed(self.steps(DENSE))

    @cached_property
    def _close(self) -> Posture:
        return self._closed(self.steps(CLOSE))

    def _closed(self, steps: np.ndarray) -> Posture:
        k = np.repeat(np.arange(len(steps)), steps)
        r = (k + (np.arange(len(k)) - (np.cumsum(steps) - steps)[k]) / steps[k]) / len(steps)
        s = self.grading.at(np.append(r, 1.0))[0]
        return posture_at(self.model, self.path, s, self._jerk)

    def _terms(self, posture: Posture) -> Terms:
        return terms(self.model, posture, self.limits, np.full(len(posture.s), self.rate))

    def finer(self, factor: int) -> tuple[Terms, Grid]:
        """The limits without the jerk's, on `factor` intervals for each."""
        limits = Limits(tuple(b for b in self.limits.bounds if b.kind != "jerk"))
        flat = replace(self, limits=limits, space=Space(factor * self.space.intervals, 0))
        return flat.terms, grid(flat.terms, self.grading, flat.space, momentum=True)

    def grid(self, found: Terms, inner: Inner | None = None) -> Grid:
        """The limits on the intervals; `inner`: of motions that pass with momentum."""
        held = grid(found, self.grading, self.space, momentum=inner is not None)
        return held if inner is None else replace(held, points=(*held.points, *self._inside(found, inner, held.cap)))

    def _inside(self, found: Terms, inner: Inner, cap: float) -> list[Point]:
        """The inner places, with the narrower room of both knots."""
        k, place = inner.intervals, inner.places
        if not len(k):
            return []
        least = (np.minimum(x[k], x[k + 1]) for x in (found.room, found.jerk_room, found.speed_room))
        rows = rows_at(inner.terms.tightened(*least), self.grading, (k + place) / self.space.intervals)
        return [Point(self.space, k, place, rows.paced(cap))]

    @cached_property
    def inner(self) -> Inner:
        """Some places of the intervals in which friction turns, and those on both sides of the turn."""
        k, places = self.terms.turns, np.arange(CLOSE + 1)
        if not len(k):
            return Inner(k, k / 1, self.terms)
        close = self._terms(self.postures(CLOSE).at((CLOSE * k[:, None] + places).ravel()))
        turns = np.abs(np.diff(close.c.reshape(len(k), len(places), -1), axis=1)).max(axis=2) > TURN / 2
        chosen = np.tile(places % (CLOSE // INNER) == 0, (len(k), 1))
        chosen[:, 1:] |= turns
        chosen[:, :-1] |= turns
        chosen[:, [0, -1]] = False  # at the knots there are limits already
        of, place = np.nonzero(chosen)
        return Inner(k[of], place / CLOSE, close.part(chosen.ravel()))

    def check(self, profile: Profile, finer: int) -> Check:
        """By the model itself."""
        return check(self.model, self.postures(finer), self.limits, profile, self.steps(finer))

    @cached_property
    def exact(self) -> bool:
        """Whether the terms are the model's at other speeds, too: friction is Coulomb's and viscous.

        Not at speeds so low that the model's friction has not saturated yet: dry friction has no such speeds.
        """
        found, (centre, half) = self.terms, self.limits.scale
        columns = [self.limits.labels.index(label) for label in found.labels]
        for rate in (part * self.rate for part in COMPARED):
            sd = np.full(len(found.s), rate)
            said = (values(self.model, self.knots, self.limits, (sd, 0 * sd, 0 * sd)) - centre) / half
            away = np.abs(said[:, columns] - (found.b * rate**2 + found.c + found.d * rate))
            if np.median(away, axis=0).max(initial=0.0) > TURN:  # the median: where friction turns it has not saturated
                return False
        return True

    def check_limits(self) -> None:
        """Raise RobodynError for limits that leave no room, or that are not of this robot."""
        joints = self.knots.q.shape[1]
        for b in self.limits.bounds:
            if not (b.half > 0).all():
                raise RobodynError(f"limits of {b.kind} have the half ranges {b.half}; expected positive numbers")
            if b.kind not in LOADS and b.S.shape[1] != joints:
                raise ShapeMismatch(f"limits of {b.kind} are of {b.S.shape[1]} joints; the robot has {joints}")

    def check_standing(self) -> None:
        """Raise InfeasiblePlan where the path leaves a position's range, or a limit forbids standing still at its ends."""
        positions = Limits(tuple(b for b in self.limits.bounds if b.kind == "position"))
        knots = self.knots
        for limits, posture in ((positions, knots), (self.limits, knots.at([0, -1]))):
            if not limits.bounds:
                continue
            s = posture.s
            shares = shares_at(self.model, posture, limits, (np.zeros_like(s),) * 3)
            i, k = np.unravel_index(shares.argmax(), shares.shape)
            over, label = float(shares[i, k]) - 1, limits.labels[k]
            if over > ROUND:
                when = "" if limits is positions else " at standstill already, where the motion begins or ends"
                raise InfeasiblePlan(
                    f"at s = {s[i]:.4g} {said(label)} is {100 * over:.3g} % over its limit{when}; raise the limit or "
                    "move the path", float(s[i]), label, over,
                )  # fmt: skip

    def check_singular(self) -> None:
        """Raise BadPath where the path crosses a singularity: nothing that a motor does is limited there."""
        crossed, s = self.model.crossings(self.knots), self.knots.s
        if crossed.any():
            i = int(crossed.argmax())
            raise BadPath(
                f"the path crosses a singularity between s = {s[i]:.4f} and {s[i + 1]:.4f}: the motors do not hold the robot there; "
                "move the path"
            )


def model_of(robot: Robot | Dynamics, limits: Limits, reduced: bool) -> Model:
    """A robot, or its inverse dynamics, as plans know it.

    Raises:
        RobodynError: limits that need more than inverse dynamics.
    """
    kinds = {b.kind for b in limits.bounds if b.kind in LOADS}
    if isinstance(robot, Robot):
        return mechanism(robot, kinds, reduced)
    if kinds - {"torque"}:
        raise RobodynError(
            f"limits of {', '.join(sorted(kinds - {'torque'}))} need a robot; inverse dynamics give torques only"
        )
    return Callback(robot, next((b.S.shape[1] for b in limits.bounds if b.kind == "torque"), None))
