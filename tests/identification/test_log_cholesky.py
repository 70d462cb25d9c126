"""The log-Cholesky map against clouds of points and differences; its fit against the convex program, another way there."""

import numpy as np
import pinocchio as pin
import pytest

from robodyn_pin.errors import NotPhysical, RobodynError
from robodyn_pin.identification.bounds import Bounds, equalities
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.log_cholesky import curvature, from_log_cholesky, to_log_cholesky
from robodyn_pin.identification.log_cholesky_fit import fit_log_cholesky
from robodyn_pin.identification.parameters import Layout, smallest_eigenvalues
from robodyn_pin.identification.prior import Prior
from robodyn_pin.identification.simple_bodies import ball, cylinder


def cloud(rng, n=20):
    """Ten parameters of a body of point masses, by summation."""
    m, r = rng.uniform(0.1, 1, n), rng.normal(size=(n, 3)) * 0.1
    I = sum(mk * (rk @ rk * np.eye(3) - np.outer(rk, rk)) for mk, rk in zip(m, r, strict=True))
    return np.array([m.sum(), *(m @ r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


@pytest.mark.parametrize("seed", range(5))
def test_inverse_map_finds_the_theta_from_which_pinocchio_makes_the_body(seed):
    x = cloud(np.random.default_rng(seed))
    back = pin.Inertia.FromLogCholeskyParameters(pin.LogCholeskyParameters(to_log_cholesky(x)))
    np.testing.assert_allclose(back.toDynamicParameters(), x, rtol=1e-10, atol=1e-12)


def test_a_body_that_cannot_exist_has_no_theta():
    x = ball(1.0, 0.1)
    x[9] = x[4] + x[6] + 1e-3  # Izz above Ixx + Iyy
    with pytest.raises(NotPhysical, match="positive definite"):
        to_log_cholesky(x)


def test_jacobian_and_curvature_are_the_differences_of_the_map():
    rng, step = np.random.default_rng(6), 1e-5
    theta, w = 0.5 * rng.normal(size=10), rng.normal(size=10)
    ends = [[from_log_cholesky(theta + sign * step * e) for sign in (1, -1)] for e in np.eye(10)]
    slope = np.array([(up[0] - down[0]) / (2 * step) for up, down in ends]).T
    bend = np.array([(up[1].T @ w - down[1].T @ w) / (2 * step) for up, down in ends])
    np.testing.assert_allclose(from_log_cholesky(theta)[1], slope, atol=1e-8)
    np.testing.assert_allclose(curvature(theta, w), bend, atol=1e-7)


LAYOUT = Layout(("a", "b"), ("viscous(j)", "coulomb(j)"), (True, True))
BOUNDS = Bounds(np.array([[0.1, 50.0], [0.1, 12.0]]))


def rows(rng, truth, noise=1e-2, n=2000, rank=16):
    """Rows that show `rank` combinations of the parameters, so that the prior has something to say."""
    W = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, len(truth)))
    return W, [fold_rows(empty(len(truth)), W, W @ truth + noise * rng.normal(size=n))]


@pytest.mark.parametrize("distance", ["euclidean", "relative"])
@pytest.mark.parametrize("seed", range(4))
def test_it_predicts_what_the_convex_program_predicts(seed, distance):
    """Impossible truths and a heavy body: some matrices end at their smallest eigenvalue, one mass at its bound."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate([cloud(rng), 2 * cloud(rng), [0.7, -0.2]])
    truth[4] = -0.05  # a negative Ixx
    W, groups = rows(rng, truth)
    prior = Prior(np.array([ball(5.0, 0.1)] * 2), 0.1, distance)
    sigma = np.ones(1)
    for _ in range(3):  # what the best body leaves is the noise, as it is of a real robot
        convex = fit_feasible(groups, sigma, LAYOUT, BOUNDS, prior).values
        sigma = np.array([np.sqrt(groups[0].residual(convex) / groups[0].rows)])
    convex = fit_feasible(groups, sigma, LAYOUT, BOUNDS, prior).values
    found = fit_log_cholesky(groups, sigma, LAYOUT, BOUNDS, prior)
    assert np.sqrt(np.mean((W @ (found.values - convex)) ** 2)) < 0.01 * sigma[0]
    assert smallest_eigenvalues(found.values[:20].reshape(2, 10)).min() >= BOUNDS.eigenvalue * (1 - 1e-9)
    assert (found.values[20:] >= 0).all()
    assert (found.values[:20:10] <= BOUNDS.mass[:, 1] * (1 + 1e-12)).all()


SYMMETRIC = equalities(0, "my mz Ixy Ixz Iyz = 0") + equalities(0, "Iyy = Izz")


def test_symmetry_leaves_fewer_variables_and_the_same_prediction_as_the_convex_program():
    rng = np.random.default_rng(11)
    truth = np.concatenate([cloud(rng), cloud(rng), [0.7, 0.2]])
    W, groups = rows(rng, truth)
    bounds = Bounds(BOUNDS.mass, equalities=SYMMETRIC)
    prior = Prior(np.array([cylinder(3.0, 0.05, 0.4, "x"), ball(5.0, 0.1)]), 0.1)
    sigma = np.array([1.0])
    convex = fit_feasible(groups, sigma, LAYOUT, bounds, prior)
    found = fit_log_cholesky(groups, sigma, LAYOUT, bounds, prior)
    assert found.free == convex.free == 4 + 10 + 2
    a = found.values[:10]
    np.testing.assert_allclose(a[[2, 3, 5, 7, 8]], 0, atol=1e-12)
    assert a[6] == pytest.approx(a[9], rel=1e-9)
    assert np.sqrt(np.mean((W @ (found.values - convex.values)) ** 2)) < 0.01 * sigma[0]


def test_equalities_that_are_curved_are_refused_with_the_body():
    rng = np.random.default_rng(12)
    _, groups = rows(rng, np.concatenate([cloud(rng), cloud(rng), [0.7, 0.2]]))
    bounds = Bounds(BOUNDS.mass, equalities=equalities(1, "Ixx=Iyy"))
    with pytest.raises(RobodynError, match=r"'b' are curved"):
        fit_log_cholesky(groups, np.ones(1), LAYOUT, bounds, Prior(np.array([ball(5.0, 0.1)] * 2), 0.1))
