"""Where the program starts: from the first import on, Ctrl-C ends it at once and with one line, whatever it computes."""

import gc
import os
import signal
import sys
import threading
import time
from contextlib import suppress

from robodyn_pin.errors import INTERRUPTED

NO_SIGNAL = 0  # signals count from 1
# New objects after which Python looks for circles. By default 700: a tenth of a command's time goes there, most of it while
# libraries are imported, whose objects stay.
LOOK_FOR_CIRCLES = 50_000
# Python's option for what the process says that cleans up after killed ones.
UNHEARD = "ignore:resource_tracker"


def main() -> None:
    """Entry point."""
    gc.set_threshold(LOOK_FOR_CIRCLES)
    sys.warnoptions.append(UNHEARD)
    stderr = _own_stderr()
    signal.signal(signal.SIGINT, lambda *_: _end(stderr, "", kept=False))
    from robodyn_pin.storage.staging import drop_results, process

    def stand_still(*_: object) -> None:
        """The main thread writes nothing any more while the other one cleans up."""
        if not (process.moves or sys.is_finalizing()):
            time.sleep(60)

    def end_when_asked() -> None:
        """Runs also while the main thread is in LAPACK or compiled code; imports nothing, as that one may be in an import."""
        while (number := os.read(heard, 1)[0]) != signal.SIGINT or process.awaits_ctrl_c:
            if number == NO_SIGNAL:
                caught_up.set()
        drop_results()
        # A bar that is drawn there has hidden the cursor.
        _end(stderr, "\r\x1b[2K\x1b[?25h" if os.isatty(stderr) else "", process.kept)

    def wait_for_it() -> None:
        """A signal may be here before the other thread has read of it."""
        caught_up.clear()
        os.write(sent, bytes([NO_SIGNAL]))
        caught_up.wait()

    caught_up = threading.Event()
    heard, sent = os.pipe()
    os.set_blocking(sent, False)
    signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    threading.Thread(target=end_when_asked, daemon=True).start()
    process.ends_at_ctrl_c, process.heard = True, wait_for_it
    signal.signal(signal.SIGINT, stand_still)
    from robodyn_pin.commands.cli import main as run

    try:
        run()
    finally:
        gc.freeze()  # the process ends: looking for circles in all that it has would take half a second


def _own_stderr() -> int:
    """Another descriptor of stderr: the usual one leads nowhere while a parser reads."""
    try:
        return os.dup(2)
    except OSError:  # there is none
        return 2


def _end(stderr: int, cursor: str, kept: bool) -> None:
    said = "its results are written" if kept else "nothing was written, and what was there before is unchanged"
    try:
        loaded = sys.modules.get("multiprocessing")  # else there are no other processes
        for pid in [child.pid for child in loaded.active_children() if child.pid] if loaded else []:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.write(stderr, f"{cursor}robodyn: interrupted; {said}\n".encode())
    finally:
        os._exit(INTERRUPTED)
