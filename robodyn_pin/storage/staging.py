"""Results of a command that appear whole or not at all: written into a hidden folder beside their places, then moved.

    write ─► FOLDER/.robodyn-*/new/... ─► renamed to .robodyn-*.ready: from here on it counts ─► moved

FOLDER is the last one on the way to the results that exists. A folder of results that is new appears by one rename. Into
one that exists, files are moved one by one in the order in which they were written: the last one is the main file, whose
predecessor is deleted first, so that where it stands, everything is whole.

A run that is killed leaves either a hidden folder that does not count, which the next run deletes, or one that counts,
which the next run moves on. A lock, which the system drops with its process, tells both from a run that is still at work.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from robodyn_pin.errors import BadFile
from robodyn_pin.storage.moving import HIDDEN, ORDER, READY, REMOVED, clean, locked, move_results


@dataclass
class _Stage:
    """What waits beside one folder."""

    folder: Path  # the last one that exists on the way to the results
    target: Path  # the one that was asked for
    hidden: Path
    lock: int  # descriptor of the hidden folder, locked
    removed: list[str] = field(default_factory=list)  # relative to the folder, as are those that were written
    written: list[str] = field(default_factory=list)

    def place(self, path: Path) -> Path:
        """Where a file waits."""
        name = str(path.relative_to(self.folder))
        for way in (path, *path.parents):
            if way == self.folder or str(way.relative_to(self.folder)) in self.removed:
                break
            if way.exists() and way.is_dir() == (way == path):
                raise OSError(
                    *(errno.EISDIR, "a folder is there") if way == path else (errno.ENOTDIR, f"{way} is a file")
                )
        self.written = [*(x for x in self.written if x != name), name]
        found = self.hidden / "new" / name
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def finish(self) -> None:
        """Let what waits count, and move it."""
        if not (self.written or self.removed):
            self.discard()
            return
        stale = self.written[-1:] if len(self.written) > 1 else []
        for name, paths in ((REMOVED, stale + self.removed), (ORDER, self.written)):
            (self.hidden / name).write_bytes(os.fsencode("\0".join(paths)))
        with locked(*dict.fromkeys((self.folder, self.target))), _moving():
            ready = self.hidden.with_name(self.hidden.name + READY)
            os.rename(self.hidden, ready)
            move_results(ready)
            process.kept = True

    def discard(self) -> None:
        shutil.rmtree(self.hidden, ignore_errors=True)


_stages: ContextVar[list[_Stage] | None] = ContextVar("stages", default=None)


@dataclass
class _Process:
    """What is asked from outside of the blocks, by who ends the process."""

    at_work: list[_Stage] = field(default_factory=list)  # of all threads
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while results appear
    moves: bool = False  # the lock is held, or waited for
    kept: bool = False  # results have appeared
    ends_at_ctrl_c: bool = False  # at once, by another thread
    awaits_ctrl_c: bool = False  # goes on after it
    heard: Callable[[], None] = lambda: None  # returns when the other thread has read all signals so far


process = _Process()
_inputs: ContextVar[set[tuple[int, int]] | None] = ContextVar("inputs", default=None)  # files that were read


@contextlib.contextmanager
def whole_results() -> Iterator[None]:
    """What `staged` writes in the block appears at its end, or not at all if the block raises.

    A block within another one is part of it.
    """
    if within_results():
        yield
        return
    own: list[_Stage] = []
    before, read = _stages.set(own), _inputs.set(set())
    try:
        yield
        keep_results()
    finally:
        _stages.reset(before)
        _inputs.reset(read)
        for stage in own:
            stage.discard()
            _close(stage)


def keep_results() -> None:
    """Let what was written so far in the block of `whole_results` appear now.

    Raises:
        BadFile: it cannot be moved.
    """
    own = _stages.get() or []
    while own:
        stage = own[0]
        try:
            stage.finish()
        except OSError as error:
            raise BadFile(f"cannot write {stage.target}: {error.strerror}") from None
        _close(own.pop(0))


def drop_results() -> None:
    """Delete what waits, of all threads, before the process ends from outside of their blocks; nothing appears any more."""
    process.lock.acquire()
    for stage in process.at_work:
        for _ in range(100):  # somebody may still be writing there
            stage.discard()
            if not stage.hidden.exists():
                break


def reads(path: Path) -> Path:
    """The path of a file that is about to be read: no result of the block of `whole_results` around may take its place.

    Raises:
        BadFile: a pipe or a device, which could be read once only, or without end.
    """
    with contextlib.suppress(OSError, ValueError):
        if not stat.S_ISREG(kind := path.stat().st_mode) and not stat.S_ISDIR(kind):
            raise BadFile(f"{path} is a pipe or a device; expected a file: write what comes from it to one first")
    if (inputs := _inputs.get()) is not None:
        with contextlib.suppress(OSError, ValueError):
            inputs.add(_identity(path))
    return path


def check_no_input(path: Path) -> None:
    """See that a file that is to be written, under any name, is none that was read.

    Raises:
        BadFile: it is.
    """
    with contextlib.suppress(OSError):
        if _identity(path) in (_inputs.get() or ()):
            raise BadFile(f"the output {path} is one of the files that are read; name another, nothing was written")


def _identity(path: Path) -> tuple[int, int]:
    """The same for all links to a file."""
    found = path.stat()
    return found.st_dev, found.st_ino


def staged(path: Path) -> Path:
    """A place to write the file `path` to; it appears at the end of the block of `whole_results` around.

    A link is followed, also one that points to nothing yet.

    Raises:
        OSError: the folder cannot be made or written, or there is a folder in the file's place.
        BadFile: it is a file that was read.
    """
    check_no_input(path)
    path = _real(path)
    return _stage_of(path.parent).place(path)


def staged_removal(path: Path) -> None:
    """Delete a file or folder of an earlier run when the results appear; raises BadFile as `staged`."""
    check_no_input(path)
    if path.exists() or path.is_symlink():
        stage = _stage_of(path.parent)
        stage.removed.append(str((_real(path.parent) / path.name).relative_to(stage.folder)))


def check_folder(folder: Path) -> None:
    """See that a folder can be written, or made when the results appear.

    Raises:
        OSError: it cannot.
    """
    _stage_of(folder)


def within_results() -> bool:
    """Whether a block of `whole_results` is around."""
    return _stages.get() is not None


def _real(path: Path) -> Path:
    """The path without links; OSError if they go round in circles."""
    found = Path(os.path.realpath(path))
    if any(x.is_symlink() for x in (found, *found.parents)):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


def _stage_of(target: Path) -> _Stage:
    """The stage of a folder, or of one that contains it; a new one cleans up what an earlier crash has left there."""
    own = _stages.get()
    assert own is not None, "results are staged in a block of whole_results"
    target = _real(target)
    folder = next(x for x in (target, *target.parents) if x.exists())
    for stage in own:
        if target.is_relative_to(stage.folder) and folder.stat().st_dev == stage.folder.stat().st_dev:
            return stage
    for above in folder.parents:  # where an earlier run has waited if this folder did not exist then
        if os.access(above, os.R_OK | os.W_OK) and any(above.glob(f"{HIDDEN}*")):
            with locked(above):
                clean(above)
    with locked(folder), _moving():
        clean(folder)
        hidden = Path(tempfile.mkdtemp(dir=folder, prefix=HIDDEN))
        lock = os.open(hidden, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        own.append(_Stage(folder, target, hidden, lock))
        process.at_work.append(own[-1])
    return own[-1]


def _close(stage: _Stage) -> None:
    process.at_work.remove(stage)
    os.close(stage.lock)


@contextlib.contextmanager
def _moving() -> Iterator[None]:
    """Nobody ends the process on the way."""
    process.moves = True
    try:
        with process.lock:
            yield
    finally:
        process.moves = False
