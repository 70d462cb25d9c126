"""A filter's second-order sections run over samples, forward and backward."""

import numpy as np

from robodyn_pin.closures import kernel_choice


def both_ways(sections: np.ndarray, x: np.ndarray, padding: int) -> np.ndarray:
    """Samples x (N, ...) through sections (n, 6) forward and backward, the ends continued by their mirror images (odd).

    What `scipy.signal.sosfiltfilt` does; its import takes longer than the work.
    """
    head = 2 * x[0] - x[padding:0:-1]
    tail = 2 * x[-1] - x[-2 : -padding - 2 : -1]
    long = np.concatenate([head, x, tail]).reshape(len(x) + 2 * padding, -1).astype(float, copy=False)
    settled = _settled(sections)
    for way in (1, -1):
        long = _run(sections, long, settled[:, :, None] * (long[0] if way > 0 else long[-1]), way)
    return long[padding : padding + len(x)].reshape(x.shape)


def _run(sections: np.ndarray, x: np.ndarray, state: np.ndarray, way: int) -> np.ndarray:
    """x (N, k) through the sections from a state (n, 2, k), in time or (way -1) against it."""
    if kernel_choice.chosen(len(x)):
        y, state = (np.require(a, float, ["C", "W"]) for a in (x, state))
        kernel_choice.kernel("robodyn_pin.logs.filter_kernel").run_sections(sections, y, state, way)
        return y
    from scipy.signal import sosfilt

    y, _ = sosfilt(sections, x[::way], axis=0, zi=state)
    return np.asarray(y[::way])


def _settled(sections: np.ndarray) -> np.ndarray:
    """The state (n, 2) of sections whose input has been 1 for ever."""
    state, into = np.empty((len(sections), 2)), 1.0
    for row, (b0, b1, b2, _, a1, a2) in zip(state, sections, strict=True):
        first, second = b1 - a1 * b0, b2 - a2 * b0
        row[0] = (first + second) / (1 + a1 + a2)
        row[1] = second - a2 * row[0]
        row *= into
        into *= (b0 + b1 + b2) / (1 + a1 + a2)
    return state
