"""A log whose torques a model does not predict is told what is wrong with it. All logs are SIMULATED."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated import noisy_log

from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.log_to_robot.mispredicted import not_explained
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.edges import edge_rows
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.torque_errors import torque_errors
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def irb360() -> tuple[Robot, Log]:
    robot = load("irb360")
    log = noisy_log(robot, "irb360_motion")
    return robot, log.section(0, log.size // 4)


def told(robot: Robot, log: Log, identified: bool = True) -> list[str]:
    run = RunFile(robot=robot.name, fit=[LogSpec(file=Path("log.csv"))])
    errors = torque_errors(log, predict(robot, log, run.preparation), edge_rows(log, run.preparation), None)
    return not_explained(robot, log, run if identified else None, errors)


SPOILED = {
    "tau_phi1 and tau_phi2 look swapped": (lambda tau: tau[:, [1, 0, 2, 3]], 2),
    "tau_psi looks like -tau_psi": (lambda tau: tau * [1, 1, 1, -1], 1),
    "all torques look 2": (lambda tau: 2 * tau, 0),
}


@pytest.mark.parametrize("said", SPOILED)
def test_motors_that_are_not_explained_are_named_and_the_mistake_of_the_log(irb360, said):
    robot, log = irb360
    change, unexplained = SPOILED[said]
    *motors, mistake = told(robot, replace(log, tau=change(log.efforts)))
    assert mistake.startswith(f"simulated: {said}")
    assert len(motors) == unexplained
    assert all(text.startswith("the prediction does not explain ") for text in motors)


def test_a_good_prediction_has_nothing_wrong(irb360):
    assert told(*irb360) == []


def test_bodies_of_files_tell_no_scale_of_all_torques(irb360):
    robot, log = irb360
    assert told(robot, replace(log, tau=2 * log.efforts), identified=False) == []


def test_torques_that_move_nothing_are_no_mistake():
    """Of a DualV the prediction has torques of least norm; the log's own differ from it by internal ones, which swing."""
    robot = load("dualv")
    log = noisy_log(robot, "dualv_motion").section(0, 1000)
    B = motor_map(robot, close_motors(robot, log.q, 0 * log.q, 0 * log.q))
    internal = np.linalg.svd(B)[0][:, :, -1]
    internal *= np.sign(np.sum(internal * internal[0], axis=1))[:, None]
    assert np.abs(np.einsum("nmd,nm->nd", B, internal)).max() < 1e-9
    size = 5 * np.sqrt(np.mean(log.efforts**2)) * np.sin(3 * log.t)[:, None]
    assert not any("does not explain" in text for text in told(robot, replace(log, tau=log.efforts + size * internal)))


COMMANDS = ("predict", "forces", "joints")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_say_so_and_end_with_exit_code_3(irb360, robodyn_here, tmp_path, command):
    robot, log = irb360
    for name, motors, code in (("good", [0, 1, 2, 3], 0), ("swapped", [1, 0, 2, 3], 3)):
        write_log(tmp_path / f"{name}.csv", replace(log, tau=log.efforts[:, motors]), robot)
        done = robodyn_here(command, "irb360", tmp_path / f"{name}.csv", "--out", tmp_path / "out.csv")
        assert done.returncode == code
        assert ("NOT GOOD: swapped.csv: tau_phi1 and tau_phi2 look swapped" in done.stdout) == bool(code)


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_their_files_say_it_as_well(irb360, robodyn_here, tmp_path, command):
    robot, log = irb360
    write_log(tmp_path / "log.csv", replace(log, tau=-log.efforts), robot)
    done = robodyn_here(command, "irb360", tmp_path / "log.csv", "--out", tmp_path / "out.csv", "--json")
    written = json.loads((tmp_path / "out.json").read_text())
    assert done.returncode == 3
    assert json.loads(done.stdout)["not explained"] == written["not explained"]
    assert "all torques look as if their signs were wrong" in written["not explained"][-1]


@pytest.mark.parametrize("command", COMMANDS[1:])
@pytest.mark.parametrize("torques", [True, False])
def test_a_robot_that_cannot_be_there_has_the_reason_told_if_torques_show_it(robodyn_here, tmp_path, command, torques):
    robot = load("irb360")
    log = noisy_log(robot, "irb360_motion")
    wrong = replace(log, q=log.q * [-1, 1, 1, 1], dq=None, ddq=None, tau=log.tau if torques else None)
    write_log(tmp_path / "log.csv", wrong, robot)
    done = robodyn_here(command, "irb360", tmp_path / "log.csv", "--out", tmp_path / "out.csv")
    assert done.returncode == 1
    assert "the robot cannot be there" in done.stderr
    assert ("log.csv: q_phi1 looks like -q_phi1" in done.stderr) == torques
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("command", ["predict", "joints"])
@pytest.mark.parametrize("torques", [True, False])
def test_loops_that_do_not_close_have_the_reason_told_if_torques_show_it(robodyn_here, tmp_path, command, torques):
    """The second arm then points away: the loops miss each other by 151 mm, however they are closed."""
    robot = load("dualv")
    log = noisy_log(robot, "dualv_motion")
    wrong = replace(log, q=log.q - [0, np.pi / 2, 0, 0], dq=None, ddq=None, tau=log.tau if torques else None)
    write_log(tmp_path / "log.csv", wrong, robot)
    done = robodyn_here(command, "dualv", tmp_path / "log.csv", "--out", tmp_path / "out.csv")
    assert done.returncode == 1
    assert "does not close" in done.stderr
    assert ("then the loops close" in done.stderr) == torques
    assert (f"q_{robot.motors.names[1]} looks too small by 1.57 rad" in done.stderr) == torques
    assert not (tmp_path / "out.csv").exists()


def test_a_log_too_short_to_look_for_a_reason_says_that_loops_do_not_close(robodyn_here, tmp_path):
    robot = load("dualv")
    log = noisy_log(robot, "dualv_motion").section(0, 6)
    write_log(tmp_path / "log.csv", replace(log, q=log.q + 2.5, dq=None, ddq=None), robot)
    done = robodyn_here("predict", "dualv", tmp_path / "log.csv", "--out", tmp_path / "out.csv")
    assert done.returncode == 1
    assert re.fullmatch(r"robodyn: closure 'C.' does not close at row . [^;]*\n", done.stderr), done.stderr


def test_a_tool_that_the_robot_need_not_have_carried_is_no_contradiction(robodyn_here, tmp_path):
    """The spindle more than doubles what the wrist of an IRB 2400 needs."""
    robot = load("irb2400")
    write_log(tmp_path / "log.csv", noisy_log(robot, "irb2400_motion"), robot)
    words = (tmp_path / "log.csv", "--tool", EXAMPLES / "irb2400_spindle_tool.yaml", "--out", tmp_path / "out.csv")
    assert robodyn_here("predict", "irb2400", *words).returncode == 3
    done = robodyn_here("joints", "irb2400", *words)
    assert done.returncode == 0, done.stderr
    assert "NOT GOOD" not in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("rows", [3, 12, 40])
def test_few_samples_contradict_nothing(irb360, robodyn_here, tmp_path, command, rows):
    """The torques of a dozen milliseconds vary by their noise alone."""
    robot, log = irb360
    write_log(tmp_path / "log.csv", log.section(3000, 3000 + rows), robot)
    done = robodyn_here(command, "irb360", tmp_path / "log.csv", "--out", tmp_path / "out.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT GOOD" not in done.stdout
