"""What the package says while it works: lines of Python's `logging`, under the package's name.

Stages of long work at INFO, what takes longer than a user expects at WARNING. `logging.basicConfig(level="INFO")` shows them.
"""

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

LOGGER = logging.getLogger("robodyn_pin")


class Milestone(str):
    """A stage of long work that knows how much of its part of the work is done, so that a bar can say how long the rest takes."""

    part: str  # stages of one name share a bar
    share: float  # of that part, from 0 to 1

    def __new__(cls, text: str, part: str, share: float) -> "Milestone":
        stage = super().__new__(cls, text)
        stage.part, stage.share = part, share
        return stage


def tell(stage: str) -> None:
    """Say what is being done now."""
    LOGGER.info(stage)


@contextmanager
def silent() -> Iterator[None]:
    """Say nothing within a `with` block."""
    before = LOGGER.disabled
    LOGGER.disabled = True
    try:
        yield
    finally:
        LOGGER.disabled = before


@contextmanager
def unheard(warning: str, *names: str) -> Iterator[dict[logging.Logger, int]]:
    """Keep a warning and the loggers of these names silent within a `with` block: errors of ours say what matters.

    Gives the levels that the loggers get back.
    """
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    try:
        for logger in levels:
            logger.setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", warning, UserWarning)
            yield levels
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


_count: ContextVar[Callable[[int, int], None] | None] = ContextVar("count", default=None)


@contextmanager
def counting(say: Callable[[int, int], None] | None) -> Iterator[None]:
    """Let `told_of_each` tell how many of how many items are done, within a `with` block; None: nobody is told."""
    before = _count.set(say)
    try:
        yield
    finally:
        _count.reset(before)


def told_of_each(found: Iterable[Item], of: int) -> Iterator[Item]:
    """The same items as they come; whoever counts is told of each."""
    say = _count.get()
    for done, one in enumerate(found, 1):
        if say and of > 1:
            say(done, of)
        yield one
