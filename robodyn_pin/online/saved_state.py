"""The state of a stream in a file: saved, restored, and merged with that of other robots of the same design."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.files import write_whole
from robodyn_pin.identification.drift import Trend
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.online.stream import Stream
from robodyn_pin.staging import reads

Arrays = dict[str, np.ndarray]


def save_state(path: Path, stream: Stream) -> None:
    """Write the state of a stream, completely or not at all.

    Raises:
        BadFile: the folder cannot be written.
    """
    write_whole(path, lambda target: np.savez(target, allow_pickle=False, **state_arrays(stream)))


def state_arrays(stream: Stream) -> Arrays:
    """The state as named arrays."""
    tracker = stream.tracker
    parts = {"estimator": tracker.estimator.state(), "trend": tracker.trend.state(), "rates": stream.rates.state()}
    if tracker.detector is not None:
        parts["detector"] = tracker.detector.state()
    found = {f"{part}/{name}": x for part, own in parts.items() for name, x in own.items()}
    found |= {f"tracker/{name}": x for name, x in tracker.state().items()}
    return found | {"robot": np.array(tracker.tracked.robot.name), "labels": np.array(tracker.tracked.combinations)}


def restore_state(path: Path, stream: Stream) -> None:
    """Let a new stream of the same robot and settings continue from a saved state.

    Raises:
        BadFile: the file is no state, or one of another robot or of other parameters.
    """
    arrays, tracker = read_state(path), stream.tracker
    _check(path, arrays, stream)
    try:
        tracker.estimator = DampedLeastSquares.restored(part_of(arrays, "estimator"))
        tracker.trend = Trend.restored(part_of(arrays, "trend"))
        tracker.restore(part_of(arrays, "tracker"))
        stream.rates.restore(part_of(arrays, "rates"))
        if tracker.detector is not None:
            tracker.detector.restore(part_of(arrays, "detector"))
    except KeyError as error:
        raise BadFile(
            f"the state {path} has no {error}; use the settings that it was made with, payload included"
        ) from None


def merge_state(path: Path, stream: Stream) -> None:
    """Combine the estimate of a stream with a saved one, of another robot of the same design or of another time.

    Raises:
        BadFile: as `restore_state`. ShapeMismatch: the settings differ.
    """
    arrays = read_state(path)
    _check(path, arrays, stream)
    other = DampedLeastSquares.restored(part_of(arrays, "estimator"))
    stream.tracker.estimator = stream.tracker.estimator.merged(other)


def _check(path: Path, arrays: Arrays, stream: Stream) -> None:
    """Raise BadFile if a state is of another robot or of other parameters."""
    tracker = stream.tracker
    if str(arrays["robot"]) != tracker.tracked.robot.name:
        raise BadFile(f"{path} is the state of robot {str(arrays['robot'])!r}, not of {tracker.tracked.robot.name!r}")
    if arrays["labels"].tolist() != tracker.tracked.combinations:
        raise BadFile(
            f"{path} tracks other parameters of {tracker.tracked.robot.name!r}; use the settings that it was made with"
        )


def read_state(path: Path) -> Arrays:
    """The arrays of a state file; raises BadFile."""
    try:
        with np.load(reads(path), allow_pickle=False) as stored:
            arrays = dict(stored)
    except (OSError, ValueError) as error:
        raise BadFile(f"cannot read the state {path}: {' '.join(str(error).split())}") from None
    if not {"robot", "labels", "estimator/x"} <= arrays.keys():
        raise BadFile(f"{path} is no state of `robodyn track`")
    return arrays


def part_of(arrays: Mapping[str, np.ndarray], part: str) -> Arrays:
    """The arrays of one part, without its prefix."""
    return {name.removeprefix(f"{part}/"): x for name, x in arrays.items() if name.startswith(f"{part}/")}
