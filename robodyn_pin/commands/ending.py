"""How every command ends: with whole results, or with none and one sentence."""

import contextlib
import errno
import functools
import io
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from robodyn_pin.errors import RobodynError
from robodyn_pin.storage.caches import spare_caches
from robodyn_pin.storage.staging import process, whole_results
from robodyn_pin.telling import LOGGER

SICK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE}


def whole(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose results appear together."""

    @functools.wraps(command)
    def run(*things: Any, **options: Any) -> None:
        spare_caches()
        try:
            with whole_results(), _output(options.get("as_json", False)):
                command(*things, **options)
        except BrokenPipeError:  # who read the output has ended
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except OSError as error:
            if "temporary directory" in str(error):  # Python's words, or matplotlib's
                raise RobodynError("neither home nor temporary files can be written; set TMPDIR to a folder") from None
            if error.errno not in SICK:
                raise
            where = f" {error.filename}" if error.filename else ""
            raise RobodynError(f"the system refuses to write{where}: {error.strerror}") from None

    return run


def _output(as_json: bool) -> contextlib.AbstractContextManager[object]:
    """With `-q`, nothing goes to stdout but the JSON that is asked for."""
    if as_json or LOGGER.isEnabledFor(logging.WARNING):
        return contextlib.nullcontext()
    return contextlib.redirect_stdout(io.StringIO())


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
        process.heard()
        process.awaits_ctrl_c = False
        if process.ends_at_ctrl_c:
            signal.signal(signal.SIGINT, before)
