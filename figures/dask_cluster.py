"""A Dask cluster of processes of their own on this machine, whose workers can be killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

PORT = 8797
ADDRESS = f"tcp://127.0.0.1:{PORT}"
ALONE = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# Dask keeps an hour of calls of each worker in its memory.
UNPROFILED = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}


@contextmanager
def cluster() -> Iterator[list[subprocess.Popen]]:
    """A scheduler and two workers, each a process of its own that its nanny starts again."""
    dask = (sys.executable, "-m", "dask")
    quiet = {"env": ALONE | UNPROFILED, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*dask, "scheduler", "--port", str(PORT), "--no-dashboard"], **quiet)
    workers = [
        subprocess.Popen([*dask, "worker", ADDRESS, "--nthreads", "1", "--memory-limit", "4GiB", "--no-dashboard"], **quiet)
        for _ in range(2)
    ]  # fmt: skip
    time.sleep(10)
    try:
        yield [scheduler, *workers]
    finally:
        for process in (*workers, scheduler):
            process.terminate()
        for process in (*workers, scheduler):
            process.wait()


def worker_of(nanny: subprocess.Popen) -> int | None:
    """The process that works for a nanny now."""
    found = subprocess.run(["pgrep", "-P", str(nanny.pid)], capture_output=True, text=True).stdout.split()
    at_work = [int(x) for x in found if b"spawn_main" in Path(f"/proc/{x}/cmdline").read_bytes()]
    return at_work[-1] if at_work else None


@contextmanager
def killed_every(seconds: float, nannies: list[subprocess.Popen]) -> Iterator[None]:
    """One worker after the other is killed."""
    stop = threading.Event()

    def strike() -> None:
        turn = cycle(nannies)
        while not stop.wait(seconds):
            if (process := worker_of(next(turn))) is not None:
                os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
