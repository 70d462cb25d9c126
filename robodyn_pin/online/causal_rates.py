"""Rates and accelerations from positions that have come in so far: a polynomial over a window, taken at its middle.

The motion is that of half a window ago, which is said; torques wait as long. A window knows one sampling time: where
samples are missing it is filled anew, and where the rate changes it adapts.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import pinv

from robodyn_pin.errors import BadFile
from robodyn_pin.online.track_file import CausalSpec

REGULAR = 0.2  # share of a step by which a sample may come early or late
SETTLED = 5  # steps of another length in a row that are a new rate


@dataclass(frozen=True)
class Moments:
    """Motion of n motors at N moments, with the torques of these moments."""

    t: np.ndarray  # (N,) [s]
    q: np.ndarray  # (N, n)
    dq: np.ndarray
    ddq: np.ndarray
    tau: np.ndarray

    def at(self, which: slice | np.ndarray) -> "Moments":
        """Some of them."""
        return Moments(*(getattr(self, k)[which] for k in ("t", "q", "dq", "ddq", "tau")))


@lru_cache(maxsize=16)
def weights(window: int, degree: int, step: float) -> np.ndarray:
    """Value, slope and second derivative at the middle of a window of samples `step` [s] apart, (3, window)."""
    half = (window - 1) // 2
    powers = (np.arange(-half, half + 1)[:, None] / half) ** np.arange(degree + 1)
    unit = half * step
    return np.asarray(pinv(powers)[:3] / np.array([1.0, unit, unit**2 / 2])[:, None])


class CausalRates:
    """Takes samples as they come, one or many at a time, and gives motions that are `delay` seconds old.

    `noted` counts what was odd: gaps, new rates, samples left out.

    Args:
        rate: samples a second [Hz] to begin with.
        motors: how many.
        fastest: (motors,) speeds that no motor reaches [rad/s or m/s]; positions that would take them are left out.

    Raises:
        BadFile: an even window, or not longer than the degree.
    """

    def __init__(self, rate: float, motors: int, spec: CausalSpec | None = None, fastest: np.ndarray | float = np.inf):
        spec = spec or CausalSpec()
        if spec.window % 2 == 0 or spec.window <= spec.degree:
            raise BadFile(
                f"window {spec.window} with degree {spec.degree}: the window must be odd and longer than the degree"
            )
        self._spec, self._step, self._motors, self._fastest = spec, 1 / rate, motors, fastest
        self._t, self._x = np.empty(0), np.empty((0, 2 * motors))  # positions and torques that wait
        self._odd: list[float] = []
        self.noted = Counter[str]()

    @property
    def step(self) -> float:
        """Sampling time [s]."""
        return self._step

    @property
    def delay(self) -> float:
        """How old the motion is that comes out [s]."""
        return (self._spec.window - 1) // 2 * self._step

    @property
    def latest(self) -> float | None:
        """Time of the last sample [s]."""
        return float(self._t[-1]) if len(self._t) else None

    def push(self, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> Moments:
        """Motions that samples t (N,), q, tau (N, n) complete; those without a position, out of order or out of reach of the
        one before are left out.
        """
        keep = self._usable(t, q)
        out = self._pieces(t[keep], np.concatenate([q, tau], axis=1)[keep])
        return Moments(*(np.concatenate([getattr(m, k) for m in out]) for k in ("t", "q", "dq", "ddq", "tau")))

    def _usable(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Which samples have positions, come after all before them, and can be reached from there."""
        finite = np.isfinite(q).all(axis=1) & np.isfinite(t)
        latest = np.maximum.accumulate(np.concatenate([self._t[-1:], np.where(finite, t, -np.inf)]))
        before = latest[:-1] if len(self._t) else np.concatenate([[-np.inf], latest[:-1]])
        late = finite & (t <= before)
        self.noted["not a number"] += int((~finite).sum())
        self.noted["time does not increase"] += int(late.sum())
        ordered = np.flatnonzero(finite & ~late)
        kept = np.zeros(len(t), bool)
        kept[ordered[self._reached(t[ordered], q[ordered])]] = True
        self.noted["position jumps"] += int(len(ordered) - kept.sum())
        return kept

    def _reached(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Numbers of the samples that a motor can have come to from the one before that counts.

        One wrong position would be in every window that it passes; where positions stay elsewhere they count once there was
        time to get there.
        """
        t, q = np.concatenate([self._t[-1:], t]), np.concatenate([self._x[-1:, : self._motors], q])
        there, begin = np.arange(len(t)), 0
        while True:
            rest = there[begin:]
            most = self._fastest * np.maximum(np.diff(t[rest]), self._step)[:, None]
            far = np.flatnonzero((np.abs(np.diff(q[rest], axis=0)) > most).any(axis=1))
            if not len(far):
                return there[len(self._t[-1:]) :] - len(self._t[-1:])
            begin += int(far[0])
            there = np.delete(there, begin + 1)

    def _pieces(self, t: np.ndarray, x: np.ndarray) -> list[Moments]:
        """What comes out, piece by piece: each irregular step begins a new window."""
        steps = np.diff(t, prepend=self._t[-1] if len(self._t) else np.nan)
        out, begin, odd, new = [], 0, self._irregular(steps, 0), 0
        while len(odd):
            i, odd = int(odd[0]), odd[1:]
            if i > begin + new:  # regular steps lie between
                self._odd = []
            out.append(self._extend(t[begin:i], x[begin:i]))
            self._t, self._x, begin, new = t[:0], x[:0], i, 1
            self._odd.append(float(steps[i]))
            self.noted["gap"] += 1
            if len(self._odd) == SETTLED:
                if np.ptp(self._odd) < REGULAR * min(self._odd):
                    self._step = float(np.median(self._odd))
                    self.noted["gap"] -= SETTLED
                    self.noted["new rate"] += 1
                    odd = self._irregular(steps, i + 1)
                self._odd = []
        if len(t) > begin + new:
            self._odd = []
        out.append(self._extend(t[begin:], x[begin:]))
        return out

    def _irregular(self, steps: np.ndarray, begin: int) -> np.ndarray:
        return begin + np.flatnonzero(np.abs(steps[begin:] / self._step - 1) > REGULAR)

    def _extend(self, t: np.ndarray, x: np.ndarray) -> Moments:
        """Add regular samples to the window, and take what it then gives."""
        t, x = np.concatenate([self._t, t]), np.concatenate([self._x, x])
        size = self._spec.window
        half, n = (size - 1) // 2, self._motors
        self._t, self._x = t[max(0, len(t) - size + 1) :], x[max(0, len(t) - size + 1) :]
        if len(t) < size:
            none = np.empty((0, n))
            return Moments(np.empty(0), none, none, none, none)
        moved = sliding_window_view(x[:, :n], size, axis=0) @ weights(size, self._spec.degree, self._step).T
        return Moments(t[half:-half], moved[..., 0], moved[..., 1], moved[..., 2], x[half:-half, n:])

    def state(self) -> dict[str, np.ndarray]:
        """All that the future depends on."""
        return {"t": self._t, "x": self._x, "odd": np.array(self._odd), "step": np.array(self._step)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on where another stopped."""
        self._t, self._x, self._odd = np.array(state["t"]), np.array(state["x"]), list(state["odd"])
        self._step = float(state["step"])
