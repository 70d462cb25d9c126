"""Which columns of a log friction contradicts, from means of torques over stretches at constant speed that are written here."""

import numpy as np
import pytest

from robodyn_pin.friction_tests.wrong_columns import wrong_columns
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

AXIS = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}_axis" type="{kind}"><parent link="{parent}"/><child link="{name}"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="{effort}" velocity="2"/></joint>"""
SPEEDS = (0.1, -0.1, 0.2, -0.2, 0.4, -0.4, 0.8, -0.8)


@pytest.fixture(scope="module")
def robot(tmp_path_factory) -> Robot:
    """A slide that carries two turning axes, one on the other."""
    path = tmp_path_factory.mktemp("robot") / "robot.urdf"
    axes = [("slide", "prismatic", "base", 500), ("a", "revolute", "slide", 50), ("b", "revolute", "a", 50)]
    parts = [AXIS.format(name=name, kind=kind, parent=parent, effort=effort) for name, kind, parent, effort in axes]
    return build("r", RobotFile(urdf=path), f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>', path)


def told(robot: Robot, friction, speeds=SPEEDS, noise=0.1, offset=0.0) -> str:
    """What is said of axis `a` where the torques of slide, a and b are so large along its speed."""
    rng = np.random.default_rng(0)
    means = [(w, np.sign(w) * np.array(friction) + offset + noise * rng.normal(size=3)) for w in speeds]
    return "; ".join(wrong_columns(robot, "a_axis", means))


def test_friction_of_its_own_says_nothing(robot):
    assert told(robot, (0, 5, 0)) == ""
    assert told(robot, (0, 5, 4.9), offset=np.array([100, -30, 20])) == ""


def test_friction_that_drives_is_a_wrong_sign_beyond_chance(robot):
    assert told(robot, (0, -5, 0)).startswith("friction would push a_axis the way it moves, by 4.9")
    assert told(robot, (0, -0.08, 0)) == ""


def test_friction_of_another_axis_is_another_column_beyond_chance(robot):
    assert "is tau_b_axis, by 9.9" in told(robot, (0, 0, 5))
    assert "is tau_b_axis, by 10 N m" in told(robot, (0, 1, -5))
    assert told(robot, (0, 2, 5)) == ""
    assert told(robot, (0, 0, 0.05)) == ""
    assert told(robot, (0, 0.001, 0), noise=np.array([0, 0, 3])) == ""


def test_newtons_are_not_held_against_newton_metres(robot):
    assert told(robot, (50, 1, 0)) == ""


def test_one_way_and_few_stretches_say_nothing(robot):
    assert told(robot, (0, -5, 0), speeds=[w for w in SPEEDS if w > 0]) == ""
    assert told(robot, (0, -5, 0), speeds=SPEEDS[:5]) == ""


def test_more_than_a_motor_gives_is_another_unit(robot):
    assert told(robot, (0, 5, 0), offset=140) == ""
    assert told(robot, (0, 5, 0), offset=160).startswith(
        "tau_a_axis is 165 N m at constant speed, and the limit of a_axis is 50"
    )
