"""Tables of bags that ROS recorded: folders of rosbag2, its .mcap and .db3 files, .bag files of ROS 1; the extra `ros`.

A JointState message is a row `t, q_NAME, dq_NAME, tau_NAME` by the names of its joints. Where there are several topics of
JointState, columns begin with the topic, `/left/joint_states.q_NAME`. Numbers of other topics are columns `TOPIC.FIELD`,
`/load_cell.wrench.force.z`, at the times of the rows between the two messages around them. `t` is the stamp in the message's header,
else when the message was received, from the first message on [s].
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robodyn_pin.errors import BadLog, RobodynError

if TYPE_CHECKING:
    import polars as pl

JOINT_STATE = re.compile(r"sensor_msgs/(?:msg/)?JointState$")
OURS = {"position": "q_", "velocity": "dq_", "effort": "tau_"}
SUFFIXES = (".mcap", ".db3", ".bag")
FIRST = 50  # messages of a topic that show its columns
LONGEST = 100  # entries of an array that are columns; pictures and point clouds are none
NANO = 1e-9


def is_bag(path: Path) -> bool:
    """Whether a path looks like what ROS records."""
    return path.suffix in SUFFIXES or (path / "metadata.yaml").is_file()


@dataclass(frozen=True)
class BagTable:
    """Columns with names, as of a text file; messages are read when columns are asked for."""

    path: Path
    notes: str = ""
    has_header = True

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of the columns."""
        return ("t", *self._topics)

    @cached_property
    def _topics(self) -> dict[str, str]:
        """Which topic a column is of, from the first messages of each topic: an arm and a gripper may share one."""
        first: dict[str, dict[str, float]] = {}
        states = []
        with _opened(self.path) as bag:
            for connection in bag.connections:
                if JOINT_STATE.match(connection.msgtype) and connection.topic not in states:
                    states.append(connection.topic)
                for *_, raw in islice(bag.messages([connection]), FIRST):
                    message = bag.deserialize(raw, connection.msgtype)
                    first.setdefault(connection.topic, {}).update(_numbers(message, connection.msgtype))
        if not any(first.values()):
            raise BadLog(f"{self.path} holds no message with numbers; expected a topic of sensor_msgs/JointState")
        return {
            header if [topic] == states else f"{topic}.{header}": topic
            for topic, numbers in first.items()
            for header in numbers
        }

    @staticmethod
    def line(row: int) -> int:
        """What a message calls a row: messages count from 0."""
        return row

    def read(self, headers: Sequence[str]) -> "pl.DataFrame":
        """All rows of some columns: those messages of the first column's topic that hold all of its columns asked for.

        Rows before the first and after the last message of another topic are left out.

        Raises:
            BadLog: nothing is left, or the bag cannot be read.
        """
        import polars as pl

        named = [h for h in headers if h != "t"]
        rows_of = self._topics[named[0]] if named else next(iter(self._topics.values()))
        by_topic: dict[str, list[str]] = {rows_of: []}
        for header in named:
            by_topic.setdefault(self._topics[header], []).append(header)
        with _opened(self.path) as bag:
            series = {topic: self._series(bag, topic, wanted) for topic, wanted in by_topic.items()}
        at, values = series.pop(rows_of)
        kept = np.ones(len(at), bool)
        for t, _ in series.values():
            kept &= (t.min() <= at) & (at <= t.max())
        if not kept.any():
            raise BadLog(
                f"{self.path}: {', '.join(by_topic)} have no time in common; name columns that were recorded together"
            )
        at, values = at[kept], values[kept]
        start = at[0]  # before they become floating-point numbers, which are too coarse for nanoseconds since 1970
        found = {"t": (at - start) * NANO} | dict(zip(by_topic[rows_of], values.T, strict=True))
        for topic, (t, values) in series.items():
            order = np.argsort(t, kind="stable")  # what a network carries may overtake
            between = [np.interp(at - start, t[order] - start, x[order]) for x in values.T]
            found |= dict(zip(by_topic[topic], between, strict=True))
        return pl.DataFrame({h: found[h] for h in headers})

    def pieces(self, headers: Sequence[str], size: int) -> Iterator["pl.DataFrame"]:
        """Consecutive rows of some columns."""
        return self.read(headers).iter_slices(size)

    def _series(self, bag: Any, topic: str, headers: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Times (n,) [ns] and numbers (n, k) of the messages of a topic that hold all columns asked for."""
        own = [h.removeprefix(f"{topic}.") for h in headers]
        times, values = [], []
        for connection, received, raw in bag.messages([c for c in bag.connections if c.topic == topic]):
            message = bag.deserialize(raw, connection.msgtype)
            numbers = _numbers(message, connection.msgtype)
            if all(h in numbers for h in own):
                times.append(_stamp(message) or received)
                values.append([numbers[h] for h in own])
        if not times:
            raise BadLog(f"{self.path}: no message of {topic} holds all of {', '.join(own)}; name columns of one robot")
        return np.array(times), np.array(values, float).reshape(len(times), len(own))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A reader of the bag.

    Raises:
        BadLog: the extra is missing, or this is no bag that can be read to its end.
    """
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise BadLog(f"{path}: bags of ROS need the extra 'ros': pip install 'robodyn_pin[ros]'") from None
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.LATEST)) as bag:
            yield bag
    except RobodynError:
        raise
    except Exception as error:  # damaged bags fail anywhere in decompression, databases and messages
        said = " ".join(str(error).split()) or type(error).__name__
        raise BadLog(
            f"{path} cannot be read as a bag of ROS: {said}; `ros2 bag reindex` mends bags that were cut off"
        ) from None


def _stamp(message: Any) -> int:
    """When the message was made [ns]; zero where it does not say."""
    stamp = getattr(getattr(message, "header", None), "stamp", None)
    return 0 if stamp is None else stamp.sec * 10**9 + stamp.nanosec


def _numbers(message: Any, kind: str) -> dict[str, float]:
    """The numbers in a message, by our names of columns."""
    if JOINT_STATE.match(kind):
        parts = {ours: getattr(message, field) for field, ours in OURS.items()}
        return {f"{ours}{n}": x for ours, part in parts.items() for n, x in zip(message.name, part, strict=False)}
    return dict(_leaves(message, ""))


def _leaves(part: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(part, bool | int | float | np.number):
        yield place, float(part)
    elif isinstance(part, np.ndarray | list) and len(part) <= LONGEST:
        for i, inner in enumerate(part):
            yield from _leaves(inner, f"{place}[{i}]")
    elif hasattr(part, "__dataclass_fields__"):
        for name in part.__dataclass_fields__:
            if name not in ("__msgtype__", "header"):
                yield from _leaves(getattr(part, name), f"{place}.{name}" if place else name)
