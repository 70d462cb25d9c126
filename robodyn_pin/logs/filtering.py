"""A filter's second-order sections run over samples, forward and backward."""

import numpy as np

from robodyn_pin.closures import kernel_choice


def both_ways(sections: np.ndarray, x: np.ndarray, padding: int) -> np.ndarray:
    """Samples x (N, ...) through sections (n, 6) forward and backward, the ends continued by their mirror images (odd).

    The same bits with kernels as with `scipy.signal`, whose import takes longer than filtering a log.
    """
    if not kernel_choice.chosen(len(x)):
        from scipy.signal import sosfiltfilt

        return np.asarray(sosfiltfilt(sections, x, axis=0, padlen=padding))
    run = kernel_choice.kernel("robodyn_pin.logs.filter_kernel").run_sections
    before, after = 2 * x[0] - x[padding:0:-1], 2 * x[-1] - x[-2 : -padding - 2 : -1]
    (y,) = kernel_choice.ready(np.concatenate([before, x, after]).reshape(2 * padding + len(x), -1))
    settled = _settled(sections)[:, :, None]
    run(sections, y, settled * y[0], 1)
    run(sections, y, settled * y[-1], -1)
    return y[padding:-padding].reshape(x.shape)


def _settled(sections: np.ndarray) -> np.ndarray:
    """The state (n, 2) of sections whose input has been 1 for ever."""
    state, into = np.empty((len(sections), 2)), 1.0
    for row, (b0, b1, b2, _, a1, a2) in zip(state, sections, strict=True):
        row[:] = into * np.linalg.solve([[1 + a1, -1.0], [a2, 1.0]], [b1 - a1 * b0, b2 - a2 * b0])
        into *= (b0 + b1 + b2) / (1 + a1 + a2)
    return state
