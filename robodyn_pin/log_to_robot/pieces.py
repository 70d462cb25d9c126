"""The fit logs in pieces, and the estimate without each: what tells how sure it is where residuals are coloured.

The pieces of a motion that repeats are phases of its period, each with all its repetitions, because the model's error
repeats with the motion. They begin at the phase of the motion's first harmonic, so that logs of one motion have the same
pieces wherever they begin. Other logs are cut into pieces of equal length.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robodyn_pin.dynamics.unknown_start import start_counts
from robodyn_pin.identification.block_jackknife import likeness, spread, without_each
from robodyn_pin.identification.fold import Factor, empty, fold_rows, merge_factors
from robodyn_pin.identification.least_squares import BaseEstimate
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.rows import filtered, observe
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each

PIECES = 16  # enough for Student's t, few enough that pieces of a usual log are longer than its residuals' memory


@dataclass(frozen=True)
class Pieces:
    """What G pieces of the fit logs say of the base parameters."""

    without: np.ndarray  # (G, r) estimates without each piece; NaN where the others do not show a parameter
    positions: np.ndarray  # (G, n_motors) mean positions: which part of the motion a piece is
    seconds: float  # of the first log's period, or of all of it where the motion does not repeat
    independent: float  # rows that were fitted, those that a filter made alike counted once
    still: np.ndarray  # (d,) share of the fitted samples in which each coordinate stands still

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


def in_pieces(
    fitted: Fitted, logs: Sequence[AnyLog], periods: Sequence[float | None], rows: int, wls: BaseEstimate
) -> Pieces:
    """Estimate without each piece, weights as in `wls`, in one more pass through the fit logs.

    Args:
        periods: [s] of each log's motion, None: it does not repeat. rows: how many were fitted.
    """
    settings, items = fitted.settings, list(zip(logs, periods, strict=True))
    found = each(partial(_pieces_of, settings.robot, settings.run, wls.base.columns, wls.sigma), items)
    factors = [merge_factors(of_logs) for of_logs in zip(*(factors for factors, *_ in found), strict=True)]
    sums, count = np.sum([x[1] for x in found], axis=0), np.sum([x[2] for x in found], axis=0)
    seconds, still = found[0][3], np.sum([x[4] for x in found], axis=0) / max(count.sum(), 1)
    positions = sums / np.maximum(count, 1)[:, None]
    return Pieces(without_each(factors), positions, seconds, fitted.independent * rows, still)


def _pieces_of(
    robot: Robot, run: RunFile, base: np.ndarray, sigma: np.ndarray, of: tuple[AnyLog, float | None]
) -> tuple[list[Factor], np.ndarray, np.ndarray, float, np.ndarray]:
    """A log's rows of the base columns by piece, sums (G, n_motors) of its positions, how many samples (G,), its seconds, how many stand still (d,)."""
    log, period = of
    factors = [empty(len(base)) for _ in range(PIECES)]
    sums, count = np.zeros((PIECES, len(robot.motors.names))), np.zeros(PIECES)
    still = np.zeros(len(robot.coordinates.names))
    job = fitted_rows(robot, run, log)
    piece_of, seconds = cut_up(log, period, run.rows.cut)
    first = start_counts(robot, log)
    for block in observe(robot, log, run.preparation, [job.filter]):
        W, known, measured = filtered(block, job.filter, log, job.noise)
        index = block.begin + np.arange(len(W))
        kept = (job.label(index, block.rates[block.keep])[:, 0] >= 0) & (index >= first)
        piece = piece_of(index)
        still += (np.abs(block.rates[block.keep][kept]) < run.score.still).sum(axis=0)
        rows_of = np.concatenate([W[:, :, base], (measured - known)[:, :, None]], axis=2)
        rows_of /= sigma[:, None]
        q = block.state.q[block.keep] @ robot.motors.S.T
        for g in np.unique(piece[kept]):
            chosen = kept & (piece == g)
            here = rows_of[chosen].reshape(-1, len(base) + 1)
            factors[g] = fold_rows(factors[g], here[:, :-1], here[:, -1])
            sums[g] += q[chosen].sum(axis=0)
            count[g] += chosen.sum()
    return factors, sums, count, seconds, still


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
