"""Paths that a robot cannot follow: where, and why."""

import re

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadPath
from robodyn_pin.planning.limits import planning_limits
from robodyn_pin.planning.path import Path, lines
from robodyn_pin.planning.path_check import check_path
from robodyn_pin.planning.solve import fastest
from robodyn_pin.robot.limits import Limits
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.robot_file import Limit


def straight(robot: Robot, begin: list[float], end: list[float]) -> Path:
    sliding = np.array([robot.loops.sliding[row != 0].all() for row in robot.coordinates.S])
    return lines(robot.coordinates.names, np.array([begin, end], float), sliding, 0.0)


def unlimited(robot: Robot) -> dict[str, Limit]:
    return {name: Limit(position=(-10, 10)) for name in [*list(robot.model.names)[1:], *robot.motors.names]}


def complaint(robot: Robot, path: Path, **options) -> str:
    with pytest.raises(BadPath) as caught:
        check_path(robot, path, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def irb360() -> Robot:
    return rp.load("irb360").with_coordinates(["x", "y", "z", "psi"])


def test_a_path_that_the_robot_can_follow_passes(irb360):
    check_path(irb360, straight(irb360, [0, -0.4, -0.1, 0], [0, 0.4, -0.1, 1.5]))


def test_a_delta_goes_down_until_arms_and_struts_are_stretched(irb360):
    down = straight(irb360, [0, 0, -0.2, 0], [0, 0, -0.8, 0])
    said = complaint(irb360, down, given=unlimited(irb360))
    assert "leaves the workspace" in said
    assert "cannot close" in said
    # Shoulder 0.2 m, platform 0.048 m from the centre: stretched legs reach sqrt(1.606^2 - 0.152^2) below the shoulders.
    lowest = np.sqrt(1.106**2 - (0.2 + 0.5 - 0.048) ** 2) - np.sqrt(1.606**2 - 0.152**2)
    assert float(re.search(r"z (-[\d.]+)", said)[1]) == pytest.approx(lowest, abs=2e-3)


def test_the_joint_that_leaves_its_limits_is_named(irb360):
    said = complaint(irb360, straight(irb360, [0, 0, -0.2, 0], [0, 0, -0.6, 0]))
    assert "the position of 'ext' is 0.4" in said
    assert "m, outside its limits -0.1304 to 0.4696" in said
    own = {"ext": Limit(position=(-0.1, 0.2))}
    assert "outside its limits -0.1 to 0.2" in complaint(
        irb360, straight(irb360, [0, 0, -0.2, 0], [0, 0, -0.6, 0]), given=own
    )


@pytest.mark.parametrize("points", [1001, 20])
def test_the_dead_point_of_a_parallelogram_is_found_even_between_two_looks(points):
    arm = rp.load("irb2400")
    path = straight(arm, [0, 0, 0, 0, 0, 0], [0, 2.5, -0.2, 0, 0, 0])
    said = complaint(arm, path, given=unlimited(arm), points=points)
    assert "meets a singularity" in said
    # Crank and rod fall into one line where motor 3 is a right angle behind motor 2.
    s = float(re.search(r"s = ([\d.]+)", said)[1])
    assert -2.7 * s == pytest.approx(-np.pi / 2, abs=0.03 if points == 1001 else 0.15)


def test_a_plan_across_the_dead_point_is_refused():
    arm = rp.load("irb2400")
    path = straight(arm, [0, 0, 0, 0, 0, 0], [0, 2.5, -0.2, 0, 0, 0])
    speeds = Limits(tuple(b for b in planning_limits(arm, {}).bounds if b.kind == "velocity"))
    with pytest.raises(BadPath, match="crosses a singularity between") as caught:
        fastest(arm, path, speeds, points=20)
    before, after = (float(x) for x in re.findall(r"\d\.\d+", str(caught.value)))
    assert before < np.pi / 2 / 2.7 < after
