"""Machines that fail: a command leaves a whole result or none, says one sentence, and cleans up after a crash."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("robodyn")
EXAMPLES = Path(__file__).parents[2] / "examples"


def names(folder: Path) -> set[str]:
    return {str(x.relative_to(folder)) for x in folder.rglob("*")}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 300 kB, where mounting is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


SIMULATE = ("simulate", "delta3", "--motion", EXAMPLES / "delta3_sine.yaml", "--out")


@pytest.mark.parametrize("free", [0, 4096, 40_960, 122_880])
def test_full_disk(robodyn, small_disk, free):
    (small_disk / "rest").write_bytes(bytes(300 * 1024 - free))
    done = robodyn(*SIMULATE, small_disk / "out" / "log.csv")
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if "compiling kernels" not in line]  # once on a machine
    assert len(said) == 1
    assert said[0].startswith("robodyn: cannot write")
    assert "No space left" in done.stderr
    assert names(small_disk) == {"rest"}


def test_full_disk_under_the_output_of_a_command():
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "check", "delta3"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


WHILE_A_PARSER_READS = """
import os, signal, time
from robodyn_pin.commands import cli, start
from robodyn_pin.robot.quiet import quiet
def read():
    with quiet():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
cli.main = read
start.main()
"""


def test_ctrl_c_is_answered_while_a_parser_is_kept_from_stderr():
    done = subprocess.run(
        [sys.executable, "-P", "-c", WHILE_A_PARSER_READS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (130, 1)


@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.6])
def test_ctrl_c_ends_a_command_with_one_line(tmp_path, seconds):
    command = [PROGRAM, *map(str, SIMULATE), str(tmp_path / "log.csv"), "--controller", str(controller(tmp_path))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if process.returncode != 0:
        assert process.returncode == 130
        assert said.count("\n") == 1, said
        assert said.startswith("robodyn: interrupted; nothing was written")
        assert names(tmp_path) == {"law.yaml"}


def controller(folder: Path) -> Path:
    (folder / "law.yaml").write_text("law: computed_torque\nrate: 1000\nbandwidth: 20\ndamping: 1\n")
    return folder / "law.yaml"


def test_no_home_and_no_temporary_words(tmp_path):
    environment = {k: x for k, x in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    environment |= {"HOME": "/nonexistent/home"}
    command = [PROGRAM, *map(str, SIMULATE), str(tmp_path / "log.csv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] > 0
    command = [PROGRAM, "forces", "delta3", str(tmp_path / "log.csv"), "--out", str(tmp_path / "struts.csv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


CLOCK = """
import time
for name in ("time", "time_ns"):
    real, calls = getattr(time, name), [0]
    def back(real=real, calls=calls):
        calls[0] += 1
        return real() - type(real())(3600) * calls[0] * (10**9 if isinstance(real(), int) else 1)
    setattr(time, name, back)
import sys
from robodyn_pin.commands.start import main
main()
"""


def test_a_clock_that_goes_back_an_hour_whenever_it_is_asked(tmp_path):
    command = [sys.executable, "-P", "-c", CLOCK, *map(str, SIMULATE), str(tmp_path / "log.csv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = [line for line in done.stderr.splitlines() if "compiling kernels" not in line]  # once on a machine
    assert (done.returncode, said) == (0, [])
    assert json.loads(done.stdout)["rows"] == 10_000
    assert names(tmp_path) == {"log.csv"}


LAPACK = """
import sys, threading, time
from robodyn_pin.storage import staging
from robodyn_pin.commands import cli, start
def long():
    import numpy as np
    with staging.whole_results():
        staging.staged(__import__("pathlib").Path(sys.argv[1]) / "a.txt").write_text("part")
        print("begins", flush=True)
        np.linalg.svd(np.random.default_rng(0).normal(size=(6000, 6000)))
    print("ended", flush=True)
cli.main = long
start.main()
"""


def test_ctrl_c_ends_a_decomposition_that_takes_minutes(tmp_path):
    """LAPACK knows nothing of signals; the decomposition does not come to its end, and nothing is left."""
    command = [sys.executable, "-P", "-c", LAPACK, tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate()
    assert (process.returncode, rest) == (130, "")
    assert said == "robodyn: interrupted; nothing was written, and what was there before is unchanged\n"
    assert names(tmp_path) == set()


BY_PROCESSES = """
import time
from robodyn_pin.commands import cli, start
from robodyn_pin.workers import each, working
def work(k):
    print("begins", flush=True)
    time.sleep(100)
def shared():
    with working(2):
        each(work, range(2))
cli.main = shared
start.main()
"""


def test_ctrl_c_ends_the_processes_that_share_the_work():
    """Each of them holds stderr, too; and nobody tells of what they leave."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", BY_PROCESSES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == process.stdout.readline() == "begins\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said == "robodyn: interrupted; nothing was written, and what was there before is unchanged\n"


READ_ONLY = """mount --make-rprivate / && mount --bind / / && mount -o remount,ro,bind / || exit 77
for place in /tmp /var/tmp /dev/shm "$1" "$(dirname "$2")"; do mountpoint -q "$place" && mount -o remount,ro,bind "$place"; done
touch "$1/x" 2>/dev/null && exit 77
cd / && exec "$2" -c "$3"
"""
BATCH = """
import numpy as np
import robodyn_pin as rp
robot = rp.load("irb360")
still = np.zeros((64, 4))
c = robot.coordinates.S @ robot.home + robot.coordinates.offset + still
print(np.abs(rp.inverse_dynamics(robot, c, still, still)).max())
"""


def test_where_nothing_can_be_written_pinocchio_computes_and_one_line_says_so(tmp_path):
    """A file system that is read-only to root, too: mode bits are not."""
    environment = os.environ | {
        "HOME": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "none"),
        "TMPDIR": str(tmp_path),
    }
    command = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", tmp_path, sys.executable, BATCH]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        pytest.skip("there is no 'unshare' here")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("mounting file systems is not allowed here")
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Pinocchio computes" in done.stderr
    plain = subprocess.run([sys.executable, "-P", "-c", BATCH], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(float(plain.stdout), rel=1e-9)
