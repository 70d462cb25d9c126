"""How every command ends: with whole results, or with none and one sentence."""

import contextlib
import errno
import functools
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from robodyn_pin.errors import RobodynError
from robodyn_pin.staging import process, whole_results

SICK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE}


def whole(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose results appear together."""

    @functools.wraps(command)
    def run(*things: Any, **options: Any) -> None:
        _make_caches_writable()
        try:
            with whole_results():
                command(*things, **options)
        except BrokenPipeError:  # who read the output has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except OSError as error:
            if error.errno not in SICK:
                raise
            where = f" {error.filename}" if error.filename else ""
            raise RobodynError(f"the system refuses to write{where}: {error.strerror}") from None

    return run


@contextlib.contextmanager
def ctrl_c_expected() -> Iterator[None]:
    """A block that Ctrl-C ends, and the command goes on after it."""
    before = signal.getsignal(signal.SIGINT)
    if process.ends_at_ctrl_c:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    process.awaits_ctrl_c = True
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        process.awaits_ctrl_c = False
        if process.ends_at_ctrl_c:
            signal.signal(signal.SIGINT, before)


def _make_caches_writable() -> None:
    """Folders that numba and matplotlib can write where neither the installation nor the user's home can be written."""
    home = Path(os.path.expanduser("~"))
    installed = Path(__file__).parents[1] / "dynamics"
    if not (_writable(installed) or _writable(home)):
        _set_cache("NUMBA_CACHE_DIR")
    if not _writable(home):
        _set_cache("MPLCONFIGDIR")


def _writable(folder: Path) -> bool:
    """Whether files can be made there, whatever permissions say: a file system may be read-only."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _set_cache(name: str) -> None:
    """Point a variable to a folder of this user's own; if there is none, the libraries do without."""
    if name in os.environ:
        return
    folder = Path(tempfile.gettempdir()) / f"robodyn_{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return
    if found.st_uid == os.getuid() and not found.st_mode & 0o077:  # nobody else has put code there
        os.environ[name] = str(folder)
