"""Errors through the score's filter and at full bandwidth stand side by side, and settings are chosen by the one that is asked for."""

import numpy as np
import pytest
from simulated import SHORT, SIGMA

from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.output.console import print_result
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.simulated_log import Noise, simulate


@pytest.fixture(scope="module")
def arms() -> tuple[Robot, Log]:
    robot = load("irb360_arms")
    return robot, uniform(simulate(robot, SHORT.model_copy(update={"duration": 25.0}), Noise(SIGMA)))


def identified(arms: tuple[Robot, Log], **choose: object):
    robot, log = arms
    score = {"filter": {"order": 4, "cutoff": 5}}
    run = RunFile.model_validate({"robot": robot.name, "fit": [{"file": "log.csv"}], "score": score, "choose": choose})
    cut = int(0.7 * log.size)
    return estimate(robot, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size)])


def test_full_bandwidth_has_the_noise_that_the_filter_takes_away(arms, tmp_path, capsys):
    result = identified(arms, prior_weight=[0.01, 0.03])
    feasible = result.scored["feasible"]
    np.testing.assert_allclose(feasible.whole.rmse, SIGMA, rtol=0.1)  # white noise of the torques
    assert (feasible.held_out.rmse < 0.5 * SIGMA).all()
    print_result(result, tmp_path)
    said = capsys.readouterr().out
    assert f"at full bandwidth {feasible.whole.mean_percent:.3g} %" in said
    assert "settings were chosen for control" in said


def test_settings_for_a_simulation_are_chosen_by_the_error_at_full_bandwidth(arms):
    control, simulation = (identified(arms, prior_weight=[0.01, 0.03], use=use) for use in ("control", "simulation"))
    assert "settings were chosen for simulation" in simulation.bandwidths
    (filtered,), (whole,) = control.settings.choices, simulation.settings.choices
    assert min(whole.percent) > 1.5 * max(filtered.percent)  # the noise counts


def test_without_a_filter_there_is_one_error(arms):
    robot, log = arms
    run = RunFile.model_validate({"robot": robot.name, "fit": [{"file": "log.csv"}]})
    cut = int(0.7 * log.size)
    result = estimate(robot, run, [Selected(log, 0, cut)], [Selected(log, cut, log.size)])
    assert result.bandwidths == ""
    np.testing.assert_array_equal(result.scored["feasible"].whole.rmse, result.scored["feasible"].held_out.rmse)
