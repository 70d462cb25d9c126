"""Results of a command that appear whole or not at all: written into a hidden folder beside their places, then moved.

    write ─► FOLDER/.robodyn-XXXX/new/... ─► renamed to .robodyn-XXXX.ready: from here on it counts ─► moved, one by one

A run that is killed leaves either a hidden folder that does not count, which the next run deletes, or one that counts,
which the next run moves on. A lock, which the system drops with its process, tells both from a run that is still at work.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from robodyn_pin.errors import BadFile

HIDDEN, READY, REMOVED = ".robodyn-", ".ready", "removed"


@dataclass
class _Stage:
    """What waits beside one folder."""

    folder: Path  # in which the results belong
    made: list[Path]  # folders that did not exist before, the innermost first
    hidden: Path
    lock: int  # descriptor of the hidden folder, locked
    removed: list[str] = field(default_factory=list)  # relative to the folder

    def place(self, path: Path) -> Path:
        """Where a file waits."""
        found = self.hidden / "new" / path.relative_to(self.folder)
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def finish(self) -> None:
        """Let what waits count, and move it."""
        (self.hidden / REMOVED).write_text("\n".join(self.removed), encoding="utf-8")
        with _locked(self.folder):
            ready = self.hidden.with_name(self.hidden.name + READY)
            os.rename(self.hidden, ready)
            _move(ready)

    def discard(self) -> None:
        shutil.rmtree(self.hidden, ignore_errors=True)
        with contextlib.suppress(OSError):  # another run has written there meanwhile
            for folder in self.made:
                folder.rmdir()


_stages: ContextVar[list[_Stage] | None] = ContextVar("stages", default=None)
_kept: ContextVar[bool] = ContextVar("kept", default=False)
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
    before, seen, read = _stages.set(own), _kept.set(False), _inputs.set(set())
    try:
        yield
        keep_results()
    finally:
        _stages.reset(before)
        _kept.reset(seen)
        _inputs.reset(read)
        for stage in own:
            stage.discard()
            os.close(stage.lock)


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
            raise BadFile(f"cannot write {stage.folder}: {error.strerror}") from None
        own.pop(0)
        os.close(stage.lock)
        _kept.set(True)


def keeps_results() -> bool:
    """Whether results have appeared already in the block of `whole_results` around."""
    return _kept.get()


def reads(path: Path) -> Path:
    """The path of a file that is about to be read: no result of the block of `whole_results` around may take its place."""
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

    Raises:
        OSError: the folder cannot be made or written. BadFile: it is a file that was read.
    """
    check_no_input(path)
    return _stage_of(path.parent).place(_absolute(path))


def staged_removal(path: Path) -> None:
    """Delete a file or folder of an earlier run when the results appear; raises BadFile as `staged`."""
    check_no_input(path)
    if path.exists() or path.is_symlink():
        stage = _stage_of(path.parent)
        stage.removed.append(str(_absolute(path).relative_to(stage.folder)))


def check_folder(folder: Path) -> None:
    """Make a folder, which disappears again if nothing is written to it, and see that it can be written.

    Raises:
        OSError: it cannot.
    """
    _stage_of(folder)


def within_results() -> bool:
    """Whether a block of `whole_results` is around."""
    return _stages.get() is not None


def _absolute(path: Path) -> Path:
    return path.parent.resolve() / path.name


def _stage_of(folder: Path) -> _Stage:
    """The stage of a folder, or of one that contains it; a new one cleans up what an earlier crash has left there."""
    folder, own = folder.resolve(), _stages.get()
    assert own is not None, "results are staged in a block of whole_results"
    for stage in own:
        if folder.is_relative_to(stage.folder):
            return stage
    made = [x for x in (folder, *folder.parents) if not x.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _locked(folder):
            _clean(folder)
            hidden = Path(tempfile.mkdtemp(dir=folder, prefix=HIDDEN))
            lock = os.open(hidden, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        with contextlib.suppress(OSError):
            for new in made:
                new.rmdir()
        raise
    own.append(_Stage(folder, made, hidden, lock))
    return own[-1]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one run at a time moves or cleans in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _clean(folder: Path) -> None:
    """Finish or delete what runs that ended early have left; what another run is writing stays."""
    for left in folder.glob(f"{HIDDEN}*"):
        if left.name.endswith(READY):
            _move(left)
            continue
        descriptor = os.open(left, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
        finally:
            os.close(descriptor)


def _move(ready: Path) -> None:
    """Move what waits into the folder, also after a move that was cut off."""
    folder, new = ready.parent, ready / "new"
    with contextlib.suppress(FileNotFoundError):
        for name in (ready / REMOVED).read_text(encoding="utf-8").splitlines():
            old = folder / name
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            else:
                old.unlink(missing_ok=True)
        (ready / REMOVED).unlink()  # else a second try would delete what the first has moved
    for path in sorted(new.rglob("*")):
        target = folder / path.relative_to(new)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            os.replace(path, target)
    shutil.rmtree(ready)
