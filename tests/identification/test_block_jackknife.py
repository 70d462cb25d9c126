"""Estimates without a piece each: the mean by hand, pieces that alone show a parameter, neighbours that are alike."""

import numpy as np
import pytest

from robodyn_pin.identification.block_jackknife import likeness, spread, without_each
from robodyn_pin.identification.fold import empty, fold_rows


def test_deviation_of_a_mean_is_that_of_the_means_of_pieces():
    y = np.random.default_rng(0).normal(size=(8, 5)).cumsum(axis=1)
    off = without_each([fold_rows(empty(1), np.ones((5, 1)), row) for row in y]) - y.mean()
    assert spread(off)[0] == pytest.approx(y.mean(axis=1).std(ddof=1) / np.sqrt(8), rel=1e-9)


def test_a_parameter_that_one_piece_alone_shows_is_not_told_without_it():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(6, 10, 2))
    W[:3, :, 1] = W[4:, :, 1] = 0.0
    found = without_each([fold_rows(empty(2), x, x @ [1.0, 2.0]) for x in W])
    assert np.isnan(found[:, 1]).tolist() == [False] * 3 + [True] + [False] * 2
    np.testing.assert_allclose(found[:, 0], 1.0, rtol=1e-9)


def test_likeness_is_the_correlation_of_neighbours():
    assert likeness(np.random.default_rng(2).normal(size=(16, 4000))) == pytest.approx(0, abs=0.02)
    twice = np.repeat([[1.0, 5.0], [-1.0, -5.0]], 4, axis=0)  # six neighbours of eight are equal, one is opposite
    assert likeness(twice) == pytest.approx(5 / 8)
    assert likeness(np.tile(twice[3:5], (4, 1))) == 0
