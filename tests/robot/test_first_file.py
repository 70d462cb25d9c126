"""The first robot file of files that people have, without a word typed: torques against MuJoCo."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from mechanisms import MECHANISMS, Joint, in_mujoco, random_frame, sdf, urdf, worst_torque_error
from mechanisms import text as numbers

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.errors import BadFile, RobodynError, UnknownName
from robodyn_pin.robot.first_file import first_file
from robodyn_pin.robot.robot import Robot, load


def usual(question: str, answers: list[str]) -> str:
    return answers[0]


def silent(question: str, answers: list[str]) -> str:
    raise AssertionError(f"asked {question}: {answers}")


def made(path: Path, ask=usual) -> Robot:
    """The robot of the file that init writes, loaded from it."""
    out = path.with_suffix(".yaml")
    first = first_file(path, out, ask)
    out.write_text(first.text)
    return load(out)


@pytest.mark.parametrize("name", MECHANISMS)
def test_frames_at_one_place_become_closures(tmp_path: Path, name: str):
    (tmp_path / "r.urdf").write_text(urdf(MECHANISMS[name]))
    robot = made(tmp_path / "r.urdf", silent)
    assert robot.motors.names == tuple(MECHANISMS[name].motors)
    assert worst_torque_error(robot, MECHANISMS[name]) < 1e-8


@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_of_sdf_are_kept(tmp_path: Path, name: str):
    (tmp_path / "r.sdf").write_text(sdf(MECHANISMS[name]))
    robot = made(tmp_path / "r.sdf")
    assert robot.motors.names[0] == "m1"
    assert worst_torque_error(robot, MECHANISMS[name]) < 1e-8


def test_closing_frames_of_onshape_become_closures(tmp_path: Path):
    m = MECHANISMS["five_bar"]
    (tmp_path / "r.urdf").write_text(urdf(m, ("closing_{}_1", "closing_{}_2")))
    robot = made(tmp_path / "r.urdf", silent)
    assert [c.name for c in robot.loops.closures] == ["tip"]
    assert worst_torque_error(robot, m) < 1e-8


@pytest.mark.parametrize("name", MECHANISMS)
def test_proposed_constraints_become_closures(tmp_path: Path, name: str):
    """Frames of both sides turned anyhow; where the cut joint is, nothing is drawn."""
    m, rng = MECHANISMS[name], np.random.default_rng(6)
    at = {"world": np.zeros(3)} | {joint.child: joint.point for joint in m.tree}
    text = ""
    for j in m.cut:
        text += f'<constraint name="{j.name}" type="{"spherical" if j.kind == "ball" else j.kind}">'
        for side, link in (("parent", j.parent), ("child", j.child)):
            R = random_frame(rng).rotation
            place = f'xyz="{numbers(j.point - at[link])}" rpy="{numbers(pin.rpy.matrixToRpy(R))}"'
            text += f'<{side} link="{link}"/><{side}_origin {place}/><{side}_axis xyz="{numbers(R.T @ j.axis)}"/>'
        text += "</constraint>"
    path = tmp_path / "r.urdf"
    path.write_text(urdf(m, None).replace("</robot>", text + "</robot>"))
    robot = made(path, silent)
    assert [c.name for c in robot.loops.closures] == [j.name for j in m.cut]
    assert robot.motors.names == tuple(m.motors)
    assert worst_torque_error(robot, m) < 1e-8


@pytest.mark.parametrize(
    ("constraint", "error", "words"),
    [
        ('<constraint name="tip" type="spherical"><parent link="bc"/></constraint>', BadFile, "'tip' has no <child link"),
        ('<constraint name="tip" type="sferical"/>', UnknownName, "did you mean 'spherical'"),
        (
            '<constraint name="tip" type="ball"><parent link="bc"/><child link="cdd"/></constraint>', UnknownName,
            "did you mean 'cd'",
        ),
        (
            '<constraint name="tip" type="ball"><parent link="bc"/><parent_origin xyz="0 a 0"/><child link="cd"/></constraint>',
            BadFile, "xyz is '0 a 0', expected three numbers",
        ),
        (
            '<constraint name="tip" type="revolute"><parent link="bc"/><parent_axis xyz="0 0 0"/><child link="cd"/></constraint>',
            BadFile, "<parent_axis> is zero",
        ),
    ],
)  # fmt: skip
def test_constraints_that_say_too_little_are_named(tmp_path: Path, constraint: str, error: type, words: str):
    path = tmp_path / "r.urdf"
    path.write_text(urdf(MECHANISMS["five_bar"], None).replace("</robot>", constraint + "</robot>"))
    with pytest.raises(error, match=re.escape(words)):
        made(path)


def test_a_closing_frame_without_its_partner_is_named(tmp_path: Path):
    (tmp_path / "r.urdf").write_text(urdf(MECHANISMS["five_bar"], ("closing_{}_1", "other_{}_2")))
    with pytest.raises(BadFile, match="'closing_tip_2' is missing"):
        made(tmp_path / "r.urdf")


@pytest.mark.parametrize("name", ["five_bar", "slider_crank"])
def test_hinges_of_loop_closures_yaml_become_closures(tmp_path: Path, name: str):
    m = MECHANISMS[name]
    (tmp_path / "urdf").mkdir()
    (tmp_path / "urdf" / "r.urdf").write_text(urdf(m, None, driven=False))
    hinges = "".join(
        f"- link_a: {j.parent}\n  link_b: {j.child}\n  point: {j.point.tolist()}\n  axis: {j.axis.tolist()}\n"
        for j in m.cut
    )
    dependent = [j.name for j in m.tree if j.name not in m.motors]
    (tmp_path / "loop_closures.yaml").write_text(
        f"closures:\n{hinges}dependent: {dependent}\nindependent: {m.motors}\n"
    )
    robot = made(tmp_path / "urdf" / "r.urdf", silent)
    assert robot.motors.names == tuple(m.motors)
    assert worst_torque_error(robot, m) < 1e-8


def test_which_joints_have_motors_is_asked_where_nothing_says_it(tmp_path: Path):
    (tmp_path / "r.urdf").write_text(urdf(MECHANISMS["five_bar"], driven=False))
    asked_for = []

    def answer(question: str, answers: list[str]) -> str:
        asked_for.append(question)
        return "p1, p2"

    assert made(tmp_path / "r.urdf", answer).motors.names == ("p1", "p2")
    assert len(asked_for) == 1
    assert "have motors" in asked_for[0]


def test_joints_called_drives_in_camel_case_have_motors(tmp_path: Path):
    m = MECHANISMS["five_bar"]
    text = urdf(m, driven=False)
    for name, called in (("m1", "HipDrive"), ("m2", "KneeDrive")):
        text = text.replace(f'<joint name="{name}" type', f'<joint name="{called}" type')
    (tmp_path / "r.urdf").write_text(text)
    assert made(tmp_path / "r.urdf", silent).motors.names == ("HipDrive", "KneeDrive")


def test_two_candidates_for_one_closure_are_asked_or_named(tmp_path: Path):
    """A link that hinges on a rod's end, where the loop closes: either may be tied."""
    m = MECHANISMS["five_bar"]
    pin, n = m.cut[0].point, m.cut[0].axis
    hinged = replace(
        m,
        links=m.links | {"extra": m.links["cd"]},
        tree=[*m.tree, Joint("e", "cd", "extra", pin, n)],
        motors=["m1", "m2", "e"],
    )
    text = urdf(hinged).replace("</robot>", '<link name="end_c"/><joint name="fix_c" type="fixed"><parent link="extra"/><child link="end_c"/></joint></robot>')  # fmt: skip
    (tmp_path / "r.urdf").write_text(text)
    offers = []

    def answer(question: str, answers: list[str]) -> str:
        offers.append(answers)
        return "tip_end_a and tip_end_b"

    robot = made(tmp_path / "r.urdf", answer)
    assert sorted(offers[0]) == ["tip_end_a and end_c", "tip_end_a and tip_end_b"]
    assert {robot.loops.closures[0].frame_a, robot.loops.closures[0].frame_b} == {"tip_end_a", "tip_end_b"}
    assert "so could tip_end_a and end_c" in (tmp_path / "r.yaml").read_text()


def test_an_arm_with_a_wrist_is_no_loop(tmp_path: Path):
    """Three wrist joints at one place, the tool's frame among them, close nothing."""
    out = '<robot name="arm"><link name="base"/>'
    for k, (axis, height) in enumerate(
        (("0 0 1", 0.2), ("0 1 0", 0.2), ("0 1 0", 0.3), ("0 0 1", 0.3), ("0 1 0", 0), ("0 0 1", 0))
    ):
        parent = f"link_{k}" if k else "base"
        out += f'<link name="link_{k + 1}"><inertial><origin xyz="0.01 0.02 0.05"/><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        out += f'<joint name="j{k + 1}" type="revolute"><parent link="{parent}"/><child link="link_{k + 1}"/><origin xyz="0 0 {height}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="9" velocity="3"/></joint>'
    out += '<link name="tool0"/><joint name="flange" type="fixed"><parent link="link_6"/><child link="tool0"/></joint></robot>'
    (tmp_path / "arm.urdf").write_text(out)
    robot = made(tmp_path / "arm.urdf", silent)
    assert robot.loops.size == 0
    assert len(robot.motors.names) == 6
    model = mujoco.MjModel.from_xml_string(out)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    c, cd, cdd = rng.uniform(-1, 1, (3, 10, 6))
    tau = inverse_dynamics(robot, c, cd, cdd)
    for k in range(10):
        data.qpos, data.qvel, data.qacc = c[k], cd[k], cdd[k]
        mujoco.mj_inverse(model, data)
        assert data.qfrc_inverse == pytest.approx(tau[k], rel=1e-8)


def test_a_mimic_parallelogram_is_coupled(tmp_path: Path):
    """A lever that stays upright: its joint is minus that of the arm; T of that coupling projects MuJoCo's torques."""
    m = MECHANISMS["five_bar"]
    text = urdf(m, None, driven=False).replace("</robot>", "</robot>")
    root = ET.fromstring(text)
    follower = next(j for j in root.findall("joint") if j.get("name") == "p1")
    ET.SubElement(follower, "mimic", joint="m1", multiplier="-1", offset="0")
    (tmp_path / "r.urdf").write_text(ET.tostring(root, encoding="unicode"))
    robot = made(tmp_path / "r.urdf", silent)
    assert robot.motors.names == ("m1", "m2", "p2")
    rng, T = np.random.default_rng(1), np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1]])  # m1 p1 m2 p2
    twin = in_mujoco(m)
    assert twin.joints == ["m1", "p1", "m2", "p2"]
    data = mujoco.MjData(twin.model)
    for _ in range(10):
        c, cd, cdd = rng.uniform(-1, 1, (3, 3))
        data.qpos, data.qvel, data.qacc = T @ c, T @ cd, T @ cdd
        mujoco.mj_inverse(twin.model, data)
        # The limits of MuJoCo's joints are none here, nor contacts: the inverse is that of the tree.
        expected = T.T @ data.qfrc_inverse
        assert inverse_dynamics(robot, c[None], cd[None], cdd[None])[0] == pytest.approx(expected, rel=1e-8)
    assert "p1 follows m1" in (tmp_path / "r.yaml").read_text()


MJCF = """<mujoco model="bars"><option gravity="0 0 -9.81"/><worldbody>
<body name="ab" pos="-0.1 0 0"><joint name="m1" axis="0 1 0"/><inertial pos="0 0 0.1" mass="0.4" diaginertia="0.002 0.002 0.0001"/>
<body name="bc" pos="0 0 0.2"><joint name="p1" axis="0 1 0"/><inertial pos="0.1 0 0.05" mass="0.3" diaginertia="0.002 0.002 0.0001"/></body></body>
<body name="de" pos="0.3 0 0"><joint name="m2" axis="0 1 0"/><inertial pos="0 0 0.1" mass="0.5" diaginertia="0.002 0.002 0.0001"/></body>
</worldbody><equality><connect name="pin" body1="bc" body2="de" anchor="0.4 0 0.1"/></equality>
<actuator><motor joint="m1"/></actuator></mujoco>"""


def test_a_four_bar_of_mjcf_comes_up_with_its_motor(tmp_path: Path):
    (tmp_path / "bars.xml").write_text(MJCF)
    robot = made(tmp_path / "bars.xml", silent)
    assert robot.motors.names == ("m1",)
    assert robot.coordinates.names == ("m1",)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    c = np.array([[0.15]])
    q = robot.at_rest(c).q[0][[list(robot.model.names)[1:].index(n) for n in ("m1", "p1", "m2")]]
    data.qpos = q
    mujoco.mj_forward(model, data)
    J = np.zeros((model.nv and data.nefc, model.nv))
    J[:] = data.efc_J.reshape(data.nefc, model.nv)
    assert np.abs(data.efc_pos).max() < 1e-9
    # At rest the torque is the gravity along the direction that the loop leaves free, with the motor's rate one.
    _, _, Vt = np.linalg.svd(J)
    T = Vt[-1] / Vt[-1][0]
    expected = T @ data.qfrc_bias
    assert inverse_dynamics(robot, c, np.zeros((1, 1)), np.zeros((1, 1)))[0, 0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.txt", "hello", "robot"),
        ("r.urdf", "hello", "not XML"),
        ("r.xml", "<html></html>", "found <html>"),
        ("r.yaml", "urdf: x.urdf\n", "robot file already"),
        ("r.sdf", "<mujoco/>", "no <worldbody>"),
    ],
)
def test_what_is_no_robot_is_refused(tmp_path: Path, name: str, text: str, words: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(RobodynError, match=words):
        made(tmp_path / name)


@pytest.mark.parametrize("files", [{"a.xml": "a.xml"}, {"a.xml": "b.xml", "b.xml": "a.xml"}])
def test_includes_in_a_circle_are_named(tmp_path: Path, files: dict[str, str]):
    for name, included in files.items():
        (tmp_path / name).write_text(f'<mujoco><include file="{included}"/><worldbody/></mujoco>')
    with pytest.raises(BadFile, match=r"a\.xml includes 'a\.xml' twice, or in a circle"):
        made(tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("windows.urdf", lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()),
        ("plain.xml", str.encode),
        ("no suffix", str.encode),
        ("long.urdf", lambda text: text.replace("</robot>", f"<!--{'x' * 20_000_000}--></robot>").encode()),
    ],
)
def test_a_urdf_is_one_whatever_its_name_and_line_ends(tmp_path: Path, name: str, write):
    """In a folder with a blank; the loop that was cut is found in each."""
    folder = tmp_path / "my robots"
    folder.mkdir()
    (folder / name).write_bytes(write(urdf(MECHANISMS["five_bar"])))
    robot = made(folder / name, silent)
    assert robot.loops.size == 2
    assert worst_torque_error(robot, MECHANISMS["five_bar"]) < 1e-8


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 99, bytes(range(128, 256)), "Ü".encode("latin-1"), "<robot/>".encode("utf-16")]
)
@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".sdf"])
def test_files_that_are_no_text_are_refused_in_a_sentence(tmp_path: Path, content: bytes, suffix: str):
    (tmp_path / f"r{suffix}").write_bytes(content)
    with pytest.raises(BadFile, match=r"is it another kind of file|is not UTF-8; save it as a text in UTF-8"):
        made(tmp_path / f"r{suffix}")


def test_closures_that_leave_too_few_freedoms_are_refused_with_numbers(tmp_path: Path):
    m = MECHANISMS["five_bar"]
    every = urdf(m, driven=False)
    for name in ("m1", "m2", "p1"):
        every = every.replace("</robot>", f'<transmission name="{name}"><joint name="{name}"/></transmission></robot>')
    (tmp_path / "r.urdf").write_text(every)
    with pytest.raises(BadFile, match=r"should leave 3 degrees of freedom.*planar_point 2"):
        made(tmp_path / "r.urdf")


def test_files_that_are_no_robot_to_begin_with_say_what_they_are(robodyn, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "ours.yaml").write_text("urdf: a.urdf")
    for name, said in (("a.txt", "found .txt"), ("ours.yaml", "is a robot file already; robodyn check")):
        done = robodyn("init", tmp_path / name, "--yes")
        assert done.returncode == 1
        assert said in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "ours.yaml"]
    (tmp_path / "R.URDF").write_text("<robot/>")
    (tmp_path / "folder.urdf").mkdir()
    (tmp_path / "link.urdf").symlink_to("gone.urdf")
    for name, said in (
        ("R.URDF", "rename it to R.urdf"),
        ("folder.urdf", "is a folder, expected a robot's file: URDF"),
        (".", "is a folder, expected a robot's file: URDF"),
        ("link.urdf", "it is a link to 'gone.urdf', which is not there"),
    ):
        done = robodyn("init", tmp_path / name, "--yes")
        assert done.returncode == 1
        assert said in done.stderr


XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="long" value="0.6"/>
<link name="base"/><link name="upper"><inertial><origin xyz="${long / 2} 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="4" effort="20"/></joint></robot>"""


def test_xacro_is_expanded_where_it_is_installed(tmp_path: Path, robodyn):
    pytest.importorskip("xacro", reason="macros need xacro, the extra 'xacro'")
    (tmp_path / "arm.urdf.xacro").write_text(XACRO)
    done = robodyn("init", tmp_path / "arm.urdf.xacro", "--yes")
    assert done.returncode == 0, done.stderr
    robot = load(tmp_path / "arm.yaml")
    at = np.zeros((1, 1))
    assert inverse_dynamics(robot, at, at, at)[0, 0] == pytest.approx(-2 * 9.81 * 0.3)  # level, held about y
    (tmp_path / "bad.xacro").write_text(XACRO.replace("long / 2", "short / 2"))
    done = robodyn("init", tmp_path / "bad.xacro", "--yes")
    assert done.returncode == 1
    assert "xacro does not understand it: name 'short' is not defined" in done.stderr
    assert not (tmp_path / "bad.urdf").exists()


def test_a_recipe_for_no_robot_leaves_nothing_and_may_be_mended(tmp_path: Path, robodyn):
    pytest.importorskip("xacro", reason="macros need xacro, the extra 'xacro'")
    path = tmp_path / "arm.xacro"
    path.write_text(XACRO.replace('<mass value="2"/>', ""))
    done = robodyn("init", path, "--yes")
    assert done.returncode == 1
    assert "arm.xacro, as xacro expands it: " in done.stderr
    assert "'upper' has an <inertial> with no <mass>" in done.stderr
    assert list(tmp_path.iterdir()) == [path]
    path.write_text(XACRO)
    assert robodyn("init", path, "--yes").returncode == 0
    assert {p.name for p in tmp_path.iterdir()} == {"arm.xacro", "arm.urdf", "arm.yaml"}


def test_packages_of_xacro_are_found_around_the_file(tmp_path: Path, robodyn, monkeypatch):
    pytest.importorskip("xacro", reason="macros need xacro, the extra 'xacro'")
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    here = tmp_path / "ws" / "arms" / "urdf"
    here.mkdir(parents=True)
    include = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm"><xacro:include filename="$(find {})/arm.xacro"/></robot>'
    for k, package in enumerate(("beside", "my_arms", "in_ros", "nowhere")):
        (here / f"a{k}.xacro").write_text(include.format(package))
    elsewhere = tmp_path / "ros"
    for folder in (tmp_path / "ws" / "beside", here.parent, elsewhere / "in_ros"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "arm.xacro").write_text(XACRO)
    (here.parent / "package.xml").write_text("<package><name>my_arms</name></package>")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(elsewhere))
    for k in range(4):
        done = robodyn("init", here / f"a{k}.xacro", "--yes")
        assert done.returncode == (k == 3), done.stderr
    assert "the package 'nowhere', which was not found" in done.stderr
    assert "ROS_PACKAGE_PATH (" in done.stderr


def test_a_ratio_that_is_a_macros_name_is_left_out_and_said(tmp_path: Path):
    text = urdf(MECHANISMS["five_bar"]).replace(
        '<actuator name="a_m1"/>', '<actuator name="a_m1"><mechanicalReduction>ratio</mechanicalReduction></actuator>'
    )
    (tmp_path / "r.urdf").write_text(text)
    robot = made(tmp_path / "r.urdf", silent)
    assert robot.motors.names == ("m1", "m2")
    assert "whose <mechanicalReduction> is no number ('ratio'): write 'gear'" in (tmp_path / "r.yaml").read_text()


@pytest.mark.parametrize("name", MECHANISMS)
def test_links_may_have_the_names_of_joints(tmp_path: Path, name: str):
    """As exporters write them: the joint that moves a link is called as the link, and so are closing frames."""
    m = MECHANISMS[name]
    text = urdf(m)
    for joint in m.tree:
        text = text.replace(f'<joint name="{joint.name}" type', f'<joint name="{joint.child}" type').replace(f'<joint name="{joint.name}"/>', f'<joint name="{joint.child}"/>')  # fmt: skip
    for joint in m.cut:
        text = text.replace(f'name="fix_{joint.name}_end_a"', f'name="{joint.name}_end_a"')
    (tmp_path / "r.urdf").write_text(text)
    renamed = {joint.name: joint.child for joint in m.tree}
    again = replace(m, tree=[replace(j, name=j.child) for j in m.tree], motors=[renamed[name] for name in m.motors])
    assert worst_torque_error(made(tmp_path / "r.urdf", silent), again) < 1e-8


def test_a_urdf_without_a_name_is_called_as_its_file(tmp_path: Path):
    m = MECHANISMS["five_bar"]
    (tmp_path / "r.urdf").write_text(urdf(m).replace('<robot name="loops">', "<robot>"))
    assert worst_torque_error(made(tmp_path / "r.urdf", silent), m) < 1e-8
