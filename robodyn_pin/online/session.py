"""Online identification of logs, one after the other, as the command runs it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import log_pieces
from robodyn_pin.online.history import History, Moment
from robodyn_pin.online.log_setup import PIECE, follow, noise_of, opening, rates_for, sampling_rate
from robodyn_pin.online.saved_state import merge, restore
from robodyn_pin.online.stream import Measured, Stream
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.robot import Robot

APART = 1.0  # [s] between two logs whose clocks do not follow each other


@dataclass(frozen=True)
class Run:
    """A stream, the logs that feed it, and what has been seen of them."""

    stream: Stream
    history: History
    logs: Sequence[Callable[[], Iterator[Log]]]  # in pieces, read when their turn comes
    simulated: bool  # one of the logs at the least
    unused: Mapping[str, str]  # by log, columns that are not read

    def samples(self, piece: int = PIECE) -> Iterator[Measured]:
        """Every sample in turn, read `piece` at once; a log whose clock begins anew is moved behind the one before."""
        for read in self.logs:
            parts = read()
            first = next(parts)
            late = self._late(first.t)
            for part in chain([first], parts):
                yield from follow(self.stream, replace(part, t=part.t + late), piece)

    def _late(self, t: np.ndarray) -> float:
        """By how much [s] a log has to come later that begins with times t (N,)."""
        latest, begin = self.stream.rates.latest, float(np.nanmin(t, initial=np.inf))
        return 0.0 if latest is None or begin > latest else latest + APART - begin

    def moments(self, samples: Iterable[Measured] | None = None) -> Iterator[Moment]:
        """The estimate at the end of every second, of all samples or as these come in."""
        for measured in self.samples() if samples is None else samples:
            if (moment := self.history.add(measured)) is not None:
                yield moment
        if (moment := self.history.finish()) is not None:
            yield moment


def start(robot: Robot, paths: Sequence[Path], settings: TrackFile, resume: Sequence[Path] = ()) -> Run:
    """Get ready to follow logs, from a saved state if there is one; what further states know is merged into it.

    Raises:
        BadLog: names file and column of what is wrong. BadFile: the state is of another robot or other settings.
        UnknownName, RobodynError: as `tracked`.
    """
    model = tracked(robot, settings)

    def read(path: Path) -> Iterator[Log]:
        return log_pieces(path, robot, settings.columns, settings.units, settings.scale)

    # What is wrong with a later log's columns shows before the first is followed.
    openings = [next(read(path)) for path in paths]
    first, simulated = openings[0], any(log.simulated for log in openings)
    rate = sampling_rate(first)
    tracker = Tracker(model, noise_of(model, first.name, opening(robot, first, settings), settings), rate, settings)
    stream = Stream(tracker, rates_for(robot, rate, settings))
    for first_state in resume[:1]:
        restore(first_state, stream)
    for other in resume[1:]:
        merge(other, stream)
    logs = [partial(read, path) for path in paths]
    unused = {log.name: log.quality.not_used for log in openings if log.quality.unused}
    return Run(stream, History(tracker), logs, simulated, unused)
