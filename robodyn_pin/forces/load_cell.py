"""A load cell in a strut beside the computed force."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.errors import BadLog

DELAY = 0.25  # [s] largest delay of a load cell that is looked for


@dataclass(frozen=True)
class CellComparison:
    """A load cell in a strut against the model; delay is how much later the cell shows the same."""

    rmse: float  # [N] as logged
    bias: float  # [N] mean of measured less computed, the delay taken out
    delay: float  # [s]
    rmse_aligned: float  # [N] with the delay taken out


def compare_cell(t: np.ndarray, computed: np.ndarray, cell_t: np.ndarray, measured: np.ndarray) -> CellComparison:
    """Compare a load cell (n,) at its own times with the computed force (N,); both clocks start at the same instant.

    The delay is where the sum of squared differences, bias left out, is least: to a tenth of a sample.

    Raises:
        BadLog: the two overlap in fewer than ten samples.
    """
    inside = (cell_t >= t[0]) & (cell_t <= t[-1])
    if inside.sum() < 10:
        raise BadLog(
            f"the load cell's times {cell_t[0]:.4g} to {cell_t[-1]:.4g} s and the log's {t[0]:.4g} to {t[-1]:.4g} s have fewer "
            "than ten samples in common; both clocks are expected to start together"
        )
    cell_t, measured = cell_t[inside], measured[inside]

    def difference(delay: float) -> np.ndarray:
        return measured - np.interp(cell_t - delay, t, computed)

    step, reach = float(np.median(np.diff(t))), min(DELAY, (cell_t[-1] - cell_t[0]) / 4)
    delays = np.arange(-reach, reach + step, step)
    best = delays[int(np.argmin([np.var(difference(delay)) for delay in delays]))]
    fine = best + step * np.arange(-1, 1.05, 0.1)
    best = fine[int(np.argmin([np.var(difference(delay)) for delay in fine]))]
    now, aligned = difference(0.0), difference(float(best))
    return CellComparison(
        float(np.sqrt(np.mean(now**2))), float(aligned.mean()), float(best), float(np.sqrt(np.mean(aligned**2)))
    )
