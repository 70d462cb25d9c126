"""The history of an estimate, one row for each second and bounded in length: the table behind the figures."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.online.stream import ProcessedSample
from robodyn_pin.online.tracker import Tracker

MOST_ROWS = 4096  # a longer history keeps every second row


@dataclass(frozen=True)
class HistoryRow:
    """The estimate at the end of one interval, and the errors over the interval."""

    t: float  # time of its last sample [s]
    values: np.ndarray  # (r,) estimate
    deviations: np.ndarray  # (r,) standard deviations that the estimator predicts
    excited_share: np.ndarray  # (r,) share of each parameter's axis in the excited directions, 0 to 1
    start_error: np.ndarray  # (d,) rms error of the parameters at the start [N m or N]
    error: np.ndarray  # (d,) rms error of the estimate before each update
    effort: np.ndarray  # (d,) rms of the measured efforts
    carried: float  # payload picked since the start [kg]
    taken: int  # samples of the interval that the estimate took
    refused: int


class History:
    """Collects a row every `interval` seconds."""

    def __init__(self, tracker: Tracker, interval: float = 1.0):
        self._tracker, self._interval = tracker, interval
        self.rows: list[HistoryRow] = []
        self._every, self._count, self._end, self._last = 1, 0, np.nan, np.nan
        self._clear()

    def _clear(self) -> None:
        d = len(self._tracker.tracked.robot.coordinates.names)
        self._squares, self._taken, self._refused = np.zeros((3, d)), 0, 0

    def add(self, sample: ProcessedSample) -> HistoryRow | None:
        """Take one sample; return the row that it completes."""
        completed = None
        if not sample.t < self._end:  # also of the first sample, before which there is no end
            completed = self.finish()
            self._end = sample.t + self._interval
        self._last = sample.t
        update = sample.update
        if update.refused:
            self._refused += 1
        else:
            self._squares += np.square([update.start_error, update.error, update.effort])
            self._taken += 1
        return completed

    def finish(self) -> HistoryRow | None:
        """The row of the samples since the last one, if there are any."""
        if not (self._taken or self._refused):
            return None
        estimator, V = self._tracker.estimator, self._tracker.estimator.excited
        start_error, error, effort = (
            np.sqrt(self._squares / self._taken) if self._taken else np.full_like(self._squares, np.nan)
        )
        row = HistoryRow(
            self._last, estimator.values, np.sqrt(np.diag(estimator.covariance())), (V * V).sum(axis=1), start_error, error,
            effort, self._tracker.carried, self._taken, self._refused,
        )  # fmt: skip
        if self._count % self._every == 0:
            self.rows.append(row)
        self._count += 1
        if len(self.rows) > MOST_ROWS:
            self.rows, self._every = self.rows[::2], 2 * self._every
        self._clear()
        return row
