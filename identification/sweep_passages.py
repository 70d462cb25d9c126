"""Passages at constant speed through a reference angle, found in a log from positions alone; friction and gravity of pairs.

Source: Obal & Gierlak (IRB 2400), section 7, Fig. 8 and eqs. (70)-(73).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.identification.friction_curve import SAME, Points, mean_error
from robodyn_pin.identification.steady_motion import SETTLED, EvenMotion

FEWEST = 8  # samples of a passage


@dataclass(frozen=True)
class Passage:
    """An even motion through the reference angle."""

    crossing: float  # sample, with its fraction, at the angle
    part: slice  # samples at constant speed, as many before the angle as after it
    speed: float  # [rad/s or m/s], signed


def passages(q: np.ndarray, rate: float, angle: float, parts: Sequence[slice], even: EvenMotion) -> list[Passage]:
    """Every even stretch of q (N,) that passes `angle`, as far as it is even to both sides.

    Args:
        rate: samples a second. parts: `even.parts` of q.
    """
    found = []
    for part in parts:
        crossing, slope = _line(q, part, angle)
        half = min(crossing - part.start, part.stop - 1 - crossing)
        if half < FEWEST / 2:
            continue
        short = SETTLED * half
        if 2 * half >= SETTLED * even.shortest * rate and 2 * half * abs(slope) >= SETTLED * even.travel:
            counted = slice(max(part.start, round(crossing - short)), min(part.stop, round(crossing + short) + 1))
            crossing, slope = _line(q, counted, angle)
            found.append(Passage(crossing, counted, slope * rate))
    return found


def _line(q: np.ndarray, part: slice, angle: float) -> tuple[float, float]:
    """Where [samples] the straight line through a part of q passes an angle, and its slope per sample."""
    centre = (part.start + part.stop - 1) / 2
    slope, offset = np.polyfit(np.arange(part.start, part.stop) - centre, q[part] - angle, 1)
    return (centre - offset / slope, float(slope)) if slope else (np.inf, 0.0)


@dataclass(frozen=True)
class Pairs:
    """Friction and load of one motor, a row a speed, from passages in both directions."""

    friction: Points  # speeds positive
    load: np.ndarray  # (n,) gravity and a torque sensor's offset, at the reference angle [N m or N]


@dataclass(frozen=True)
class PassageSample:
    """What a log holds of one passage."""

    speed: float  # signed [rad/s or m/s]
    away: np.ndarray  # (k,) positions from the reference angle [rad or m], on a straight line in time
    torque: np.ndarray  # (k,) [N m or N]
    spread: np.ndarray  # (m,) own speeds [rad/s or m/s]


def pair_up(found: Sequence[PassageSample]) -> tuple[Pairs, list[float]]:
    """Halves of differences and sums of the torques at the same positions, eqs. (71)-(73).

    Returns:
        The pairs, slow to fast, and the signed speeds that have no partner in the other direction.
    """
    up, down = (sorted((s for s in found if s.speed * sign > 0), key=lambda s: abs(s.speed)) for sign in (1, -1))
    pairs, alone = [], []
    while up and down:
        a, b = up[0], down[0]
        if abs(abs(a.speed) - abs(b.speed)) <= SAME * max(abs(a.speed), abs(b.speed)):
            pairs.append((up.pop(0), down.pop(0)))
        else:
            alone.append((up if abs(a.speed) < abs(b.speed) else down).pop(0))
    alone += [*up, *down]
    rows = np.array([_row(a, b) for a, b in pairs]).reshape(-1, 6).T
    spread = np.array([np.concatenate([a.spread, -b.spread]) for a, b in pairs])
    return Pairs(replace(Points(*rows[:5]), spread=spread), rows[5]), [s.speed for s in alone]


def _row(up: PassageSample, down: PassageSample) -> list[float]:
    """Speed, friction, deviation of one sample, error of the mean, samples, load."""
    reach = min(np.abs(s.away).max() for s in (up, down))
    (a, noise_a), (b, noise_b) = (_mean(s, reach) for s in (up, down))
    error = float(np.hypot(mean_error(noise_a), mean_error(noise_b))) / 2
    deviation = float(np.hypot(noise_a.std(), noise_b.std())) / 2
    return [(up.speed - down.speed) / 2, (a - b) / 2, deviation, error, len(noise_a) + len(noise_b), (a + b) / 2]


def _mean(sample: PassageSample, reach: float) -> tuple[float, np.ndarray]:
    """Mean torque within `reach` of the angle, and what is left of the samples there without gravity's change.

    A parabola over position is averaged, not the samples: those of two passages do not lie at the same positions, and at
    speed gravity changes more from one sample to the next than friction is to be known.
    """
    inside = np.abs(sample.away) <= reach
    along, torque = sample.away[inside] / reach, sample.torque[inside]
    parabola = np.polynomial.Polynomial.fit(along, torque, 2, domain=[-1, 1])
    constant, _, square = parabola.coef
    return float(constant) + float(square) / 3, torque - parabola(along)
