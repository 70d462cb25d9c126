"""Speeds that a motion can have, against a body that is pushed with at most a constant force."""

import numpy as np
import pytest

from robodyn_pin.planning.constraints import Knots
from robodyn_pin.planning.phase_plane import course, tube
from robodyn_pin.planning.rows import Rows
from robodyn_pin.planning.spline import Space

K = 20
TOP, SLOW = 10.0, 0.01


def pushed(least=0.0):
    """|y'| <= 2 all over, slow at both ends, y of at least `least` in the middle."""
    linear, gamma = np.zeros((K + 1, 2, 2)), np.zeros((K + 1, 2))
    linear[:, 0, 1] = 1.0
    linear[K // 2, 1, 0], gamma[K // 2, 1] = -0.1, 1 + 0.1 * least
    most = np.full(K + 1, TOP)
    most[[0, -1]] = SLOW
    rows = Rows(linear, gamma, np.zeros((K + 1, 2)), np.zeros((K + 1, 0, 3)), most).paced(TOP)
    return Knots(rows, np.zeros_like(rows.gamma))


def test_the_largest_speeds_are_those_of_the_largest_push_forward_and_back():
    found = tube(pushed())
    s = np.linspace(0, 1, K + 1)
    assert found.blocked is None
    assert np.all(found.high >= SLOW + 2 * np.minimum(s, 1 - s) - 1e-9)  # no motion is lost
    assert found.high == pytest.approx(SLOW + 2 * np.minimum(s, 1 - s), abs=0.02)


@pytest.mark.parametrize(("least", "possible"), [(0.95, True), (1.1, False)])
def test_a_place_to_be_passed_faster_than_the_push_allows_blocks_the_way(least, possible):
    assert (tube(pushed(least)).blocked is None) == possible


def test_wider_limits_open_the_way():
    assert tube(pushed(1.1), 1.2).blocked is None


def test_points_that_are_left_make_a_motion():
    knots = pushed(0.95)
    x = course(knots, tube(knots))
    p = Space(K, 0).powers(x)  # y = p0 + p1 x + p2 x^2, x from 0 to 1 on each interval
    assert np.abs(K * np.stack([p[:, 1], p[:, 1] + 2 * p[:, 2]])).max() <= 2 + 1e-9
    assert p[K // 2, 0] >= 0.95
    assert max(p[0, 0], p[-1].sum()) <= SLOW
    assert p[:-1].sum(axis=1) == pytest.approx(p[1:, 0])
    assert p[:, 0].min() >= 0


def test_no_motion_is_made_where_none_is():
    knots = pushed(0.95)
    wide = tube(pushed())  # of a push without the fast place in the middle
    assert course(pushed(0.95), wide) is not None
    assert course(pushed(1.02), wide) is None
    assert course(knots, wide, 0.9) is None  # with a tenth less of every limit


def test_friction_that_turns_takes_room_on_both_sides():
    knots = pushed(0.5)
    rubbed = Knots(knots.rows, knots.spread + np.array([0.25, 0.0, 0.0]))  # a push of 1.5 is left: 0.75 in the middle
    assert tube(Knots(pushed(0.7).rows, rubbed.spread)).blocked is None
    assert tube(Knots(pushed(0.8).rows, rubbed.spread)).blocked is not None
