"""Intervals against SciPy's, against their own promise over many noises, and against what a scale can tell of a mass."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import linregress, t

from robodyn_pin.identification import feasible_intervals as module
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.constraints import still_met
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.feasible_intervals import feasible_intervals
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.least_squares import known_noise, ordinary, weighted_least_squares
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball
from robodyn_pin.identification.uncertainty import freedom, intervals, prediction_deviations
from robodyn_pin.log_to_robot.fit_data import independent_share
from robodyn_pin.log_to_robot.run_file import RowsSpec, RunFile
from robodyn_pin.logs.filters import Lowpass


def test_intervals_of_a_line_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x = rng.normal(size=8)
    y = 2 * x - 1 + 0.3 * rng.normal(size=8)
    estimate = ordinary([fold_rows(empty(2), np.column_stack([x, np.ones(8)]), y)])
    line = linregress(x, y)
    reach = t.ppf(0.975, 6) * np.array([line.stderr, line.intercept_stderr])
    middle = np.array([line.slope, line.intercept])
    found = intervals(estimate, freedom(estimate, 8))
    np.testing.assert_allclose(found, np.column_stack([middle - reach, middle + reach]), rtol=1e-9)
    assert prediction_deviations(estimate, np.zeros((1, 1, 2)), np.array([0.3]))[0, 0] == pytest.approx(0.3)
    at = np.array([[[1.7, 1.0]]])
    assert prediction_deviations(estimate, at, np.zeros(1))[0, 0] ** 2 == pytest.approx(
        at[0, 0] @ estimate.covariance @ at[0, 0]
    )


@pytest.mark.parametrize("every", [3, 12, 40])
def test_filtered_rows_promise_what_they_keep(every):
    """Slow columns, white noise through a low-pass: 95 of 100 intervals hold the truth, however densely rows are kept."""
    run = RunFile(robot="", fit=[{"file": "x"}], rows=RowsSpec(filter=Lowpass(order=4, cutoff=40), every=every))
    rng, time = np.random.default_rng(1), np.arange(6000) / 1000
    W = np.column_stack([f(2 * np.pi * k * time) for k in (0.5, 1.3, 2.2) for f in (np.sin, np.cos)])
    truth = rng.normal(size=6)
    noise = run.rows.filter.apply(rng.normal(size=(6000, 300)), 1000, "noise")
    share, held = independent_share(run, 1000.0), []
    for column in noise.T:
        rows = slice(200, -200, every)
        estimate = weighted_least_squares([fold_rows(empty(6), W[rows], W[rows] @ truth + column[rows])], None, share)
        low, high = intervals(estimate, freedom(estimate, len(W[rows]), share)).T
        held.append((low < truth) & (truth < high))
    assert np.mean(held) == pytest.approx(0.95, abs=0.016)  # three deviations of 1800 draws


@pytest.mark.parametrize("reading", [0.02, -0.03])
def test_a_scale_tells_a_mass_between_its_bound_and_two_deviations(reading):
    """One light body on a scale with a deviation of 0.05 kg; what turns it is not measured at all.

    Two deviations are counted from the reading, which may be no mass, plus what the bound already takes of the fit.
    """
    W = np.zeros((100, 10))
    W[:, 0] = 1.0
    groups, sigma = [fold_rows(empty(10), W, np.full(100, reading))], np.array([0.5])
    layout, bounds = Layout(("a",)), Bounds(np.array([[0.01, 5.0]]))
    estimate = known_noise(groups, sigma, base_set(W))
    feasible = fit_feasible(groups, sigma, layout, bounds, Prior(np.array([ball(0.02, 0.1)]), 1e-3))
    found = feasible_intervals(np.eye(10), feasible, estimate, layout, bounds)
    np.testing.assert_allclose(intervals(estimate)[0], [reading - 1.96 * 0.05, reading + 1.96 * 0.05], atol=1e-5)
    upper = reading + np.hypot(1.96 * 0.05, max(0.01 - reading, 0))
    np.testing.assert_allclose(found.ends[0], [0.01, upper], atol=1e-4)
    moments = 1, 2, 3, 5, 7, 8  # first ones, and products of inertia: as far as inertias go, that is without end
    np.testing.assert_array_equal(found.ends[list(moments)], [(-np.inf, np.inf)] * 6)
    assert found.ends[9, 1] == np.inf
    assert found.ends[9, 0] == pytest.approx(2e-6, abs=1e-6)  # a smallest pseudo-inertia of 1e-4 about two axes
    ends = found.bodies[np.isfinite(found.ends)]
    assert len(ends) == 2 + 3  # of the mass, and the lower ones of three inertias
    assert all(still_met(body, layout, bounds) for body in ends)


def test_an_end_that_fails_among_many_is_found_alone(monkeypatch):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(100, 10))
    groups, sigma = [fold_rows(empty(10), W, W @ ball(1.0, 0.1))], np.array([1e-4])
    layout, bounds = Layout(("a",)), Bounds(np.array([[0.01, 5.0]]))
    estimate = known_noise(groups, sigma, base_set(W))
    feasible = fit_feasible(groups, sigma, layout, bounds, Prior(np.array([ball(1.0, 0.1)]), 1e-6))
    asked = np.eye(10), feasible, estimate, layout, bounds
    expected = feasible_intervals(*asked).ends
    solved = module.least

    def failing(held, goals, scaled=True):
        for k, found in enumerate(solved(held, goals, scaled)):
            yield found._replace(v=found.v + np.nan) if len(goals) > 1 and k == 1 else found

    monkeypatch.setattr(module, "least", failing)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(feasible_intervals(*asked).ends, expected, rtol=1e-5)


def test_parameters_that_are_known_by_their_sum_alone_have_intervals():
    """Mass and first moment of one body, seen with one error between them, so that their covariance has no Cholesky factor."""
    rng = np.random.default_rng(0)
    W = np.zeros((100, 10))
    W[:, :2] = rng.normal(size=(100, 2))
    truth = np.r_[1.0, 0.1, np.zeros(8)]
    groups, sigma = [fold_rows(empty(10), W, W @ truth)], np.array([0.1])
    layout, bounds = Layout(("a",)), Bounds(np.array([[0.01, 5.0]]))
    estimate = known_noise(groups, sigma, base_set(W))
    estimate = replace(estimate, covariance=np.outer(estimate.deviations, estimate.deviations))
    feasible = fit_feasible(groups, sigma, layout, bounds, Prior(np.array([ball(1.0, 0.1)]), 1e-6))
    found = feasible_intervals(np.eye(10)[:1], feasible, estimate, layout, bounds)
    np.testing.assert_allclose(found.ends[0], 1.0 + 1.96 * estimate.deviations[0] * np.array([-1, 1]), atol=1e-3)
