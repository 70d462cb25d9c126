"""What a URDF says of its joints besides their axes counts, once: mimic joints, damping and friction."""

from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, RobodynError, UnknownName
from robodyn_pin.robot.payload import LoadSpec, loaded, with_tool
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.robot.tools import ToolFile

INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
MIMIC = '<mimic joint="left" multiplier="-0.5" offset="0.02"/>'
LOSS = '<dynamics damping="3" friction="0.7"/>'


def slide(name: str, mass: float, more: str = "", kind: str = "prismatic") -> str:
    return (
        f'<link name="{name}_finger"><inertial><mass value="{mass}"/>{INERTIA}</inertial></link>'
        f'<joint name="{name}" type="{kind}"><parent link="palm"/><child link="{name}_finger"/><axis xyz="1 0 0"/>'
        f'<limit lower="-1" upper="1" effort="9" velocity="9"/>{more}</joint>'
    )


def gripper(mimic: str = MIMIC, loss: str = LOSS, more: str = "", **file: object) -> rp.Robot:
    """Two fingers of 2 and 4 kg that slide along x on a palm; the right one follows the left one."""
    text = f'<robot name="gripper"><link name="palm"/>{slide("left", 2, loss)}{slide("right", 4, mimic)}{more}</robot>'
    return build("gripper", RobotFile.model_validate({"urdf": "g.urdf", **file}), text, Path("g.urdf"))


ONE = np.ones((1, 1))


def test_a_mimic_joint_follows_and_is_no_motor():
    robot = gripper(loss="")
    assert robot.motors.names == robot.coordinates.names == ("left",)
    state = robot.close(0.3 * ONE, 2 * ONE, 5 * ONE)
    at = {name: k for k, name in enumerate(list(robot.model.names)[1:])}
    assert state.q[0, at["right"]] == pytest.approx(-0.5 * 0.3 + 0.02, abs=1e-12)
    assert state.v[0, at["right"]] == pytest.approx(-1.0, abs=1e-12)
    # Power by hand: F x' = d/dt (2 x'^2 + 4 (0.5 x')^2) / 2, so F = (2 + 4 * 0.25) x''.
    assert rp.inverse_dynamics(robot, 0.3 * ONE, 2 * ONE, 5 * ONE) == pytest.approx(15.0, abs=1e-9)


def test_home_of_a_mimic_joint_is_where_the_other_one_puts_it():
    assert sorted(gripper(loss="", home={"left": 0.1}).home) == pytest.approx([-0.03, 0.1], abs=1e-12)


def test_a_chain_of_mimics_follows_to_its_end():
    third = slide("third", 1, '<mimic joint="right" multiplier="2" offset="0.1"/>')
    robot = gripper(loss="", more=third)
    assert robot.coordinates.names == ("left",)
    q = dict(zip(list(robot.model.names)[1:], robot.close(0.3 * ONE, ONE, ONE).q[0], strict=True))
    assert q["third"] == pytest.approx(2 * (-0.15 + 0.02) + 0.1, abs=1e-12)


def test_damping_and_friction_of_the_urdf_count():
    """3 N s/m and 0.7 N along a slide that moves at 2 m/s, where tanh is one."""
    with_loss, without = (rp.inverse_dynamics(gripper(loss=loss), ONE, 2 * ONE, ONE) for loss in (LOSS, ""))
    assert with_loss - without == pytest.approx(3 * 2 + 0.7, abs=1e-12)
    assert [e.labels for e in gripper().efforts] == [["viscous(left)"], ["coulomb(left)"]]
    assert not any(e.spec.known for e in gripper().efforts)
    assert gripper(loss='<dynamics damping="0" friction="0"/>').efforts == ()


@pytest.mark.parametrize(
    "named",
    [
        {"of": "left", "model": "viscous", "initial": 1},
        {"of": ["right", "left"], "model": "coulomb", "initial": 1},
        {"of": {"right": 1, "left": 0.5}, "model": "viscous", "initial": 1},
        {"of": "drive", "model": "viscous", "initial": 1},
    ],
)
def test_efforts_of_the_robot_file_count_instead_whatever_they_call_the_joint(named):
    drive = {"motors": [{"name": "drive", "of": {"left": 30}}]} if named["of"] == "drive" else {}
    robot = gripper(efforts=[named], **drive)
    assert len(robot.efforts) == 1
    assert any("<dynamics> of joint left" in line for line in robot.unused)
    other = gripper(efforts=[{"of": "right", "model": "viscous", "initial": 1}])
    assert [e.name for e in other.efforts] == ["right", "left", "left"]


def test_what_a_urdf_says_of_joints_counts_once_with_payload_and_tool():
    robot = gripper()
    load = LoadSpec.model_validate({"link": "left_finger", "mass": 1, "radius": 0.1})
    tool = ToolFile.model_validate({"name": "tool", "link": "left_finger", "frames": {"tip": {}}})
    for other in (loaded(loaded(robot, load), load), with_tool(loaded(robot, load), tool)):
        assert [e.labels for e in other.efforts] == [["viscous(left)"], ["coulomb(left)"]]
        assert other.loops.size == 1
        assert other.motors.names == ("left",)


def test_an_identified_robot_keeps_friction_and_mimic_and_counts_them_once(tmp_path):
    """Round trip of a result folder."""
    robot = gripper(loss='<dynamics damping="3" friction="0.7"/>')
    t = np.arange(0, 10, 0.01)
    q = 0.3 * np.sin(2 * t) + 0.1 * np.sin(5.3 * t)
    dq, ddq = 0.6 * np.cos(2 * t) + 0.53 * np.cos(5.3 * t), -1.2 * np.sin(2 * t) - 2.809 * np.sin(5.3 * t)
    tau = rp.inverse_dynamics(robot, q[:, None], dq[:, None], ddq[:, None])
    path = tmp_path / "log.csv"
    noise = 0.01 * np.random.default_rng(0).normal(size=len(t))
    np.savetxt(path, np.column_stack([t, q, tau[:, 0] + noise]), delimiter=",", header="t,q_left,tau_left", comments="")
    rp.identify(robot, rp.read_log(path, robot)).write(tmp_path / "result")
    again = rp.load(tmp_path / "result")
    assert [e.labels for e in again.efforts] == [["viscous(left)"], ["coulomb(left)"]]
    assert again.motors.names == ("left",)
    assert again.loops.size == 1
    assert again.efforts[0].initial == pytest.approx(3, rel=0.05)


@pytest.mark.parametrize(
    ("mimic", "loss", "error", "parts"),
    [
        ('<mimic joint="leftt"/>', "", UnknownName, ["'leftt'", "'right' mimics", "'left'?"]),
        ('<mimic joint="right"/>', "", BadFile, ["'right' mimics itself"]),
        ('<mimic joint="left" multiplier="two"/>', "", BadFile, ["'right'", "multiplier of <mimic> is 'two'"]),
        (MIMIC, '<dynamics damping="-1"/>', BadFile, ["'left'", "damping", "-1"]),
        (MIMIC, '<dynamics friction="high"/>', BadFile, ["'left'", "friction of <dynamics> is 'high'"]),
        (MIMIC, '<dynamics friction="nan"/>', BadFile, ["'left'", "friction of <dynamics> is 'nan'"]),
    ],
)
def test_what_cannot_be_is_one_sentence(mimic, loss, error, parts):
    with pytest.raises(RobodynError) as caught:
        gripper(mimic, loss)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)
    assert all(part in str(caught.value) for part in parts), caught.value


def test_a_coupling_of_the_robot_file_counts_instead_of_a_mimic():
    own = {"name": "belt", "kind": "coupling", "of": {"left": 1, "right": 1}}
    robot = gripper(loss="", closures=[own], motors=["left"])
    assert [closure.name for closure in robot.loops.closures] == ["belt"]
    assert any("<mimic> of joint right" in line for line in robot.unused)


def test_check_names_what_it_does_not_use_of_a_urdf(tmp_path, robodyn):
    more = """<transmission name="t"><type>x</type></transmission><gazebo/><gazebo reference="palm"/>"""
    text = f"""<robot name="gripper" xmlns:drake="http://drake.mit.edu"><link name="palm"/>
    {slide("left", 2, '<safety_controller k_velocity="1"/><calibration rising="0"/>')}
    {slide("right", 4, '<safety_controller k_velocity="1"/>')}{more}<drake:proximity/></robot>"""
    (tmp_path / "g.urdf").write_text(text)
    out = robodyn("check", tmp_path / "g.urdf").stdout
    (line,) = [line for line in out.splitlines() if line.startswith("not used")]
    for part in (
        "<transmission>",
        "<gazebo> (2 times)",
        "<safety_controller> of joint left and 1 more",
        "drake.mit.edu",
    ):
        assert part in line
    assert "<calibration> of joint left" in line
