"""What was read last of the logs that stay in their files: it stays in memory, so much of it whatever the number of logs."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Found = TypeVar("Found")


class Recent:
    """The latest things that were read, up to so many rows; the last one in any case."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._held: dict[Hashable, tuple[int, Any]] = {}

    def get(self, key: Hashable, rows: int, read: Callable[[], Found]) -> Found:
        """What belongs to a key, of so many rows; read if it is not there."""
        held = self._held.pop(key, None)
        found = read() if held is None else held[1]
        self._held[key] = rows, found  # the latest one stands last
        while len(self._held) > 1 and sum(size for size, _ in self._held.values()) > self.rows:
            self._held.pop(next(iter(self._held)), None)
        return found
