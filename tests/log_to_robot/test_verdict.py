"""A verdict names the motor that the model does not explain, also where the others make the mean look good."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import SHORT, SIGMA

from robodyn_pin.identification.accuracy import accuracy
from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.log_to_robot.verdict import Coordinates, unexplained
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.robot.robot import build, load
from robodyn_pin.simulation.simulated_log import Noise, simulate


@pytest.fixture(scope="module")
def arms() -> tuple:
    robot = load("irb360_arms")
    motion = SHORT.model_copy(update={"duration": 25.0})
    return robot, uniform(simulate(robot, motion, Noise(0.1 * SIGMA)))


def with_torque(log: Log, motor: int, tau: np.ndarray) -> Log:
    changed = log.efforts.copy()
    changed[:, motor] = tau
    return replace(log, tau=changed)


def test_a_motor_that_its_mean_explains_better_is_named_and_the_result_refused(arms):
    robot, log = arms
    noise = np.random.default_rng(0).normal(size=log.size)
    result = identify(robot, with_torque(log, 3, 0.3 * np.sin(2.7 * log.t) + 0.01 * noise))
    held_out = result.scored["feasible"].held_out
    assert held_out.mean_percent < 60  # which alone would be accepted
    assert not result.verdict.accepted
    first, *others = result.verdict.reasons
    assert first.startswith("the model does not explain psi")
    assert not any("does not explain" in reason for reason in others)


def test_every_motor_of_a_good_log_is_explained(arms):
    robot, log = arms
    assert identify(robot, log).verdict.accepted


def test_a_torque_that_is_little_more_than_its_mean_or_a_motor_at_rest_is_a_caution():
    measured = np.random.default_rng(0).normal([10, 10, 0], [0.1, 0.1, 1], (1000, 3))
    looked = accuracy(measured, np.tile([10.02, 5.0, 0.2], (1000, 1)))
    names = ["held", "wrong", "still"]
    reasons, cautions = unexplained(looked, Coordinates(names, ["N m", "N", "N m"], {"still"}))
    assert ["wrong" in reasons[0], len(reasons)] == [True, 1]
    assert " N rms" in reasons[0]  # the unit of that coordinate
    assert ["its torque hardly varies" in cautions[0], "it stands still" in cautions[1]] == [True, True]


def test_a_perfect_model_without_widths_is_not_told_to_filter():
    """`simulate` and `identify` take one width where none is given, so that the model of the log is the model of the fit."""
    robot = load("irb360_arms")
    specs = [e.model_copy(update={"width": None}) for e in robot.file.efforts]
    bare = build("arms", robot.file.model_copy(update={"efforts": specs}), robot.urdf_xml, robot.urdf_path)
    log = uniform(simulate(bare, SHORT.model_copy(update={"duration": 25.0}), Noise(0.1 * SIGMA)))
    result = identify(bare, log)
    assert {e.spec.width for e in result.robot_before.efforts if e.spec.model == "coulomb"} == {0.01}
    assert not any("disagree" in caution for caution in result.verdict.cautions)
    np.testing.assert_allclose(result.scored["feasible"].held_out.rmse, 0.1 * SIGMA, rtol=0.05)
