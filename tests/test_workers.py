"""Work shared among processes of this machine or of a Dask cluster: what a killed one costs, and which are refused."""

import os
import platform
import re
import signal
import subprocess
import sys
import time
import uuid
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.reusable_executor import _ReusablePoolExecutor

import robodyn_pin as rp
from robodyn_pin import dask_workers, workers
from robodyn_pin.errors import RobodynError
from robodyn_pin.own_code import code_hash
from robodyn_pin.workers import each, in_turn


@pytest.mark.parametrize("count", [1, 2])
def test_a_worker_that_is_killed_takes_only_what_it_was_at(tmp_path, count):
    distributed = pytest.importorskip("distributed", reason="the extra 'scale' is not installed")
    begun, fetched = tmp_path / "begun", tmp_path / "fetched"
    begun.mkdir(), fetched.mkdir()

    def noted(k):
        (begun / f"{k} {uuid.uuid4()}").touch()
        if k == 8 and len(list(begun.glob("8 *"))) == 1:
            while len(list(fetched.iterdir())) < 8:
                time.sleep(0.01)
            time.sleep(0.5)  # until the scheduler has heard that nobody waits for these any more
            os.kill(os.getpid(), signal.SIGKILL)
        return k

    with (
        distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
        rp.working(scheduler=cluster.scheduler_address),
    ):
        assert each(noted, range(12), lambda share: (fetched / f"{share}").touch()) == list(range(12))
    runs = [path.name.split()[0] for path in begun.iterdir()]
    assert sorted(runs) == sorted([*map(str, range(12)), "8"])


BUSY = """
import logging, sys, time
from functools import partial
from pathlib import Path
import robodyn_pin as rp
from robodyn_pin.errors import RobodynError
from robodyn_pin.own_code import code_hash
from robodyn_pin.workers import each

def work(folder, k):
    Path(folder, f"begun {k}").touch()
    time.sleep(600)

try:
    with rp.working(scheduler=sys.argv[1]):
        each(partial(work, sys.argv[2]), range(4))
except RobodynError as error:
    print(error)
logging.getLogger("tornado.application").error("what is left of the connection")
"""


GROWS = """
import os, time
import numpy as np
import robodyn_pin as rp
from robodyn_pin.workers import each

def work(k):
    np.held = [*getattr(np, "held", []), np.ones(50_000_000)]  # 400 MB more than after the work before
    time.sleep(1.1)
    return k, os.getpid()

with rp.working(2):
    found = each(work, range(6))
print([k for k, _ in found], len({process for _, process in found}))
"""


def test_a_process_that_grows_goes_on_without_a_word():
    """Another one in its place would import everything anew, after each log that takes much memory for a while."""
    pytest.importorskip("psutil", reason="without psutil no process is looked at")
    done = subprocess.run([sys.executable, "-P", "-c", GROWS], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[0, 1, 2, 3, 4, 5] 2", "")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no glibc")
def test_memory_that_was_taken_once_is_not_taken_from_the_system_again():
    def pages(k):
        import resource

        begun = []
        for _ in range(3):
            begun.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
            held = [np.ones(2**17) for _ in range(100)]  # of 1 MB
            del held
        return begun[2] - begun[1]

    with rp.working(2):
        assert max(each(pages, range(2))) < 1000  # of the 25600 in 100 MB


def test_a_block_begins_and_ends_one_pool_of_processes(monkeypatch):
    """Its end, told twice, would begin another one to end it, which leaves semaphores behind."""
    begun, begin = [], _ReusablePoolExecutor.__init__
    monkeypatch.setattr(
        _ReusablePoolExecutor, "__init__", lambda pool, *a, **k: (begun.append(pool), begin(pool, *a, **k))[1]
    )
    with rp.working(2):
        assert [each(abs, [-1, -2]) for _ in range(3)] == 3 * [[1, 2]]
    assert len(begun) == 1


def test_the_code_that_workers_share_is_all_of_the_package(monkeypatch):
    read = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or b"")
    code_hash.__wrapped__()
    assert {"workers.py", "loops.py", "feasible.py", "report.py"} <= set(read)  # beside the rooms, and of rooms


def test_processes_see_the_environment_of_the_block_they_work_in(monkeypatch):
    """A notebook gives its cloud's keys after a first search."""
    for given in ("before", "after"):
        monkeypatch.setenv("GIVEN", given)
        with rp.working(2):
            assert each(os.getenv, ["GIVEN", "GIVEN"]) == [given, given]


def test_processes_of_others_go_on_where_a_block_needs_none():
    Parallel(2)(delayed(abs)(-k) for k in range(4))
    theirs = get_reusable_executor(reuse=True)
    with rp.working():
        assert each(abs, [-1]) == [1]
    assert get_reusable_executor(reuse=True) is theirs  # one that has ended is replaced


def test_one_sentence_tells_that_the_scheduler_was_killed(tmp_path):
    """Dask alone prints tracebacks."""
    distributed = pytest.importorskip("distributed", reason="the extra 'scale' is not installed")
    where = ["--scheduler-file", tmp_path / "scheduler.json", "--no-dashboard"]
    dask, quiet = [sys.executable, "-m", "dask"], {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *where], **quiet)
    worker = subprocess.Popen([*dask, "worker", "--nthreads", "1", "--no-nanny", *where], **quiet)
    try:
        with distributed.Client(scheduler_file=str(tmp_path / "scheduler.json")) as client:
            client.wait_for_workers(1)
            address = client.scheduler.address
        ours = [sys.executable, "-P", "-c", BUSY, address, tmp_path]
        run = subprocess.Popen(ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while run.poll() is None and not list(tmp_path.glob("begun *")):
            time.sleep(0.05)
        scheduler.kill()
        said, beside = run.communicate(timeout=300)
    finally:
        scheduler.kill()
        worker.kill()
    assert said.startswith(f"the connection to the scheduler at '{address}' was lost; start it again")
    assert said.count("\n") == 1
    assert not beside


def test_clusters_that_would_not_find_the_same_bits_are_refused(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra 'scale' is not installed")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with cluster, pytest.raises(RobodynError, match="has 2 threads"), rp.working(scheduler=cluster.scheduler_address):
        pass
    cluster = distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None)
    with cluster, pytest.raises(RobodynError, match="has no workers"), rp.working(scheduler=cluster.scheduler_address):
        pass
    with pytest.raises(RobodynError, match="no Dask scheduler answers"), rp.working(scheduler="tcp://127.0.0.1:1"):
        pass
    ours = re.escape(dask_workers._version())
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with cluster:
        for name, other, expected in (
            ("version", "0.0.1", "0.0.1 .code"),
            ("code_hash", "another", ".* .code another"),
        ):
            said = f"has robodyn_pin {ours}, expected {expected}"
            with monkeypatch.context() as here:
                here.setattr(dask_workers, name, lambda *_, other=other: other)
                with pytest.raises(RobodynError, match=said), rp.working(scheduler=cluster.scheduler_address):
                    pass


def test_what_processes_cannot_do_is_said():
    with pytest.raises(RobodynError, match="give 1 or more"), rp.working(0):
        pass
    with pytest.raises(RobodynError, match="its own workers"), rp.working(2, "tcp://127.0.0.1:1"):
        pass
    with pytest.raises(RobodynError, match="killed or out of memory"), rp.working(2):
        each(os._exit, [1, 1, 1])


def test_work_that_nobody_waits_for_any_more_ends_without_a_word(recwarn):
    """As where the first log of many cannot be used, and `--strict` stops there."""
    with rp.working(2):
        for first in in_turn(abs, range(-50, 0)):
            assert first == 50
            break
    assert not [str(w.message) for w in recwarn]


THREADS = """
import sys
from threadpoolctl import threadpool_info
from robodyn_pin.workers import each

def threads(k):
    return max(library["num_threads"] for library in threadpool_info())

import numpy
assert "scipy.linalg" not in sys.modules
print(*each(threads, [0]))
import scipy.linalg  # brings a library of its own
print(*each(threads, [0]), threads(0))
"""


def test_libraries_that_come_later_get_one_thread_as_well():
    many = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-P", "-c", THREADS], capture_output=True, text=True, check=True, env=many)
    assert run.stdout.split() == ["1", "1", str(min(2, os.cpu_count()))]


def test_processes_do_not_import_what_draws_and_prints():
    for name in ("robodyn_pin.commands.options", "robodyn_pin.viz.plots"):
        import_module(name)
    shown = "sorted({'matplotlib', 'typer', 'robodyn_pin.viz.plots'} & set(__import__('sys').modules))"
    assert eval(shown) == ["matplotlib", "robodyn_pin.viz.plots", "typer"]
    with workers.working(2):
        assert each(eval, [shown] * 2) == [[], []]
