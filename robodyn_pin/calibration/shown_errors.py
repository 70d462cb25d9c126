"""Which errors of a geometry measurements show: alone, in combination with others, or not at all.

By the rank of the slopes at the measured poses, in floating point: the gap below the last singular value that counts is reported.
"""

from dataclasses import dataclass

import numpy as np

GAP = 1e-8  # of the largest singular value: below it a direction is not shown
UNSHOWN = 1e-9  # of the largest column's norm


@dataclass(frozen=True)
class ShownErrors:
    """What slopes say of n errors."""

    rank: int  # independent combinations that are shown
    gap: float  # the last singular value that counts over the first that does not; infinite where all count
    how: tuple[str, ...]  # of each error: "alone", "combined" or "not shown"


def shown(slopes: np.ndarray) -> ShownErrors:
    """What slopes (k, n), in standard deviations of the measurements per tolerance, say of n errors."""
    norms = np.linalg.norm(slopes, axis=0)
    there = norms > UNSHOWN * max(float(norms.max(initial=0.0)), 1e-300)
    how = np.where(there, "alone", "not shown").astype(object)
    if not there.any():
        return ShownErrors(0, np.inf, tuple(how))
    unit = slopes[:, there] / norms[there]
    _, s, Vt = np.linalg.svd(np.linalg.qr(unit, mode="r"))
    rank = int((s > GAP * s[0]).sum())
    gap = float(s[rank - 1] / max(s[rank], 1e-300)) if rank < len(s) else np.inf
    hidden = np.linalg.norm(Vt[rank:], axis=0) > 1e-6
    how[np.flatnonzero(there)[hidden]] = "combined"
    return ShownErrors(rank, gap, tuple(how))
