"""Speeds that a motion can have, against a body that is pushed with at most a constant force."""

import numpy as np
import pytest

from robodyn_pin.planning.constraints import Rows
from robodyn_pin.planning.phase_plane import tube

K = 20
TOP = 10.0


def pushed(least=0.0):
    """|y'| <= 2 all over, slow at both ends, y of at least `least` in the middle."""
    linear, gamma = np.zeros((K + 1, 2, 2)), np.zeros((K + 1, 2))
    linear[:, 0, 1] = 1.0
    linear[K // 2, 1, 0], gamma[K // 2, 1] = -0.1, 1 + 0.1 * least
    none = np.zeros((K + 1, 0, 3))
    return Rows(linear, gamma, np.zeros((K + 1, 2)), none, np.full(K + 1, TOP)).paced(TOP)


def ends(slow):
    top = np.full(K + 1, TOP)
    top[[0, -1]] = slow
    return top


def test_the_largest_speeds_are_those_of_the_largest_push_forward_and_back():
    found = tube(pushed(), ends(0.01))
    s = np.linspace(0, 1, K + 1)
    assert found.blocked is None
    assert np.all(found.high >= 0.01 + 2 * np.minimum(s, 1 - s) - 1e-9)  # no motion is lost
    assert found.high == pytest.approx(0.01 + 2 * np.minimum(s, 1 - s), abs=0.02)


@pytest.mark.parametrize(("least", "possible"), [(0.95, True), (1.1, False)])
def test_a_place_to_be_passed_faster_than_the_push_allows_blocks_the_way(least, possible):
    assert (tube(pushed(least), ends(0.01)).blocked is None) == possible


def test_wider_limits_open_the_way():
    assert tube(pushed(1.1), ends(0.01), 1.2).blocked is None
