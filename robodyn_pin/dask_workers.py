"""The workers of a Dask cluster: work is sent to them, and what goes wrong there comes back as a sentence."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from robodyn_pin.errors import RobodynError
from robodyn_pin.own_code import code_hash
from robodyn_pin.telling import unheard

LOST = "a worker process ended before its work, killed or out of memory; run again, with fewer workers if need be"
LARGE = "Sending large graph"  # Dask's, of work in large pieces
# Loggers that tell with tracebacks of a lost connection.
TRACEBACKS = "distributed", "distributed.client", "tornado.application", "asyncio"

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]  # a function over items, in their order


@contextmanager
def of_cluster(address: str) -> Iterator[Run]:
    """What works on a cluster within a `with` block.

    Raises:
        RobodynError: no Dask, no scheduler or no worker there, workers with several threads or another version.
    """
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

    with unheard(LARGE, *TRACEBACKS) as levels, client:
        _check_workers(client, address)
        yield run


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


def _version() -> str:
    return f"{version('robodyn_pin')} (code {code_hash()[:8]})"
