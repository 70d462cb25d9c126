"""Causal rates: velocities and accelerations from past positions, by a polynomial over a window of samples.

The polynomial is evaluated at the middle of the window, so the motion comes out half a window late, and torques are delayed
as much. A window has one sampling time: after a gap it is filled again, and if the sampling rate changes it adapts.
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

STEP_TOLERANCE = 0.2  # of a step, by which a sample may come early or late
NEW_RATE_STEPS = 5  # steps of another length in a row that make a new sampling rate
FIELDS = ("t", "q", "dq", "ddq", "tau")


@dataclass(frozen=True)
class MotionSamples:
    """Motion and torques of n motors at N times."""

    t: np.ndarray  # (N,) [s]
    q: np.ndarray  # (N, n)
    dq: np.ndarray
    ddq: np.ndarray
    tau: np.ndarray

    def select(self, index: slice | np.ndarray) -> "MotionSamples":
        """The samples of an index."""
        return MotionSamples(*(getattr(self, field)[index] for field in FIELDS))


@lru_cache(maxsize=16)
def derivative_weights(window: int, degree: int, step: float) -> np.ndarray:
    """Weights (3, window) that give value, first and second derivative at the middle of a window of samples `step` [s] apart."""
    half = (window - 1) // 2
    powers = (np.arange(-half, half + 1)[:, None] / half) ** np.arange(degree + 1)
    unit = half * step
    return np.asarray(pinv(powers)[:3] / np.array([1.0, unit, unit**2 / 2])[:, None])


class CausalRates:
    """Takes position samples as they come, one or many at a time, and returns motions that are `delay` seconds old.

    `anomalies` counts gaps, changes of the sampling rate, and samples that were left out.

    Args:
        rate: sampling rate at the start [Hz].
        motors: number of motors.
        fastest: (motors,) speeds that no motor reaches [rad/s or m/s]; positions that need such speeds are left out.

    Raises:
        BadFile: the window is even, or not longer than the degree.
    """

    def __init__(self, rate: float, motors: int, spec: CausalSpec | None = None, fastest: np.ndarray | float = np.inf):
        spec = spec or CausalSpec()
        if spec.window % 2 == 0 or spec.window <= spec.degree:
            raise BadFile(
                f"window {spec.window} with degree {spec.degree}: the window must be odd and longer than the degree"
            )
        self._spec, self._step, self._motors, self._fastest = spec, 1 / rate, motors, fastest
        self._t, self._x = np.empty(0), np.empty((0, 2 * motors))  # positions and torques in the window
        self._irregular_steps: list[float] = []
        self.anomalies = Counter[str]()

    @property
    def step(self) -> float:
        """Sampling time [s]."""
        return self._step

    @property
    def delay(self) -> float:
        """Age of the motions that are returned [s]."""
        return (self._spec.window - 1) // 2 * self._step

    @property
    def latest(self) -> float | None:
        """Time of the last sample [s]."""
        return float(self._t[-1]) if len(self._t) else None

    def push(self, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> MotionSamples:
        """Take samples t (N,), q, tau (N, n) and return the motions whose windows they complete.

        Samples without a position, out of order or too far from the one before are left out and counted.
        """
        keep = self._usable(t, q)
        parts = self._split_at_gaps(t[keep], np.concatenate([q, tau], axis=1)[keep])
        return MotionSamples(*(np.concatenate([getattr(m, field) for m in parts]) for field in FIELDS))

    def _usable(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Which samples have positions, are later than all before them, and are within reach of the one before."""
        finite = np.isfinite(q).all(axis=1) & np.isfinite(t)
        latest = np.maximum.accumulate(np.concatenate([self._t[-1:], np.where(finite, t, -np.inf)]))
        before = latest[:-1] if len(self._t) else np.concatenate([[-np.inf], latest[:-1]])
        late = finite & (t <= before)
        self.anomalies["not a number"] += int((~finite).sum())
        self.anomalies["time does not increase"] += int(late.sum())
        ordered = np.flatnonzero(finite & ~late)
        kept = np.zeros(len(t), bool)
        kept[ordered[self._reached(t[ordered], q[ordered])]] = True
        self.anomalies["position jumps"] += int(len(ordered) - kept.sum())
        return kept

    def _reached(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Numbers of the samples that the motors can have reached from the last accepted one.

        A single wrong position would spoil every window that it passes. If positions stay elsewhere, they are accepted once
        the motors have had time to get there.
        """
        t, q = np.concatenate([self._t[-1:], t]), np.concatenate([self._x[-1:, : self._motors], q])
        accepted, begin = np.arange(len(t)), 0
        while True:
            rest = accepted[begin:]
            largest = self._fastest * np.maximum(np.diff(t[rest]), self._step)[:, None]
            far = np.flatnonzero((np.abs(np.diff(q[rest], axis=0)) > largest).any(axis=1))
            if not len(far):
                return accepted[len(self._t[-1:]) :] - len(self._t[-1:])
            begin += int(far[0])
            accepted = np.delete(accepted, begin + 1)

    def _split_at_gaps(self, t: np.ndarray, x: np.ndarray) -> list[MotionSamples]:
        """The motions of each regular part; every irregular step begins a new window."""
        steps = np.diff(t, prepend=self._t[-1] if len(self._t) else np.nan)
        parts, begin, irregular, new = [], 0, self._irregular(steps, 0), 0
        while len(irregular):
            i, irregular = int(irregular[0]), irregular[1:]
            if i > begin + new:  # regular steps lie between
                self._irregular_steps = []
            parts.append(self._extend(t[begin:i], x[begin:i]))
            self._t, self._x, begin, new = t[:0], x[:0], i, 1
            self._irregular_steps.append(float(steps[i]))
            self.anomalies["gap"] += 1
            if len(self._irregular_steps) == NEW_RATE_STEPS:
                if np.ptp(self._irregular_steps) < STEP_TOLERANCE * min(self._irregular_steps):
                    self._step = float(np.median(self._irregular_steps))
                    self.anomalies["gap"] -= NEW_RATE_STEPS
                    self.anomalies["new rate"] += 1
                    irregular = self._irregular(steps, i + 1)
                self._irregular_steps = []
        if len(t) > begin + new:
            self._irregular_steps = []
        parts.append(self._extend(t[begin:], x[begin:]))
        return parts

    def _irregular(self, steps: np.ndarray, begin: int) -> np.ndarray:
        return begin + np.flatnonzero(np.abs(steps[begin:] / self._step - 1) > STEP_TOLERANCE)

    def _extend(self, t: np.ndarray, x: np.ndarray) -> MotionSamples:
        """Append regular samples to the window, and return the motions of all full windows."""
        t, x = np.concatenate([self._t, t]), np.concatenate([self._x, x])
        size = self._spec.window
        half, n = (size - 1) // 2, self._motors
        self._t, self._x = t[max(0, len(t) - size + 1) :], x[max(0, len(t) - size + 1) :]
        if len(t) < size:
            none = np.empty((0, n))
            return MotionSamples(np.empty(0), none, none, none, none)
        moved = sliding_window_view(x[:, :n], size, axis=0) @ derivative_weights(size, self._spec.degree, self._step).T
        return MotionSamples(t[half:-half], moved[..., 0], moved[..., 1], moved[..., 2], x[half:-half, n:])

    def state(self) -> dict[str, np.ndarray]:
        """All that later motions depend on, as arrays."""
        return {"t": self._t, "x": self._x, "odd": np.array(self._irregular_steps), "step": np.array(self._step)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from the state of another one."""
        self._t, self._x, self._irregular_steps = np.array(state["t"]), np.array(state["x"]), list(state["odd"])
        self._step = float(state["step"])
