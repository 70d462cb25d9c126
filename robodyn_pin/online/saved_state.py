"""The state of a stream in a file: saved, restored, and merged with that of other robots of the same design."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.files import read_arrays, write_whole
from robodyn_pin.identification.drift import Trend
from robodyn_pin.identification.online import DampedLeastSquares
from robodyn_pin.online.stream import Stream

Arrays = dict[str, np.ndarray]


def save_state(path: Path, stream: Stream) -> None:
    """Write the state of a stream, completely or not at all.

    Raises:
        BadFile: the folder cannot be written.
    """
    write_whole(path, lambda target: target.write_bytes(state_bytes(stream)))


def state_bytes(stream: Stream) -> bytes:
    """What `save_state` writes."""
    with BytesIO() as file:
        np.savez(file, allow_pickle=False, **state_arrays(stream))
        return file.getvalue()


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
    with _as_saved(path):
        tracker.estimator = DampedLeastSquares.restored(part_of(arrays, "estimator"))
        tracker.trend = Trend.restored(part_of(arrays, "trend"))
        tracker.restore(part_of(arrays, "tracker"))
        stream.rates.restore(part_of(arrays, "rates"))
        if tracker.detector is not None:
            tracker.detector.restore(part_of(arrays, "detector"))


def merge_state(path: Path, stream: Stream) -> None:
    """Combine the estimate of a stream with a saved one, of another robot of the same design or of another time.

    Raises:
        BadFile: as `restore_state`. ShapeMismatch: the settings differ.
    """
    arrays = read_state(path)
    _check(path, arrays, stream)
    with _as_saved(path):
        other = DampedLeastSquares.restored(part_of(arrays, "estimator"))
    stream.tracker.estimator = stream.tracker.estimator.merged(other)


@contextmanager
def _as_saved(path: Path) -> Iterator[None]:
    """Raise BadFile where a state lacks an array, or has one of another shape."""
    try:
        yield
    except KeyError as error:
        raise BadFile(
            f"the state {path} has no {error}; use the settings that it was made with, payload included"
        ) from None
    except (ValueError, TypeError, IndexError) as error:
        raise BadFile(f"the state {path} is not as `robodyn track` wrote it: {' '.join(str(error).split())}") from None


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
    arrays = read_arrays(path)
    if not {"robot", "labels", "estimator/x"} <= arrays.keys():
        raise BadFile(f"{path} is no state of `robodyn track`")
    for name, values in arrays.items():
        if name.startswith("estimator/") and not (values.dtype.kind in "fiu" and np.isfinite(values).all()):
            raise BadFile(f"the state {path} has values that are no numbers in {name!r}; start without it")
    return arrays


def part_of(arrays: Mapping[str, np.ndarray], part: str) -> Arrays:
    """The arrays of one part, without its prefix."""
    return {name.removeprefix(f"{part}/"): x for name, x in arrays.items() if name.startswith(f"{part}/")}
