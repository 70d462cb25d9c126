"""Parts of a log in which joints stand still or turn at constant speed, found from positions alone."""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

WINDOW = 0.1  # [s] over which speeds are averaged; as much is left out at both ends, while torques settle
JITTER = 4  # encoder steps that a joint may tremble while it stands still or turns evenly
STILL = 2e-3  # [rad/s or m/s] slower is standing still
DUST = 1e-13  # of the largest position: round-off, no step of an encoder
SETTLED = 0.8  # of a stretch counts: at its ends torques settle
LOOSE = 1.5  # times what the middle of a stretch is off a straight line, its ends may be
BENT = 1 / 24  # of half a stretch, times the share: so far it may be off a straight line anyway
LONGER = 2.0  # times as long as what shorter windows found
WINDOW_BLOCKS = 8  # of which the speed over a window is the mean of the last two less the mean of the first two


def still_parts(q: np.ndarray, rate: float, shortest: float) -> list[slice]:
    """Where all of q (N, n) [rad or m] stands still for `shortest` [s] or longer; `rate` in samples a second."""
    w = _window(rate)
    moved = np.abs(q[w:] - q[:-w]) <= STILL * w / rate + JITTER * resolution(q)
    quiet = np.zeros(len(q), bool)
    quiet[w : len(q) - w] = moved[:-w].all(axis=1) & moved[w:].all(axis=1)
    return _runs(quiet, shortest * rate)


@dataclass(frozen=True)
class EvenMotion:
    """What counts as constant speed."""

    shortest: float  # [s]
    travel: float  # [rad or m] the least way
    share: float  # of the speed: how much it may differ from itself over such a time and way

    def parts(self, q: np.ndarray, rate: float, grain: float) -> list[slice]:
        """Where q (N,) keeps its speed: stretches in order that do not overlap; `grain` is the encoder's.

        Speeds are means over windows as long as asked or longer, so that a servo's ripple and an encoder's counts, which are
        gone on average, do not matter; a turn of the direction ends a stretch.
        """
        kept: list[slice] = []
        length = max(WINDOW_BLOCKS, round(self.shortest * rate))
        while length <= len(q):
            for rough in self._windows(q, length // WINDOW_BLOCKS):
                part = self._straight(q, self._straight(q, rough, grain), grain)
                size, away = part.stop - part.start, abs(q[part.stop - 1] - q[part.start])
                met = [p for p in kept if part.start < p.stop and p.start < part.stop]
                # Shorter windows have sharper ends; longer ones count where ripple left the shorter ones pieces only.
                longer = size > LONGER * max((p.stop - p.start for p in met), default=0)
                if longer and size >= self.shortest * rate and away >= self.travel:
                    kept = [*(p for p in kept if p not in met), part]
            length *= 2
        return sorted(kept, key=lambda p: p.start)

    def _windows(self, q: np.ndarray, block: int) -> list[slice]:
        """Stretches that are even in windows of eight blocks of so many samples."""
        size = len(q) // block
        mean = q[: size * block].reshape(size, block).mean(axis=1)
        steps, smooth = np.diff(mean), (mean[1:] + mean[:-1]) / 2
        speed = (smooth[6:] - smooth[:-6]) / 6
        thirds = (
            np.stack([smooth[k + 2 : len(smooth) - 4 + k] - smooth[k : len(smooth) - 6 + k] for k in (0, 2, 4)]) / 2
        )
        windows = sliding_window_view(steps, WINDOW_BLOCKS - 1)
        onward = np.all(windows > 0, axis=1) | np.all(windows < 0, axis=1)
        far = np.abs(speed) * WINDOW_BLOCKS >= self.travel
        even = onward & far & (np.ptp(thirds, axis=0) <= 2 * self.share * np.abs(speed))
        found = []
        for run in _runs(even, 1):  # a hold with its ends; of a ramp only a small part has about the same speed
            middle = np.median(speed[run])
            alike = [slice(run.start + r.start, run.start + r.stop)
                     for r in _runs(np.abs(speed[run] - middle) <= self.share * abs(middle), (run.stop - run.start) / 2)]  # fmt: skip
            found += [slice(r.start * block, min(len(q), (r.stop + WINDOW_BLOCKS - 1) * block)) for r in alike]
        return found

    def _straight(self, q: np.ndarray, part: slice, grain: float) -> slice:
        """What of a part runs as straight in time as its middle half does, ripple included, and as its share of speed allows."""
        size = part.stop - part.start
        time = np.linspace(-1, 1, size)
        middle = slice(size // 4, size - size // 4)
        line = np.polynomial.Polynomial.fit(time[middle], q[part][middle], 1, domain=[-1, 1])
        off = np.abs(q[part] - line(time))
        bend = BENT * self.share * abs(line.coef[1])
        beyond = np.flatnonzero(off > LOOSE * off[middle].max() + JITTER * grain + bend)
        begin = beyond[beyond < size // 2].max(initial=-1) + 1
        return slice(part.start + int(begin), part.start + int(beyond[beyond >= size // 2].min(initial=size)))


def resolution(q: np.ndarray) -> np.ndarray:
    """The smallest step of each column of q (N, n) that is not zero: that of its encoder, or next to nothing."""
    steps = np.abs(np.diff(q, axis=0))
    seen = steps > DUST * np.abs(q).max(axis=0, initial=0.0)
    return np.where(seen.any(axis=0), np.min(np.where(seen, steps, np.inf), axis=0, initial=np.inf), 0.0)


def _window(rate: float) -> int:
    return max(1, round(WINDOW * rate))


def _runs(mask: np.ndarray, least: float) -> list[slice]:
    """Runs of true entries of at least so many samples."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [slice(int(b), int(e)) for b, e in edges.reshape(-1, 2) if e - b >= least]
