"""Smoothing splines over long logs, as smooth as the encoders' noise asks."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.logs.curve import DEGREE, ORDER, SLOWEST, SmoothCurve
from robodyn_pin.logs.filters import FORGOTTEN
from robodyn_pin.logs.spectrum import Spectrum

# What the end of a log does to accelerations there: at it a quarter of the motion's rms and seven times the noise of the
# middle; d samples further inside exp(-0.45 w_c d) of that. Found with random motions and encoders' noise.
MISSED, NOISIER, FADING = 0.25, 7.0, 0.45
NOTHING = 1e-3  # of the rms acceleration of the liveliest motor: so much does not count
HIGHEST = 2.5  # [rad per sample] cut-off where there is no noise: the spline goes through the samples


@dataclass(frozen=True)
class Smoothing:
    """Cut-offs of the motors' splines."""

    cutoff: np.ndarray  # (n,) [rad per sample]

    @property
    def reach(self) -> int:
        """Samples after which an end of a block is forgotten."""
        return int(np.ceil(-np.log(FORGOTTEN) / (SLOWEST * self.cutoff.min()))) + DEGREE

    @property
    def settled(self) -> int:
        """Samples from an end of a log to where the end changes nothing that counts, whatever the noise is."""
        return int(np.ceil(np.max(np.log(NOISIER) / (FADING * self.cutoff))))

    def motion(
        self, q: np.ndarray, begin: int, rate: float, after: np.ndarray | float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Smooth positions, rates and accelerations (N, n) of samples begin.. of a log; knots do not move with blocks.

        Args:
            after: (N,) [s] times after the samples for which they are asked.
        """
        x, found = begin + np.arange(len(q), dtype=float), np.empty((3, *q.shape))
        for cutoff in np.unique(self.cutoff):
            alike = self.cutoff == cutoff
            curve = SmoothCurve(x, q[:, alike], cutoff)
            found[:, :, alike] = [curve.at(x + after * rate, order) for order in range(3)]
        return found[0], found[1] * rate, found[2] * rate**2


def passed(frequency: np.ndarray, cutoff: np.ndarray) -> np.ndarray:
    """Share of oscillations (k,) that splines of these cut-offs (n,) let through (k, n)."""
    return 1 / (1 + (frequency[:, None] / cutoff) ** (2 * ORDER))


def smoothing(spectrum: Spectrum) -> tuple[Smoothing, np.ndarray]:
    """Splines with the least expected error of the acceleration, and that error (n,) [rad/s^2 or m/s^2]."""
    offered = np.geomspace(8 * spectrum.frequency[0], HIGHEST, 100)
    errors = np.array([spectrum.acceleration_error(passed(spectrum.frequency, np.array([c]))) for c in offered])
    # Of equal ones the widest, which forgets soonest: a motor that stands still loses nothing to any.
    best = len(offered) - 1 - errors[::-1].argmin(axis=0)
    return Smoothing(offered[best]), errors.min(axis=0)


def edge_of(smoothing: Smoothing, spectrum: Spectrum, error: np.ndarray) -> int:
    """Samples from an end of a log to where the end changes no motor's acceleration by more than that is off in the middle.

    Nor by more than a thousandth of the liveliest motor's rms acceleration, where it is off by less.

    Args:
        error: (n,) of the accelerations in the middle.
    """
    motion = spectrum.acceleration_of_motion()
    allowed = np.maximum(np.maximum(error, NOTHING * motion.max(initial=0.0)), np.finfo(float).tiny)
    times = np.maximum((MISSED * motion + NOISIER * error) / allowed, 1.0)
    return int(np.ceil(np.max(np.log(times) / (FADING * smoothing.cutoff))))
