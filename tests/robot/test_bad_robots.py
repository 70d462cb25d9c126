"""A robot that cannot be gets one sentence that names what is wrong and what to do."""

from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.errors import (
    BadFile,
    ClosureFailed,
    RobodynError,
    ShapeMismatch,
    UnknownKey,
    UnknownName,
    WrongMobility,
)
from robodyn_pin.files import parse_yaml
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile

INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
BODY = f'<inertial><origin xyz="0.1 0 0"/><mass value="1"/>{INERTIA}</inertial>'


def hinge(name: str, parent: str, child: str, x: float, kind: str = "revolute") -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-4" upper="4" effort="9" velocity="9"/></joint>'
    )


# A four-bar in the plane: crank 0.2, coupler 0.5, follower 0.4, ground 0.5.
URDF = f"""<robot name="four_bar"><link name="base"/>
<link name="crank">{BODY}</link><link name="coupler">{BODY}</link><link name="follower">{BODY}</link>
{hinge("j_crank", "base", "crank", 0)}{hinge("j_coupler", "crank", "coupler", 0.2)}
{hinge("j_follower", "base", "follower", 0.5)}
</robot>"""

ROBOT = """urdf: four_bar.urdf
motors: [j_crank]
coordinates: [j_crank]
home: {j_crank: 1.0, j_coupler: -0.6, j_follower: 1.5}
closures:
  - {name: pin, kind: planar_point, between: [coupler, follower], at: [[0.5, 0, 0], [0.4, 0, 0]]}
"""


def four_bar(old: str = "", new: str = "", urdf: str = URDF) -> Robot:
    assert old in ROBOT
    file = parse_yaml(ROBOT.replace(old, new, 1), RobotFile, "four_bar.yaml")
    return build("four_bar", file, urdf, Path("four_bar.urdf"))


def other_urdf(old: str, new: str) -> str:
    assert old in URDF
    return URDF.replace(old, new, 1)


CLOSURE = "between: [coupler, follower]"
SPOILED = {
    "coordinates that leave joints free": (
        lambda: four_bar(ROBOT[ROBOT.index("closures") :], ""),
        WrongMobility,
        ["3 degrees of freedom", "free to move: j_coupler, j_follower"],
    ),
    "the same freedom twice": (
        lambda: four_bar("coordinates: [j_crank]", "coordinates: [j_crank, j_follower]"),
        WrongMobility,
        ["1 degrees of freedom", "2 coordinates"],
    ),
    "no coordinates": (
        lambda: four_bar("coordinates: [j_crank]", "coordinates: []"),
        WrongMobility,
        ["(none)", "j_crank, j_coupler, j_follower"],
    ),
    "rods that cannot both close": (
        lambda: four_bar(
            "  - {name: pin, kind: planar_point, between: [coupler, follower], at: [[0.5, 0, 0], [0.4, 0, 0]]}\n",
            "  - {name: short, kind: rod, between: [coupler, follower], length: 0.4}\n"
            "  - {name: long, kind: rod, between: [coupler, follower], length: 0.5}\n",
        ),
        ClosureFailed,
        ["'short' by 0.05", "'long' by 0.05", "contradict"],
    ),
    "a closure out of reach": (
        lambda: four_bar("[0.5, 0, 0], [0.4", "[0.05, 0, 0], [0.1"),
        ClosureFailed,
        ["'pin' does not close", "nearest residual 0.15"],
    ),
    "a home that the loops do not reach": (
        # With this follower the crank cannot turn to 1.0.
        lambda: four_bar("[0.5, 0, 0], [0.4", "[0.25, 0, 0], [0.12"),
        ClosureFailed,
        ["'pin' does not close", "do close with j_crank ="],
    ),
    "a frame that does not exist": (
        lambda: four_bar(CLOSURE, "between: [couple, follower]"),
        UnknownName,
        ["'couple'", "'coupler'?"],
    ),
    "a joint that does not exist": (
        lambda: four_bar("motors: [j_crank]", "motors: [j_krank]"),
        UnknownName,
        ["'j_krank'", "'j_crank'?"],
    ),
    "home of an unknown joint": (
        lambda: four_bar("j_coupler: -0.6", "j_copler: -0.6"),
        UnknownName,
        ["'j_copler'", "'j_coupler'?"],
    ),
    "a coordinate that does not exist": (
        lambda: four_bar("coordinates: [j_crank]", "coordinates: [j_cranc]"),
        UnknownName,
        ["'j_cranc'", "'j_crank'?"],
    ),
    "two closures of one name": (
        lambda: four_bar(
            "closures:\n", "closures:\n  - {name: pin, kind: coupling, of: {j_crank: 1, j_follower: 1}}\n"
        ),
        BadFile,
        ["'pin'", "twice"],
    ),
    "gravity that is a direction": (
        lambda: four_bar("closures:", "gravity: [0, 0, -1]\nclosures:"),
        BadFile,
        ["gravity of 1 m/s^2", "9.81 m/s^2 on earth"],
    ),
    "a closure of a frame with itself": (
        lambda: four_bar(CLOSURE, "between: [coupler, coupler]"),
        BadFile,
        ["'pin'", "same"],
    ),
    "a closure inside one body": (
        lambda: four_bar(
            CLOSURE,
            "between: [base, base_plate]",
            other_urdf(
                "</robot>", '<link name="base_plate"/>' + hinge("f", "base", "base_plate", 0.1, "fixed") + "</robot>"
            ),
        ),
        BadFile,
        ["'pin'", "'base_plate'", "do not move"],
    ),
    "an axis without direction": (
        lambda: four_bar("kind: planar_point,", "kind: planar_point, normal: [0, 0, 0],"),
        BadFile,
        ["'pin'", "normal"],
    ),
    "a rod without length": (lambda: four_bar("planar_point", "rod"), BadFile, ["'pin'", "'length'"]),
    "a length that nobody reads": (
        lambda: four_bar("kind: planar_point,", "kind: planar_point, length: 0.3,"),
        BadFile,
        ["'pin'", "'length'", "rod"],
    ),
    "an unknown kind": (lambda: four_bar("planar_point", "planarpoint"), BadFile, ["planarpoint", "'planar_point'"]),
    "an unknown key": (lambda: four_bar("motors:", "motor:"), UnknownKey, ["'motor'", "'motors'?"]),
    "an unknown key of a closure": (lambda: four_bar("between:", "betwen:"), BadFile, ["'betwen'", "'between'?"]),
    "a key twice": (lambda: four_bar("j_coupler: -0.6", "j_crank: -0.6"), BadFile, ["'j_crank'", "twice"]),
    "a URDF without links": (lambda: four_bar(urdf='<robot name="x"/>'), BadFile, ["no <link> in it"]),
    "a link with two parents": (
        lambda: four_bar(urdf=other_urdf("</robot>", hinge("again", "coupler", "follower", 0.5) + "</robot>")),
        BadFile,
        ["'follower' has 2 parents (joints j_follower, again)", "closures"],
    ),
    "a floating joint": (
        lambda: four_bar(urdf=other_urdf('"j_follower" type="revolute"', '"j_follower" type="floating"')),
        BadFile,
        ["'j_follower' is floating", "chain of prismatic and revolute"],
    ),
    "a joint type that URDF does not know": (
        lambda: four_bar(urdf=other_urdf('"j_follower" type="revolute"', '"j_follower" type="hinge"')),
        BadFile,
        ["'j_follower'", "'hinge'", "revolute"],
    ),
    "a joint to nowhere": (
        lambda: four_bar(urdf=other_urdf('<parent link="crank"/>', '<parent link="krank"/>')),
        BadFile,
        ["'krank'", "'crank'?"],
    ),
    "a joint name twice": (
        lambda: four_bar(urdf=other_urdf('"j_follower"', '"j_crank"')),
        BadFile,
        ["'j_crank' stands 2 times"],
    ),
    "two roots": (
        lambda: four_bar(urdf=other_urdf("</robot>", '<link name="lost"/></robot>')),
        BadFile,
        ["2", "base, lost"],
    ),
    "a number that is none": (
        lambda: four_bar(urdf=other_urdf('xyz="0.2 0 0"', 'xyz="0.2 0"')),
        BadFile,
        ["j_coupler", "xyz"],
    ),
    "not XML": (lambda: four_bar(urdf="hello"), BadFile, ["four_bar.urdf is not XML", "is it another kind of file?"]),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_robot_that_cannot_be_gets_one_sentence(case, capfd):
    make, kind, expected = SPOILED[case]
    with pytest.raises(RobodynError) as caught:
        make()
    message = str(caught.value)
    assert type(caught.value) is kind, message
    assert "\n" not in message
    for part in expected:
        assert part in message
    assert capfd.readouterr() == ("", "")  # what Pinocchio prints beside its exceptions is not a sentence of ours


def test_the_unspoiled_robot_loads():
    robot = four_bar()
    assert robot.redundancy == 0
    assert np.abs(robot.loops.evaluate(robot.home[None]).phi).max() <= 1e-12


c = np.ones((5, 1))
SHAPES = {
    "one number": (lambda r: r.close(1.0, c, c), ["c has shape ()", "(N, 1)", "j_crank"]),
    "one axis": (lambda r: r.close(np.ones(5), c, c), ["c has shape (5,)", "one row for each sample", "one column"]),
    "joints instead of coordinates": (lambda r: r.close(np.ones((5, 3)), c, c), ["c has shape (5, 3)", "(5, 1)"]),
    "rates of other samples": (lambda r: r.close(c, np.ones((4, 1)), c), ["cd has shape (4, 1)", "(5, 1)"]),
    "accelerations with an axis too many": (lambda r: r.close(c, c, c[None]), ["cdd has shape (1, 5, 1)", "(5, 1)"]),
    "NaN": (
        lambda r: r.close(c, c, np.where(np.arange(5)[:, None] == 3, np.nan, c)),
        ["cdd is nan at sample 3", "j_crank"],
    ),
    "a start of coordinates": (lambda r: r.close(c, c, c, start=np.ones(1)), ["start has shape (1,)", "(3,)"]),
    "singularity of one number": (lambda r: r.singularity(np.ones(3)), ["c has shape (3,)", "(N, 1)"]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_a_wrong_shape_says_what_each_axis_should_be(case):
    call, expected = SHAPES[case]
    with pytest.raises(ShapeMismatch) as caught:
        call(four_bar())
    for part in expected:
        assert part in str(caught.value)


def test_a_state_out_of_reach_names_sample_closure_residual_and_reason():
    """Driven by the follower, the four-bar reaches only part of the turn."""
    robot = four_bar("coordinates: [j_crank]", "coordinates: [j_follower]")
    c = np.array([[1.5], [1.6], [0.1]])
    with pytest.raises(ClosureFailed, match=r"'pin' does not close at sample 2: residual .* out of reach") as caught:
        robot.close(c, 0 * c, 0 * c)
    assert (caught.value.sample, caught.value.closure) == (2, "pin")
    assert abs(caught.value.residual) > 1e-3


def test_a_trajectory_into_a_dead_point_names_a_sample_beyond_it():
    """The follower can swing down until crank and coupler are stretched: 0.7 from the base."""
    robot = four_bar("coordinates: [j_crank]", "coordinates: [j_follower]")
    c = np.linspace(1.5, 0.1, 300)[:, None]
    with pytest.raises(ClosureFailed, match="does not close at sample") as caught:
        robot.close(c, 0 * c, 0 * c)
    dead = np.arccos((0.7**2 - 0.5**2 - 0.4**2) / (2 * 0.5 * 0.4))  # follower's angle from the ground line, outwards
    assert c[caught.value.sample, 0] <= dead
    inside = np.linspace(1.5, dead + 1e-4, 300)[:, None]
    robot.close(inside, 0 * inside, 0 * inside)


# A parallelogram, drawn flat: crank and follower 0.3, coupler and ground 0.5. At zero it may also fold over.
FLAT = f"""<robot name="flat"><link name="base"/>
<link name="crank">{BODY}</link><link name="coupler">{BODY}</link><link name="follower">{BODY}</link>
{hinge("j_crank", "base", "crank", 0)}{hinge("j_coupler", "crank", "coupler", 0.3)}
{hinge("j_follower", "base", "follower", 0.5)}</robot>"""
PARALLEL = (
    "urdf: flat.urdf\nmotors: [j_crank]\nclosures:\n"
    "  - {name: pin, kind: planar_point, between: [coupler, follower], at: [[0.5, 0, 0], [0.3, 0, 0]]}\n"
)


def test_a_singular_home_asks_for_another_one_and_names_it():
    with pytest.raises(WrongMobility) as caught:
        build("flat", parse_yaml(PARALLEL, RobotFile, "flat.yaml"), FLAT, Path("flat.urdf"))
    said = str(caught.value)
    for part in ("its home pose is singular", "2 degrees of freedom, beside it 1", "'home'", "such as {j_crank: "):
        assert part in said, said
    home = said.split("such as ")[1]
    robot = build("flat", parse_yaml(f"{PARALLEL}home: {home}\n", RobotFile, "flat.yaml"), FLAT, Path("flat.urdf"))
    assert robot.coordinates.names == ("j_crank",)


def test_joints_left_free_come_with_the_coordinates_and_the_closure_that_would_do():
    with pytest.raises(WrongMobility) as caught:
        four_bar(ROBOT[ROBOT.index("closures") :], "")
    said = str(caught.value)
    for part in (
        "'coordinates: [j_crank, j_coupler, j_follower]'",
        "closure of 'coupler' and 'follower'",
        "planar_point takes 2",
    ):
        assert part in said, said
    four_bar()  # with that closure
    with pytest.raises(WrongMobility, match=r"2 coordinates .*, such as j_crank$"):
        four_bar("coordinates: [j_crank]", "coordinates: [j_crank, j_follower]")


LIMIT = '<limit lower="-4" upper="4" effort="9" velocity="9"/>'
XML = {
    "floating base": (lambda t: t.replace('"j_follower" type="revolute"', '"j_follower" type="floating"'), ['type="fixed"']),
    "a late declaration": (lambda t: '\n<?xml version="1.0"?>' + t, ["<?xml ...?> stands in line 2", "very beginning"]),
    "drake": (lambda t: t.replace("</robot>", '<drake:joint name="x"/></robot>'), ["'drake:'", 'xmlns:drake="http://drake']),
    "another prefix": (lambda t: t.replace("</robot>", '<my:joint name="x"/></robot>'), ["'my:'", "xmlns:my="]),
    "macros": (
        lambda t: t.replace('<robot name="four_bar">', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">').replace(
            "</robot>", '<xacro:macro name="x"/></robot>'
        ),
        ["xacro macros", "xacro four_bar.urdf >"],
    ),
    "SDF": (lambda t: "<sdf/>", ["found <sdf>", "SDF files end in .sdf"]),
    "no limit": (lambda t: t.replace(LIMIT, "", 1), ["'j_crank' is revolute and has no <limit>", "continuous"]),
    "no effort": (lambda t: t.replace(' effort="9"', "", 1), ["'j_crank'", "no 'effort'", "0 where"]),
    "no velocity": (lambda t: t.replace(' velocity="9"', "", 1), ["'j_crank'", "no 'velocity'"]),
    "no mass": (lambda t: t.replace('<mass value="1"/>', "", 1), ["link 'crank'", "no <mass>"]),
    "no moment": (lambda t: t.replace(' ixy="0"', "", 1), ["link 'crank'", "a <inertia> without ixy"]),
    "no name": (lambda t: t.replace(' name="j_crank"', "", 1), ["a <joint> has no name"]),
    "an endless mass": (lambda t: t.replace('value="1"', 'value="inf"', 1), ["value of <mass> is 'inf'"]),
    "an empty limit": (lambda t: t.replace('lower="-4"', 'lower=""', 1), ["'j_crank'", "lower of <limit> is ''"]),
}  # fmt: skip


@pytest.mark.parametrize("case", XML)
def test_what_is_wrong_with_an_xml_file_is_its_own_sentence(case, capfd):
    spoil, expected = XML[case]
    with pytest.raises(BadFile) as caught:
        four_bar(urdf=spoil(URDF))
    assert "\n" not in str(caught.value)
    for part in expected:
        assert part in str(caught.value), caught.value
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [("a.urdf.xacro", "xacro FILE.xacro > FILE.urdf"), ("a.world", "files that end in .sdf"), ("a.mjcf", "rename it")],
)
def test_files_of_other_formats_are_refused_by_format(tmp_path, name, said):
    (tmp_path / name).write_text("<x/>")
    with pytest.raises(BadFile, match=said):
        load(tmp_path / name)


def test_a_urdf_in_an_xml_file_is_a_urdf_and_a_byte_order_mark_is_no_matter(tmp_path):
    for name, text in (("a.xml", URDF), ("a.urdf", "\ufeff" + URDF)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert load(tmp_path / name).coordinates.names == ("j_crank", "j_coupler", "j_follower")


def test_no_gravity_at_all_is_one_that_a_robot_may_have():
    robot = four_bar("closures:", "gravity: [0, 0, 0]\nclosures:")
    assert np.all(robot.model.gravity.linear == 0)
