"""Estimators against linear algebra written another way, and bodies against clouds of point masses."""

import numpy as np
import pytest

from robodyn_pin.errors import RobodynError, SolverFailed
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import empty, fold_rows, merge_factors, merge_triangles
from robodyn_pin.identification.least_squares import ordinary, weighted_least_squares
from robodyn_pin.identification.parameters import Layout, pseudo_inertia, smallest_eigenvalues, why_not_physical
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball


def points_body(rng, n=20):
    """A body of point masses: its ten parameters by summation, and its pseudo-inertia sum m p p'."""
    m, r = rng.uniform(0.1, 1, n), rng.normal(size=(n, 3)) * 0.1
    I = sum(mk * (rk @ rk * np.eye(3) - np.outer(rk, rk)) for mk, rk in zip(m, r, strict=True))
    P = sum(mk * np.outer([*rk, 1], [*rk, 1]) for mk, rk in zip(m, r, strict=True))
    return np.array([m.sum(), *(m @ r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]), P


def test_pseudo_inertia_is_the_second_moment_of_point_masses():
    x, P = points_body(np.random.default_rng(0))
    np.testing.assert_allclose(pseudo_inertia(x), P, atol=1e-14)


def test_bodies_that_cannot_exist_are_told_apart_with_the_reason():
    x, _ = points_body(np.random.default_rng(1))
    assert why_not_physical(x) is None
    assert "mass" in why_not_physical(np.concatenate([[-1.0], x[1:]]))
    rod = ball(1.0, 0.1)
    rod[9] = rod[4] + rod[6] + 1e-3  # Izz above Ixx + Iyy: no mass distribution has that
    assert "triangle" in why_not_physical(rod)
    rod[9] = -1e-3
    assert "eigenvalue" in why_not_physical(rod)


def random_rows(rng, n=500, p=6):
    W = rng.normal(size=(n, p)) * [1, 10, 0.1, 1, 5, 1]
    return W, W @ rng.normal(size=p) + 0.1 * rng.normal(size=n)


def test_folding_in_chunks_and_merging_give_the_normal_equations():
    W, y = random_rows(np.random.default_rng(2))
    parts = [fold_rows(fold_rows(empty(6), W[:7], y[:7]), W[7:200], y[7:200]), fold_rows(empty(6), W[200:], y[200:])]
    factor = merge_factors(parts)
    A = np.column_stack([W, y])
    np.testing.assert_allclose(factor.R.T @ factor.R, A.T @ A, rtol=1e-10, atol=1e-8)
    assert factor.rows == 500
    x = np.random.default_rng(3).normal(size=6)
    assert factor.residual(x) == pytest.approx(np.sum((W @ x - y) ** 2), rel=1e-12)


def test_a_factor_of_some_columns_has_their_normal_equations():
    rng = np.random.default_rng(3)
    rows, y = rng.normal(size=(40, 9)), rng.normal(size=40)
    kept = np.array([0, 1, 4, 7])  # the first two lose no column before them
    few = fold_rows(empty(9), rows, y).of(kept)
    some = np.column_stack([rows[:, kept], y])
    np.testing.assert_allclose(few.R.T @ few.R, some.T @ some, atol=1e-12)
    assert not np.tril(few.R, -1).any()
    assert few.rows == 40


def test_base_set_finds_rank_and_regroups_exactly():
    rng = np.random.default_rng(4)
    W = rng.normal(size=(300, 9)) * 10.0 ** rng.uniform(-4, 2, 9)
    W[:, 3] = 2 * W[:, 0] - 0.5 * W[:, 1]
    W[:, 7] = 0.25 * W[:, 5]
    W[:, 8] = 0.0
    base = base_set(W)
    assert base.size == 6
    x = rng.normal(size=9)
    np.testing.assert_allclose(W[:, base.columns] @ base.of(x), W @ x, rtol=1e-9, atol=1e-9)
    assert any("W7" in label or "W5" in label for label in base.labels([f"W{k}" for k in range(9)]))


def test_ordinary_least_squares_is_lstsq_with_its_covariance():
    W, y = random_rows(np.random.default_rng(5))
    estimate = ordinary([fold_rows(empty(6), W, y)])
    x, rest, *_ = np.linalg.lstsq(W, y, rcond=None)
    np.testing.assert_allclose(estimate.values, x, rtol=1e-9)
    covariance = rest[0] / (500 - 6) * np.linalg.inv(W.T @ W)
    np.testing.assert_allclose(estimate.covariance, covariance, rtol=1e-8, atol=1e-18)


def test_weighted_least_squares_finds_the_noise_of_each_motor():
    rng = np.random.default_rng(6)
    truth, sigma = rng.normal(size=4), np.array([0.01, 2.0, 0.3])
    groups = []
    for s in sigma:
        W = rng.normal(size=(4000, 4))
        groups.append(fold_rows(empty(4), W, W @ truth + s * rng.normal(size=4000)))
    estimate = weighted_least_squares(groups)
    np.testing.assert_allclose(estimate.sigma, sigma, rtol=0.05)  # 4000 samples give sigma to 1.1 %
    assert np.abs((estimate.values - truth) / estimate.deviations).max() < 4
    # The precise motor decides: no worse than its own rows alone allow.
    assert np.abs(estimate.values - truth).max() < 0.01 / np.sqrt(4000) * 5


def test_fewer_rows_than_parameters_is_said():
    W, y = random_rows(np.random.default_rng(7), n=6)
    with pytest.raises(RobodynError, match="6 rows for 6 base parameters"):
        weighted_least_squares([fold_rows(empty(6), W, y)])


LAYOUT = Layout(("a", "b"), ("viscous(j)",), (True,))
BOUNDS = Bounds(np.array([[0.1, 50.0], [0.1, 50.0]]))
PRIOR = Prior(np.array([ball(5.0, 0.1)] * 2), 1e-4)


def body_rows(rng, truth, noise, n=2000):
    W = rng.normal(size=(n, 21))
    return [fold_rows(empty(21), W, W @ truth + noise * rng.normal(size=n))]


def test_feasible_fit_returns_a_truth_that_can_exist():
    rng = np.random.default_rng(8)
    truth = np.concatenate([points_body(rng)[0], points_body(rng)[0], [0.7]])
    found = fit_feasible(body_rows(rng, truth, 1e-6), np.array([1e-6]), LAYOUT, BOUNDS, PRIOR)
    np.testing.assert_allclose(found.values, truth, atol=1e-5)


def test_feasible_fit_of_an_impossible_truth_can_exist_and_is_the_best_that_can():
    """The minimum over the cone, checked by trying thousands of other bodies in it."""
    rng = np.random.default_rng(9)
    truth = np.concatenate([points_body(rng)[0], points_body(rng)[0], [-0.3]])
    truth[4] = -0.05  # a negative Ixx
    groups = body_rows(rng, truth, 1e-3)
    found = fit_feasible(groups, np.array([1e-3]), LAYOUT, BOUNDS, PRIOR)
    assert smallest_eigenvalues(found.values[:20].reshape(2, 10)).min() >= BOUNDS.eigenvalue
    assert found.values[20] >= 0
    best = groups[0].residual(found.values)
    for _ in range(3000):
        other = np.concatenate([points_body(rng)[0], points_body(rng)[0], rng.uniform(0, 1, 1)])
        between = found.values + 10 ** rng.uniform(-4, 0) * (other - found.values)  # in the cone: it is convex
        assert groups[0].residual(between) >= best * (1 - 1e-6)


def test_bounds_that_contradict_are_an_error_with_the_status():
    rng = np.random.default_rng(10)
    truth = np.concatenate([points_body(rng)[0], points_body(rng)[0], [0.7]])
    impossible = Bounds(np.array([[5.0, 1.0], [0.1, 50.0]]))
    with pytest.raises(SolverFailed, match="infeasible"):
        fit_feasible(body_rows(rng, truth, 1e-3), np.array([1e-3]), LAYOUT, impossible, PRIOR)


def test_what_is_no_triangle_is_not_merged_as_one():
    with pytest.raises(AssertionError, match="only triangles"):
        merge_triangles([np.eye(3), np.eye(3)[::-1]])
