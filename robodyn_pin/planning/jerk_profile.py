"""The motion s(t) from rest to rest on s from 0 to 1 within limits of s', s'' and s''', in closed form; in pieces of constant jerk.

The speed rises to its peak as fast as acceleration and jerk allow, stays there where it is the largest one, and falls. For a given
peak, rise and fall are the shortest there are; the peak is the largest one for which both have room, as a higher one saves time.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from scipy.optimize import brentq

from robodyn_pin.planning.end_grading import End, Grading

Piece = tuple[float, float, float]  # duration [s], s'' at its begin [1/s^2], s''' [1/s^3]
Reached = tuple[float, float]  # s and s'


@dataclass(frozen=True)
class JerkProfile:
    """s(t) on K intervals in time, each within one piece of constant jerk; what `Profile` tells of a motion."""

    grading: Grading  # r, as other plans have it
    times: np.ndarray  # (K + 1,) [s]
    begin: np.ndarray  # (K, 4) s and its first three derivatives at the begin of each interval

    @property
    def time(self) -> float:
        """How long the motion takes [s]."""
        return float(self.times[-1])

    @property
    def intervals(self) -> int:
        """Number K of intervals."""
        return len(self.begin)

    @cached_property
    def s(self) -> np.ndarray:
        """Path parameter at the knots (K + 1,)."""
        return np.append(self.begin[:, 0], 1.0)

    @property
    def z_knots(self) -> np.ndarray:
        """(ds/dt)^2 at the knots (K + 1,)."""
        return np.append(self.begin[:, 1], 0.0) ** 2

    def z(self, s: np.ndarray) -> np.ndarray:
        """Return (ds/dt)^2 at s (N,)."""
        return self.rates_at(s)[0] ** 2

    def at_time(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return s and its first three derivatives by time, at times t (N,) clipped to [0, time]."""
        t = np.clip(np.asarray(t, float), 0.0, self.time)
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, self.intervals - 1)
        s, speed, acceleration, jerk = self._after(k, t - self.times[k])
        return np.where(t == self.time, 1.0, np.clip(s, 0.0, 1.0)), speed, acceleration, jerk

    def rates_at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ds/dt and its first and second derivative by time, at s (N,) in [0, 1]: by Newton's method, or bisection."""
        s = np.clip(np.asarray(s, float), 0.0, 1.0)
        k = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, self.intervals - 1)
        low, high = np.zeros_like(s), np.diff(self.times)[k]
        t = (low + high) / 2
        for _ in range(60):
            there, speed, *_ = self._after(k, t)
            low, high = np.where(there < s, t, low), np.where(there > s, t, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = t - (there - s) / speed
            following = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            if np.abs(following - t).max(initial=0.0) < 1e-16 * self.time:
                break
            t = following
        t = np.where(s == 0, 0.0, np.where(s == 1, np.diff(self.times)[-1], t))
        _, *rates = self._after(k, t)
        return rates[0], rates[1], rates[2]

    def rates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `rates_at`, at r (N,)."""
        return self.rates_at(self.grading.at(r)[0])

    def rates_in(self, k: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `rates_at`, at places x (N,) from 0 to 1 in the intervals k (N,), which tells both sides of a knot apart."""
        _, *rates = self._after(k, x * np.diff(self.times)[k])
        return rates[0], rates[1], rates[2]

    def _after(self, k: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """s and its derivatives a time t (N,) after the begin of intervals k (N,)."""
        s, v, a, j = self.begin[k].T
        speed = np.maximum(v + t * (a + t * j / 2), 0.0)  # round-off at the end
        return s + t * (v + t * (a / 2 + t * j / 6)), speed, a + t * j, j


def jerk_profile(speed: float, acceleration: float, jerk: float, ends: tuple[End, End], intervals: int) -> JerkProfile:
    """Return the fastest motion from rest to rest, s from 0 to 1.

    Args:
        speed, acceleration, jerk: largest s' [1/s], |s''| [1/s^2] and |s'''| [1/s^3]; infinite without a limit, but not
            both of the last ones.
        ends: acceleration at begin and end: "rest" zero, "free" any.
        intervals: about how many intervals the pieces are cut into.
    """

    def halves(peak: float) -> tuple[list[Piece], list[Piece]]:
        rise, fall = (_rise(peak, acceleration, jerk, end) for end in ends)
        return rise, [(t, -(a + t * j), j) for t, a, j in reversed(fall)]

    def room(peak: float) -> float:
        rise, fall = halves(peak)
        return 1 - _end(rise, (0.0, 0.0))[0] - _end(fall, (0.0, peak))[0]

    peak = speed
    if not np.isfinite(speed) or room(speed) < 0:
        high = min(1.0, speed)
        while room(high) > 0:
            high = 2 * high
        low = high
        while room(low) < 0:
            low = low / 2
        peak = float(brentq(room, low, min(high, speed), xtol=1e-300, rtol=1e-15)) if low < high else high
    rise, fall = halves(peak)
    cruise = [(room(peak) / peak, 0.0, 0.0)] if peak == speed else []
    pieces = [piece for piece in (*rise, *cruise, *fall) if piece[0] > 0]
    return _cut(pieces, Grading(ends), intervals)


def _rise(peak: float, acceleration: float, jerk: float, end: End) -> list[Piece]:
    """From rest to the peak speed, where the acceleration is zero."""
    if not np.isfinite(jerk):
        return [(peak / acceleration, acceleration, 0.0)]
    if end == "free":
        most = min(acceleration, (2 * jerk * peak) ** 0.5)
        return [(peak / most - most / jerk / 2, most, 0.0), (most / jerk, most, -jerk)]
    most = min(acceleration, (jerk * peak) ** 0.5)
    return [(most / jerk, 0.0, jerk), (peak / most - most / jerk, most, 0.0), (most / jerk, most, -jerk)]


def _end(pieces: list[Piece], state: Reached) -> Reached:
    """s and s' after all pieces."""
    s, v = state
    for t, a, j in pieces:
        s, v = s + t * (v + t * (a / 2 + t * j / 6)), v + t * (a + t * j / 2)
    return s, v


def _cut(pieces: list[Piece], grading: Grading, intervals: int) -> JerkProfile:
    """The motion through these pieces, each cut into equal intervals."""
    total = sum(t for t, _, _ in pieces)
    counts = np.array([max(1, round(intervals * t / total)) for t, _, _ in pieces])
    states = np.array(list(accumulate(pieces[:-1], lambda at, piece: _end([piece], at), initial=(0.0, 0.0))))
    of, (duration, a, j) = np.repeat(np.arange(len(pieces)), counts), np.array(pieces).T
    t = (np.arange(len(of)) - (np.cumsum(counts) - counts)[of]) * (duration / counts)[of]
    s, v, a, j = states[of, 0], states[of, 1], a[of], j[of]
    begin = np.stack([s + t * (v + t * (a / 2 + t * j / 6)), v + t * (a + t * j / 2), a + t * j, j], axis=1)
    begins = np.cumsum(duration) - duration
    return JerkProfile(grading, np.append(begins[of] + t, total), begin)
