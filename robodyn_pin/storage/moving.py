"""The end of staging: what waits in a hidden folder is moved to its place, also by the run after one that was cut off."""

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

HIDDEN, READY, REMOVED, ORDER = ".robodyn-", ".ready", "removed", "order"


@contextlib.contextmanager
def locked(*folders: Path) -> Iterator[None]:
    """Only one run at a time moves or cleans in these folders, the outer one first; one that does not exist needs no lock."""
    held = []
    try:
        for folder in folders:
            with contextlib.suppress(FileNotFoundError):
                held.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
                fcntl.flock(held[-1], fcntl.LOCK_EX)
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)


def clean(folder: Path) -> None:
    """Finish or delete what runs of this user that ended early have left; what another run is writing stays."""
    for left in folder.glob(f"{HIDDEN}*"):
        with contextlib.suppress(FileNotFoundError):  # its run has deleted it meanwhile
            _clean_one(left)


def _clean_one(left: Path) -> None:
    found = left.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        return
    if left.name.endswith(READY):
        try:
            move_results(left)
        except OSError as error:
            said = f"{left}, which an earlier run has left, cannot be moved to its place, delete it: {error.strerror}"
            raise OSError(error.errno, said) from None
        return
    descriptor = os.open(left, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left)
    except BlockingIOError:
        pass
    finally:
        os.close(descriptor)


def move_results(ready: Path) -> None:
    """Move what waits into the folder, also after a move that was cut off."""
    folder, new = ready.parent, ready / "new"
    for name in _paths(ready / REMOVED):
        old = folder / name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)
    (ready / REMOVED).unlink(missing_ok=True)  # else a second try would delete what the first has moved
    for name in _paths(ready / ORDER):
        if (new / name).exists():  # else it was moved before, or with its folder
            way = [Path(name), *Path(name).parents][-2::-1]
            at = next((x for x in way if not (folder / x).exists()), way[-1])
            os.replace(new / at, folder / at)
    shutil.rmtree(ready)


def _paths(file: Path) -> list[str]:
    text = os.fsdecode(file.read_bytes()) if file.exists() else ""
    return text.split("\0") if text else []
