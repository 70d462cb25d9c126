"""The same work for many items, one after the other or by processes: of this machine, or of a Dask cluster.

What is found stands in the order of the items, and one thread computes each of them, so that it is the same bits whoever computes.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from ctypes import CDLL
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from robodyn_pin.dask_workers import LOST, of_cluster
from robodyn_pin.errors import RobodynError
from robodyn_pin.telling import counting, silent, told_of_each, unheard

Item = TypeVar("Item")
Found = TypeVar("Found")
# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's malloc.h [byte]: what is free at the heap's end stays, and large arrays lie there, too.
GLIBC_KEEPS = {-1: 2**30, -3: 2**25}
CANCELLED = ".* tasks which were"  # joblib's, of work that nobody waits for any more
SHOWING = ("commands", "output", "viz")  # rooms that no work needs, with libraries that take long to import
MANY = 4  # items for each process, from which processes that nobody asked for are worth their start


@dataclass(frozen=True)
class _Others:
    """Processes that work, too."""

    least: int  # items from which they are asked
    run: Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]  # a function over items, in their order


_others: ContextVar[_Others | None] = ContextVar("others", default=None)


@contextmanager
def working(workers: int | None = None, scheduler: str | None = None) -> Iterator[None]:
    """Let `each` work with so many processes of this machine, or with those of a Dask cluster, within a `with` block.

    Args:
        workers: default: as many as there are cores, where there is enough to do for them.
        scheduler: address of the cluster's scheduler, tcp://HOST:8786.

    Raises:
        RobodynError: fewer than one worker; no scheduler answers; a process was killed.
    """
    count = cores() if workers is None else workers
    if count < 1:
        raise RobodynError(f"{workers} workers cannot work; give 1 or more")
    if workers and scheduler:
        raise RobodynError("a cluster has its own workers; leave out the number of workers or the scheduler")
    if count == 1 and scheduler is None:
        yield
        return
    if scheduler is None:
        with ExitStack() as ending:
            # Once: a second end would begin others. Processes of a later block see what the environment is then.
            processes = partial(_processes, count, cache(partial(ending.callback, _end_processes)))
            if workers:
                ending.enter_context(_starting(processes, count))
            with _shared(_Others(2 if workers else MANY * count, partial(_here, processes))):
                yield
        return
    with of_cluster(scheduler) as run, _shared(_Others(2, run)):
        yield


@contextmanager
def _shared(others: _Others) -> Iterator[None]:
    before = _others.set(others)
    try:
        yield
    finally:
        _others.reset(before)


@contextmanager
def _starting(processes: Callable[[], Any], count: int) -> Iterator[None]:
    """Let processes of this machine start, and import what this one has imported for its work, while it goes on within a `with` block."""
    from joblib import delayed

    names = [name for name in sys.modules if name.startswith("robodyn_pin.") and name.split(".")[1] not in SHOWING]
    ready = processes()(delayed(_imported)(names) for _ in range(count))
    try:
        yield
    finally:
        with suppress(Exception):  # a process that was killed is the matter of the work that it had
            list(ready)


def _imported(names: Sequence[str]) -> None:
    for name in names:
        import_module(name)


def _processes(count: int, used: Callable[[], object]) -> Any:
    """Processes of this machine; `used` is told that there are some. Arrays go to them as they are: in files they could not be written."""
    from joblib import Parallel

    used()
    return Parallel(n_jobs=count, max_nbytes=None, return_as="generator")


def _end_processes() -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True).shutdown(kill_workers=True)


def _here(processes: Callable[[], Any], work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """The work by processes of this machine; they start when they are first needed."""
    from joblib import delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    try:
        found = processes()(delayed(_keeping_memory)(work, item) for item in items)
        with _ended(found):
            yield from (one for one in found)  # which leaves the end of `found` to the block
    except BrokenProcessPool:
        raise RobodynError(LOST) from None


@contextmanager
def _ended(found: Generator[Any, None, None]) -> Iterator[None]:
    """End work that nobody waits for any more after a `with` block: joblib would warn of it."""
    try:
        yield
    finally:
        with unheard(CANCELLED):
            found.close()


def _keeping_memory(work: Callable[[Any], Any], item: Any) -> Any:
    _keep_memory()
    return work(item)


@cache
def _keep_memory() -> None:
    """Let this process, one of ours, keep the memory that its work has taken.

    A log takes some 300 MB for a while. glibc gives them back to the system, page by page, and takes them anew for the next log: a
    twentieth of the time. And joblib takes such growth for a leak and starts another process instead.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize
    with suppress(AttributeError, OSError, TypeError):  # another library for memory has no such options
        for option, size in GLIBC_KEEPS.items():
            CDLL(None).mallopt(option, size)


def each(
    work: Callable[[Item], Found], items: Sequence[Item], progress: Callable[[float], None] = lambda share: None
) -> list[Found]:
    """What the work finds for each item, in the order of the items; what it raises, of the first that does.

    Args:
        progress: is told the share of the items that is done.
    """
    every = []
    for found in in_turn(work, items):
        every.append(found)
        progress(len(every) / len(items))
    return every


def in_turn(work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found]:
    """The same, one after the other, so that not all of it is in memory at once."""
    for found in tried(work, items):
        yield _raised(found)


def tried(work: Callable[[Item], Found], items: Sequence[Item]) -> Iterator[Found | RobodynError]:
    """The same, with the error in place of what an item would have given."""
    others = _others.get()
    if others is None or len(items) < others.least:
        found: Iterable[Found | RobodynError] = map(partial(_alone, work), items)
    else:
        found = others.run(partial(_elsewhere, work), items)
    yield from told_of_each(found, len(items))


def _alone(work: Callable[[Item], Found], item: Item) -> Found | RobodynError:
    with one_thread(), counting(None):  # work within work is not counted
        try:
            return work(item)
        except RobodynError as error:
            return error


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread within a `with` block, or in a function that this decorates.

    Our matrices are small: a second thread of BLAS costs more than it gives, and sums in another order.
    """
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """The libraries with threads that so many modules have brought: looking for them takes longer than many a piece of work."""
    return ThreadpoolController()


def _elsewhere(work: Callable[[Item], Found], item: Item) -> Found | RobodynError:
    with silent():  # lines of another process would stand beside the bar of this one
        return _alone(work, item)


def _raised(found: Found | RobodynError) -> Found:
    if isinstance(found, RobodynError):
        raise found
    return found


def cores() -> int:
    """How many of them this process may use; macOS does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
