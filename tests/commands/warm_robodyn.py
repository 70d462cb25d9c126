"""`robodyn` in forked children of a process that has imported it: as a user runs it, but for the time of a start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import forked


class WarmRobodyn:
    """A process that waits for commands; it starts with the first of them."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """The outcome of one command, in this process' folder and environment."""
        if self._server is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._server = subprocess.Popen([sys.executable, __file__], text=True, **pipes)
        with TemporaryDirectory() as name:
            streams = [Path(name, "out"), Path(name, "err")]
            asked = {"words": words, "folder": os.getcwd(), "environ": dict(os.environ), "streams": list(map(str, streams))}  # fmt: skip
            print(json.dumps(asked), file=self._server.stdin, flush=True)
            code = int(self._server.stdout.readline())
            return subprocess.CompletedProcess(words, code, *(path.read_text(encoding="utf-8") for path in streams))

    def end(self) -> None:
        """Wait for the process, which ends with its input."""
        if self._server is not None:
            self._server.communicate()


def _become(words: list[str], folder: str, environ: dict[str, str], streams: list[str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.argv = ["robodyn", *words]
    for target, path in enumerate([os.devnull, *streams]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), target)


def _serve() -> None:
    forked.warm()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            from robodyn_pin.commands.start import main

            _become(**json.loads(line))
            main()
            sys.exit()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
