"""The fastest motion along a path, against closed forms."""

import numpy as np
import pytest
from one_joint import limits, mass, straight
from scipy.integrate import quad

from robodyn_pin.errors import InfeasiblePlan, RobodynError
from robodyn_pin.planning.limits import planning_limits, symmetric
from robodyn_pin.planning.path import lines
from robodyn_pin.planning.solve import fastest
from robodyn_pin.robot.limits import AxisLimits, Limits
from robodyn_pin.robot.robot import load
from robodyn_pin.robot.robot_file import Limit


def test_one_mass_goes_bang_bang():
    plan = fastest(mass, straight(0, 3), limits(torque=2.0))
    assert plan.time == pytest.approx(2 * np.sqrt(3 / 2), rel=1e-3)


def test_cruising_at_the_largest_velocity():
    plan = fastest(mass, straight(0, 1), limits(acceleration=2.0, velocity=0.5))
    assert plan.time == pytest.approx(1 / 0.5 + 0.5 / 2, rel=1e-3)
    middle = plan.active[len(plan.active) // 2]
    assert middle == (("velocity", "q"),)


def test_jerk_limited_from_rest_to_rest():
    # Four equal parts of largest jerk, + - - +: d = J T^3 / 32.
    plan = fastest(mass, straight(0, 1.5), limits(jerk=40.0))
    assert plan.time == pytest.approx((32 * 1.5 / 40) ** (1 / 3), rel=1e-3)


def test_jerk_acceleration_and_velocity_make_seven_parts():
    # d / v + v / a + a / j, where all three limits are reached.
    plan = fastest(mass, straight(0, 1), limits(jerk=30.0, acceleration=3.0, velocity=1.2))
    assert plan.time == pytest.approx(1 / 1.2 + 1.2 / 3 + 3 / 30, rel=1e-3)


def test_jerk_limited_with_free_acceleration_at_both_ends():
    # a(t) = j T / 2 - j t from + to -: d = j T^3 / 12.
    plan = fastest(mass, straight(0, 1), limits(jerk=30.0), ends=("free", "free"))
    assert plan.time == pytest.approx((12 / 30) ** (1 / 3), rel=1e-3)


def test_a_pendulum_swings_as_its_energy_says():
    # m l^2 = 1, m g l = 9.81: from -1.5 to +1.5 rad under +-12 Nm, full torque forth until the middle, full torque back from there.
    plan = fastest(lambda q, v, a: a + 9.81 * np.sin(q), straight(-1.5, 1.5), limits(torque=12.0))

    def pace(angle):
        return 1 / np.sqrt(2 * (12 * (angle + 1.5) + 9.81 * (np.cos(angle) - np.cos(1.5))))

    expected = 2 * quad(lambda root: 2 * root * pace(root**2 - 1.5), 0, np.sqrt(1.5))[0]  # angle + 1.5 = root^2
    assert plan.time == pytest.approx(expected, rel=1e-3)


def test_viscous_friction_as_its_differential_equation_says():
    # v' = +-1 - 2 v from rest: up for t1, down for t2; v(t1) = (1 - exp(-2 t1)) / 2 is stopped in t2 = log(1 + 2 v) / 2.
    def covered(t1):
        v = (1 - np.exp(-2 * t1)) / 2
        t2 = np.log1p(2 * v) / 2
        return (t1 - v) / 2 + (v - t2) / 2, t1 + t2

    low, high = 0.0, 10.0
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (mid, high) if covered(mid)[0] < 1 else (low, mid)
    plan = fastest(lambda q, v, a: a + 2 * v, straight(0, 1), limits(torque=1.0))
    assert plan.time == pytest.approx(covered(low)[1], rel=1e-3)
    assert plan.dense.worst <= 1e-3


def test_whenever_it_stops_the_motion_keeps_the_limits_and_more_iterations_make_it_no_slower():
    plans = [
        fastest(lambda q, v, a: a + 2 * v, straight(0, 1), limits(torque=1.0, jerk=20.0), iterations=most)
        for most in (1, 3, 5, 8, 100)
    ]
    assert all(plan.dense.worst <= 1e-3 for plan in plans)
    assert not plans[0].converged
    assert plans[-1].converged
    times = [plan.time for plan in plans]
    assert np.all(np.diff(times) < 1e-6 * times[0])
    assert times[-1] < 0.8 * times[0]


def test_what_cannot_even_stand_still_says_where_and_by_how_much():
    # From the lowest point to the horizontal and no further: there the arm would have to be held with 10.9 Nm.
    with pytest.raises(
        InfeasiblePlan, match=r"at s = 1 the torque of 'q' is 9 % over its limit at standstill"
    ) as found:
        fastest(lambda q, v, a: a + 10.9 * np.sin(q), straight(0, np.pi / 2), limits(torque=10.0))
    assert found.value.label == ("torque", "q")
    assert found.value.s == 1
    assert found.value.excess == pytest.approx(0.09)


def test_friction_that_helps_to_stop_is_gone_at_rest():
    # A load is let down: where it rests the motor holds 9 N m of its 10, before friction carried 3 of them.
    plan = fastest(
        lambda q, v, a: a + 9 * np.sin(q) + 3 * np.tanh(v / 0.001), straight(2.5, np.pi / 2), limits(torque=10.0)
    )
    assert plan.converged
    assert plan.dense.worst <= 1e-3


def test_a_path_may_end_on_the_limit_of_a_position():
    positions = AxisLimits("position", ("q",), np.eye(1), np.array([0.1]), np.array([0.2]))
    plan = fastest(mass, straight(-0.1, 0.3), Limits((positions, symmetric("acceleration", ("q",), np.ones(1)))))
    assert plan.time == pytest.approx(2 * np.sqrt(0.4), rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (limits(torque=0.0), r"limits of torque have the half ranges \[0\.\]; expected positive numbers"),
        (limits(torque=np.nan), "expected positive numbers"),
        (
            Limits((symmetric("velocity", ("a", "b"), np.ones(2)),)),
            "limits of velocity are of 2 joints; the robot has 1",
        ),
    ],
)
def test_limits_that_are_none_say_why(wrong, says):
    with pytest.raises(RobodynError, match=says):
        fastest(mass, straight(0, 1), wrong)


def test_a_motion_that_nothing_limits_is_refused():
    with pytest.raises(RobodynError, match="nothing limits the motion"):
        fastest(mass, straight(0, 1), limits())


def test_a_part_of_the_path_that_nothing_limits_is_named():
    # Only the first joint is limited; in the second half the second one moves alone.
    names, corner = ("a", "b"), np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    first = Limits((AxisLimits("acceleration", ("a",), np.array([[1.0, 0.0]]), np.zeros(1), np.ones(1)),))
    path = lines(names, corner, np.zeros(2, bool), 0.1)
    with pytest.raises(RobodynError, match=r"at s = 0\.[5-9].* of the path nothing limits the motion"):
        fastest(lambda q, v, a: a, path, first)


@pytest.mark.parametrize(
    ("dynamics", "says"),
    [
        (lambda q, v, a: a[:, 0], r"gave shape \(2,\) for 2 samples"),
        (lambda q, v, a: np.hstack([a, a]), r"gave shape \(2, 2\) for 2 samples; expected \(2, 1\)"),
        (lambda q, v, a: np.where(q > 0.5, np.nan, a), "it must be finite"),
    ],
)
def test_inverse_dynamics_that_cannot_be_used_say_why(dynamics, says):
    with pytest.raises(RobodynError, match=says):
        fastest(dynamics, straight(0, 1), limits(torque=1.0))


def test_limits_that_need_a_robot_are_refused_with_a_function():
    with pytest.raises(RobodynError, match="limits of force need a robot"):
        fastest(mass, straight(0, 1), limits(force=1.0))


def test_the_profile_is_one_motion():
    profile = fastest(mass, straight(0, 1), limits(jerk=30.0, acceleration=3.0)).profile
    t = np.linspace(0, profile.time, 20_001)
    s, sd, sdd, sddd = profile.at_time(t)
    assert (s[0], sd[0], sdd[0]) == (0, 0, 0)
    assert (s[-1], sd[-1]) == (1, 0)
    for x, rate, jump in ((s, sd, 0), (sd, sdd, 0), (sdd, sddd, 2 * 30)):  # the trapezoid rule misses jumps of the jerk
        assert (
            np.abs(x[0] + np.concatenate([[0], np.cumsum((rate[1:] + rate[:-1]) / 2 * t[1])]) - x).max()
            < 1e-6 + jump * t[1]
        )
    inside = slice(1, -1)
    assert profile.z(s[inside]) == pytest.approx(sd[inside] ** 2, rel=1e-6)
    assert profile.time == pytest.approx(quad(lambda r: 1 / float(_pace(profile, r)), 0, 1, limit=500)[0], rel=1e-6)


def _pace(profile, r):
    """dr/dt from ds/dt and the slope of s(r)."""
    _, slope, *_ = profile.grading.at(np.array([r]))
    return profile.rates(np.array([r]))[0][0] / slope[0]


def test_an_axis_that_is_motor_and_joint_is_limited_once_by_its_narrower_range():
    robot = load("irb2400")  # motor m1 turns joint j1; motor m3 turns no joint of its own
    velocities = {given: _velocities(planning_limits(robot, limits)) for given, limits in (
        ("none", {}), ("motor", {"m1": Limit(velocity=1.0)}), ("joint", {"j1": Limit(velocity=1.0)}),
    )}  # fmt: skip
    assert {"m1", "m3", "j3"} <= velocities["none"].keys()
    assert "j1" not in velocities["none"]
    assert velocities["motor"]["m1"] == 1.0
    assert "j1" not in velocities["motor"]
    assert velocities["joint"]["j1"] == 1.0
    assert "m1" not in velocities["joint"]


def _velocities(limits: Limits) -> dict[str, float]:
    (velocity,) = (b for b in limits.bounds if b.kind == "velocity")
    return dict(zip(velocity.names, velocity.half.tolist(), strict=True))
