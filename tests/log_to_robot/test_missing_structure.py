"""Coefficients at zero: what noise explains is not called a missing effect, against SciPy's non-negative least squares."""

import numpy as np
from scipy.optimize import nnls

from robodyn_pin.identification.bounds import Bounds
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.log_to_robot.missing_structure import against_bounds

COUNT, ROWS, NO_BODIES = 12, 300, Bounds(np.zeros((0, 2)))
LAYOUT = Layout((), tuple(f"viscous(m{k})" for k in range(COUNT)), (True,) * COUNT)


def said(truth: np.ndarray, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(ROWS, COUNT))
    y = W @ truth + rng.normal(size=ROWS)
    found, _ = nnls(W, y)
    return against_bounds(LAYOUT, found, ordinary([fold_rows(empty(COUNT), W, y)]), NO_BODIES)


def test_robots_without_friction_are_told_of_a_missing_effect_once_in_a_hundred_times():
    told = sum(bool(said(np.zeros(COUNT), seed)) for seed in range(1000))
    assert 0 < told < 20  # ten are expected; at two standard deviations for each it would be one in four


def test_a_coefficient_that_is_negative_by_more_than_noise_is_told_with_both_values():
    truth = np.zeros(COUNT)
    truth[3] = -6 / np.sqrt(ROWS)  # six standard deviations
    for seed in range(20):
        (text,) = [text for text in said(truth, seed) if text.startswith("viscous(m3) is 0, least squares gives -0.")]
        assert " +- 0.05" in text or " +- 0.06" in text
