"""Which few of many possible causes leave least of what is not explained."""

from collections.abc import Sequence

import numpy as np

WORTH = np.log(1.2)  # by which the product over the coordinates of their errors must fall for one more cause


def fewest_causes(left: np.ndarray, made: np.ndarray, offered: Sequence[int]) -> np.ndarray:
    """Sizes (n,) of causes, zero of those that are not offered, or for which it is not worth it.

    Args:
        left: (M, d) what is left without causes, each coordinate relative to its rms. made: (n, M, d) of it by each cause of size one.
    """
    chosen, sizes, least = list[int](), np.zeros(0), 0.0
    while open_ := [k for k in offered if k not in chosen]:
        tried = [_with_least(left, made[[*chosen, k]]) for k in open_]
        best = int(np.argmin([error for _, error in tried]))
        if tried[best][1] > least - WORTH:
            break
        chosen, (sizes, least) = [*chosen, open_[best]], tried[best]
    found = np.zeros(len(made))
    found[chosen] = sizes
    return found


def _with_least(left: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, float]:
    """Sizes (k,) of the columns `made` (k, M, d) that leave least of `left` (M, d), and the logarithm of the product of the errors."""
    sizes = best_sizes(left, made)
    rest = left - np.tensordot(sizes, made, 1)
    return sizes, float(np.log(np.maximum(np.mean(rest**2, axis=0), np.finfo(float).tiny)).sum() / 2)


def best_sizes(left: np.ndarray, made: np.ndarray) -> np.ndarray:
    """Sizes (k,) of the columns `made` (k, M, d) that leave least of `left` (M, d)."""
    return np.asarray(np.linalg.lstsq(made.reshape(len(made), -1).T, left.ravel(), rcond=None)[0])
