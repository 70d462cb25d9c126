"""Zero-phase filters, rates by differences, and how far their transients reach."""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from robodyn_pin.errors import BadLog
from robodyn_pin.files import Strict

FORGOTTEN = 1e-9  # share of a transient that is left where a block's margin ends
SETTLED = 1e-4  # share that is left where accelerations are at most 1.5 times as far off as in the middle of a log


class Lowpass(Strict):
    """Butterworth, forward and backward: no phase, twice the order's attenuation."""

    order: Annotated[int, Field(ge=1, le=10)] = 4
    cutoff: Annotated[float, Field(gt=0)]  # [Hz]

    def sections(self, rate: float, where: str) -> np.ndarray:
        """Second-order sections at a sampling rate [Hz].

        Raises:
            BadLog: the cut-off lies at or above half the sampling rate.
        """
        return np.asarray(self._butter(rate, where, "sos"))

    def _butter(self, rate: float, where: str, output: str) -> Any:
        """As SciPy gives it: sections, or zeros, poles and gain."""
        from scipy.signal import butter

        if self.cutoff >= rate / 2:
            raise BadLog(
                f"{where}: a filter at {self.cutoff:g} Hz needs more than {2 * self.cutoff:g} samples a second, the log has "
                f"{rate:.4g}; lower the cut-off"
            )
        return butter(self.order, self.cutoff, fs=rate, output=output)

    def reach(self, rate: float, where: str, left: float = FORGOTTEN) -> int:
        """Samples after which `left` of a transient is left."""
        slowest = np.abs(self._butter(rate, where, "zpk")[1]).max()
        return int(np.ceil(np.log(left) / np.log(slowest)))

    def response(self, frequency: np.ndarray, rate: float, where: str) -> np.ndarray:
        """Share of oscillations (k,) [rad per sample] that it lets through, both ways."""
        from scipy.signal import sosfreqz

        return np.abs(sosfreqz(self.sections(rate, where), frequency)[1]) ** 2

    def apply(self, x: np.ndarray, rate: float, where: str) -> np.ndarray:
        """Filter x (N, ...) along its first axis.

        Raises:
            BadLog: fewer samples than the filter needs at its ends.
        """
        from scipy.signal import sosfiltfilt

        sections = self.sections(rate, where)
        padding = 3 * (2 * len(sections) + 1)
        if len(x) <= padding:
            raise BadLog(
                f"{where}: {len(x)} rows are too few for a filter of order {self.order}; it needs more than {padding}"
            )
        return sosfiltfilt(sections, x, axis=0, padlen=padding)


def differences(x: np.ndarray, rate: float) -> np.ndarray:
    """d/dt of x (N, k) by central differences, second order at the ends too."""
    return np.gradient(x, 1 / rate, axis=0, edge_order=2)
