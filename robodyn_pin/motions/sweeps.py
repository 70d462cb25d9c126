"""Sweeps past a reference angle at constant speed, back and forth, one coordinate at a time: the motion that shows friction.

Source: Obal & Gierlak (IRB 2400), section 7.
"""

import numpy as np
from pydantic import Field
from scipy.interpolate import BPoly

from robodyn_pin.errors import UnknownName
from robodyn_pin.files import Positive, Strict
from robodyn_pin.motions.samples import samples_of

PEAK = 1.875  # largest over mean speed of a quintic from rest to rest


class Sweep(Strict):
    """One coordinate, past one angle, at one speed after the other."""

    of: str
    at: float  # [rad or m] the middle of every passage
    speeds: list[Positive] = Field(min_length=1)  # [rad/s or m/s]
    others: dict[str, float] = {}  # where the other coordinates wait [rad or m], zero where not named


class SweepMotion(Strict):
    """Sweeps one after the other; speeds change on quintic polynomials, without a jump of the acceleration."""

    rate: Positive  # [Hz]
    sweeps: list[Sweep] = Field(min_length=1)
    hold: Positive = 1.0  # [s] at constant speed, at the least
    travel: Positive = 2e-3  # [rad or m] at constant speed, at the least: slow speeds are held longer
    ramp: Positive = 0.5  # [s] from rest to constant speed
    approach: Positive = 0.5  # [rad/s or m/s] at most from one sweep to the next
    note: str = ""


def swept(motion: SweepMotion, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Time (N,) and coordinates, rates, accelerations (N, d) of sweeps.

    Raises:
        UnknownName: a coordinate that is not there.
    """
    profile = polynomial(motion, names)
    samples_of(float(profile.x[-1]), motion.rate)
    t = np.arange(1 + int(profile.x[-1] * motion.rate)) / motion.rate
    return t, profile(t), profile(t, 1), profile(t, 2)


def polynomial(motion: SweepMotion, names: tuple[str, ...]) -> BPoly:
    """The coordinates (d,) as piecewise quintics of time, from rest to rest."""
    times: list[float] = [0.0]
    values: list[np.ndarray] = []
    for sweep in motion.sweeps:
        for name in (sweep.of, *sweep.others):
            if name not in names:
                raise UnknownName("coordinate", name, "the motion file", names)
        others = np.array([sweep.others.get(name, 0.0) for name in names])
        moved = np.array([name == sweep.of for name in names], float)
        steps, along, speeds = _passages(motion, sweep)
        place = np.where(moved > 0, 0, others) + np.outer(along, moved)
        if values:  # from rest to rest
            way = np.abs(place[0] - values[-1][0]).max()
            times.append(times[-1] + max(motion.ramp, PEAK * way / motion.approach))
        times += list(times[-1] + np.cumsum(steps))
        values += [np.stack([x, v * moved, 0 * moved]) for x, v in zip(place, speeds, strict=True)]
    return BPoly.from_derivatives(times, values)


def _passages(motion: SweepMotion, sweep: Sweep) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Durations (k - 1,) between the knots of one sweep, positions and speeds (k,) at them."""
    w = np.array(sweep.speeds)
    half = np.maximum(w * motion.hold, motion.travel) / 2
    low, high, time = sweep.at - half, sweep.at + half, 2 * half / w
    turn = np.full_like(w, 2 * motion.ramp)
    back = turn + PEAK * np.append(np.abs(np.diff(half)), 0.0) / motion.approach  # to where the next speed begins
    steps = np.stack([time, turn, time, back], axis=1).ravel()[:-1]
    along = np.stack([low, high, high, low], axis=1).ravel()
    speeds = np.stack([w, w, -w, -w], axis=1).ravel()
    ends = low[[0, -1]] - w[[0, -1]] * motion.ramp / 2  # at rest
    return (
        np.concatenate([[motion.ramp], steps, [motion.ramp]]),
        np.concatenate([ends[:1], along, ends[1:]]),
        np.concatenate([[0.0], speeds, [0.0]]),
    )
