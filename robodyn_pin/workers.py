"""The same work for many items, one after the other or by processes: of this machine, or of a Dask cluster.

What is found stands in the order of the items, and one thread computes each of them, so that it is the same bits whoever computes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from threadpoolctl import threadpool_limits

from robodyn_pin.errors import RobodynError

Item = TypeVar("Item")
Found = TypeVar("Found")
LOST = (
    "a worker process ended before its work, killed or out of memory; run again, with fewer workers if it happens again"
)

MANY = 4  # items for each process, from which processes that nobody asked for are worth their start

_shared: ContextVar[int] = ContextVar("shared", default=0)  # how many items go to other processes; 0: none ever do


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
    from joblib import parallel_config
    from joblib.externals.loky.process_executor import BrokenProcessPool

    before = _shared.set(MANY * count if workers is None and scheduler is None else 2)
    try:
        if scheduler is None:
            with parallel_config("loky", n_jobs=count):
                yield
        else:
            with _client(scheduler), parallel_config("dask"):
                yield
    except BrokenProcessPool:
        raise RobodynError(LOST) from None
    finally:
        _shared.reset(before)


def each(work: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
    """What the work finds for each item, in the order of the items; what it raises, of the first that does."""
    if not 0 < _shared.get() <= len(items):
        with threadpool_limits(1):
            return [work(item) for item in items]
    from joblib import Parallel, delayed

    found = Parallel()(delayed(_alone)(work, item) for item in items)
    return [_result(one) for one in found]


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
def _client(address: str) -> Iterator[None]:
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
        yield
