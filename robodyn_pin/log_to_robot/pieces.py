"""The fit logs in pieces, and the estimate without each: what tells how sure it is where residuals are coloured.

The pieces of a motion that repeats are phases of its period, each with all its repetitions, because the model's error
repeats with the motion. They begin at the phase of the motion's first harmonic, so that logs of one motion have the same
pieces wherever they begin. Other logs are cut into pieces of equal length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.block_jackknife import likeness, spread, without_each
from robodyn_pin.identification.fold import empty, fold_rows, merge_factors
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

PIECES = 16  # enough for Student's t, few enough that pieces of a usual log are longer than its residuals' memory


@dataclass(frozen=True)
class Pieces:
    """What G pieces of the fit logs say of the base parameters."""

    without: np.ndarray  # (G, r) estimates without each piece; NaN where the others do not show a parameter
    positions: np.ndarray  # (G, n_motors) mean positions: which part of the motion a piece is
    seconds: float  # of the first log's period, or of all of it where the motion does not repeat
    independent: float  # rows that were fitted, those that a filter made alike counted once
    still: np.ndarray  # (d,) share of the fitted samples in which each coordinate stands still
    unseen: float  # rms error on a piece by the estimate without it, over that by the estimate from all; NaN: no piece tells

    def deviations(self, values: np.ndarray) -> np.ndarray:
        """Standard deviations (r,) of the estimate `values` (r,)."""
        off = self.without - values
        alike = likeness(off[:, np.isfinite(off).all(axis=0)])
        return spread(off) * np.sqrt((1 + alike) / (1 - alike))

    def samples(self, wls: BaseEstimate) -> float:
        """How many independent rows with white noise would leave the estimate as unsure: the median of its parameters."""
        share = (wls.deviations / self.deviations(wls.values)) ** 2
        known = share[np.isfinite(share)]
        return float(self.independent * min(1.0, np.median(known))) if len(known) else 0.0


class PieceFolds:
    """A log's rows by piece, and where and how the robot moves in each."""

    def __init__(self, robot: Robot, columns: int, seconds: float) -> None:
        self.seconds = seconds  # that all pieces take one after the other
        self.factors = [empty(columns) for _ in range(PIECES)]
        self.sums, self.count = np.zeros((PIECES, len(robot.motors.names))), np.zeros(PIECES)
        self.still = np.zeros(len(robot.coordinates.names))  # how many samples stand still

    def add(self, piece: np.ndarray, rows: np.ndarray, q: np.ndarray, still: np.ndarray) -> None:
        """Add n samples: the piece of each (n,), rows (n, d, columns + 1) in units of their noise, positions of the motors
        (n, n_motors), and which coordinates stand still (n, d)."""
        self.still += still.sum(axis=0)
        for g in np.unique(piece):
            here = rows[piece == g].reshape(-1, rows.shape[2])
            self.factors[g] = fold_rows(self.factors[g], here[:, :-1], here[:, -1])
            self.sums[g] += q[piece == g].sum(axis=0)
            self.count[g] += np.sum(piece == g)


def pieces_from(logs: Sequence[PieceFolds], independent: float, values: np.ndarray) -> Pieces:
    """Estimates without each piece of all logs; `independent`: how many of the rows are, `values` (r,) of the estimate from all."""
    factors = [merge_factors(of_logs) for of_logs in zip(*(log.factors for log in logs), strict=True)]
    sums, count = np.sum([log.sums for log in logs], axis=0), np.sum([log.count for log in logs], axis=0)
    still = np.sum([log.still for log in logs], axis=0) / max(count.sum(), 1)
    positions = sums / np.maximum(count, 1)[:, None]
    without = without_each(factors)
    told = [(f.residual(x), f.residual(values)) for f, x in zip(factors, without, strict=True) if np.isfinite(x).all()]
    apart, together = np.sum(told, axis=0) if told else (np.nan, np.nan)
    unseen = float(np.sqrt(apart / together)) if together > 0 else np.nan
    return Pieces(without, positions, logs[0].seconds, independent, still, unseen)


def cut_up(log: AnyLog, period: float | None, cut: int) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Which piece each sample index (n,) of a log is in, and the seconds that all pieces take one after the other.

    Args:
        period: [s] of the motion, None: it does not repeat. cut: samples at both ends that are not fitted.
    """
    begin, samples = float(cut), float(log.size - 2 * cut)
    if period is not None and period * log.rate <= samples:
        samples = period * log.rate
        begin = _first_harmonic(log, samples, cut)
    # A phase just below zero is rounded up to one whole turn, which is phase zero.
    return lambda index: ((index - begin) / samples % 1 * PIECES).astype(int) % PIECES, samples / log.rate


def _first_harmonic(log: AnyLog, period: float, begin: int) -> float:
    """The sample, not always whole, at which the first harmonic of the motor that has the largest is at its top."""
    q = log.section(begin, begin + int(round(period))).q
    turn = np.exp(-2j * np.pi * np.arange(len(q)) / period)
    found = turn @ (q - q.mean(axis=0))
    return begin - np.angle(found[np.argmax(np.abs(found))]) / (2 * np.pi) * period
