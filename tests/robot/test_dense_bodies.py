"""A mass in grams makes a body denser than any material; steel and the catalogue do not."""

import numpy as np
import pytest

from robodyn_pin.dynamics.check import check
from robodyn_pin.robot.dense_bodies import too_dense
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile

BALL = """<robot name="b"><link name="base"/><link name="ball"><inertial><mass value="{m}"/>
<inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="ball"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def ball(mass: float, radius: float, tmp_path) -> Robot:
    inertia = 2 / 5 * mass * radius**2
    path = tmp_path / "b.urdf"
    return build("b", RobotFile(urdf=path), BALL.format(m=mass, i=inertia), path)


@pytest.mark.parametrize(("density", "said"), [(7850, False), (22_000, False), (23_000, True), (7.85e6, True)])
def test_a_solid_ball_is_too_dense_from_osmium_on(density, said, tmp_path):
    mass = density * 4 / 3 * np.pi * 0.05**3
    assert bool(check(ball(mass, 0.05, tmp_path)).dense) is said


def test_no_robot_of_the_catalogue_that_can_exist_is_too_dense():
    assert [name for name in ("irb360", "irb2400", "irb6660", "dualv", "delta3") if too_dense(load(name))] == []
