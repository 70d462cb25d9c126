"""What the README tells users to type, typed."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from robodyn_pin.closures.kinds import KINDS
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.robot_file import RobotFile

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Fenced blocks, lists' indentation removed."""
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```", README)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    """A folder with the examples, after the commands of the first tutorial."""
    folder = tmp_path_factory.mktemp("readme")
    # The run file names ../results from its own folder: a copy keeps the tutorial away from the real one.
    for name in ("examples", "urdf"):
        shutil.copytree(ROOT / name, folder / name)
    commands = re.findall(r"(?m)^    (robodyn (?:.*\\\n)*.*)$", README)
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command.replace("\\\n", " "))
        program = Path(sys.executable).with_name(words[0])
        done = subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
    return folder


def test_commands_of_the_tutorial_leave_what_they_promise(desk):
    for name in ("irb360/report.html", "irb360/irb360_identified.urdf", "torques.csv", "irb360.html"):
        assert (desk / "results" / name).stat().st_size > 1000


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_blocks_run(desk, number):
    code = blocks("python")[number]
    done = subprocess.run([sys.executable, "-c", code], cwd=desk, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_closure_kind_is_named():
    assert not [kind for kind in KINDS if f"`{kind}` (" not in README]


def test_yaml_blocks_are_files_as_they_are_read():
    robot, run, more = (yaml.safe_load(text) for text in blocks("yaml"))
    RobotFile.model_validate(robot)
    RunFile.model_validate(run)
    RunFile.model_validate(run | more)
