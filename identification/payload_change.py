"""A sudden change along one known direction of the parameters, such as a mass that is picked: found, timed, measured.

Two one-sided cumulative sums of log-likelihood ratios watch the prediction errors; the last sample at which a sum was
zero is when the change began (Page, Biometrika 41, 1954). Then its size is measured against the estimate of that time.
Both take prediction errors for white noise: where they are coloured, deviations are too small, hence five of them are asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

ALARM = 25.0  # a sum this high: white noise gets there once in exp(25) samples
CLIP = 4.0  # most that one sample adds: an outlier alone raises no alarm
KNOWN = 2.0  # variance of a prediction error, in units of the noise, up to which the errors say something of a change
EXPLAINED = 1.5  # mean square of what the change leaves, in units of the noise
SIGNIFICANT = 5.0  # standard deviations


@dataclass(frozen=True)
class PayloadChange:
    """A change that was measured."""

    begin: float  # [s] of the last sample before it
    found: float  # [s] when it was noticed
    size: float  # along the direction; of a payload [kg]
    deviation: float  # standard deviation of the size
    explained: bool  # whether the direction explains the errors; else the size means nothing
    values: np.ndarray  # (n,) the estimate before it began


class ChangeDetector:
    """Watches the errors of an estimate along one direction.

    Args:
        direction: (n,) change of the parameters per unit, SI.
        smallest: size that must be noticed, in units of the direction.
        duration: [s] over which a change is measured.
    """

    def __init__(self, direction: np.ndarray, smallest: float, duration: float):
        self.direction, self.smallest, self.duration = np.asarray(direction, float), float(smallest), float(duration)
        self._sums = np.zeros(2)
        self._calm: list[tuple[float, np.ndarray]] = []  # when each sum was zero last, and the estimate then
        self._measured: _Measured | None = None

    def state(self) -> dict[str, np.ndarray]:
        """All that the future depends on."""
        calm = [[t, *values] for t, values in self._calm]
        found = {"sums": self._sums, "calm": np.array(calm).reshape(len(calm), len(self.direction) + 1)}
        return found | ({} if self._measured is None else self._measured.state())

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on where another detector stopped."""
        self._sums = np.array(state["sums"])
        self._calm = [(float(row[0]), row[1:]) for row in state["calm"]]
        self._measured = _Measured.restored(state) if "before" in state else None

    def watch(
        self,
        t: float,
        W: np.ndarray,
        y: np.ndarray,
        values: np.ndarray,
        covariance: Callable[[], np.ndarray],
        variance: np.ndarray,
    ) -> PayloadChange | None:
        """Look at a sample, before the estimate takes it; the change, once it is measured.

        Args:
            W, y: rows (d, n) and efforts (d,) in units of the noise. values: (n,) the estimate.
            covariance: gives that of the estimate, asked for when a change begins. variance: (d,) of each error.
        """
        if not self._calm:
            self._calm = [(t, values), (t, values)]
        u = W @ self.direction
        if self._measured is not None:
            return self._measure(self._measured, t, W, y, u)
        if variance.max() > KNOWN:
            return None
        error = y - W @ values
        for k, sign in enumerate((1.0, -1.0)):
            shift = sign * self.smallest * u
            self._sums[k] += min(float(shift @ error - shift @ shift / 2), CLIP)
            if self._sums[k] <= 0:
                self._sums[k], self._calm[k] = 0.0, (t, values)
            elif self._sums[k] > ALARM:
                begin, before = self._calm[k]
                self._measured = _Measured(begin, t, before, covariance())
                break
        return None

    def _measure(
        self, found: "_Measured", t: float, W: np.ndarray, y: np.ndarray, u: np.ndarray
    ) -> PayloadChange | None:
        found.add(W, y, u)
        if t - found.found < self.duration:
            return None
        change = found.change()
        self._measured, self._calm, self._sums = None, [], np.zeros(2)
        significant = abs(change.size) > max(SIGNIFICANT * change.deviation, self.smallest / 2)
        return change if significant else None


class _Measured:
    """Sums over the samples since a change was found."""

    def __init__(self, begin: float, found: float, before: np.ndarray, covariance: np.ndarray):
        self.begin, self.found, self._before, self._covariance = begin, found, before, covariance
        self._uu, self._ue, self._ee, self._rows = 0.0, 0.0, 0.0, 0
        self._uW = np.zeros(len(before))

    def add(self, W: np.ndarray, y: np.ndarray, u: np.ndarray) -> None:
        error = y - W @ self._before
        self._uu += float(u @ u)
        self._ue += float(u @ error)
        self._ee += float(error @ error)
        self._uW += u @ W
        self._rows += len(y)

    def state(self) -> dict[str, np.ndarray]:
        """All that the future depends on."""
        numbers = np.array([self.begin, self.found, self._uu, self._ue, self._ee, self._rows])
        return {"before": self._before, "covariance": self._covariance, "numbers": numbers, "uW": self._uW}

    @classmethod
    def restored(cls, state: Mapping[str, np.ndarray]) -> "_Measured":
        begin, found, uu, ue, ee, rows = (float(x) for x in state["numbers"])
        again = cls(begin, found, np.array(state["before"]), np.array(state["covariance"]))
        again._uu, again._ue, again._ee, again._rows, again._uW = uu, ue, ee, int(rows), np.array(state["uW"])
        return again

    def change(self) -> PayloadChange:
        size = self._ue / max(self._uu, 1e-300)
        left = (self._ee - size * self._ue) / max(self._rows, 1)
        lever = self._uW / max(self._uu, 1e-300)
        variance = 1 / max(self._uu, 1e-300) + float(lever @ self._covariance @ lever)
        return PayloadChange(self.begin, self.found, size, variance**0.5, left < EXPLAINED, self._before)
