"""Robots of which files say little: no joint that moves, one joint, no inertia."""

import mujoco
import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.regressor import columns, regressor
from robodyn_pin.errors import BadFile

FIXED = """<robot name="still"><link name="a"/><link name="b"/>
<joint name="f" type="fixed"><parent link="a"/><child link="b"/></joint></robot>"""
BARE = """<robot name="bare"><link name="a"/><link name="b"/><link name="c"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="k" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""
LOG = "t,q_j,q_k,tau_j,tau_k\n" + "".join(f"{0.01 * i},{np.sin(0.01 * i)},0.1,0.2,0.3\n" for i in range(300))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("still.urdf", FIXED, "nothing moves, its one joint is fixed"),
        ("lump.urdf", '<robot name="lump"><link name="a"/></robot>', "nothing moves, it has no joint"),
        ("lump.xml", '<mujoco><worldbody><body><geom size=".1"/></body></worldbody></mujoco>', "no body has a joint"),
    ],
)
def test_what_does_not_move_is_refused_in_one_sentence(tmp_path, robodyn, name, text, said):
    (tmp_path / name).write_text(text)
    for command in (("check",), ("show", "--export", tmp_path / "page.html")):
        outcome = robodyn(command[0], tmp_path / name, *command[1:])
        assert outcome.returncode == 1
        assert said in outcome.stderr
        assert "Traceback" not in outcome.stderr


def test_an_mjcf_file_with_one_joint_is_read(tmp_path):
    for kind in ("hinge", "slide"):
        text = f"""<mujoco><worldbody><body name="a" pos="1 2 3"><joint name="j" type="{kind}" axis="1 1 0"/>
        <geom type="box" size=".1 .2 .3" pos="0.2 0 0"/></body></worldbody></mujoco>"""
        (tmp_path / "one.xml").write_text(text)
        robot, theirs = rp.load(tmp_path / "one.xml"), mujoco.MjModel.from_xml_string(text)
        state = mujoco.MjData(theirs)
        state.qpos[0], state.qvel[0], state.qacc[0] = 0.3, 0.4, 0.5
        mujoco.mj_inverse(theirs, state)
        found = rp.inverse_dynamics(robot, np.array([[0.3]]), np.array([[0.4]]), np.array([[0.5]]))
        assert found[0] == pytest.approx(state.qfrc_inverse, rel=1e-9)


def test_one_geared_joint_is_tracked_filmed_and_has_a_jacobian(tmp_path, robodyn):
    """Pinocchio drops the axis of a lone joint; `test_plan_command` plans the same arm."""
    (tmp_path / "arm.xml").write_text(
        """<mujoco><worldbody><body name="a" pos="1 2 3"><joint name="j" axis="0 1 0"/>
        <geom type="box" size=".1 .2 .3" pos="0.2 0 0"/></body></worldbody></mujoco>"""
    )
    (tmp_path / "arm.yaml").write_text("{urdf: arm.xml, motors: [{name: m, of: {j: -30}}]}")
    (tmp_path / "motion.yaml").write_text("{rate: 200, duration: 6, period: 6, centre: {m: 0}, sin: {m: [10, 5, 3]}}")
    arm, log = tmp_path / "arm.yaml", tmp_path / "log.csv"
    for words in (
        ("simulate", arm, "--motion", tmp_path / "motion.yaml", "--out", log, "--noise", "0.01"),
        ("track", arm, log),
        ("show", arm, "--motion", log, "--forces", "--export", tmp_path / "film.html"),
    ):
        outcome = robodyn(*words)
        assert outcome.returncode == 0, outcome.stderr
    robot, c = rp.load(arm), np.array([[3.0]])
    turn = [0, 0, 0, 0, -1 / 30, 0]
    np.testing.assert_allclose(rp.frame_jacobian(robot, c, "a")[0, :, 0], turn, atol=1e-15)
    one, rate = np.ones((1, 1)), np.zeros((1, 1))
    named = columns(robot)
    with forced("pinocchio"):
        found = regressor(robot, c, rate, one)[0] @ named.values
    assert found == pytest.approx(rp.inverse_dynamics(robot, c, rate, one)[0], rel=1e-12)


def test_a_robot_without_inertia_is_checked_shown_and_closed(tmp_path, robodyn):
    path = tmp_path / "bare.urdf"
    path.write_text(BARE)
    outcome = robodyn("check", path)
    assert outcome.returncode == 0
    assert "no moving link has an <inertial>" in outcome.stdout
    assert "every body can exist" not in outcome.stdout
    (tmp_path / "log.csv").write_text(LOG)
    for more in ((), ("--motion", tmp_path / "log.csv")):
        outcome = robodyn("show", path, *more, "--export", tmp_path / "page.html")
        assert outcome.returncode == 0, outcome.stderr
    robot, c = rp.load(path), np.array([[0.3, 0.4]])
    assert robot.close(c, c, c).q == pytest.approx(c)


def test_torques_of_a_robot_without_inertia_are_refused_in_one_sentence(tmp_path, robodyn):
    path = tmp_path / "bare.urdf"
    path.write_text(BARE)
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "run.yaml").write_text("robot: bare.urdf\nfit: [{file: log.csv}]\n")
    (tmp_path / "excite.yaml").write_text(
        "robot: bare.urdf\nperiod: 5\nharmonics: 2\nbandwidth: 5\nnoise: {j: 1, k: 1}\nrandom: 5\nstarts: 1\n"
        "limits: {j: {acceleration: 5}, k: {acceleration: 5}}\n"
    )
    motion = "rate: 100\nduration: 2\nperiod: 2\ncentre: {j: 0, k: 0}\nsin: {j: [0.1]}\n"
    (tmp_path / "motion.yaml").write_text(motion)
    for command in (
        ("predict", path, tmp_path / "log.csv", "--out", tmp_path / "out.csv"),
        ("joints", path, tmp_path / "log.csv", "--out", tmp_path / "out.csv"),
        ("simulate", path, "--motion", tmp_path / "motion.yaml", "--out", tmp_path / "out.csv"),
        ("identify", tmp_path / "run.yaml", "--out", tmp_path / "result"),
        ("excite", tmp_path / "excite.yaml", "--out", tmp_path / "result"),
        ("track", path, tmp_path / "log.csv", "--out", tmp_path / "result"),
        ("repair", path),
    ):
        outcome = robodyn(*command)
        assert outcome.returncode == 1, (command, outcome.stderr)
        assert "no moving link has an <inertial>" in " ".join(outcome.stderr.split()), outcome.stderr
        assert "Traceback" not in outcome.stderr
    with pytest.raises(BadFile, match="no moving link has an <inertial>"):
        rp.mass_matrix(rp.load(path), np.zeros((1, 2)))
