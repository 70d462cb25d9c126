"""Machines that fail: a command leaves a whole result or none, says one sentence, and cleans up after a crash."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robodyn_pin import caches
from robodyn_pin.closures import kernel_choice
from robodyn_pin.errors import BadFile
from robodyn_pin.files import prepare_folder, remove, write_text
from robodyn_pin.moving import HIDDEN, ORDER, READY
from robodyn_pin.staging import keep_results, whole_results

PROGRAM = Path(sys.executable).with_name("robodyn")
EXAMPLES = Path(__file__).parents[2] / "examples"


def names(folder: Path) -> set[str]:
    return {str(x.relative_to(folder)) for x in folder.rglob("*")}


def test_results_appear_together_or_not_at_all(tmp_path):
    write_text(tmp_path / "old.txt", "old")

    def failing():
        with whole_results():
            write_text(tmp_path / "a.txt", "a")
            write_text(tmp_path / "figures" / "b.txt", "b")
            remove(tmp_path / "old.txt")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert names(tmp_path) == {"old.txt"}
    with whole_results():
        write_text(tmp_path / "a.txt", "a")
        write_text(tmp_path / "figures" / "b.txt", "b")
        remove(tmp_path / "old.txt")
        assert {x for x in names(tmp_path) if not x.startswith(HIDDEN)} == {"old.txt"}
    assert names(tmp_path) == {"a.txt", "figures", "figures/b.txt"}
    assert (tmp_path / "figures" / "b.txt").read_text() == "b"


def test_a_folder_made_for_a_run_that_fails_disappears(tmp_path):

    def failing():
        with whole_results():
            prepare_folder(tmp_path / "results" / "run")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert names(tmp_path) == set()


KILLED = """
import os, signal, sys
from pathlib import Path
from robodyn_pin import staging
from robodyn_pin.files import remove, write_text
folder, moves = Path(sys.argv[1]), int(sys.argv[2])
replace, done = os.replace, 0
def counted(*ends):
    global done
    if done == moves:
        os.kill(os.getpid(), signal.SIGKILL)
    done += 1
    replace(*ends)
os.replace = counted
with staging.whole_results():
    remove(folder / "gone.txt")
    for name in "abc":
        write_text(folder / f"{name}.txt", "new")
    if moves < 0:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moves", [-1, 0, 1, 2])
def test_the_next_run_cleans_up_after_one_that_was_killed(tmp_path, moves):
    """Killed before its results counted: none of them; between two of the moves: all of them."""
    (tmp_path / "gone.txt").write_text("old")
    (tmp_path / "a.txt").write_text("old")
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path, str(moves)], capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert any(x.startswith(HIDDEN) for x in names(tmp_path))
    write_text(tmp_path / "other.txt", "")
    if moves < 0:
        assert names(tmp_path) == {"gone.txt", "a.txt", "other.txt"}
        assert (tmp_path / "a.txt").read_text() == "old"
    else:
        assert names(tmp_path) == {"a.txt", "b.txt", "c.txt", "other.txt"}
        assert {(tmp_path / f"{name}.txt").read_text() for name in "abc"} == {"new"}


SEEN = """
import os, sys
from pathlib import Path
from robodyn_pin import staging
from robodyn_pin.files import write_text
folder, rename = Path(sys.argv[1]), os.replace
def show():
    print(*sorted(p.relative_to(folder).as_posix() + "=" + p.read_text() for p in folder.rglob("*.txt") if ".robodyn" not in str(p)))
def shown(*ends):
    show()
    rename(*ends)
    show()
os.replace = shown
with staging.whole_results():
    for name in ("figures/a", "b", "main"):
        write_text(folder / "out" / f"{name}.txt", "new")
"""


def test_a_new_folder_of_results_appears_by_one_rename(tmp_path):
    seen = subprocess.run([sys.executable, "-c", SEEN, tmp_path], capture_output=True, text=True, check=True).stdout
    assert seen.splitlines() == ["", "out/b.txt=new out/figures/a.txt=new out/main.txt=new"]
    assert names(tmp_path) == {"out", "out/b.txt", "out/figures", "out/figures/a.txt", "out/main.txt"}


def test_where_the_main_file_stands_all_is_of_its_run(tmp_path):
    """Into a folder that exists, files are moved one by one: the main file goes first and comes last."""
    for name in ("b", "main"):
        write_text(tmp_path / "out" / f"{name}.txt", "old")
    seen = subprocess.run([sys.executable, "-c", SEEN, tmp_path], capture_output=True, text=True, check=True).stdout
    assert len(seen.splitlines()) == 6
    for line in seen.splitlines():
        assert "out/main.txt" not in line or line == "out/b.txt=new out/figures/a.txt=new out/main.txt=new"


def test_links_are_followed_also_those_that_point_to_nothing_yet(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "elsewhere" / "a.txt")
    (tmp_path / "folder").symlink_to(tmp_path / "not" / "yet")
    write_text(tmp_path / "link.txt", "a")
    write_text(tmp_path / "folder" / "b.txt", "b")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "elsewhere" / "a.txt").read_text() == "a"
    assert (tmp_path / "not" / "yet" / "b.txt").read_text() == "b"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(BadFile, match="symbolic links"):
        write_text(tmp_path / "loop" / "a.txt", "a")
    (tmp_path / "c.txt").mkdir()
    with pytest.raises(BadFile, match="a folder is there"):
        write_text(tmp_path / "c.txt", "c")


def test_an_earlier_result_that_cannot_be_moved_is_named(tmp_path):
    waiting = tmp_path / f"{HIDDEN}x{READY}"
    (waiting / "new").mkdir(parents=True)
    (waiting / "new" / "a.txt").write_text("kept")
    (waiting / ORDER).write_text("a.txt")
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(BadFile, match=rf"{waiting.name}, which an earlier run has left, .*delete it"):
        write_text(tmp_path / "b.txt", "b")


def test_two_runs_into_one_folder_leave_each_other_alone(tmp_path):
    """The second writes and ends while the first is still at work."""
    other = (
        "from robodyn_pin.files import write_text; import pathlib, sys; write_text(pathlib.Path(sys.argv[1]), 'second')"
    )
    with whole_results():
        write_text(tmp_path / "a.txt", "first")
        subprocess.run([sys.executable, "-c", other, tmp_path / "a.txt"], check=True)
        assert (tmp_path / "a.txt").read_text() == "second"
        keep_results()
        assert (tmp_path / "a.txt").read_text() == "first"
    assert names(tmp_path) == {"a.txt"}


def test_a_hidden_folder_that_counts_is_marked_by_its_name(tmp_path):
    waiting = tmp_path / f"{HIDDEN}x{READY}"
    (waiting / "new").mkdir(parents=True)
    (waiting / "new" / "a.txt").write_text("kept")
    (waiting / ORDER).write_text("a.txt")
    prepare_folder(tmp_path)
    assert names(tmp_path) == {"a.txt"}


def test_a_failed_write_is_one_sentence_and_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadFile, match="cannot write"):
        write_text(tmp_path / "file" / "a.txt", "a")
    assert names(tmp_path) == {"file"}


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


def test_without_a_folder_for_compiled_kernels_pinocchio_computes(tmp_path, monkeypatch, capsys):
    """Neither installation, home nor temporary files can be written: one line, and no kernels."""
    monkeypatch.setattr(caches, "can_be_written", lambda folder: False)
    monkeypatch.setattr(caches, "spare_folder", lambda: None)
    kernel_choice.installed.cache_clear()
    try:
        assert not kernel_choice.installed()
        assert not kernel_choice.chosen(1000)
    finally:
        kernel_choice.installed.cache_clear()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in said


def test_a_folder_is_tried_whatever_its_permissions_say(tmp_path):
    (tmp_path / "file").touch()
    assert caches.can_be_written(tmp_path / "not" / "yet")
    assert not caches.can_be_written(tmp_path / "file")
    assert not caches.can_be_written(Path("/proc/1"))
    assert not caches.can_be_written(Path("~"))  # there is no home


def test_the_command_line_points_caches_elsewhere_without_a_home(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/proc/1/x")
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setattr(caches, "spare_folder", lambda: tmp_path)
    caches.spare_caches()
    assert {os.environ[name] for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")} == {str(tmp_path)}
    assert os.environ["MPLCONFIGDIR"] == str(tmp_path / "matplotlib")
    monkeypatch.delenv("MPLCONFIGDIR")


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
    command = [sys.executable, "-c", CLOCK, *map(str, SIMULATE), str(tmp_path / "log.csv"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = [line for line in done.stderr.splitlines() if "compiling kernels" not in line]  # once on a machine
    assert (done.returncode, said) == (0, [])
    assert json.loads(done.stdout)["rows"] == 10_000
    assert names(tmp_path) == {"log.csv"}


LAPACK = """
import sys, threading, time
from robodyn_pin import staging
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
    command = [sys.executable, "-c", LAPACK, tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate()
    assert (process.returncode, rest) == (130, "")
    assert said == "robodyn: interrupted; nothing was written, and what was there before is unchanged\n"
    assert names(tmp_path) == set()
