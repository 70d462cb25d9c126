"""Instruments against the normal equations written out, and against the attenuation that noise in a regressor makes."""

import numpy as np
import pytest

from robodyn_pin.identification.fold import empty, fold_rows, merge_factors
from robodyn_pin.identification.instrumental import InstrumentalEstimate, instrumental
from robodyn_pin.log_to_robot.instruments import band
from robodyn_pin.logs.log import Log

TRUTH = np.array([2.0, -1.0, 0.5])


def estimate(rng: np.random.Generator, noise: float, n: int = 4000) -> tuple[InstrumentalEstimate, tuple]:
    """Rows of unit columns; the first column of W has noise, the instruments have noise of their own."""
    exact = rng.normal(size=(n, 3))
    W = exact + noise * rng.normal(size=(n, 3)) * [1, 0, 0]
    Z = exact + 0.1 * rng.normal(size=(n, 3))
    y = exact @ TRUTH + 0.5 * rng.normal(size=n)
    parts = [fold_rows(empty(6), np.hstack([Z, W])[part], y[part]) for part in (slice(0, 1500), slice(1500, n))]
    return instrumental([merge_factors(parts)], np.array([0.5])), (Z, W, y)


def test_folded_instruments_are_the_normal_equations():
    found, (Z, W, y) = estimate(np.random.default_rng(0), 0.5)
    inverse = np.linalg.inv(Z.T @ W)
    x = inverse @ Z.T @ y
    np.testing.assert_allclose(found.values, x, rtol=1e-9)
    noise = np.sum((y - W @ x) ** 2) / (len(y) - 3)
    np.testing.assert_allclose(found.covariance, noise * inverse @ Z.T @ Z @ inverse.T, rtol=1e-9, atol=1e-12)
    plain = np.linalg.lstsq(W, y, rcond=None)[0]
    np.testing.assert_allclose(found.least_squares, plain, rtol=1e-9)
    spread = np.sum((y - W @ plain) ** 2) / (len(y) - 3) * np.diag(np.linalg.inv(W.T @ W))
    np.testing.assert_allclose(found.least_squares_deviations, np.sqrt(spread), rtol=1e-9)


def test_noise_shared_by_four_rows_doubles_the_deviations():
    _, (Z, W, y) = estimate(np.random.default_rng(0), 0.5)
    groups = [fold_rows(empty(6), np.hstack([Z, W]), y)]
    every, fourth = (instrumental(groups, np.array([0.5]), share) for share in (1.0, 0.25))
    np.testing.assert_allclose(fourth.deviations, 2 * every.deviations, rtol=1e-12)
    np.testing.assert_allclose(fourth.least_squares_deviations, 2 * every.least_squares_deviations, rtol=1e-12)
    assert fourth.statistic == pytest.approx(every.statistic / 4)


def test_noise_in_the_regressor_shrinks_least_squares_and_not_the_instruments():
    """Least squares is the truth times signal over signal and noise, 1 / 1.25; its own errors do not say so."""
    found, _ = estimate(np.random.default_rng(1), 0.5)
    assert found.least_squares[0] == pytest.approx(TRUTH[0] / 1.25, abs=0.05)
    assert np.abs((found.values - TRUTH) / found.deviations).max() < 3
    assert found.probability < 1e-6
    assert found.biased


def test_without_noise_both_agree_as_often_as_promised():
    rng = np.random.default_rng(2)
    found = [estimate(rng, 0.0, 300)[0] for _ in range(400)]
    assert np.mean([f.probability < 0.1 for f in found]) == pytest.approx(0.1, abs=0.045)  # three deviations
    assert sum(f.biased for f in found) <= 12


def test_band_of_a_motion_is_found_under_the_noise_of_its_encoder():
    t = np.arange(10_000) / 1000
    q = np.sin(2 * np.pi * 3 * t) + 1e-3 * np.random.default_rng(3).normal(size=len(t))
    assert band(Log("log", t, q[:, None], None)) == pytest.approx(3, abs=0.3)


def test_band_of_a_log_that_stands_still_is_its_lowest_frequency():
    log = Log("still", np.arange(1000) / 1000, np.full((1000, 2), 0.1), None)
    assert band(log) == pytest.approx(1.0, rel=0.01)
