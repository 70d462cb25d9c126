"""Passages at constant speed through a reference angle, found in a log from positions alone; friction and gravity of pairs.

Source: Obal & Gierlak (IRB 2400), section 7, Fig. 8 and eqs. (70)-(73).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.friction_curve import SAME, Points, mean_error
from robodyn_pin.identification.steady_motion import resolution

JITTER = 3  # encoder steps that a position may be off an even motion
FEWEST = 8  # samples of a passage
GROWTH = 1.15  # from one half length that is tried to the next
SETTLED = 0.8  # part of a passage that counts: at its ends torques settle


@dataclass(frozen=True)
class Passage:
    """An even motion through the reference angle."""

    crossing: float  # sample, with its fraction, at the angle
    part: slice  # samples at constant speed, as many before the angle as after it
    speed: float  # [rad/s or m/s], signed


def passages(q: np.ndarray, rate: float, angle: float, shortest: float, tolerance: float) -> list[Passage]:
    """Every passage of q (N,) through `angle` that keeps its speed for `shortest` [s] or longer.

    Args:
        rate: samples a second. tolerance: how much the speed may change within a passage, relative.
    """
    grain = float(resolution(q[:, None])[0])
    found = []
    for low, high in _crossings(q - angle, grain):
        passage = _even(q - angle, (low + high) / 2, high - low, rate, JITTER * grain, tolerance)
        if passage is not None and passage.part.stop - passage.part.start >= SETTLED * shortest * rate:
            found.append(passage)
    return found


def _crossings(away: np.ndarray, grain: float) -> list[tuple[int, int]]:
    """Last sample on one side and first on the other; trembling by the encoder's grain is no crossing."""
    outside = np.flatnonzero(np.abs(away) > grain)
    change = np.flatnonzero(np.diff(np.sign(away[outside])))
    return [(int(outside[k]), int(outside[k + 1])) for k in change]


def _even(away: np.ndarray, middle: float, gap: int, rate: float, jitter: float, tolerance: float) -> Passage | None:
    """The longest stretch about a crossing that a straight line in time describes."""
    kept = None
    half = max(FEWEST / 2, gap)
    while middle - half >= 0 and middle + half <= len(away) - 1:
        begin, end = round(middle - half), round(middle + half) + 1
        time = np.arange(begin, end) - middle
        slope, offset = np.polyfit(time, away[begin:end], 1)
        bend = tolerance * abs(slope) * half / 8  # a speed that changes evenly by the tolerance
        if slope == 0 or np.abs(away[begin:end] - offset - slope * time).max() > jitter + bend:
            break
        kept = middle - offset / slope, half, slope
        half = max(half + 1, half * GROWTH)
    if kept is None:
        return None
    crossing, half, slope = kept
    short = SETTLED * max(half - abs(crossing - middle), 0)
    return Passage(crossing, slice(round(crossing - short), round(crossing + short) + 1), slope * rate)


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
    return Pairs(Points(*rows[:5]), rows[5]), [s.speed for s in alone]


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
