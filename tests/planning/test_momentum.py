"""Where a limit forbids standing still: motions that pass with momentum, proofs that none does, and neither of them."""

import numpy as np
import pytest
from one_joint import limits, straight
from scipy.integrate import quad

from robodyn_pin.errors import InfeasiblePlan
from robodyn_pin.planning.limits import symmetric
from robodyn_pin.planning.solve import fastest
from robodyn_pin.robot.limits import Limits


def test_momentum_carries_where_the_motor_could_not_hold():
    # Over the top of the torque 10.9 sin(q) > 10 Nm around the horizontal, to the upper rest: energy from below is enough.
    plan = fastest(lambda q, v, a: a + 10.9 * np.sin(q), straight(0, np.pi), limits(torque=10.0))

    def rise(angle):  # energy with full torque forth, and the same backwards from the end
        return 10 * angle - 10.9 * (1 - np.cos(angle)), 10.9 * (1 + np.cos(angle)) + 10 * (np.pi - angle)

    def slowness(angle):
        return 1 / np.sqrt(2 * min(rise(angle)))

    begin = quad(lambda root: 2 * root * slowness(root**2), 0, np.sqrt(np.pi / 2))[0]  # angle = root^2
    end = quad(lambda root: 2 * root * slowness(np.pi - root**2), 0, np.sqrt(np.pi / 2))[0]
    assert plan.time == pytest.approx(begin + end, rel=1e-3)
    assert plan.dense.worst <= 1e-3


def test_too_heavy_to_be_carried_over_is_proved_not_to_go():
    # Full torque from the lowest point gains 10 q - 16 (1 - cos q), less than nothing at the top; with 13.8 it just is.
    with pytest.raises(InfeasiblePlan, match="no motion along the path keeps the limits") as found:
        fastest(lambda q, v, a: a + 16 * np.sin(q), straight(0, np.pi), limits(torque=10.0, velocity=10.0), points=200)
    assert found.value.proved
    assert found.value.label == ("torque", "q")
    assert found.value.excess == pytest.approx(16 / 13.8 - 1, abs=0.03)


@pytest.mark.parametrize(
    ("points", "jerk"), [(4, {}), (10, {}), (30, {}), (10, {"jerk": 2000.0}), (30, {"jerk": 2000.0})]
)
def test_momentum_on_few_points(points, jerk):
    plan = fastest(lambda q, v, a: a + 10.9 * np.sin(q), straight(0, np.pi), limits(torque=10.0, **jerk), points=points)
    assert 1.3 < plan.time < 1.5
    assert plan.dense.worst <= 1e-3


def test_momentum_that_just_carries_is_no_motion_where_the_points_are_too_few():
    # With g = 13.8 it would just reach the top: 13.7 passes, by so little that 12 points have no motion.
    def heavy(q, v, a):
        return a + 13.7 * np.sin(q)

    with pytest.raises(InfeasiblePlan, match="no motion is known that keeps the limits") as found:
        fastest(heavy, straight(0, np.pi), limits(torque=10.0), points=12)
    assert not found.value.proved
    assert 0 < found.value.excess < 0.37
    assert fastest(heavy, straight(0, np.pi), limits(torque=10.0), points=300).dense.worst <= 1e-3


@pytest.mark.parametrize("weight", [13.9, 15.0])
def test_a_little_too_heavy_is_proved_not_to_go_on_few_points_and_many(weight):
    for points in (12, 100):
        with pytest.raises(InfeasiblePlan) as found:
            fastest(lambda q, v, a: a + weight * np.sin(q), straight(0, np.pi), limits(torque=10.0), points=points)
        assert found.value.proved


def test_the_other_objective_passes_with_momentum_too():
    plan = fastest(
        lambda q, v, a: a + 10.9 * np.sin(q),
        straight(0, np.pi),
        limits(torque=10.0, velocity=10.0),
        points=40,
        objective="speed",
    )
    assert plan.time == pytest.approx(1.33, abs=0.02)


def test_a_place_that_only_one_speed_passes():
    # The second motor allows v^2 from 4.97 to 5.03 in the middle, and no rest; the curve of largest speeds knows both.
    def dynamics(q, v, a):
        return np.hstack([a, np.exp(-(((q - 0.5) / 0.1) ** 2)) * (5 - v**2)])

    motors = symmetric("torque", ("a", "b"), np.array([20.0, 0.03]))
    plan = fastest(
        dynamics, straight(0, 1), Limits((motors, symmetric("velocity", ("q",), np.array([5.0])))), points=100
    )
    assert plan.profile.z(np.array([0.5])) == pytest.approx([5.0], abs=0.04)
    assert np.all(plan.max_velocity >= plan.profile.z_knots * (1 - 1e-6))


@pytest.mark.parametrize("dynamics", [lambda q, v, a: a + 2 * v**3, lambda q, v, a: a + 5 * v**4])
def test_friction_of_other_shapes_allows_slow_motion(dynamics):
    plan = fastest(dynamics, straight(0, 1), limits(torque=1.0))
    assert plan.converged
    assert plan.dense.worst <= 1e-3


def test_a_load_between_the_points_is_no_proof():
    # 0.16 J of the 1.4 J that are at hand; 30 N m, but only over a hundredth of the path.
    with pytest.raises(InfeasiblePlan) as found:
        fastest(
            lambda q, v, a: a + 30 * np.exp(-(((q - 0.5) / 0.003) ** 2)),
            straight(0, 1),
            limits(torque=3.0, velocity=2.5),
            points=20,
        )
    assert not found.value.proved


def test_a_plan_that_breaks_its_limits_between_the_points_is_none():
    with pytest.raises(InfeasiblePlan, match="over its limit in the best that was tried; take more points"):
        fastest(
            lambda q, v, a: a + 1.9 * np.exp(-((v / 0.05) ** 2)) * np.tanh(v / 0.001),
            straight(0, 1),
            limits(torque=1.0),
        )
