"""What a notebook shows of a robot."""

import re

import pytest

import robodyn_pin as rp
from robodyn_pin.robot.robot import Robot


@pytest.fixture(scope="module")
def dualv() -> Robot:
    return rp.load("dualv")


def test_a_robot_says_what_it_is_in_a_line(dualv):
    assert re.fullmatch(r"Robot\(dualv: \d+ joints, \d+ closures, 4 motors, 3 degrees of freedom\)", repr(dualv))


def test_every_joint_and_loop_is_listed_once(dualv):
    page = dualv._repr_html_()
    tree, loops = page.split("<p>Loops</p>")
    for name in list(dualv.model.names)[1:]:
        assert len(re.findall(rf">{name}<", tree)) == 1
    assert all(f"<li>{one.name}: {one.kind} between" in loops for one in dualv.file.closures)
    assert tree.count("(motor)") == 4
    assert page.count("<ul>") == page.count("</ul>")
