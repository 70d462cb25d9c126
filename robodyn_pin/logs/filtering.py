"""A filter's second-order sections run over samples, forward and backward."""

import numpy as np


def both_ways(sections: np.ndarray, x: np.ndarray, padding: int) -> np.ndarray:
    """Samples x (N, ...) through sections (n, 6) forward and backward, the ends continued by their mirror images (odd)."""
    from scipy.signal import sosfiltfilt  # slow to import

    return np.asarray(sosfiltfilt(sections, x, axis=0, padlen=padding))
