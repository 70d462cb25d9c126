"""Robots that hang or stand on a wall, and torques without gravity: named by their logs, and identified by what is said."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.errors import BadFile
from robodyn_pin.files import parse_yaml
from robodyn_pin.log_to_robot.lean import leaning
from robodyn_pin.log_to_robot.likely_mistakes import likely_mistakes
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

MOTIONS = {"irb6660": "irb2400_motion", "irb2400": "irb2400_motion", "delta3": "delta3_sine"}


def mounted(name: str, gravity: tuple[float, float, float]) -> tuple[Robot, Log]:
    """SIMULATED: a robot of the catalogue as it is drawn, and a log of one that is mounted otherwise."""
    robot = load(name)
    return robot, noisy_log(leaning(robot, gravity), MOTIONS[name], seed=1)


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize(
    ("gravity", "said"),
    [
        ((0, 0, 9.81), r"pointed the other way .*'gravity: \[0, 0, 9\.81\]' in the run file"),
        ((-9.81, 0, 0), r"along \[-9\.81, 0, 0\] of the base .*'gravity: \[-9\.81, 0, 0\]' in the run file"),
        ((0, 0, 0), r"gravity had been taken off .*'gravity: \[0, 0, 0\]' in the run file"),
    ],
)
def test_another_direction_of_gravity_is_named_and_is_a_reason(name, gravity, said):
    robot, log = mounted(name, gravity)
    run = RunFile(robot=name, fit=[LogSpec(file=Path("log.csv"))])
    [mistake] = likely_mistakes(robot, [log], run)
    assert re.search(said, mistake.said)
    assert mistake.of_log


def test_gravity_of_the_run_file_replaces_that_of_the_robot_file(tmp_path, robodyn):
    """A Delta upside down, from the command line: accepted with what the verdict says, refused without; the result says it on."""
    robot, log = mounted("delta3", (0, 0, 9.81))
    write_log(tmp_path / "log.csv", log, robot, "SIMULATED")
    run = {"robot": "delta3", "fit": [{"file": "log.csv"}], "instruments": False}
    for name, keys, code in (("as_drawn", {}, 3), ("hanging", {"gravity": [0, 0, 9.81]}, 0)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(run | keys))
        done = robodyn("identify", tmp_path / f"{name}.yaml", "--out", tmp_path / name)
        assert done.returncode == code, done.stdout + done.stderr
    assert "does the robot hang?" in (tmp_path / "as_drawn/result.json").read_text()
    assert rp.load(tmp_path / "hanging").file.gravity == (0, 0, 9.81)
    assert yaml.safe_load((tmp_path / "hanging/run.yaml").read_text())["gravity"] == [0, 0, 9.81]
    done = robodyn("predict", tmp_path / "hanging", tmp_path / "log.csv", "--out", tmp_path / "torques.csv")
    assert done.returncode == 0, done.stderr


def test_results_of_another_gravity_are_those_of_a_robot_file_that_says_it():
    robot, log = mounted("delta3", (0, 0, 9.81))
    asked = rp.identify(robot, log, gravity=[0, 0, 9.81], instruments=False)
    drawn = rp.identify(leaning(robot, (0, 0, 9.81)), log, instruments=False)
    np.testing.assert_array_equal(asked.feasible.values, drawn.feasible.values)
    found = [
        rp.from_evidence(of, keys, rp.fold(of, keys, log)).feasible.values
        for of, keys in ((robot, {"gravity": [0, 0, 9.81]}), (leaning(robot, (0, 0, 9.81)), {}))
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("gravity", ["up", [0, 9.81], [0, 0, "down"], [0, 0, 1], [0, 0, 9810]])
def test_another_kind_of_gravity_is_refused_in_a_sentence(gravity):
    with pytest.raises(BadFile, match="gravity") as refused:
        parse_yaml(
            yaml.safe_dump({"robot": "delta3", "fit": [{"file": "log.csv"}], "gravity": gravity}), RunFile, "run"
        )
    assert len(str(refused.value)) < 250
