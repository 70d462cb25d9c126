"""Estimators that take one sample after the other, on the small Delta (simulated, 500 Hz, 0.05 N m) and on closed forms."""

import numpy as np
import pytest
from online_motions import NOISE, RATE, delta, drift, hold, rich, rows_of, set_off, sine, wrong
from recursive import DirectionalForgetting, RecursiveLeastSquares

from robodyn_pin.errors import ShapeMismatch
from robodyn_pin.identification.online import SLOW, DampedLeastSquares
from robodyn_pin.identification.payload_change import ChangeDetector


@pytest.fixture(scope="module")
def model():
    return delta()


def run(estimator, rows, truth, rng):
    """Estimates after each sample, and the errors of the noise-free torques before it."""
    errors, values = [], []
    for W in rows:
        torque = W @ truth
        errors.append(torque - W @ estimator.values)
        estimator.step(W / NOISE, (torque + NOISE * rng.normal(size=len(torque))) / NOISE)
        values.append(estimator.values)
    return np.array(values), np.array(errors)


def test_with_forgetting_recursion_is_the_weighted_fit_of_all_rows():
    rng, l = np.random.default_rng(0), 0.99
    W, truth = rng.normal(size=(400, 2, 5)), rng.normal(size=5)
    y = W @ truth + 0.1 * rng.normal(size=(400, 2))
    weight = np.repeat(l ** (np.arange(400)[::-1] / 2), 2)
    fit = np.linalg.lstsq(weight[:, None] * W.reshape(-1, 5), weight * y.ravel(), rcond=None)[0]
    for kind in (DampedLeastSquares, RecursiveLeastSquares):
        estimator = kind(np.zeros(5), np.ones(5), l, spread=1e4)  # so wide that the start counts for nothing
        for rows, efforts in zip(W, y, strict=True):
            estimator.step(rows, efforts)
        np.testing.assert_allclose(estimator.values, fit, atol=1e-6)


def test_what_data_never_touch_stays_and_what_they_touch_slightly_is_pulled_slowly():
    spread, n = 0.05, 20_000
    row = np.sqrt(0.001) / spread  # of a row's information, 0.2 of what excites a direction stays within the memory
    estimator = DampedLeastSquares(np.array([0.05, 0.05]), np.ones(2), 0.995, spread)
    for _ in range(n):
        estimator.step(np.array([[row, 0.0]]), np.zeros(1))
    assert estimator.excited.shape[1] == 0
    assert estimator.values[1] == 0.05
    assert estimator.values[0] == pytest.approx(0.05 * np.exp(-SLOW * 0.001 * n), rel=0.05)


def test_directional_forgetting_keeps_the_information_that_a_sample_does_not_touch():
    estimator = DirectionalForgetting(np.zeros(2), np.ones(2), 0.9, spread=0.1)
    for _ in range(200):
        estimator.step(np.array([[1.0, 0.0]]), np.array([1.0]))
    variance = np.diag(estimator.covariance())
    assert variance[1] == pytest.approx(0.01)
    assert variance[0] == pytest.approx(0.1)  # 1 - forgetting, for rows of size one


def test_robot_that_stands_still_loses_nothing_where_plain_least_squares_blows_up(model):
    rng = np.random.default_rng(1)
    nominal, start = model.values, wrong(model.values, rng)
    standing, moving = rows_of(model, hold(10_000))[0], rows_of(model, set_off(rich(1000)))[0]
    ours = DampedLeastSquares(start, model.scale)
    values, _ = run(ours, standing, nominal, rng)
    V = ours.excited
    assert V.shape[1] == 3
    away = (values[-1] - start) / nominal
    assert np.abs(away - V @ (V.T @ away)).max() <= 1e-9
    assert drift(values, start, nominal).max() <= 0.05
    _, errors = run(ours, moving, nominal, rng)
    assert np.abs(errors).max() <= 0.1
    with np.errstate(all="ignore"):
        plain, _ = run(RecursiveLeastSquares(start, model.scale), np.concatenate([standing, moving]), nominal, rng)
        assert np.nanmax(drift(plain, start, nominal)) > 1e3


def test_going_up_and_down_moves_the_estimate_hardly_and_predicts_well(model):
    rng = np.random.default_rng(2)
    start, rows = wrong(model.values, rng), rows_of(model, sine(5000))[0]
    values, errors = run(DampedLeastSquares(start, model.scale), rows, model.values, rng)
    assert drift(values, start, model.values).max() <= 0.06
    steady = slice(2000, None)
    assert np.sqrt(np.mean(errors[steady] ** 2) / np.mean((rows[steady] @ model.values) ** 2)) <= 0.005


@pytest.mark.parametrize("motion", [sine, rich])
def test_half_a_kilogram_is_noticed_weighed_and_put_on_the_platform(model, motion):
    rng, at = np.random.default_rng(3), 3000
    W, b = rows_of(model, motion(at + 2000))[0] / NOISE, model.payload
    estimator = DampedLeastSquares(wrong(model.values, rng), model.scale)
    detector = ChangeDetector(b, smallest=0.1, duration=1.0)
    found, errors = [], []
    for k, rows in enumerate(W):
        truth = model.values + (0.5 * b if k >= at else 0)
        y = rows @ truth + rng.normal(size=3)
        errors.append(rows @ (truth - estimator.values))
        look = estimator.look(rows, y)
        change = detector.watch(k / RATE, rows, y, estimator.values, estimator.covariance, look.variance)
        estimator.take(look)
        if change is not None:
            found.append(change)
            estimator.values = change.values + change.size * b
    (change,) = found
    assert change.explained
    assert abs(change.begin - at / RATE) <= 0.02
    assert change.size == pytest.approx(0.5, rel=0.03)
    assert abs(change.size - 0.5) < 5 * change.deviation
    settled = slice(at + 750, None)  # 1.5 s later
    assert np.sqrt(np.mean(np.square(errors[settled])) / np.mean((W[settled] @ truth) ** 2)) < 0.01


def test_states_of_two_halves_merge_to_what_one_estimator_knows():
    rng = np.random.default_rng(4)
    W, truth = rng.normal(size=(600, 2, 4)) * [30, 20, 10, 0], np.array([1.0, 2.0, 3.0, 4.0])
    y = W @ truth + rng.normal(size=(600, 2))
    whole, first, second = (DampedLeastSquares(0.9 * truth, truth, 1.0) for _ in range(3))
    for k, (rows, efforts) in enumerate(zip(W, y, strict=True)):
        whole.step(rows, efforts)
        (first if k < 300 else second).step(rows, efforts)
    both = first.merged(second)
    np.testing.assert_allclose(both.values, whole.values, rtol=5e-3)  # the start counts once more
    np.testing.assert_allclose(both.covariance()[:3, :3], whole.covariance()[:3, :3], rtol=0.02, atol=1e-9)
    assert both.values[3] == 0.9 * truth[3]
    with pytest.raises(ShapeMismatch, match="cannot be merged"):
        first.merged(DampedLeastSquares(np.ones(3), np.ones(3)))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"forgetting": 0.0}, "forgetting is 0"), ({"forgetting": 1.1}, "1.1"), ({"spread": 0}, "spread")],
)
def test_impossible_settings_are_refused(options, words):
    with pytest.raises(ShapeMismatch, match=words):
        DampedLeastSquares(np.ones(2), np.ones(2), **options)
