"""Shapes of friction: against a general nonlinear fit, against truths, and from logs."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.fold import Factor, empty, fold_rows, triangle
from robodyn_pin.identification.least_squares import known_noise, weighted_least_squares
from robodyn_pin.identification.variable_projection import Slopes, fit_shapes, with_unknown_shapes

RNG = np.random.default_rng(0)
RATES = RNG.normal(size=(600, 2)) * [10.0, 20.0]
INERTIA = RNG.normal(size=(600, 2, 2))
SIGMA = np.array([0.02, 0.3])
TRUTH, COEFFICIENTS = np.array([0.5, 8.0]), np.array([1.3, -0.4, 0.53, 0.67])
SLOPES = Slopes(("width", "speed"), np.array([0, 1]), np.array([2, 3]))


def curve(theta, j):
    return np.tanh(RATES[:, j, None] / theta)


def torque(theta, x, j):
    return INERTIA[:, j] @ x[:2] + curve(theta, j) @ x[2:]


def rows(y):
    """[W, dW, y] of both row groups at theta."""

    def at(theta):
        found = []
        for j in range(2):
            tanh = curve(theta, j)
            bend = -RATES[:, j, None] / theta**2 * (1 - tanh**2)
            found.append(fold_rows(empty(6), np.column_stack([INERTIA[:, j], tanh, bend]), y[:, j]))
        return found

    return at


def measured(noise):
    exact = np.stack([torque(TRUTH, COEFFICIENTS, j) for j in range(2)], axis=1)
    return exact + noise * np.random.default_rng(1).normal(size=exact.shape)


def test_noise_free_shapes_are_found_from_half_and_double():
    for factor in (0.5, 2.0):
        found = fit_shapes(factor * TRUTH, rows(measured(0.0)), SLOPES, weighted_least_squares)
        np.testing.assert_allclose(found.values, TRUTH, rtol=1e-6)


def test_shapes_and_deviations_are_those_of_a_general_nonlinear_fit():
    """All six unknowns at once in SciPy's Levenberg-Marquardt, with the covariance of its Jacobian."""
    y = measured(SIGMA)
    found = fit_shapes(2 * TRUTH, rows(y), SLOPES, lambda groups: known_noise(groups, SIGMA))

    def residual(u):
        return np.concatenate([(torque(u[:2], u[2:], j) - y[:, j]) / SIGMA[j] for j in range(2)])

    general = least_squares(residual, np.concatenate([TRUTH, COEFFICIENTS]), method="lm", xtol=1e-12)
    deviations = np.sqrt(np.diag(np.linalg.inv(general.jac.T @ general.jac)))
    # Kaufman leaves out what bends with the residual: hence 1 %. Steps end within 1 % of a standard deviation.
    np.testing.assert_allclose(found.deviations, deviations[:2], rtol=1e-2)
    assert (np.abs(found.values - general.x[:2]) < 0.02 * deviations[:2]).all()
    assert (np.abs(found.values - TRUTH) < 3 * deviations[:2]).all()
    alone = known_noise([Factor(triangle(np.delete(g.R, [4, 5], axis=1)), g.rows) for g in found.rows], SIGMA)
    assert alone.deviations[3] < 0.95 * deviations[5]  # as if the speed were known
    np.testing.assert_allclose(with_unknown_shapes(alone, found, SLOPES).deviations, deviations[2:], rtol=1e-2)


def test_noise_of_each_row_group_is_found_on_the_way():
    by_residuals = fit_shapes(2 * TRUTH, rows(measured(SIGMA)), SLOPES, weighted_least_squares)
    by_noise = fit_shapes(2 * TRUTH, rows(measured(SIGMA)), SLOPES, lambda groups: known_noise(groups, SIGMA))
    np.testing.assert_allclose(by_residuals.values, by_noise.values, atol=0.3 * by_noise.deviations.max())
    np.testing.assert_allclose(by_residuals.deviations, by_noise.deviations, rtol=0.1)


def test_rows_of_shared_noise_widen_the_deviations_by_the_root_of_their_share():
    y = measured(SIGMA)
    every, fifth = (
        fit_shapes(2 * TRUTH, rows(y), SLOPES, lambda groups: known_noise(groups, SIGMA), share) for share in (1.0, 0.2)
    )
    np.testing.assert_allclose(fifth.deviations, np.sqrt(5) * every.deviations, rtol=1e-2)


def test_a_shape_that_rows_do_not_show_is_named():
    """So slow that tanh(x' / speed) is x' / speed: only coefficient over speed is seen."""
    with pytest.raises(RobodynError, match=r"does not show the shape parameter speed"):
        fit_shapes(np.array([0.5, 1e6]), rows(measured(SIGMA)), SLOPES, weighted_least_squares)
