"""`-v` and `-q` of every command, and what Python's logging hears."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("words", [("-v", "check", "irb360"), ("check", "irb360", "-v")])
def test_options_may_stand_before_or_behind_the_command(robodyn, words):
    run = robodyn(*words)
    assert run.returncode == 0, run.stderr
    assert "base parameters" in run.stdout


def test_quiet_commands_print_nothing_but_errors_and_json(robodyn, tmp_path):
    silent = robodyn("check", "irb360", "-q")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    asked = robodyn("check", "irb360", "--quiet", "--json")
    assert json.loads(asked.stdout)
    wrong = robodyn("check", "irb361", "-q")
    assert wrong.returncode == 1
    assert re.match(r"robodyn: .*irb361", wrong.stderr)


def test_stages_are_told_with_the_seconds_so_far(robodyn, tmp_path):
    motion = ROOT / "examples/irb360_motion.yaml"
    told = robodyn("simulate", "irb360", "--motion", motion, "--out", tmp_path / "log.csv", "-v").stderr.splitlines()
    seconds = [float(re.fullmatch(r" +([0-9.]+) s  simulating: [0-9]+ %", line)[1]) for line in told]
    assert seconds == sorted(seconds)
    assert told[-1].endswith("100 %")


HEARD = """
import logging
import sys
from pathlib import Path

from robodyn_pin.files import read_yaml
from robodyn_pin.planning.plan_file import PlanFile
from robodyn_pin.planning.task import plan_task, read_task

logging.basicConfig(level="INFO", format="%(name)s: %(message)s")
plan = Path(sys.argv[1])
plan_task(read_task(read_yaml(plan, PlanFile), plan.parent))
"""


def test_logging_hears_the_stages():
    """In a program of its own: a command in the same process would have set the level before."""
    plan = ROOT / "examples/irb2400_plan.yaml"
    run = subprocess.run([sys.executable, "-P", "-c", HEARD, plan], capture_output=True, text=True, check=True)
    assert "robodyn_pin: planning" in run.stderr.splitlines()


def test_kernels_are_compiled_on_request(robodyn):
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    run = robodyn("compile", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["seconds"] > 0


def test_the_shell_completes_commands_and_options():
    """What the shell's script asks, as `robodyn --install-completion` writes it."""
    program = Path(sys.executable).with_name("robodyn")
    for words, wanted in (("robodyn id", "identify"), ("robodyn identify --o", "--out")):
        asked = {"_ROBODYN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        run = subprocess.run([program], capture_output=True, text=True, check=False, env=os.environ | asked)
        assert run.stdout.split() == [wanted]


WORK = """
import os
import time
def work(last):
    time.sleep(0.1)
    wait = time.monotonic() + 60
    while last and not os.path.exists(os.environ["SEEN"]) and time.monotonic() < wait:
        time.sleep(0.05)
"""


BAR = """
from robodyn_pin.output.progress import status
from robodyn_pin.telling import Milestone
with status() as say:
    say("robot and logs")
    for done in range(4):
        say(Milestone(f"choosing friction of joint {done}, {'long ' * 30}", "friction", done / 4))
        work(done == 3)
"""


COUNT = """
from robodyn_pin.output.progress import status
from robodyn_pin.workers import each, working
def item(k):
    work(k >= 6)
    return each(abs, [k, k])  # work within work is not counted
with status() as say, working(WORKERS):
    say("folding")
    assert each(item, range(8)) == [[k, k] for k in range(8)]
"""


def lines_drawn(program: str, wanted: str, seen: Path) -> list[str]:
    """What a program draws on a terminal of 70 characters, line by line; its last work ends when the wanted line is `seen`."""
    master, slave = os.openpty()
    settings = os.environ | {"COLUMNS": "70", "TERM": "xterm", "SEEN": str(seen)}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", WORK + program], stdout=slave, stderr=slave, env=settings
    ) as running:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # its end closed
                break
            if not part:
                break
            shown += part
            if any(re.search(wanted, line) for line in without_escapes(shown)):
                seen.touch()
        os.close(master)
    assert running.returncode == 0, shown.decode()
    return without_escapes(shown)


def without_escapes(shown: bytes) -> list[str]:
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", shown.decode(errors="ignore"))]


def test_long_work_has_a_bar_with_the_time_left_that_fits_the_terminal(tmp_path):
    lines = lines_drawn(BAR, r"choosing friction of joint.* 75% 0:\d\d:\d\d", tmp_path / "seen")
    assert (tmp_path / "seen").exists(), lines
    assert max(map(len, lines)) <= 70


@pytest.mark.parametrize("workers", [1, 2])
def test_work_on_many_logs_says_how_many_are_done_and_the_time_left(workers, tmp_path):
    wanted = r"folding: 6 of 8.* 75% 0:\d\d:\d\d"
    lines = lines_drawn(COUNT.replace("WORKERS", str(workers)), wanted, tmp_path / "seen")
    assert (tmp_path / "seen").exists(), lines
    assert not any("of 2" in line for line in lines)
