"""A robot whose files are in millimetres, or with inertias in kg mm^2, is told so; robots of usual and of large size are not."""

from itertools import pairwise

import numpy as np
import pytest
from simulated import random_swings

import robodyn_pin as rp
from robodyn_pin.robot.other_units import other_units
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.urdf import catalogue

LINK = """<link name="{name}"><inertial><origin xyz="{centre} 0 0"/><mass value="{mass}"/>
<inertia ixx="{thin}" iyy="{wide}" izz="{wide}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}_joint" type="continuous"><parent link="{parent}"/><child link="{name}"/><origin xyz="{at} 0 0"/><axis xyz="0 0 1"/></joint>"""


def rods(
    tmp_path, length=0.3, mass=2.0, of_length=1.0, of_centre=1.0, of_inertia=1.0, gravity=(0.0, 0.0, -9.81), limits=None
) -> Robot:
    """Three uniform rods, one behind the other; lengths, centres and inertias as many times too large."""
    parents = ("base", "one", "two", "three")
    links = [
        LINK.format(
            name=name, parent=parent, at=0 if parent == "base" else of_length * length,
            centre=of_centre * length / 2, mass=mass, thin=of_inertia * mass * length**2 / 1e4, wide=of_inertia * mass * length**2 / 12,
        )
        for parent, name in pairwise(parents)
    ]  # fmt: skip
    path = tmp_path / "rods.urdf"
    return build(
        "rods",
        RobotFile(urdf=path, gravity=gravity, limits=limits or {}),
        f'<robot name="r"><link name="base"/>{"".join(links)}</robot>',
        path,
    )


@pytest.mark.parametrize("length", [0.05, 0.3, 2.0, 15.0])
def test_millimetres_are_told_and_metres_are_not(tmp_path, length):
    assert other_units(rods(tmp_path, length)) == []
    [said] = other_units(rods(tmp_path, 1000 * length))
    assert (
        said
        == f"the robot is {2000 * length:.4g} m long, from joint to joint: are the lengths in its files in millimetres?"
    )


def test_frames_are_part_of_the_length(tmp_path):
    path = tmp_path / "arm.urdf"
    turn = '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>'
    tip = '<joint name="f" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="{} 0 0"/></joint><link name="tip"/>'
    text = f'<robot name="r"><link name="base"/><link name="arm"/>{turn}{tip}</robot>'
    assert [len(other_units(build("arm", RobotFile(urdf=path), text.format(x), path))) for x in (0.3, 300)] == [0, 1]


def test_a_wide_body_on_a_small_robot_may_be(tmp_path):
    assert other_units(rods(tmp_path, length=0.1, of_inertia=1e3)) == []  # a meter's radius: a turntable


def test_inertias_in_another_unit_name_their_bodies(tmp_path):
    radius = 1000 * 0.3 * np.sqrt((2 / 12 + 1e-4) / 2)  # of a hoop with the trace of a rod's moments
    said = other_units(rods(tmp_path, of_inertia=1e6))
    assert said[0].startswith(f"one: 2 kg with its moments of inertia would be a hoop of {radius:.3g} m radius")
    assert [text.split(":")[0] for text in said] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ([180, 120, 400], True),
        ([3.1, 2.1, 7.0], False),
        ([180, 120, 7.0], False),
        ([1e6, 1e6, 1e6], False),
        ([180, 120, None], False),
    ],
)
def test_limits_in_degrees_are_told_where_all_are(tmp_path, limits, told):
    names = ("one_joint", "two_joint", "three_joint")
    given = {name: {"position": (-x, x)} for name, x in zip(names, limits, strict=True) if x}
    said = other_units(rods(tmp_path, limits=given))
    assert (
        said
        == ["one_joint, two_joint, three_joint may each turn by more than 20 rad: are their limits in degrees?"] * told
    )


def test_a_centre_in_millimetres_is_told(tmp_path):
    said = other_units(rods(tmp_path, of_centre=1000))
    assert said[2] == "three: its centre of mass lies 150 m from its joint: is it in millimetres?"


def test_no_robot_of_the_catalogue_is_in_doubt():
    assert [name for name in catalogue() if other_units(load(name))] == []


def test_commands_say_so(tmp_path, robodyn_here):
    robot = rods(tmp_path, of_length=1000, of_centre=1000, of_inertia=1e6)
    (tmp_path / "rods.urdf").write_text(robot.urdf_xml)
    for words in (("init", tmp_path / "rods.urdf", "--yes"), ("check", tmp_path / "rods.yaml")):
        done = robodyn_here(*words)
        assert done.returncode == 0, done.stderr
        assert "caution: the robot is 600 m long" in done.stdout


def test_identify_names_it_where_it_explains_nothing(tmp_path):
    """A log of the robot in metres, read for the same robot in millimetres; gravity along the plane in which it turns."""
    robots = [rods(tmp_path, of_length=k, of_centre=k, gravity=(0, -9.81, 0)) for k in (1, 1000)]
    log = simulate(robots[0], random_swings(robots[0], 0, 8.0), Noise(np.full(3, 0.05), seed=0))
    good, wrong = (rp.identify(robot, log).verdict for robot in robots)
    assert good.accepted
    assert not wrong.accepted
    assert any(text.startswith("the robot is 600 m long") for text in wrong.reasons)
