"""Where one motor of a log moves evenly and alone: the stretches that friction is read from, and those that are not."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.identification.ripple import force_turns, speed_quantiles, sticks, turned_round
from robodyn_pin.identification.steady_motion import SETTLED, EvenMotion
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.units import Units
from robodyn_pin.robot.axes import parallel
from robodyn_pin.robot.friction_models import FRICTION, WIDTH
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot

ASIDE = 0.05  # of a stretch's travel: others that move more do not stand still
TREMBLE = 3  # encoder steps that others may tremble by
SMOOTH = 0.2  # [s] over which positions of the others are averaged, their servos' ripple with them
BEYOND = 2.0  # times as far as limits are apart: no controller does that
TRAVEL = 2e-3  # [rad or m]
SHARP = 0.01  # of the slowest speed: a sign that changes over more is not sharp at the moments of a ripple


class Unit(NamedTuple):
    """Units of one motor."""

    effort: str
    position: str

    @property
    def speed(self) -> str:
        """rad/s or m/s."""
        return f"{self.position}/s"

    @property
    def viscous(self) -> str:
        """N m s/rad or N s/m."""
        return f"{self.effort} s/{self.position}"

    @property
    def stiffness(self) -> str:
        """N m/rad or N/m."""
        return f"{self.effort}/{self.position}"


@dataclass(frozen=True)
class Strokes:
    """Even stretches of one motor, settled, in order; and how often which reason took one away."""

    even: list[slice]
    left_out: Counter[str]
    follows: bool  # force follows the ripple, as far as can be seen: it is a motion, not of the reading alone

    def spread(self, q: np.ndarray, rate: float, grain: float) -> np.ndarray:
        """Own speeds (m,) of an even stretch of positions q (N,)."""
        found = speed_quantiles(q, rate, grain)
        return found if self.follows else np.full_like(found, found.mean())


def even_motion(run: FrictionFile) -> EvenMotion:
    """What a friction file takes for constant speed."""
    planned = SETTLED * run.sweeps.travel if run.sweeps else TRAVEL
    return EvenMotion(run.steady.shortest, run.steady.travel or planned, run.steady.tolerance)


def strokes(log: Log, grain: np.ndarray, k: int, even: EvenMotion, names: tuple[str, ...]) -> Strokes:
    """Stretches of motor k; `grain` (n,) [rad or m] are the steps of the encoders."""
    q, kept, left_out = log.q[:, k], [], Counter[str]()
    for part in even.parts(q, log.rate, float(grain[k])):
        inner = settled(part)
        moving = _moving(log.q[inner], k, grain, round(SMOOTH * log.rate))
        if moving.any():
            others = ", ".join(names[i] for i in np.flatnonzero(moving))
            left_out[f"because other motors move meanwhile ({others})"] += 1
        elif sticks(q[inner], log.rate, float(grain[k])):
            left_out["because the motor sticks and slips there instead of moving evenly"] += 1
        else:
            kept.append(part)
    back = [p for p in kept if turned_round(q[settled(p)], log.rate, float(grain[k]))]
    follows = force_turns([(q[settled(p)], log.efforts[settled(p), k]) for p in back], log.rate, float(grain[k]))
    if back and follows:
        kept = [p for p in kept if p not in back]
        left_out[
            "because a ripple turns the motion round again and again and the force with it: its mean is "
            "no friction at one speed"
        ] += len(back)
    return Strokes(kept, left_out, follows)


def settled(part: slice) -> slice:
    """A stretch without its ends, where torques settle."""
    aside = round((1 - SETTLED) / 2 * (part.stop - part.start))
    return slice(part.start + aside, part.stop - aside)


def told(left_out: Counter[str]) -> list[str]:
    """Sentences."""
    return [f"even stretches left out: {n}, {why}" for why, n in left_out.items() if n]


def even_text(even: EvenMotion, unit: Unit) -> str:
    """What counted as constant speed."""
    return (
        f"an even stretch keeps its mean speed within {100 * even.share:g} % over {even.shortest:g} s and "
        f"{even.travel:g} {unit.position} ('steady: {{tolerance, shortest, travel}}')"
    )


def _moving(q: np.ndarray, k: int, grain: np.ndarray, block: int) -> np.ndarray:
    """Which motors (n,) but k move in q (N, n), on averages that no ripple sees."""
    pieces = np.array_split(q, max(2, len(q) // max(block, 1)))
    moved = np.ptp([piece.mean(axis=0) for piece in pieces], axis=0)
    moving = moved > np.maximum(ASIDE * moved[k], TREMBLE * grain)
    moving[k] = False
    return np.asarray(moving)


def check_motors(robot: Robot, wanted: list[str]) -> None:
    """Raise UnknownName for a motor that is not there."""
    for name in wanted:
        if name not in robot.motors.names:
            raise UnknownName("motor", name, f"robot {robot.name!r}", robot.motors.names)


def width_of(run: FrictionFile, robot: Robot, motor: str, slowest: float = np.inf) -> float:
    """Of the change of sign [rad/s or m/s]: as asked, else as the robot file's friction of the motor, else 0.01, or a hundredth of
    the slowest speed if that is less: a joint that moves evenly has its sign.
    """
    own = robot.motors.S[robot.motors.names.index(motor)]
    given = [
        e.spec.width * float(np.linalg.norm(own) / np.linalg.norm(row))
        for e in robot.efforts
        for row in e.rows
        if e.spec.model in FRICTION and e.spec.width is not None and parallel(row, own)
    ]
    return run.width or next(iter(given), min(WIDTH, float(f"{SHARP * slowest:.2g}")))


def unit_of(robot: Robot, motor: str) -> Unit:
    """Of a motor's effort and position."""
    slides = bool(robot.slides(robot.motors.S)[robot.motors.names.index(motor)])
    return Unit("N", "m") if slides else Unit("N m", "rad")


def travel_range(robot: Robot, motor: str) -> float:
    """How far a motor may turn by its own limits and those of a joint that it turns alone; infinite without."""
    row, span = robot.motors.S[robot.motors.names.index(motor)], np.inf
    for bounds in limits_of(robot, {}, 0.0).of(["position"]).bounds:
        for axis, half in zip(bounds.S, bounds.half.tolist(), strict=True):
            share = float(axis @ row) / float(axis @ axis)
            if np.allclose(share * axis, row):
                span = min(span, 2 * half * abs(share))
    return span


def check_travel(robot: Robot, log: Log, units: Units) -> None:
    """Raise BadLog for a motor that moves farther than its limits are apart: its positions have another unit."""
    slides = robot.slides(robot.motors.S)
    for k, name in enumerate(robot.motors.names):
        moved, span = float(np.ptp(log.q[:, k])), travel_range(robot, name)
        if moved > BEYOND * span:
            kind, unit, usual = ("length", units.length, "mm") if slides[k] else ("angle", units.angle, "deg")
            raise BadLog(
                f"{log.name}: motor {name!r} moves over {moved:.4g} {unit_of(robot, name).position}, its limits are {span:.4g} apart; are "
                f"its {kind}s in another unit than {unit!r}? Declare 'units: {{{kind}: {usual}}}', or 'scale: {{position: ...}}'"
            )
