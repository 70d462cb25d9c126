"""Parts of a log in which joints stand still or turn at constant speed, found from positions alone."""

import numpy as np

WINDOW = 0.1  # [s] over which speeds are averaged; as much is left out at both ends, while torques settle
JITTER = 4  # encoder steps that a joint may tremble while it stands still or turns evenly
STILL = 2e-3  # [rad/s or m/s] slower is standing still


def still_parts(q: np.ndarray, rate: float, shortest: float) -> list[slice]:
    """Where all of q (N, n) [rad or m] stands still for `shortest` [s] or longer; `rate` in samples a second."""
    w = _window(rate)
    moved = np.abs(q[w:] - q[:-w]) <= STILL * w / rate + JITTER * resolution(q)
    quiet = np.zeros(len(q), bool)
    quiet[w : len(q) - w] = moved[:-w].all(axis=1) & moved[w:].all(axis=1)
    return _runs(quiet, shortest * rate)


def steady_parts(q: np.ndarray, rate: float, shortest: float, tolerance: float, slowest: float) -> list[slice]:
    """Where q (N,) turns evenly for `shortest` [s] or longer.

    Args:
        tolerance: of the speed, relative: how much it may change over the shortest part, and within a part.
        slowest: [rad/s or m/s], slower is standing still.
    """
    w = _window(rate)
    speed = (q[w:] - q[:-w]) * rate / w
    before, after = speed[:-w], speed[w:]
    jitter = JITTER * float(resolution(q[:, None])[0]) * rate / w
    middle = np.zeros(len(q))
    middle[w : len(q) - w] = (before + after) / 2
    slope = np.full(len(q), np.inf)
    slope[w : len(q) - w] = np.abs(after - before) * rate / w
    allowed = tolerance * np.abs(middle)
    even = (slope * max(shortest, w / rate) <= allowed + jitter * shortest * rate / w) & (np.abs(middle) > slowest)
    parts = _runs(even, shortest * rate)
    return [p for p in parts if np.ptp(middle[p]) <= 2 * tolerance * abs(np.median(middle[p])) + jitter]


def resolution(q: np.ndarray) -> np.ndarray:
    """The smallest step of each column of q (N, n) that is not zero: that of its encoder, or next to nothing."""
    steps = np.abs(np.diff(q, axis=0))
    return np.where((steps > 0).any(axis=0), np.min(np.where(steps > 0, steps, np.inf), axis=0, initial=np.inf), 0.0)


def _window(rate: float) -> int:
    return max(1, round(WINDOW * rate))


def _runs(mask: np.ndarray, least: float) -> list[slice]:
    """Runs of true entries of at least so many samples."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [slice(int(b), int(e)) for b, e in edges.reshape(-1, 2) if e - b >= least]
