"""Speeds that a motion can have, against a body that is pushed with at most a constant force."""

import numpy as np
import pytest

from robodyn_pin.planning.grid import KnotLimits
from robodyn_pin.planning.limit_rows import LimitRows
from robodyn_pin.planning.parabolas import SplineSpace
from robodyn_pin.planning.phase_plane import motion_within, speed_range

K = 20
TOP, SLOW = 10.0, 0.01


def pushed(least=0.0):
    """|y'| <= 2 all over, slow at both ends, y of at least `least` in the middle."""
    linear, gamma = np.zeros((K + 1, 2, 2)), np.zeros((K + 1, 2))
    linear[:, 0, 1] = 1.0
    linear[K // 2, 1, 0], gamma[K // 2, 1] = -0.1, 1 + 0.1 * least
    most = np.full(K + 1, TOP)
    most[[0, -1]] = SLOW
    rows = LimitRows(linear, gamma, np.zeros((K + 1, 2)), np.zeros((K + 1, 0, 3)), most).with_speed(TOP)
    return KnotLimits(rows, np.zeros_like(rows.gamma))


def test_the_largest_speeds_are_those_of_the_largest_push_forward_and_back():
    found = speed_range(pushed())
    s = np.linspace(0, 1, K + 1)
    assert found.blocked is None
    assert np.all(found.high >= SLOW + 2 * np.minimum(s, 1 - s) - 1e-9)  # no motion is lost
    assert found.high == pytest.approx(SLOW + 2 * np.minimum(s, 1 - s), abs=0.02)


@pytest.mark.parametrize(("least", "possible"), [(0.95, True), (1.1, False)])
def test_a_place_to_be_passed_faster_than_the_push_allows_blocks_the_way(least, possible):
    assert (speed_range(pushed(least)).blocked is None) == possible


def test_wider_limits_open_the_way():
    assert speed_range(pushed(1.1), 1.2).blocked is None


def test_points_that_are_left_make_a_motion():
    knots = pushed(0.95)
    x = motion_within(knots, speed_range(knots))
    p = SplineSpace(K, 0).monomials(x)  # y = p0 + p1 x + p2 x^2, x from 0 to 1 on each interval
    assert np.abs(K * np.stack([p[:, 1], p[:, 1] + 2 * p[:, 2]])).max() <= 2 + 1e-9
    assert p[K // 2, 0] >= 0.95
    assert max(p[0, 0], p[-1].sum()) <= SLOW
    assert p[:-1].sum(axis=1) == pytest.approx(p[1:, 0])
    assert p[:, 0].min() >= 0


def test_no_motion_is_made_where_none_is():
    knots = pushed(0.95)
    wide = speed_range(pushed())  # of a push without the fast place in the middle
    assert motion_within(pushed(0.95), wide) is not None
    assert motion_within(pushed(1.02), wide) is None
    assert motion_within(knots, wide, 0.9) is None  # with a tenth less of every limit


def test_friction_that_turns_takes_room_on_both_sides():
    knots = pushed(0.5)
    spread = knots.friction_spread + np.array([0.25, 0.0, 0.0])  # a push of 1.5 is left: 0.75 in the middle
    assert speed_range(KnotLimits(pushed(0.7).rows, spread)).blocked is None
    assert speed_range(KnotLimits(pushed(0.8).rows, spread)).blocked is not None


def rows_of(linear, delta, gamma):
    rows = LimitRows(linear, gamma, delta, np.zeros((len(linear), 0, 3)), np.full(len(linear), TOP)).with_speed(TOP)
    return KnotLimits(rows, np.zeros_like(rows.gamma))


@pytest.mark.parametrize("seed", range(40))
def test_no_motion_is_lost(seed):
    """A random motion, and limits that it just keeps: at the knots from both sides, and in the middle of the outer intervals."""
    rng, space, m = np.random.default_rng(seed), SplineSpace(6, 0), 2
    x = rng.uniform(0.5, 1.5, space.size)
    begin, middle, end = (space.local(x) @ space.basis(place).T for place in (0.0, 0.5, 1.0))
    knots = np.stack([np.vstack([begin, end[-1:]]), np.vstack([begin[:1], end])])  # y, u, w after and before each
    knots[..., 1][:, [0, -1]] = 0.0  # which the outer ones do not know
    outer = middle[None, [0, -1]]

    def just_kept(motions):
        linear, delta = rng.normal(size=(motions.shape[1], m, 2)), rng.normal(size=(motions.shape[1], m))
        value = np.einsum("nij,snj->sni", linear, motions[..., :2]) + delta * np.sqrt(motions[..., :1])
        size = 0.1 + np.ptp(value, axis=0)  # so wide are the limits, 1 % more on one side
        centre = value.mean(axis=0) + rng.choice([-1, 1], value.shape[1:]) * (size - np.ptp(value, axis=0)) * 0.49
        return linear / (size / 2)[..., None], delta / (size / 2), -centre / (size / 2)

    linear, delta, gamma = just_kept(knots)
    linear[[0, -1], :, 1] = 0.0
    found = rows_of(linear, delta, gamma)
    linear, delta, gamma = just_kept(outer)
    friction = rng.uniform(0.0, 0.5, gamma.shape)  # there it may be anything up to this, and is all of it to one side
    middles = rows_of(linear, delta, gamma + rng.choice([-1, 1], gamma.shape) * friction)
    spread = np.column_stack([friction, np.zeros(2)])
    found = KnotLimits(found.rows, found.friction_spread, KnotLimits(middles.rows, spread))
    speeds = speed_range(found)
    assert speeds.blocked is None
    assert np.all(speeds.low <= knots[0, :, 0])
    assert np.all(speeds.high >= knots[0, :, 0])


def test_the_middle_of_the_outer_intervals_says_how_fast_the_speed_may_change():
    # y = 1 at both ends, and |u| <= 1 in the middle of the outer intervals: y' / 2 there is the change of y over 2 h.
    linear, gamma = np.zeros((K + 1, 1, 2)), np.zeros((K + 1, 1))
    linear[1:-1, 0, 1] = 0.01  # |u| <= 100 between
    linear[[0, -1], 0, 0], gamma[[0, -1], 0] = 100.0, -100.0  # |y - 1| <= 0.01
    free = rows_of(linear, 0 * gamma, gamma)
    middles = np.zeros((2, 1, 2))
    middles[:, 0, 1] = 1.0
    held = KnotLimits(free.rows, free.friction_spread, rows_of(middles, np.zeros((2, 1)), np.zeros((2, 1))))
    assert speed_range(free).high[[1, -2]] == pytest.approx(TOP)
    assert speed_range(held).high[[1, -2]] == pytest.approx(1.01 + 2 / K, abs=0.02)
    assert speed_range(held).low[[1, -2]] == pytest.approx(0.99 - 2 / K, abs=0.02)
