"""The U-turn of Gnad et al. (IRB 360): times within the printed limits, and what the limit of the strut forces prevents."""

from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.files import read_yaml
from robodyn_pin.planning.plan_file import Margins, PlanFile
from robodyn_pin.planning.table import motion_at
from robodyn_pin.planning.task import PlanResult, fastest_within, plan_task, read_task
from robodyn_pin.robot.robot_file import Limit

EXAMPLE = Path(__file__).parents[2] / "examples/irb360_u_turn.yaml"


def settings(**changes) -> PlanFile:
    return read_yaml(EXAMPLE, PlanFile).model_copy(update={"points": 150, "costs": False} | changes)


@pytest.mark.parametrize("gear", [30, 36])  # of the robot's file, and of the example: both assumed
@pytest.mark.parametrize(
    ("ends", "without", "expected"),
    [("free", ["jerk"], 0.47), ("free", [], 0.51), ("rest", [], 0.55)],
)
def test_the_printed_limits_give_the_expected_times(ends, without, expected, gear):
    limits = {f"phi{k}": Limit(torque=4.0 * gear) for k in (1, 2, 3)}
    task = read_task(settings(limits=limits, margins=Margins(), ends=(ends, ends), without=without), EXAMPLE.parent)
    assert fastest_within(task, task.limits).time == pytest.approx(expected, abs=0.01)


@pytest.fixture(scope="module")
def with_and_without() -> tuple[PlanResult, PlanResult]:
    """The paper's case with its margin of 10 %, planned with the limit of the strut forces and without it."""
    return tuple(
        plan_task(read_task(settings(ends=("free", "free"), without=left), EXAMPLE.parent)) for left in ([], ["force"])
    )


def test_only_the_plan_with_the_strut_limit_keeps_the_struts_whole(with_and_without):
    kept, broken = with_and_without
    assert kept.plan.time > broken.plan.time
    largest = [{use.model: use.force for use in planned.struts} for planned in with_and_without]
    assert largest[0]["full"] <= 108 * 1.001
    assert largest[0]["reduced"] <= 108
    assert largest[1]["full"] > 120


def test_rates_and_accelerations_in_the_table_are_derivatives_to_a_millionth_of_their_limits(with_and_without):
    planned, h = with_and_without[0], 1e-6
    profile, motion = planned.plan.profile, planned.motion
    inside = (motion.t > h) & (motion.t < profile.time - h)
    # The jerk jumps at the plan's knots: no difference over such a jump is a derivative.
    inside &= np.abs(motion.t[:, None] - profile.times).min(axis=1) > h
    assert inside.sum() > 0.9 * len(motion.t)
    before, after = (
        motion_at(planned.task.robot, planned.task.path, profile, motion.t[inside] + k * h) for k in (-1, 1)
    )
    for low, high, most in (("q", "dq", 18.99), ("dq", "ddq", 87.27)):
        slope = (getattr(after, low) - getattr(before, low)) / (2 * h)
        assert np.abs(slope - getattr(motion, high)[inside]).max() <= 1e-6 * most


def test_the_path_is_symmetric_and_so_is_its_maximum_velocity(with_and_without):
    kept, _ = with_and_without
    curve, s = kept.plan.max_velocity, kept.plan.profile.s
    inner = (s > 0.02) & (s < 0.98)
    mirrored = np.interp(1 - s, s, np.minimum(curve, 1e4))
    # Dry friction of the three arms differs: left and right are alike to some per cent only.
    assert np.median(np.abs(curve / mirrored - 1)[inner & (curve < 1e4)]) < 0.1
