"""Inference from few numbers against conjugate formulas, quadrature and counted coverage."""

import numpy as np
import pytest

from robodyn_pin.identification.bayes import Gaussian, Observed, infer, sampling_check


def problem(seed: int = 1) -> tuple[np.ndarray, np.ndarray, Gaussian]:
    """A linear model A (8, 3), noise (8,) and a prior with correlation."""
    rng = np.random.default_rng(seed)
    root = np.diag([0.5, 0.6, 0.3]) @ (np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    return rng.normal(size=(8, 3)), rng.uniform(0.1, 0.3, 8), Gaussian(np.array([3.0, 4, 2]), root @ root.T)


@pytest.mark.parametrize("gamma", [1.0, 4.0])
def test_linear_measurements_condition_the_joint_normal_distribution(gamma):
    A, sigma, prior = problem()
    z = A @ [2.5, 4.5, 2.2] + 0.1
    found = infer(lambda x: (A @ x, A), Observed(z, sigma, prior, gamma))
    # Conditioning of the joint distribution of parameters and measurements: no inverse of a sum of precisions.
    C = prior.covariance / gamma
    gain = C @ A.T @ np.linalg.inv(A @ C @ A.T + np.diag(sigma**2))
    assert np.allclose(found.mean, prior.mean + gain @ (z - A @ prior.mean), rtol=1e-8)
    assert np.allclose(found.covariance, C - gain @ A @ C, rtol=1e-8)
    off = z - A @ prior.mean
    assert found.misfit == pytest.approx(off @ np.linalg.solve(A @ C @ A.T + np.diag(sigma**2), off), rel=1e-8)


def test_ellipsoid_holds_the_truth_as_often_as_it_says():
    A, sigma, prior = problem()
    rng, inside, n = np.random.default_rng(2), 0, 600
    root = np.linalg.cholesky(prior.covariance)
    for _ in range(n):
        truth = prior.mean + root @ rng.normal(size=3)
        evidence = Observed(A @ truth + sigma * rng.normal(size=8), sigma, prior)
        inside += bool(infer(lambda x: (A @ x, A), evidence).inside(truth))
    assert abs(inside / n - 0.95) < 3 * np.sqrt(0.95 * 0.05 / n)


def test_half_axes_end_on_the_ellipsoid():
    _, _, prior = problem()
    lengths, directions = prior.ellipsoid(0.9)
    assert lengths[0] == lengths.max()
    ends = prior.mean + 0.999 * (directions * lengths).T
    assert prior.inside(ends, 0.9).all()
    assert not prior.inside(prior.mean + 1.001 * (directions * lengths).T, 0.9).any()


def test_samples_find_the_moments_of_a_bent_posterior_that_quadrature_finds():
    prior, z, sigma = Gaussian(np.array([1.0]), np.array([[0.25]])), np.array([0.7]), np.array([0.15])
    evidence = Observed(z, sigma, prior)
    found = infer(lambda x: (1 / x, np.array([[-1 / x[0] ** 2]])), evidence)
    check = sampling_check(lambda x: 1 / x, evidence, found, size=40000, seed=0)
    x = np.linspace(1e-3, 4, 400001)
    density = np.exp(-0.5 * ((1 / x - z) / sigma) ** 2 - 0.5 * (x - 1) ** 2 / 0.25)
    density /= density.sum()
    mean = density @ x
    assert check.mean[0] == pytest.approx(mean, rel=0.01)
    assert check.deviations[0] == pytest.approx(np.sqrt(density @ (x - mean) ** 2), rel=0.02)
    assert check.inside == pytest.approx(density @ found.inside(x[:, None]), abs=0.01)
    assert check.inside < 0.93  # of 0.95: the linearised posterior is too sure of itself


def test_parameters_stay_positive_and_a_bound_is_told():
    A, prior = np.eye(1), Gaussian(np.array([1.0]), np.array([[0.25]]))
    found = infer(lambda x: (A @ x, A), Observed(np.array([-3.0]), np.array([0.1]), prior))
    assert found.mean[0] > 0
    assert found.at_bound.all()
