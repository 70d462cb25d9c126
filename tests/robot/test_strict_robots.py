"""Robots whose file cannot be read to the letter are refused; parsers print nothing of their own."""

import os
import time
from pathlib import Path

import pytest
from slowness import slowness

from robodyn_pin.errors import BadFile
from robodyn_pin.robot.mjcf import read_mjcf
from robodyn_pin.robot.quiet import quiet
from robodyn_pin.robot.urdf_tree import parse_urdf, read_xml

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
URDF = f"""<robot name="r"><link name="a"/><link name="b">{INERTIAL}</link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<body name="b"><joint name="k"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (INERTIAL, 2 * INERTIAL, "2 <inertial>"),
        ('<mass value="2"/>', '<mass value="2"/><mass value="3"/>', "2 <mass>"),
        ('"2"', '"inf"', "value of <mass> is 'inf'"),
        ('"2"', '"nan"', "value of <mass> is 'nan'"),
        ('"2"', '"2_6.5"', "value of <mass> is '2_6.5'"),
        (' value="2"', "", "<mass> without value"),
        ('izz="1"', "", "<inertia> without izz"),
        ("<axis ", '<limit lower="nan" upper="1" effort="1" velocity="1"/><axis ', "lower of <limit> is 'nan'"),
    ],
)
def test_urdf_is_read_to_the_letter(old: str, new: str, said: str):
    parse_urdf(URDF, Path("r.urdf"))
    with pytest.raises(BadFile, match=said):
        parse_urdf(URDF.replace(old, new, 1), Path("r.urdf"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('pos="0 0 1"', 'pos="1,5 0 1"', "pos of <body> 'a' is '1,5 0 1'"),
        ('name="b"', 'name="a"', "body 'a' stands 2 times"),
        ('<body name="a"', '<joint name="w"/><body name="a"', "<joint> 'w' stands in <worldbody>"),
        ('<body name="a"', '<inertial pos="0 0 0" mass="1"/><body name="a"', "<inertial> stands in <worldbody>"),
        (
            '<joint name="j"',
            '<joint name="z"><inertial pos="0 0 0" mass="1"/></joint><joint name="j"',
            "<inertial> stands inside <joint> 'z'",
        ),
        ('name="k"', 'name="j"', "joint 'j' stands 2 times"),
        ('mass="1"', 'mass="nan"', "mass of <inertial> '' is 'nan'"),
        (' mass="1"', "", "needs one mass"),
        (
            '<joint name="k"/>',
            '<joint name="k"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>',
            "several <inertial>",
        ),
    ],
)
def test_mjcf_is_read_to_the_letter(tmp_path: Path, old: str, new: str, said: str):
    path = tmp_path / "r.xml"
    path.write_text(MJCF)
    read_mjcf(path)
    path.write_text(MJCF.replace(old, new, 1))
    with pytest.raises(BadFile, match=said):
        read_mjcf(path)


def test_deep_xml_is_refused_at_once():
    start = time.process_time()
    with pytest.raises(BadFile, match="nested more than 300 levels"):
        read_xml("<robot>" + "<a>" * 10_000 + "</a>" * 10_000 + "</robot>", Path("deep.urdf"))
    assert time.process_time() - start < 2 * slowness()


def test_what_parsers_write_to_the_descriptor_is_not_seen(capfd: pytest.CaptureFixture[str]):
    with quiet():
        os.write(2, b"Warning: stray")
    os.write(2, b"ours")
    assert capfd.readouterr().err == "ours"
