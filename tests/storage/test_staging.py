"""Results appear whole or not at all, also where runs are killed or meet each other."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from robodyn_pin.errors import BadFile
from robodyn_pin.files import prepare_folder, remove, write_text
from robodyn_pin.storage.moving import HIDDEN, ORDER, READY
from robodyn_pin.storage.staging import keep_results, whole_results


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
from robodyn_pin.storage import staging
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
    ended = subprocess.run([sys.executable, "-P", "-c", KILLED, tmp_path, str(moves)], capture_output=True)
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
from robodyn_pin.storage import staging
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
    seen = subprocess.run(
        [sys.executable, "-P", "-c", SEEN, tmp_path], capture_output=True, text=True, check=True
    ).stdout
    assert seen.splitlines() == ["", "out/b.txt=new out/figures/a.txt=new out/main.txt=new"]
    assert names(tmp_path) == {"out", "out/b.txt", "out/figures", "out/figures/a.txt", "out/main.txt"}


def test_where_the_main_file_stands_all_is_of_its_run(tmp_path):
    """Into a folder that exists, files are moved one by one: the main file goes first and comes last."""
    for name in ("b", "main"):
        write_text(tmp_path / "out" / f"{name}.txt", "old")
    seen = subprocess.run(
        [sys.executable, "-P", "-c", SEEN, tmp_path], capture_output=True, text=True, check=True
    ).stdout
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
        subprocess.run([sys.executable, "-P", "-c", other, tmp_path / "a.txt"], check=True)
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
