"""Estimates that a run file asks for beside the usual ones: what they are, and that they are told wherever results are."""

import json
from dataclasses import replace

import numpy as np
import pytest
from simulated import SHORT

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.regressor import known_efforts, state_regressor
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.validation import apart
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.output.console import print_result
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

NOISE = np.diag([0.3, 0.3, 0.4, 0.05]) ** 2
NOISE[0, 1] = NOISE[1, 0] = 0.8 * 0.3 * 0.3
USED = 700


@pytest.fixture(scope="module")
def log():
    clean = simulate(load("irb360_arms"), SHORT, Noise(np.zeros(4)))
    shaken = np.random.default_rng(1).multivariate_normal(np.zeros(4), NOISE, size=clean.size)
    return uniform(replace(clean, tau=clean.tau + shaken))


@pytest.fixture(scope="module")
def result(log):
    asked = {"essential": 20, "gauss_markov": True, "second_opinion": True}
    run = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}], **asked})
    return estimate(load("irb360_arms"), run, [Selected(log, 0, USED)], [Selected(log, USED, log.size)])


def test_gauss_markov_meets_the_normal_equations_of_whole_samples(result, log):
    """sum W' noise^-1 (W x - y) = 0 over the fitted samples, with the noise that the residuals have."""
    robot, found = load("irb360_arms"), result.estimates.further.gauss_markov
    part = log.window(0, USED)
    state = close_motors(robot, *rates_of(part, Preparation()).motion(part), part.row)
    W = state_regressor(robot, state)[:, :, found.estimate.base.columns]
    e = W @ found.estimate.values - (log.tau[:USED] - known_efforts(robot, state))
    left = np.einsum("njk,ji,ni->k", W, np.linalg.inv(found.noise), e)
    assert np.abs(left * found.estimate.deviations).max() < 1e-4  # the noise is iterated to 1e-6 of itself
    assert found.noise == pytest.approx(e.T @ e / (USED - found.estimate.base.size / 4), rel=1e-4)


def test_correlation_of_the_noise_is_found(result):
    """Standard deviation of a correlation r of n samples: (1 - r^2) / sqrt(n)."""
    found = result.estimates.further.gauss_markov
    assert found.most_correlated == (0, 1)
    assert found.correlation[0, 1] == pytest.approx(0.8, abs=3 * (1 - 0.8**2) / np.sqrt(USED))


def test_distance_of_predictions_is_in_units_of_the_noise():
    rng = np.random.default_rng(2)
    W, x, y, sigma = rng.normal(size=(2, 50, 3)), rng.normal(size=3), rng.normal(size=3), np.array([0.5, 2.0])
    groups = [fold_rows(empty(3), w, w @ x) for w in W]
    assert apart(groups, sigma, x, y) == pytest.approx(np.sqrt(np.mean(((W @ (x - y)) / sigma[:, None]) ** 2)))


def test_the_second_opinion_is_within_one_percent_of_the_noise(result):
    assert result.estimates.further.distance < 0.01


def test_essential_parameters_keep_their_ratio_and_no_base_parameter_is_lost(result):
    found = result.estimates.further.essential
    relative = found.estimate.deviations / np.abs(found.estimate.values)
    assert found.spread == pytest.approx(relative.max() / relative.min())
    assert found.spread <= 20
    assert sorted([*found.estimate.base.columns, *found.removed]) == list(result.wls.base.columns)


def test_every_estimate_is_told_on_the_screen_in_the_page_and_in_the_json(result, tmp_path, capsys):
    print_result(result, tmp_path)
    shown = " ".join(capsys.readouterr().out.split())
    folder = result.write(tmp_path / "out")
    page = (folder / "report.html").read_text(encoding="utf-8")
    written = json.loads((folder / "result.json").read_text())
    for name in ("Gauss-Markov", "essential", "log-Cholesky"):
        assert name in shown
        assert f"<tr><th>{name}</th>" in page
        assert name in written["errors"]
    assert f"the largest correlation of noise is {result.estimates.further.gauss_markov.correlation[0, 1]:.2f}" in shown
    assert f"{result.estimates.further.log_cholesky.steps} steps" in shown
    assert written["log_cholesky"]["steps"] == result.estimates.further.log_cholesky.steps
    assert [
        p["label"] for p in written["essential"]["parameters"]
    ] == result.estimates.further.essential.estimate.base.labels(result.layout.labels)
    left_out = [result.layout.labels[i] for i in result.estimates.further.essential.removed]
    assert left_out
    assert written["essential"]["left_out"] == left_out
    assert ", ".join(left_out) in shown
    assert "Essential parameters" in page


def test_nothing_more_is_told_where_nothing_more_was_asked(log, tmp_path):
    run = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}]})
    plain = estimate(load("irb360_arms"), run, [Selected(log, 0, USED)], [Selected(log, USED, log.size)])
    assert not {"essential", "gauss_markov", "log_cholesky"} & plain.summary().keys()
    page = (plain.write(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert "All estimates" not in page
    assert "Essential parameters" not in page
