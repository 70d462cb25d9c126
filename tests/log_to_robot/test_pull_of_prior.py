"""What a prior does to parameters that the log shows, against the closed form of a ridge; and that a user is told of it."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import noisy_log

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import SolverFailed
from robodyn_pin.files import of_schema
from robodyn_pin.identification import feasible
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import fit_feasible, with_noise_taken
from robodyn_pin.identification.fold import Factor, empty, fold_rows
from robodyn_pin.identification.least_squares import BaseEstimate, ordinary
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball, moved
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot import pull_of_prior as tested
from robodyn_pin.log_to_robot.cross_validation import choose
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.from_evidence import fold, from_evidence
from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.log_to_robot.further_estimates import Estimates, Further
from robodyn_pin.log_to_robot.prior_weight import unseen_error
from robodyn_pin.log_to_robot.pull_of_prior import fit_with_prior, pull_of_prior
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
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
    pull = pull_of_prior(groups, LAYOUT, found.wls, found.feasible, found.bounds, found.prior).by
    assert np.abs(pull).max() > 1  # something is compared
    np.testing.assert_allclose(pull, (heavy - light) / deviations, atol=0.02)


def test_the_parameter_that_is_moved_most_is_named():
    *_, groups, found = one_body(0.1)
    pull = pull_of_prior(groups, LAYOUT, found.wls, found.feasible, found.bounds, found.prior)
    most = LAYOUT.labels[int(np.argmax(np.abs(pull.by)))]
    assert 0 < pull.far == np.sum(np.abs(pull.by) > 3)
    assert str(pull).startswith(f"{pull.far} of 10 base parameters away from what the log shows, most of all {most}")
    *_, groups, found = one_body(0.003)
    assert pull_of_prior(groups, LAYOUT, found.wls, found.feasible, found.bounds, found.prior).far == 0


def test_exact_rows_count_as_noisy_as_a_solver_rounds_and_noisy_ones_as_they_are():
    W = np.random.default_rng(4).normal(size=(ROWS, 10))
    exact = [fold_rows(empty(10), W, W @ TRUTH)]
    by_rounding = 1e-5 * np.sqrt(np.mean((W @ TRUTH) ** 2) * np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(with_noise_taken(exact, ordinary(exact)).deviations, by_rounding, rtol=1e-9)
    *_, noisy, found = one_body(0.1)
    np.testing.assert_array_equal(with_noise_taken(noisy, found.wls).covariance, found.wls.covariance)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load("irb2400")


def log_of(robot: Robot, noise: float, seed: int = 1) -> Log:
    """20 s of a random motion, simulated, with noise in parts of each motor's torque."""
    rng, names = np.random.default_rng(seed), robot.coordinates.names
    motion = FourierMotion(
        rate=100, duration=20, period=10, centre=dict.fromkeys(names, 0.0),
        sin={name: rng.normal(0, 0.15, 4).tolist() for name in names},
    )  # fmt: skip
    clean = simulate(robot, motion, Noise(np.zeros(6)), ignore_limits=True)
    return uniform(replace(clean, tau=clean.tau + noise * clean.tau.std(axis=0) * rng.normal(size=clean.tau.shape)))


@pytest.fixture(scope="module")
def logs(robot) -> tuple[Log, Log]:
    return log_of(robot, 0.01), log_of(robot, 0.01, seed=2)


def told(result: Result) -> list[str]:
    return [x for x in result.verdict.cautions if x.startswith("the prior ")]


def settings(**prior: float) -> dict[str, object]:
    """Of a robot whose bodies have 0.8 to 192 kg."""
    return {"instruments": False, "bounds": {"mass": [0.01, 400]}, "prior": prior}


@pytest.mark.parametrize(
    ("weight", "noise", "warned"), [(0.003, 0.01, True), (0.00001, 0.01, False), (0.00001, 0.0, False)]
)
def test_the_verdict_of_an_identification_warns_of_it(robot, weight, noise, warned):
    result = identify(robot, log_of(robot, noise), **settings(mass=20, radius=0.2, weight=weight))
    assert len(told(result)) == warned
    assert all("weight of 0.003 is too large; 'choose: {prior_weight: [0.0003, 0.003]}'" in x for x in told(result))
    assert result.settings.run.prior.weight == weight


def test_a_weight_that_nobody_gave_is_as_small_as_unseen_torques_ask_for(robot, logs):
    fit, other = logs
    usual, found = (identify(robot, fit, other, **settings(**weight)) for weight in ({"weight": 0.01}, {}))
    assert found.settings.run.prior.weight < 0.01 == usual.settings.run.prior.weight
    (text,) = told(found)
    assert text.startswith(f"the prior weighs {found.settings.run.prior.weight:g}: with its usual 0.01 it would move")
    wls, truth = found.estimates.wls, columns(robot).values
    off = [np.abs(wls.base.of(x.estimates.feasible.values - truth) / wls.deviations).max() for x in (usual, found)]
    assert off[0] > 10  # standard deviations, of 57 parameters
    assert off[1] < 5
    assert found.scored["feasible"].held_out.by("mean") < usual.scored["feasible"].held_out.by("mean")


def test_evidence_of_the_log_alone_comes_to_the_same_weight(robot, logs):
    fit, other = logs
    found = identify(robot, fit, other, **settings())
    alone = from_evidence(robot, settings(), fold(robot, settings(), fit))
    np.testing.assert_allclose(alone.feasible.values, found.estimates.feasible.values, rtol=1e-6, atol=1e-9)


@pytest.fixture(scope="module")
def folded(robot, logs) -> tuple[Fitted, list[Factor], BaseEstimate]:
    run = of_schema({"robot": "irb2400", "fit": [{"file": "log"}], **settings()}, RunFile, "settings")
    fitted = choose(robot, run, logs[:1], print)
    groups = pooled(fitted.rows)
    return fitted, groups, fitted.weigh(groups, None, 1.0)


@pytest.mark.parametrize("score", [5.0, np.inf])
def test_the_usual_weight_stays_where_unseen_torques_ask_for_no_less(folded, monkeypatch, score):
    monkeypatch.setattr(tested, "unseen_error", lambda _, prior: 5.0 if prior.weight == 0.01 else score)
    found, _, text = fit_with_prior(*folded)
    assert found is folded[0]
    assert text.startswith("the prior moves")
    assert "ask for no less than its usual weight of 0.01" in text


def test_a_weight_whose_fit_finds_no_optimum_is_not_taken(folded, monkeypatch):
    def none(fitted: Fitted, prior: Prior) -> float:
        if prior.weight < 0.001:
            raise SolverFailed("no optimum", "CLARABEL: failed")
        return unseen_error(fitted, prior)

    monkeypatch.setattr(tested, "unseen_error", none)
    assert fit_with_prior(*folded)[0].settings.run.prior.weight == 0.001


def test_nothing_is_said_where_the_lighter_prior_leaves_no_optimum(folded, monkeypatch):
    def none(*_):
        raise SolverFailed("no optimum", "CLARABEL: failed")

    monkeypatch.setattr(tested, "pull_of_prior", none)
    found, _, text = fit_with_prior(*folded)
    assert (found, text) == (folded[0], "")


def test_a_log_that_bodies_contradict_is_fitted_by_the_first_solver(monkeypatch):
    """Its digits end a step before 1e-8 there, with any weight of the prior; the second one takes a hundred times as long."""

    def never(*_: object, **__: object) -> str:
        raise AssertionError("the first solver gave up")

    arm = load("irb2400")
    log = noisy_log(arm, "irb2400_motion", bits=17)
    monkeypatch.setattr(feasible, "solve", never)
    assert not identify(arm, replace(log, tau=log.efforts * [1, -1, 1, 1, 1, 1])).verdict.accepted
