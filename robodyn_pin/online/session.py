"""Online identification of several logs, one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from robodyn_pin.logs.each_once import check_each_once
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import log_pieces
from robodyn_pin.logs.table import content_hash
from robodyn_pin.online.history import History, HistoryRow
from robodyn_pin.online.log_setup import PART, causal_rates, feed_log, first_motion, sampling_rate, torque_noise
from robodyn_pin.online.saved_state import merge_state, restore_state
from robodyn_pin.online.stream import ProcessedSample, Stream
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import refuse_untracked, tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.robot import Robot

APART = 1.0  # [s] between two logs whose clocks do not continue each other


@dataclass(frozen=True)
class TrackingSession:
    """A stream, the logs that feed it, and the history of the estimate."""

    stream: Stream
    history: History
    logs: Sequence[Callable[[], Iterator[Log]]]  # each reads a log in parts when its turn comes
    simulated: bool  # whether any log is
    unused: Mapping[str, str]  # columns that are not used, by log

    def samples(self, size: int = PART) -> Iterator[ProcessedSample]:
        """Process every sample in turn, `size` at once; a log whose clock begins again is moved behind the one before."""
        for read in self.logs:
            parts = read()
            first = next(parts)
            shift = self._shift(first.t)
            for part in chain([first], parts):
                yield from feed_log(self.stream, replace(part, t=part.t + shift), size)

    def _shift(self, t: np.ndarray) -> float:
        """Time [s] by which a log that begins with times t (N,) must be moved."""
        latest, begin = self.stream.rates.latest, float(np.nanmin(t, initial=np.inf))
        return 0.0 if latest is None or begin > latest else latest + APART - begin

    def history_rows(self, samples: Iterable[ProcessedSample] | None = None) -> Iterator[HistoryRow]:
        """Process the samples, by default all, and yield the estimate at the end of every second."""
        for sample in self.samples() if samples is None else samples:
            if (row := self.history.add(sample)) is not None:
                yield row
        if (row := self.history.finish()) is not None:
            yield row


def start_session(
    robot: Robot, paths: Sequence[Path], settings: TrackFile, resume: Sequence[Path] = ()
) -> TrackingSession:
    """Prepare the tracking of logs.

    Args:
        resume: saved states; the session continues from the first and merges the others into it.

    Raises:
        BadLog: names the file and column that are wrong; two logs have the same samples. BadFile: a state is of another robot or other settings.
        UnknownName, RobodynError: as `tracked`.
    """
    refuse_untracked(robot)

    def read(path: Path) -> Iterator[Log]:
        return log_pieces(settings, path, robot)

    # The first part of every log is read now, so that wrong columns of a later log show before the first is tracked, and before kernels
    # are compiled for it.
    openings = [next(read(path)) for path in paths]
    if len(paths) > 1:
        check_each_once((str(path), content_hash(path)) for path in paths)
    parameters = tracked(robot, settings)
    first, simulated = openings[0], any(log.simulated for log in openings)
    rate = sampling_rate(first)
    noise = torque_noise(parameters, first.name, first_motion(robot, first, settings), settings)
    stream = Stream(Tracker(parameters, noise, rate, settings), causal_rates(robot, rate, settings))
    for state in resume[:1]:
        restore_state(state, stream)
    for other in resume[1:]:
        merge_state(other, stream)
    unused = {log.name: log.quality.not_used for log in openings if log.quality.unused}
    return TrackingSession(stream, History(stream.tracker), [partial(read, path) for path in paths], simulated, unused)
