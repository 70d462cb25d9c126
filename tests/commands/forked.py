"""One mutated command, run in a forked child with bounded memory and time, and what is wrong with its answer."""

import importlib
import math
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from corpus import COMMANDS, NUMBERS, Command
from mutations import mutant

PROCESSOR = 10  # [s] of a child; excite and design need most of it for themselves
# [s] what commands need that are not mutated; a controller is followed for as long as a mutated file asks
EXTRA = {"excite": 20, "design": 10, "stiffness": 10, "identify": 10, "simulate": 50}
WALL = 300  # [s]: a child that waits for nothing
MEMORY = 6 << 30  # [bytes] of addresses; NumPy, LLVM and the solvers map 3 GiB before they read a file
LONGEST = 300  # characters of a refusal
GOOD = (0, 1, 2, 3)  # exit codes: done, refused, command line not understood, not accepted
NOT_A_NUMBER = re.compile(r"(?<![\w.-])-?(nan|inf|infinity)(?![\w.-])", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """A command with one mutated file or option; `seed` makes it again."""

    seed: int
    words: tuple[str, ...]
    mutated: str


@dataclass(frozen=True)
class Answer:
    """What became of a case: `wrong` is empty, or names the kind of failure."""

    case: Case
    wrong: str
    code: int
    shown: str
    seconds: float  # processor time


def _choose(rng: random.Random) -> Command:
    return rng.choices(COMMANDS, [command.share for command in COMMANDS])[0]


def make(folder: Path, corpus: Path, seed: int) -> Case:
    """Write the corpus with one mutation into `folder`."""
    rng = random.Random(seed)
    command = _choose(rng)
    words = command.line.split()
    shutil.copytree(corpus, folder, dirs_exist_ok=True)
    if command.options and rng.random() < 0.3:
        option, value = rng.choice(command.options), rng.choice(NUMBERS)
        words = [*words, f"{option}={value}"]
        return Case(seed, tuple(words), f"{option} {value}")
    name = rng.choice(command.files)
    path = folder / name
    path.write_bytes(mutant(path.read_bytes(), path.suffix, rng))
    return Case(seed, tuple(words), name)


def _child(folder: Path, words: tuple[str, ...], streams: tuple[int, int], seconds: int) -> None:
    """Run the command in this process and end it."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, streams[0]), (2, streams[1])):
        os.dup2(source, target)
    from robodyn_pin.commands.cli import main

    sys.argv = ["robodyn", *words]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:  # as the interpreter would print it
        import traceback

        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _wait(child: int) -> tuple[int, float, bool]:
    """Exit code or minus the signal, processor time, and whether it had to be killed for waiting."""
    until = time.monotonic() + WALL
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, False
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            until = math.inf
            os.waitpid(child, 0)
            return -signal.SIGKILL, float(WALL), True
        time.sleep(0.005)


def _stray(code: int, err: str) -> bool:
    """Lines on stderr that are not ours: a refusal is one line of ours."""
    words = [line.rsplit("\r", 1)[-1].strip() for line in err.splitlines()]
    lines = [
        part for part in words if part and (part.startswith("robodyn: ") or "%" not in part[:60])
    ]  # a bar has its share
    ours = [line for line in lines if line.startswith("robodyn: ")]
    return len(ours) != len(lines) or (code in (1, 2) and len(ours) < 1)


def _names_none(path: Path) -> bool:
    """Whether the mutation calls something `nan`, which every table then shows."""
    return path.is_file() and bool(re.search(rb"""(name|of)(: |=["'])(nan|inf)\b""", path.read_bytes()))


def _not_a_number(folder: Path, out: str) -> bool:
    texts = [
        out,
        *(
            p.read_text(errors="replace")
            for p in folder.glob("out*")
            if p.suffix in (".csv", ".json", ".yaml", ".urdf")
        ),
    ]
    if (folder / "out").is_dir():
        texts += [
            p.read_text(errors="replace")
            for p in (folder / "out").rglob("*")
            if p.suffix in (".csv", ".json", ".yaml", ".urdf")
        ]
    return any(NOT_A_NUMBER.search(text) for text in texts)


def _judge(code: int, killed: bool, out: str, err: str, folder: Path, mutated: str) -> str:
    if "Traceback (most recent call last)" in err or code == 70:
        return "traceback"
    if killed or code == -signal.SIGXCPU:
        return "hang"
    if code not in GOOD:
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    if _stray(code, err):
        return "stray line"
    if code in (1, 2) and max(map(len, err.splitlines())) >= LONGEST:
        return "long message"
    if code in (0, 3) and not _names_none(folder / mutated) and _not_a_number(folder, out):
        return "NaN in an answer"
    return ""


def run(corpus: Path, seed: int) -> Answer:
    """Make a case, run it in a forked child, judge its answer."""
    with tempfile.TemporaryDirectory(prefix="fuzz_") as name:
        folder = Path(name) / "case"
        case = make(folder, corpus, seed)
        return answer(case, folder, PROCESSOR + EXTRA.get(case.words[0], 0))


def answer(case: Case, folder: Path, seconds: int) -> Answer:
    """Run a case in a forked child with so much processor time, judge its answer."""
    paths = (folder.with_name("out"), folder.with_name("err"))
    out_to, err_to = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in paths)
    child = os.fork()
    if child == 0:
        _child(folder, case.words, (out_to, err_to), seconds)
    code, used, killed = _wait(child)
    for stream in (out_to, err_to):
        os.close(stream)
    out, err = (path.read_text(errors="replace") for path in paths)
    wrong = _judge(code, killed, out, err, folder, case.mutated)
    shown = err or out
    return Answer(case, wrong, code, shown if len(shown) < 1500 else f"{shown[:600]} ... {shown[-900:]}", used)


def warm() -> None:
    """Import what commands import, load the kernels and draw once, so that a forked child need not; no threads may be started here."""
    import robodyn_pin
    from robodyn_pin import closures, identification, viz

    rooms = [
        Path(robodyn_pin.__file__).parent,
        *(Path(room.__file__).parent for room in (closures, identification, viz)),
    ]
    for room, prefix in zip(rooms, ("", "closures.", "identification.", "viz."), strict=True):
        for module in pkgutil.walk_packages([str(room)], f"robodyn_pin.{prefix}"):
            importlib.import_module(module.name)

    from matplotlib.figure import Figure

    from robodyn_pin.dynamics.compile_kernels import compile_kernels

    compile_kernels(processes=1)  # in this one, which keeps them loaded
    Figure().subplots().figure.savefig(BytesIO(), format="svg")
