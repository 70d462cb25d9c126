"""Straight moves within limits of derivatives alone, in closed form, against the search and against themselves."""

import numpy as np
import pytest
from arm import arm
from one_joint import limits, mass, straight

from robodyn_pin.planning import solve
from robodyn_pin.planning.jerk_profile import JerkProfile
from robodyn_pin.planning.limits import symmetric
from robodyn_pin.planning.path import through
from robodyn_pin.planning.solve import fastest
from robodyn_pin.planning.table import cycle_times, motion_at
from robodyn_pin.robot.limits import Limits

ENDS = [("rest", "rest"), ("free", "rest"), ("rest", "free"), ("free", "free")]
SETS = [
    {"jerk": 30.0, "acceleration": 3.0, "velocity": 1.2}, {"jerk": 30.0}, {"jerk": 20.0, "velocity": 0.4},
    {"acceleration": 2.0, "velocity": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("most", SETS)
def test_the_closed_form_is_what_the_search_comes_near(ends, most, monkeypatch):
    plan = fastest(mass, straight(0, 1), limits(**most), ends=ends)
    assert isinstance(plan.profile, JerkProfile)
    assert plan.dense.worst <= 1e-9
    monkeypatch.setattr(solve, "point_to_point", lambda problem: None)
    searched = fastest(mass, straight(0, 1), limits(**most), ends=ends)
    assert plan.time <= searched.time * (1 + 1e-6)
    assert plan.time == pytest.approx(searched.time, rel=1e-3)


def test_seven_parts_take_the_time_that_a_sum_gives():
    plan = fastest(mass, straight(0, 1), limits(jerk=30.0, acceleration=3.0, velocity=1.2))
    assert plan.time == pytest.approx(1 / 1.2 + 1.2 / 3 + 3 / 30, rel=1e-12)


def test_jerk_alone_makes_four_equal_parts():
    plan = fastest(mass, straight(0, 1.5), limits(jerk=40.0))
    assert plan.time == pytest.approx((32 * 1.5 / 40) ** (1 / 3), rel=1e-12)


@pytest.mark.parametrize("ends", ENDS)
def test_speed_acceleration_and_jerk_are_derivatives_and_places_are_found_again(ends):
    profile = fastest(mass, straight(0, 1), limits(jerk=30.0, acceleration=3.0), ends=ends).profile
    t = np.linspace(0, profile.time, 20_001)
    s, sd, sdd, sddd = profile.at_time(t)
    assert (s[0], sd[0], s[-1]) == (0, 0, 1)
    for x, rate, jump in ((s, sd, 0), (sd, sdd, 6), (sdd, sddd, 60)):  # the trapezoid rule misses jumps
        summed = x[0] + np.concatenate([[0], np.cumsum((rate[1:] + rate[:-1]) / 2 * t[1])])
        assert np.abs(summed - x)[:-1].max() < 1e-6 + jump * t[1]
    inside = slice(1, -1)
    assert profile.z(s[inside]) == pytest.approx(sd[inside] ** 2, rel=1e-6, abs=1e-9)


def test_an_arm_moves_straight_by_the_table_and_knows_its_maximum_velocity():
    robot = arm()
    names = robot.coordinates.names
    path = through(names, np.array([np.zeros(7), np.linspace(-1, 1, 7)]), np.zeros(7, bool))
    most = {"velocity": np.full(7, 2.0), "acceleration": np.full(7, 8.0), "jerk": np.full(7, 100.0)}
    plan = fastest(robot, path, Limits(tuple(symmetric(kind, names, value) for kind, value in most.items())))
    assert plan.time == pytest.approx(1 / 2 + 2 / 8 + 8 / 100, rel=1e-9)  # of the joints that move by 1 rad
    motion = motion_at(robot, path, plan.profile, cycle_times(plan.time, 1e-3))
    for name, kind in (("dq", "velocity"), ("ddq", "acceleration"), ("dddq", "jerk")):
        assert np.abs(getattr(motion, name)).max() == pytest.approx(most[kind][0], rel=1e-6)
    curves = plan.curves()
    assert np.all(curves.max_z >= curves.z * (1 - 1e-9))
    assert len(curves.active) == len(curves.s)


def test_a_bent_path_and_torques_are_searched():
    bent = through(("a", "b"), np.array([[0.0, 0.0], [1.0, 0.2], [2.0, 1.0]]), np.zeros(2, bool))
    box = Limits((symmetric("acceleration", ("a", "b"), np.ones(2)),))
    assert not isinstance(fastest(mass, bent, box, points=40).profile, JerkProfile)
    assert not isinstance(fastest(mass, straight(0, 1), limits(torque=2.0), points=40).profile, JerkProfile)
