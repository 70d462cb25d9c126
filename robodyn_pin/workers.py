"""The same work for many items, one after the other or by processes: of this machine, or of a Dask cluster.

What is found stands in the order of the items, and one thread computes each of them, so that it is the same bits whoever computes.
"""

import logging
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from ctypes import CDLL
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from robodyn_pin.errors import RobodynError
from robodyn_pin.own_code import code_hash
from robodyn_pin.telling import counting, silent, told_of_each

Item = TypeVar("Item")
Found = TypeVar("Found")
LOST = "a worker process ended before its work, killed or out of memory; run again, with fewer workers if need be"

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of glibc's malloc.h [byte]: what is free at the heap's end stays, and large arrays lie there, too.
GLIBC_KEEPS = {-1: 2**30, -3: 2**25}
LARGE = "Sending large graph"  # Dask's, of work in large pieces
CANCELLED = ".* tasks which were"  # joblib's, of work that nobody waits for any more
# Loggers that tell with tracebacks of a lost connection.
TRACEBACKS = "distributed", "distributed.client", "tornado.application", "asyncio"
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
    with _cluster(scheduler) as others, _shared(others):
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
        with _unheard(CANCELLED):
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
    with _libraries(len(sys.modules)).limit(limits=1), counting(None):  # work within work is not counted
        try:
            return work(item)
        except RobodynError as error:
            return error


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


@contextmanager
def _cluster(address: str) -> Iterator[_Others]:
    """The workers of a Dask cluster; raises as `working`."""
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError:
        raise RobodynError("a scheduler needs Dask: pip install 'robodyn_pin[scale]'") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise RobodynError(
            f"no Dask scheduler answers at {address!r} ({type(error).__name__}); start one with 'dask scheduler' and name its "
            "address, tcp://HOST:8786"
        ) from None

    def run(work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        futures = client.map(work, items, pure=False)
        place, ready, given = {future.key: k for k, future in enumerate(futures)}, dict[int, Any](), 0
        completed = as_completed(futures, with_results=True)  # fetched at once: a killed worker takes what it holds
        del futures  # what is fetched the workers may forget
        try:
            for future, found in completed:
                if isinstance(found, CancelledError):
                    raise found
                ready[place[future.key]] = found
                del future  # else the last one stays wanted until the next is there, and is computed again where its worker is killed
                while given in ready:
                    yield ready.pop(given)
                    given += 1
        except KilledWorker:
            raise RobodynError(LOST) from None
        except (CancelledError, OSError):
            levels.clear()  # what is left of the connection complains until the process ends
            raise RobodynError(
                f"the connection to the scheduler at {address!r} was lost; start it again and run again: what lies in '--cache' is not "
                "computed again"
            ) from None

    with _unheard(LARGE, *TRACEBACKS) as levels, client:
        _check_workers(client, address)
        yield _Others(2, run)


@contextmanager
def _unheard(warning: str, *names: str) -> Iterator[dict[logging.Logger, int]]:
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


def _check_workers(client: Any, address: str) -> None:
    """See that there are workers, each with this version and code of the package and one thread."""
    threads, ours = client.nthreads(), _version()
    if not threads:
        raise RobodynError(
            f"the scheduler at {address!r} has no workers; start some with 'dask worker {address} --nthreads 1'"
        )
    if shared := [worker for worker, count in threads.items() if count > 1]:
        raise RobodynError(
            f"the worker {shared[0]} has {threads[shared[0]]} threads, which would share what one thread needs; start workers with "
            "--nthreads 1, as many as there are cores"
        )
    for worker, found in client.run(_version, on_error="return").items():
        if found != ours:
            raise RobodynError(
                f"the worker {worker} has robodyn_pin {found if isinstance(found, str) else 'not installed'}, expected {ours}; "
                "install the same version there"
            )


def cores() -> int:
    """How many of them this process may use; macOS does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _version() -> str:
    return f"{version('robodyn_pin')} (code {code_hash()[:8]})"
