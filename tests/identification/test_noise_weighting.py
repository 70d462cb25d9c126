"""Weighted estimates against textbook algebra on stacked rows, and essential parameters against what was hidden."""

import numpy as np
import pytest

from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.essential import essential
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.gauss_markov import fold_joint, gauss_markov, whitened_factor
from robodyn_pin.identification.least_squares import known_noise, known_ratios, noise_of_poses

SIGMA = np.array([0.5, 2.0, 0.1])
TRUTH = np.array([1.0, -2.0, 0.5, 3.0])
N = 1500


def correlated(rng, n=N):
    """W (n, 3, 4), y and the noise's covariance: motors 1 and 2 shake together."""
    C = np.diag(SIGMA) @ np.array([[1, 0.9, 0], [0.9, 1, 0.2], [0, 0.2, 1]]) @ np.diag(SIGMA)
    W = rng.normal(size=(n, 3, 4)) * [1, 5, 0.1, 1]
    return W, W @ TRUTH + rng.multivariate_normal(np.zeros(3), C, n), C


def motors(W, y):
    return [fold_rows(empty(W.shape[2]), W[:, j], y[:, j]) for j in range(W.shape[1])]


def test_given_noise_weights_rows_as_the_formula_says():
    W, y, _ = correlated(np.random.default_rng(0))
    found = known_noise(motors(W, y), SIGMA)
    A, b, Q = W.reshape(-1, 4), y.reshape(-1), np.tile(SIGMA**-2, N)
    inverse = np.linalg.inv(A.T @ (Q[:, None] * A))
    np.testing.assert_allclose(found.values, inverse @ A.T @ (Q * b), rtol=1e-9)
    np.testing.assert_allclose(found.covariance, inverse, rtol=1e-8)


def test_ratios_need_their_common_factor_from_the_residuals():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(N, 3, 4))
    groups = motors(W, W @ TRUTH + SIGMA * rng.normal(size=(N, 3)))
    found, known = known_ratios(groups, 40 * SIGMA), known_noise(groups, SIGMA)
    np.testing.assert_allclose(found.values, known.values, rtol=1e-10)
    np.testing.assert_allclose(found.sigma, SIGMA, rtol=0.05)  # 4500 rows give it to 1.1 %


def test_weights_do_not_matter_where_each_axis_stands_alone():
    """As found for the arms of the IRB 360: noise and torque limits as weights give the same numbers."""
    rng = np.random.default_rng(2)
    W = np.zeros((N, 3, 12))
    for j in range(3):
        W[:, j, 4 * j : 4 * j + 4] = rng.normal(size=(N, 4))
    groups = motors(W, W @ np.tile(TRUTH, 3) + SIGMA * rng.normal(size=(N, 3)))
    by_noise, by_limit = known_noise(groups, SIGMA), known_ratios(groups, np.array([120.0, 120.0, 10.0]))
    np.testing.assert_allclose(by_noise.values, by_limit.values, rtol=1e-9)


def test_static_poses_give_the_noise_whatever_the_load():
    rng, gear = np.random.default_rng(3), np.array([30.0, 11.0])
    poses = [load + [0.05, 0.02] * rng.normal(size=(3000, 2)) for load in ([0.1, 0], [2.5, -1.0], [-4.0, 0.3])]
    np.testing.assert_allclose(noise_of_poses(poses, gear), [1.5, 0.22], rtol=0.03)
    with pytest.raises(RobodynError, match="two samples"):
        noise_of_poses([np.zeros((1, 2))], gear)


def test_folded_gauss_markov_is_the_one_on_stacked_rows():
    W, y, C = correlated(np.random.default_rng(4))
    joint = fold_joint(fold_joint(None, W[:300], y[:300]), W[300:], y[300:])
    found = gauss_markov(joint, C).estimate
    Q = np.linalg.inv(C)
    inverse = np.linalg.inv(np.einsum("nip,ij,njq->pq", W, Q, W))
    np.testing.assert_allclose(found.values, inverse @ np.einsum("nip,ij,nj->p", W, Q, y), rtol=1e-9)
    np.testing.assert_allclose(found.covariance, inverse, rtol=1e-8)
    e = y - W @ found.values
    assert whitened_factor(joint, C).residual(found.values) == pytest.approx(np.einsum("ni,ij,nj->", e, Q, e), rel=1e-9)


def test_gauss_markov_finds_the_covariance_and_beats_single_weights():
    errors = {"full": [], "single": []}
    for seed in range(30):
        W, y, C = correlated(np.random.default_rng(100 + seed), 400)
        y[:, 2] -= W[:, 2] @ TRUTH
        W[:, 2] = 0.0  # the quiet motor sees nothing: what 1 and 2 have in common decides
        found = gauss_markov(fold_joint(None, W, y))
        np.testing.assert_allclose(found.noise, C, atol=0.3 * C.max())
        errors["full"].append(found.estimate.values - TRUTH)
        errors["single"].append(known_noise(motors(W, y), SIGMA).values - TRUTH)
    rms = {name: np.sqrt(np.mean(np.square(e), axis=0)) for name, e in errors.items()}
    assert (rms["full"] < 0.75 * rms["single"]).all()  # correlation 0.9: theory says about 0.5


def test_a_motor_without_noise_is_said():
    W, y, _ = correlated(np.random.default_rng(5))
    with pytest.raises(RobodynError, match="not positive definite"):
        gauss_markov(fold_joint(None, W, y), np.diag([1.0, 1.0, 0.0]))


def hidden(rng):
    """Eight parameters, of which 2 and 5 move nothing that rises above the noise."""
    W = rng.normal(size=(4000, 2, 8))
    truth = np.array([3.0, -2.0, 1e-4, 1.5, 2.5, -3e-4, 1.0, -4.0])
    return truth, motors(W, W @ truth + [0.1, 0.2] * rng.normal(size=(4000, 2)))


def test_parameters_that_the_rows_hardly_show_are_left_out():
    truth, groups = hidden(np.random.default_rng(6))
    found = essential(groups, ratio=10)
    assert sorted(found.removed) == [2, 5]
    assert found.spread <= 10
    np.testing.assert_allclose(found.estimate.full(8)[found.estimate.base.columns], np.delete(truth, [2, 5]), rtol=0.01)


def test_a_larger_ratio_keeps_more_and_the_same_rows_give_the_same_parameters():
    _, groups = hidden(np.random.default_rng(7))
    assert essential(groups, ratio=1e9).removed.size == 0
    first, again = essential(groups), essential(groups)
    assert first.estimate.values.tobytes() == again.estimate.values.tobytes()


def test_a_parameter_that_is_exactly_zero_goes_first():
    W = np.eye(4).repeat(2, axis=0) * [1.0, 2.0, 1.0, 1.0]
    y = W @ [1.0, 2.0, 0.0, 1.0]
    y[:2] += [0.01, -0.01]
    y[2:4] += [0.01, -0.01]
    assert essential([fold_rows(empty(4), W, y)], ratio=100.0).removed[0] == 2
