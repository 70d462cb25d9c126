"""The same work for many items, one after the other or by processes: of this machine, or of a Dask cluster.

What is found stands in the order of the items, and one thread computes each of them, so that it is the same bits whoever computes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from robodyn_pin.errors import RobodynError

Item = TypeVar("Item")
Found = TypeVar("Found")
LOST = (
    "a worker process ended before its work, killed or out of memory; run again, with fewer workers if it happens again"
)

MANY = 4  # items for each process, from which processes that nobody asked for are worth their start


@dataclass(frozen=True)
class _Others:
    """Processes that work, too."""

    least: int  # items from which they are asked
    run: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]  # a function over items, in their order


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
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    if count < 1:
        raise RobodynError(f"{workers} workers cannot work; give 1 or more")
    if workers and scheduler:
        raise RobodynError("a cluster has its own workers; leave out the number of workers or the scheduler")
    if count == 1 and scheduler is None:
        yield
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    def here(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return pool(delayed(work)(item) for item in items)

    with ExitStack() as stack:
        if scheduler is None:
            pool = stack.enter_context(Parallel(n_jobs=count))
            others = _Others(2 if workers else MANY * count, here)
        else:
            client = stack.enter_context(_client(scheduler))
            others = _Others(2, lambda work, items: client.gather(client.map(work, items, pure=False)))
        before = _others.set(others)
        try:
            yield
        except BrokenProcessPool:
            raise RobodynError(LOST) from None
        finally:
            _others.reset(before)


def each(work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """What the work finds for each item, in the order of the items; what it raises, of the first that does."""
    others = _others.get()
    if others is None or len(items) < others.least:
        with threadpool_limits(1):
            return [work(item) for item in items]
    return [_result(one) for one in others.run(partial(_alone, work), items)]


def _alone(work: Callable[[Item], Found], item: Item) -> tuple[Found | None, RobodynError | None]:
    """An error that a user's input causes comes back as it is, as a cluster wraps what is raised there."""
    with threadpool_limits(1):
        try:
            return work(item), None
        except RobodynError as error:
            return None, error


def _result(one: tuple[Found | None, RobodynError | None]) -> Found:
    found, error = one
    if error is not None:
        raise error
    return found  # type: ignore[return-value]


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A connection to a Dask scheduler; raises as `working`."""
    try:
        from distributed import Client
    except ImportError:
        raise RobodynError("a scheduler needs Dask: pip install 'robodyn_pin[scale]'") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TypeError) as error:
        raise RobodynError(
            f"no Dask scheduler answers at {address!r} ({type(error).__name__}); start one with 'dask scheduler' and name its "
            "address, tcp://HOST:8786"
        ) from None
    with client:
        yield client
