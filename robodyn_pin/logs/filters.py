"""Zero-phase filters, rates by differences, and how far their transients reach."""

from typing import Annotated

import numpy as np
from pydantic import Field

from robodyn_pin.errors import BadLog
from robodyn_pin.files import Strict
from robodyn_pin.logs.filtering import both_ways

FORGOTTEN = 1e-9  # share of a transient that is left where a block's margin ends
POLE_IS_REAL = 1e-12  # imaginary part up to which it is
SETTLED = 1e-4  # share that is left where accelerations are at most 1.5 times as far off as in the middle of a log


class Lowpass(Strict):
    """Butterworth, forward and backward: no phase, twice the order's attenuation."""

    order: Annotated[int, Field(ge=1, le=10)] = 4
    cutoff: Annotated[float, Field(gt=0)]  # [Hz]

    def sections(self, rate: float, where: str) -> np.ndarray:
        """Second-order sections (n, 6) at a sampling rate [Hz]: b0, b1, b2, 1, a1, a2. The first has the whole gain.

        Raises:
            BadLog: the cut-off lies at or above half the sampling rate.
        """
        poles, gain = self._poles(rate, where)
        upper = poles[poles.imag > POLE_IS_REAL]
        sections = np.zeros((len(poles) - len(upper), 6))
        for row, p in zip(sections[::-1], upper, strict=False):
            row[:] = 1.0, 2.0, 1.0, 1.0, -2 * p.real, abs(p) ** 2
        if len(poles) % 2:
            sections[0] = 1.0, 1.0, 0.0, 1.0, -poles[-1].real, 0.0
        sections[0, :3] *= gain
        return sections

    def _poles(self, rate: float, where: str) -> tuple[np.ndarray, float]:
        """Poles of the filter, those of slow transients first, and its gain: Butterworth's by the bilinear transform.

        `scipy.signal.butter` says the same; its import takes as long as closing a log's loops.
        """
        if self.cutoff >= rate / 2:
            raise BadLog(
                f"{where}: a filter at {self.cutoff:g} Hz needs more than {2 * self.cutoff:g} samples a second, the log has "
                f"{rate:.4g}; lower the cut-off"
            )
        turns = np.arange(self.order - 1, -self.order, -2) / (2 * self.order)
        warped = np.tan(np.pi * self.cutoff / rate)
        s = -warped * np.exp(-1j * np.pi * turns[np.argsort(-np.abs(turns), kind="stable")])
        return (1 + s) / (1 - s), float(warped**self.order / np.prod(1 - s).real)

    def reach(self, rate: float, where: str, left: float = FORGOTTEN) -> int:
        """Samples after which `left` of a transient is left."""
        slowest = np.abs(self._poles(rate, where)[0]).max()
        return int(np.ceil(np.log(left) / np.log(slowest)))

    def response(self, frequency: np.ndarray, rate: float, where: str) -> np.ndarray:
        """Share of oscillations (k,) [rad per sample] that it lets through, both ways."""
        back = np.exp(-1j * np.asarray(frequency)[..., None] * np.arange(3))  # by 0, 1 and 2 samples
        sections = self.sections(rate, where)
        return np.asarray(np.abs(np.prod((back @ sections[:, :3].T) / (back @ sections[:, 3:].T), axis=-1)) ** 2)

    def apply(self, x: np.ndarray, rate: float, where: str) -> np.ndarray:
        """Filter x (N, ...) along its first axis.

        Raises:
            BadLog: fewer samples than the filter needs at its ends.
        """
        sections = self.sections(rate, where)
        padding = 3 * (2 * len(sections) + 1)
        if len(x) <= padding:
            raise BadLog(
                f"{where}: {len(x)} rows are too few for a filter of order {self.order}; it needs more than {padding}"
            )
        return both_ways(sections, x, padding)


def differences(x: np.ndarray, rate: float) -> np.ndarray:
    """d/dt of x (N, k) by central differences, second order at the ends too."""
    return np.gradient(x, 1 / rate, axis=0, edge_order=2)
