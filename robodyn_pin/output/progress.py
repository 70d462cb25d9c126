"""How far long work is, on a terminal."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from robodyn_pin.telling import LOGGER, Milestone, counting, tell

if TYPE_CHECKING:
    from rich.progress import Progress


def _lines() -> bool:
    return LOGGER.isEnabledFor(logging.INFO)


def _draws() -> bool:
    return sys.stderr.isatty() and LOGGER.isEnabledFor(logging.WARNING)


def _tenths(title: str) -> Callable[[float], None]:
    """Tells a share of work each time that a tenth more is done."""
    told = 0

    def step(share: float) -> None:
        nonlocal told
        if int(10 * share) > told:
            told = int(10 * share)
            tell(f"{title}: {10 * told} %")

    return step


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """A line on a terminal that names the current stage, with bar and time left where a `Milestone` or a count of items says how far
    the work is; lines that stay with `-v`, nothing elsewhere."""
    if _lines() or not _draws():
        yield tell
        return
    with _progress() as progress:
        line = _Line(progress)
        with counting(line.count):
            yield line.say


class _Line:
    """The current stage on a terminal, and how far it is."""

    def __init__(self, progress: "Progress"):
        self.progress, self.task = progress, progress.add_task("starting", total=None)
        self.stage, self.part = "starting", ""

    def say(self, stage: str) -> None:
        """Show the next stage; milestones of one part share a bar."""
        known = stage if isinstance(stage, Milestone) else None
        part = known.part if known else ""
        if part != self.part or not known:
            self.progress.reset(self.task, total=1.0 if known else None)
        self.stage, self.part = stage, part
        self.progress.update(self.task, description=stage, completed=known.share if known else 0.0)

    def count(self, done: int, of: int) -> None:
        """Show how many items of the stage are done; the bar is theirs where no milestone has it."""
        self.progress.update(self.task, description=f"{self.stage}: {done} of {of}")
        if not self.part:
            if done == 1:
                self.progress.reset(self.task, total=of)
            self.progress.update(self.task, completed=done)
        if done == of:
            self.say(self.stage)  # what follows may be other work


@contextmanager
def bar(title: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal, with the time left; a line each tenth with `-v`, nothing elsewhere."""
    if _lines() or not _draws():
        yield _tenths(title)
        return
    with _progress() as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share: progress.update(task, completed=share)


def _progress() -> "Progress":
    """Spinner, stage, bar, per cent and time left; what does not fit the terminal is cut from the stage."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    stage = TextColumn(
        "{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1), markup=False
    )
    return Progress(
        SpinnerColumn(), stage, BarColumn(bar_width=24), TaskProgressColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, expand=True,
    )  # fmt: skip
