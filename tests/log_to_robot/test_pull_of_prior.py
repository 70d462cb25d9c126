"""What a prior does to parameters that the log shows, against the closed form of a ridge; and that a user is told of it."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_pin.errors import SolverFailed
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import fit_feasible, with_noise_taken
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball, moved
from robodyn_pin.log_to_robot import pull_of_prior as tested
from robodyn_pin.log_to_robot.further_estimates import Estimates, Further
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.pull_of_prior import moved_by_prior, pull_of_prior
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

LAYOUT, WIDE, NOISE, ROWS = Layout(("a",)), Bounds(np.array([[0.01, 50.0]])), 0.05, 400
TRUTH = moved(ball(2.0, 0.2), [0.03, 0.02, -0.05])  # deep inside what bodies can be: no constraint is active
FAR_OFF = ball(20.0, 0.2)


def one_body(weight: float):
    rng = np.random.default_rng(4)
    W = rng.normal(size=(ROWS, 10))
    y = W @ TRUTH + NOISE * rng.normal(size=ROWS)
    groups, prior = [fold_rows(empty(10), W, y)], Prior(FAR_OFF[None], weight)
    wls = ordinary(groups)
    feasible = fit_feasible(groups, wls.sigma, LAYOUT, WIDE, prior)
    return W, y, groups, Estimates(wls, wls, None, feasible, Further(None, None, None), WIDE, prior)


def pseudo_inertia_in_decimetres(x: np.ndarray) -> np.ndarray:
    """The 16 entries of [[tr I / 2 1 - I, h], [h', m]] in kg and 0.1 m, written out from its definition."""
    I = np.array([[x[4], x[5], x[7]], [x[5], x[6], x[8]], [x[7], x[8], x[9]]])
    P = np.zeros((4, 4))
    P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = (np.trace(I) / 2 * np.eye(3) - I) * 100, x[1:4] * 10, x[1:4] * 10, x[0]
    return P.ravel()


def test_it_is_the_difference_of_two_ridges():
    weight = 0.06
    W, y, groups, found = one_body(weight)
    D = np.column_stack([pseudo_inertia_in_decimetres(e) for e in np.eye(10)])
    sigma = found.wls.sigma[0] * np.sqrt(ROWS)
    heavy, light = (
        np.linalg.lstsq(np.vstack([W / sigma, w * D]), np.concatenate([y / sigma, w * D @ FAR_OFF]), rcond=None)[0]
        for w in (weight, weight / 10)
    )
    deviations = np.sqrt(np.diag(np.linalg.inv(W.T @ W))) * found.wls.sigma[0]
    pull = pull_of_prior(groups, LAYOUT, found)
    assert np.abs(pull).max() > 1  # something is compared
    np.testing.assert_allclose(pull, (heavy - light) / deviations, atol=0.02)


def test_a_prior_far_off_is_told_with_the_parameter_it_moves_most_and_a_light_one_is_not():
    *_, groups, found = one_body(0.1)
    pull = pull_of_prior(groups, LAYOUT, found)
    text = moved_by_prior(groups, LAYOUT, found)
    most = LAYOUT.labels[int(np.argmax(np.abs(pull)))]
    assert f"{np.sum(np.abs(pull) > 3)} of 10 base parameters away from what the log shows, most of all {most}" in text
    assert "weight of 0.1 is too large; 'choose: {prior_weight: [0.01, 0.1]}'" in text
    *_, groups, found = one_body(0.003)
    assert moved_by_prior(groups, LAYOUT, found) == ""


def test_exact_rows_count_as_noisy_as_a_solver_rounds_and_noisy_ones_as_they_are():
    W = np.random.default_rng(4).normal(size=(ROWS, 10))
    exact = [fold_rows(empty(10), W, W @ TRUTH)]
    by_rounding = 1e-5 * np.sqrt(np.mean((W @ TRUTH) ** 2) * np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(with_noise_taken(exact, ordinary(exact)).deviations, by_rounding, rtol=1e-9)
    *_, noisy, found = one_body(0.1)
    np.testing.assert_array_equal(with_noise_taken(noisy, found.wls).covariance, found.wls.covariance)


def test_nothing_is_said_where_the_lighter_prior_leaves_no_optimum(monkeypatch):
    def none(*_):
        raise SolverFailed("no optimum", "CLARABEL: failed")

    *_, groups, found = one_body(0.1)
    monkeypatch.setattr(tested, "fit_feasible", none)
    assert moved_by_prior(groups, LAYOUT, found) == ""


@pytest.mark.parametrize(
    ("weight", "noise", "warned"), [(0.003, 0.01, True), (0.00001, 0.01, False), (0.00001, 0.0, False)]
)
def test_the_verdict_of_an_identification_warns_of_it(weight, noise, warned):
    robot = load("irb2400")
    rng, names = np.random.default_rng(1), robot.coordinates.names
    motion = FourierMotion(
        rate=100, duration=20, period=10, centre=dict.fromkeys(names, 0.0),
        sin={name: rng.normal(0, 0.15, 4).tolist() for name in names},
    )  # fmt: skip
    clean = simulate(robot, motion, Noise(np.zeros(6)), ignore_limits=True)
    log = uniform(replace(clean, tau=clean.tau + noise * clean.tau.std(axis=0) * rng.normal(size=clean.tau.shape)))
    fit, held_out = split_last([Selected(log, 0, log.size)], cut=0)
    run = RunFile(
        robot="irb2400", fit=[{"file": "log"}], instruments=False, bounds={"mass": [0.01, 400]},
        prior={"mass": 20, "radius": 0.2, "weight": weight},
    )  # fmt: skip
    verdict = estimate(robot, run, fit, held_out).verdict
    told = [x for x in verdict.cautions if x.startswith("the prior moves")]
    assert len(told) == warned
