"""Usual mistakes with a log are named; a good log, noisy or measured, gets none told."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated import SHORT, SIGMA

from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.likely_mistakes import likely_mistakes
from robodyn_pin.log_to_robot.run import identify, select
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log, uniform
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.motions.motion_file import read_motion
from robodyn_pin.robot.robot import Robot, load, load_named
from robodyn_pin.simulation.simulated_log import Noise, simulate

ROOT = Path(__file__).parents[2]


def simulated(name: str, motion: str, noise: float = 0.02) -> tuple[Robot, Log]:
    robot = load(name)
    moved = read_motion(ROOT / f"examples/{motion}.yaml")
    # Axis 3 of the IRB 6660 would not bend back as far as the motion of the IRB 2400 does; its log is only another robot's.
    log = simulate(robot, moved, Noise(np.zeros(len(robot.motors.names)), 17), ignore_limits=name == "irb6660")
    rms = np.sqrt(np.mean(log.efforts**2, axis=0))
    return robot, uniform(
        replace(log, tau=log.efforts + noise * rms * np.random.default_rng(0).normal(size=log.q.shape))
    )


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, Log]:
    return simulated("irb2400", "irb2400_motion")


def told(robot: Robot, log: Log) -> list[str]:
    return [
        m.said for m in likely_mistakes(robot, [log], RunFile(robot=robot.name, fit=[LogSpec(file=Path("log.csv"))]))
    ]


def swapped(x: np.ndarray, i: int, j: int) -> np.ndarray:
    order = np.arange(x.shape[1])
    order[[i, j]] = j, i
    return x[:, order]


CASES = {
    "tau_m1 and tau_m3 look swapped": lambda log: replace(log, tau=swapped(log.tau, 0, 2)),
    "q_m1 and q_m3 look swapped": lambda log: replace(log, q=swapped(log.q, 0, 2)),
    "tau_m2 looks like -tau_m2": lambda log: replace(log, tau=log.tau * [1, -1, 1, 1, 1, 1]),
    "tau_m3 looks 7": lambda log: replace(log, tau=log.tau * [1, 1, 7, 1, 1, 1]),
    "the time column looks like milliseconds": lambda log: replace(log, t=1000 * log.t),
    "percent of the motors' rated torques": lambda log: replace(log, tau=log.tau / [15, 15, 8, 1.5, 1.2, 0.6]),
}


@pytest.mark.parametrize("said", CASES)
def test_a_mistake_in_a_log_is_named(arm, said):
    robot, log = arm
    assert any(said in text for text in told(robot, CASES[said](log)))


def test_a_log_of_another_robot_of_the_catalogue_is_named(arm):
    _, log = simulated("irb6660", "irb2400_motion")
    assert told(arm[0], log) == ["the log looks like one of 'irb6660', not of 'irb2400'"]


@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize(
    ("name", "motion"), [("irb2400", "irb2400_motion"), ("irb360", "irb360_motion"), ("dualv", "dualv_motion")]
)
def test_a_log_without_mistakes_gets_none_told(name, motion, noise):
    assert told(*simulated(name, motion, noise)) == []


@pytest.mark.parametrize("name", ["mtm", "panda", "tx40"])
def test_measured_logs_get_none_told(measured_logs, name):
    path = ROOT / f"tests/runs/{name}.yaml"
    run = read_yaml(path, RunFile)
    robot = load_named(run.robot, path.parent)
    chosen = [select(robot, run, path.parent, spec) for spec in run.fit]
    assert likely_mistakes(robot, [s.log.window(s.begin, s.end) for s in chosen], run) == ()


def test_the_verdict_refuses_a_torque_of_the_wrong_sign_by_name():
    robot = load("irb360_arms")
    log = uniform(simulate(robot, SHORT.model_copy(update={"duration": 25.0}), Noise(0.1 * SIGMA)))
    result = identify(robot, replace(log, tau=log.efforts * [-1, 1, 1, 1]))
    assert not result.verdict.accepted
    assert any("tau_phi1 looks like -tau_phi1" in reason for reason in result.verdict.reasons)
    (mistake,) = [m for m in result.summary()["mistakes"] if m["said"] == "tau_phi1 looks like -tau_phi1"]  # type: ignore[attr-defined]
    assert mistake["names"] == ("phi1",)
