"""A command run to its end, or to a signal: by itself, or in a fork of this process, which has imported everything."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from make import ROBODYN, ROOT

Ended = tuple[int, str, float]  # exit code, standard error, and the seconds after the signal


def started(line: list[str], after: float, how: int = signal.SIGINT) -> Ended:
    """The program as a user starts it, and a signal after so many seconds."""
    process = subprocess.Popen(
        [str(ROBODYN), *line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
        after = -1
    if after >= 0:
        process.send_signal(how)
    sent = time.monotonic()
    said = process.communicate()[1]
    return process.returncode, said, time.monotonic() - sent


def forked(line: list[str], after: float | None = None, how: int = signal.SIGKILL) -> Ended:
    """The same in a fork: imports, which write nothing, take no time."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            _run(line, errors.fileno())
        until = None if after is None else time.monotonic() + after
        ended = status = 0
        while not ended and (until is None or time.monotonic() < until):
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.001)
        sent = time.monotonic()
        if not ended:
            os.kill(child, how)
            status = os.waitpid(child, 0)[1]
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), errors.read().decode(), time.monotonic() - sent


def _run(line: list[str], errors: int) -> None:
    """Be the program, in a child, and end."""
    from robodyn_pin.commands.start import main

    nothing = os.open(os.devnull, os.O_RDWR)
    for target, source in ((0, nothing), (1, nothing), (2, errors)):
        os.dup2(source, target)
    sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(k, "wb", 0), write_through=True) for k in (1, 2))
    sys.argv, code = ["robodyn", *line], 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 70
    os._exit(code)


def import_all() -> None:
    """Import what the commands import, so that forks need not."""
    sys.path.append(str(ROOT / "tests/commands"))
    from forked import warm

    warm()


@contextlib.contextmanager
def repeated(line: list[str]) -> Iterator[None]:
    """A command over and over; none if the line is empty."""
    if not line:
        yield
        return
    loop = subprocess.Popen(
        ["sh", "-c", 'while true; do "$@"; done', "loop", str(ROBODYN), *line],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()
