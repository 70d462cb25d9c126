"""The smoothing spline: its equations written down densely, what it passes, and long gaps."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from robodyn_pin.logs.curve import DEGREE, KNOTS, ORDER, SmoothCurve


def samples(gap: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Times with jitter, not in order, and two motions with noise."""
    rng = np.random.default_rng(0)
    x = rng.permutation(np.arange(1200.0)) + 0.2 * rng.normal(size=1200)
    x[x > 600] += gap
    return x, np.stack([np.sin(0.05 * x), 2 + np.cos(0.02 * x)], axis=1) + 1e-4 * rng.normal(size=(1200, 2))


@pytest.mark.parametrize("cutoff", [0.1, 0.4, 1.6])
def test_the_curve_and_its_derivatives_are_those_of_dense_least_squares_and_scipy(cutoff):
    x, q = samples()
    step = max(1, int(KNOTS / cutoff))
    knots = step * np.arange(x.min() // step - DEGREE, x.max() // step + DEGREE + 2)
    A = BSpline.design_matrix(x, knots, DEGREE).toarray()
    rough = np.diff(np.eye(A.shape[1]), ORDER, axis=0) / np.sqrt(step ** (2 * ORDER - 1) * cutoff ** (2 * ORDER))
    mean = q.mean(axis=0)
    dense = np.linalg.lstsq(np.vstack([A, rough]), np.vstack([q - mean, np.zeros((len(rough), 2))]), rcond=None)[0]
    curve, expected = SmoothCurve(x, q, cutoff), BSpline(knots, dense, DEGREE)
    between = np.linspace(x.min(), x.max(), 3001)
    np.testing.assert_allclose(curve.at(between), expected(between) + mean, atol=1e-9)
    for order in (1, 2, 3):
        np.testing.assert_allclose(curve.at(between, order), expected(between, order), atol=1e-9)


@pytest.mark.parametrize("cutoff", [0.1, 0.4])
@pytest.mark.parametrize("times", [0.8, 1.0, 1.2])
def test_it_passes_what_a_butterworth_filter_forward_and_backward_does(cutoff, times):
    x, w = np.arange(3000.0), times * cutoff
    left = SmoothCurve(x, np.sin(w * x)[:, None], cutoff).at(x)[500:-500, 0]
    assert np.ptp(left) / 2 == pytest.approx(1 / (1 + times ** (2 * ORDER)), abs=0.02)


@pytest.mark.parametrize("gap", [300.0, 1000.0, 1e5])
def test_a_gap_changes_nothing_far_from_it(gap):
    x, q = samples(gap)
    far = np.abs(x - 600 - gap / 2) > gap / 2 + 60
    motion = np.stack([np.sin(0.05 * x), 2 + np.cos(0.02 * x)], axis=1)
    error = SmoothCurve(x, q, 0.4).at(x) - motion
    assert np.isfinite(error).all()
    assert np.abs(error[far]).max() < 3e-4
