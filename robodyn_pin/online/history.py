"""What happened, second by second: the table behind the plots, of bounded length."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.online.stream import Measured
from robodyn_pin.online.tracker import Tracker

MOST = 4096  # rows; a longer history keeps every second one


@dataclass(frozen=True)
class Moment:
    """The estimate at the end of one interval."""

    t: float  # [s] of its last sample
    values: np.ndarray  # (r,)
    deviations: np.ndarray  # (r,) standard deviations as the estimator predicts them
    shown: np.ndarray  # (r,) share of each parameter's axis that lies in excited directions, 0 to 1
    before: np.ndarray  # (d,) rms error over the interval of the parameters at the start [N m or N]
    after: np.ndarray  # (d,) of the estimate, before each update
    effort: np.ndarray  # (d,) rms of what was measured
    carried: float  # [kg]
    taken: int  # samples of the interval
    refused: int


class History:
    """Collects moments, one every `interval` seconds."""

    def __init__(self, tracker: Tracker, interval: float = 1.0):
        self._tracker, self._interval = tracker, interval
        self.moments: list[Moment] = []
        self._every, self._seen, self._end, self._last = 1, 0, np.nan, np.nan
        self._clear()

    def _clear(self) -> None:
        d = len(self._tracker.tracked.robot.coordinates.names)
        self._squares, self._taken, self._refused = np.zeros((3, d)), 0, 0

    def add(self, measured: Measured) -> Moment | None:
        """Take one sample; the moment that it completes."""
        done = None
        if not measured.t < self._end:  # also of the first sample, before which there is no end
            done = self.finish()
            self._end = measured.t + self._interval
        self._last = measured.t
        update = measured.update
        if update.refused:
            self._refused += 1
        else:
            self._squares += np.square([update.first, update.error, update.effort])
            self._taken += 1
        return done

    def finish(self) -> Moment | None:
        """The moment of what was seen since the last one, if anything was."""
        return self._finish() if self._taken or self._refused else None

    def _finish(self) -> Moment:
        tracker = self._tracker
        estimator = tracker.estimator
        before, after, effort = (
            np.sqrt(self._squares / self._taken) if self._taken else np.full_like(self._squares, np.nan)
        )
        V = estimator.excited
        moment = Moment(
            self._last, estimator.values, np.sqrt(np.diag(estimator.covariance())), (V * V).sum(axis=1), before, after,
            effort, tracker.carried, self._taken, self._refused,
        )  # fmt: skip
        if self._seen % self._every == 0:
            self.moments.append(moment)
        self._seen += 1
        if len(self.moments) > MOST:
            self.moments, self._every = self.moments[::2], 2 * self._every
        self._clear()
        return moment
