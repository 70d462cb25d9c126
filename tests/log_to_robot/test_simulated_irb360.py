"""Estimators on simulated logs of the IRB 360, whose truth is known; the long version is figures/estimators.py."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from simulated import SIGMA, exact_rows, fold_seeds, noise_of, rows_of
from workspaces import WORKSPACES

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.least_squares import known_noise, known_ratios, ordinary, weighted_least_squares
from robodyn_pin.identification.log_cholesky_fit import fit_log_cholesky
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import build, load

ROBOT = load("irb360")
TRUTH = columns(ROBOT).values
SAMPLES = 20_000  # of the bundled motion
FIT = 0.2  # of it: 4 s


@pytest.fixture(scope="module")
def seeds():
    return fold_seeds(exact_rows(ROBOT, end=FIT), noise_of(range(20), SAMPLES))


def test_seeds_folded_together_are_each_folded_alone(seeds):
    noise = noise_of([7], SAMPLES)[:, :, 0]
    alone = [empty(len(TRUTH))] * 4
    for index, W, y in exact_rows(ROBOT, end=FIT):
        alone = [fold_rows(f, W[:, j], (y + noise[index])[:, j]) for j, f in enumerate(alone)]
    for together, single in zip(seeds[7], alone, strict=True):
        np.testing.assert_allclose(together.R.T @ together.R, single.R.T @ single.R, rtol=1e-9, atol=1e-7)
        assert (together.rows, together.energy) == (single.rows, pytest.approx(single.energy))


def test_errors_of_weighted_least_squares_are_at_the_cramer_rao_bound(seeds):
    base = ordinary(seeds[0]).base
    bound = known_noise(seeds[0], SIGMA, base).deviations
    errors = np.array([(weighted_least_squares(s, base).values - base.of(TRUTH)) / bound for s in seeds])
    assert 0.9 <= np.sqrt(np.mean(errors**2)) <= 1.15


def test_exact_rows_are_fitted_exactly_by_bodies_that_can_exist():
    """A solver that spends its digits on friction calls something else an optimum here."""
    (factors,) = fold_seeds(exact_rows(ROBOT, end=FIT), 1e-9 * noise_of([3], SAMPLES))
    run, layout = RunFile.model_validate({"robot": "irb360", "fit": [{"file": "log"}]}), columns(ROBOT).layout
    sigma = weighted_least_squares(factors).sigma
    x = fit_feasible(factors, sigma, layout, bounds_of(run, ROBOT), prior_of(run, ROBOT)).values
    assert all(f.residual(x) < 1e-10 * f.energy for f in factors)


def test_fitted_bodies_can_exist_and_predict_at_the_noise(seeds):
    run = read_run(Path(__file__).parents[2] / "examples/irb360.yaml")
    layout, bounds, prior = columns(ROBOT).layout, bounds_of(run, ROBOT), prior_of(run, ROBOT)
    (unseen,) = fold_seeds(exact_rows(ROBOT, begin=0.8), noise_of([99], SAMPLES))
    for factors in seeds[:3]:
        wls = weighted_least_squares(factors)
        x = fit_feasible(factors, wls.sigma, layout, bounds, prior).values
        for body in x[: layout.first_scalar].reshape(-1, 10):
            assert np.linalg.eigvalsh(pin.PseudoInertia.FromDynamicParameters(body).toMatrix())[0] > 0
        rmse = np.array([np.sqrt(f.residual(x) / f.rows) for f in unseen])
        np.testing.assert_allclose(rmse, SIGMA, rtol=0.04)  # 4000 rows give a deviation to 1.1 %
        apart = [np.linalg.norm(f.R[:, :-1] @ (x - wls.full(layout.size))) / np.sqrt(f.rows) for f in unseen]
        assert max(apart) <= 0.1
    second = fit_log_cholesky(factors, wls.sigma, layout, bounds, prior).values
    other = [np.linalg.norm(f.R[:, :-1] @ (x - second)) / np.sqrt(f.rows) for f in unseen]
    assert (other <= 0.01 * SIGMA).all()


def test_weights_matter_on_the_assembled_robot(seeds):
    """Unlike those of the lone arms (tests/log_to_robot/test_prior_knowledge.py), its parameters are seen by several motors at once."""
    by_noise, by_limit = known_noise(seeds[0], SIGMA), known_ratios(seeds[0], np.array([120.0, 120.0, 120.0, 10.0]))
    assert np.abs((by_limit.values - by_noise.values) / by_noise.deviations).max() > 0.05


@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_without_noise_the_base_parameters_are_exact(name):
    """Random states; the torques come from recursive Newton-Euler, not from W."""
    robot, rng = load(name), np.random.default_rng(1)
    c = WORKSPACES[name](rng, 400).c
    cd, cdd = rng.normal(size=c.shape) * 2, rng.normal(size=c.shape) * 20
    found = ordinary(fold_seeds(rows_of(robot, c, cd, cdd), np.zeros((*c.shape, 1)))[0])
    truth = found.base.of(columns(robot).values)
    np.testing.assert_allclose(found.values, truth, rtol=1e-6, atol=1e-12)


def test_two_terms_along_one_rate_have_two_names_and_neither_is_negative():
    """Under one name the constraint of the first was lost, and its value was cut off after the fit."""
    arms = load("irb360_arms")
    low, high = (EffortSpec(of="phi1", model="coulomb", width=w, initial=i) for w, i in ((0.05, -3.0), (0.5, 2.0)))
    file = arms.file.model_copy(update={"efforts": [*arms.file.efforts, low, high]})
    robot = build(arms.name, file, arms.urdf_xml, arms.urdf_path)
    layout = columns(robot).layout
    assert layout.scalars[-2:] == ("coulomb(phi1) 2", "coulomb(phi1) 3")
    (factors,) = fold_seeds(exact_rows(robot, end=FIT), noise_of([0], SAMPLES))
    run = RunFile.model_validate({"robot": "irb360_arms", "fit": [{"file": "log.csv"}]})
    known = SIGMA, layout, bounds_of(run, robot), prior_of(run, robot)
    first, second = fit_feasible(factors, *known).values, fit_log_cholesky(factors, *known).values
    assert (first[layout.first_scalar :][np.array(layout.nonnegative)] >= 0).all()
    apart = [np.linalg.norm(f.R[:, :-1] @ (first - second)) / np.sqrt(f.rows) for f in factors]
    assert (apart <= 0.01 * SIGMA).all()
