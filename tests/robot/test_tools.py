"""Tools as bodies with frames, and force and moment in every joint, against statics and momenta by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from mdh import IRB2400, SPINDLE, allowed, flange, frames
from typer.testing import CliRunner

import robodyn_pin as rp
from robodyn_pin.commands.cli import app
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.files import read_yaml
from robodyn_pin.forces.joint_history import JointHistory, joint_extremes, joint_wrenches
from robodyn_pin.robot.payload import with_tool
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.robot.tools import ToolFile

FILE = Path(__file__).parents[2] / "examples" / "irb2400_spindle_tool.yaml"
G = 9.81
# Mass and centre of mass of links 1 to 6 in their frames, and of the spindle from the flange, as printed.
LINKS = [
    (192, (0.021, 0.022, -0.1885)), (26.5, (0.2534, 0.0477, 0.007)), (25.7, (0.1395, -0.0995, -0.0097)),
    (29.7, (0.000131, -0.00181, -0.2967)), (2.8, (-0.000587, -0.000245, 0.00054)), (0.8, (0.000208, 0.000035, 0.07227)),
]  # fmt: skip
TOOL = (12.7, (-0.0383, 0, 0.1293))


@pytest.fixture(scope="module")
def equipped() -> Robot:
    return with_tool(load("irb2400"), read_yaml(FILE, ToolFile))


def motion(n: int = 20) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    c = allowed(load("irb2400"), rng, n)
    return [c, rng.normal(size=c.shape), 3 * rng.normal(size=c.shape)]


def test_arm_with_a_tool_file_is_the_arm_that_was_drawn_with_the_tool(equipped):
    drawn, states = load("irb2400_spindle"), motion()
    tau = rp.inverse_dynamics(equipped, *states)
    assert np.abs(tau - rp.inverse_dynamics(drawn, *states)).max() < 1e-9
    assert np.abs(tau - rp.inverse_dynamics(load("irb2400"), *states)).max() > 50
    tips = rp.forward_kinematics(equipped, states[0], "tip")
    assert np.abs(tips - np.array([flange(IRB2400, q) @ SPINDLE for q in states[0]])).max() < 1e-12
    assert np.abs(rp.inverse_kinematics(equipped, tips, "tip").best(near=states[0]) - states[0]).max() < 1e-8


def test_a_tool_may_stand_in_the_robot_file_and_is_counted_once_when_that_is_written_again(equipped, tmp_path):
    bare, tool = load("irb2400"), yaml.safe_load(FILE.read_text())
    (tmp_path / "arm.urdf").write_text(bare.urdf_xml)
    content = bare.file.model_dump(mode="json", exclude_defaults=True) | {"urdf": "arm.urdf"}
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump(content | {"tools": {tool.pop("name"): tool}}))
    robot, states = load(tmp_path / "arm.yaml"), motion()
    expected = rp.inverse_dynamics(equipped, *states)
    assert np.abs(rp.inverse_dynamics(robot, *states) - expected).max() < 1e-9
    (tmp_path / "again.urdf").write_text(robot.urdf_xml)
    again = robot.file.model_dump(mode="json", exclude_defaults=True) | {"urdf": "again.urdf"}
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(again))
    assert np.abs(rp.inverse_dynamics(load(tmp_path / "again.yaml"), *states) - expected).max() < 1e-9


def robodyn(*words: str):
    return CliRunner().invoke(app, list(words))


def test_tool_without_inertia_has_frames_and_no_torques(tmp_path):
    (tmp_path / "tool.yaml").write_text("name: gripper\nlink: flange\nmass: 2\nframes: {tip: {at: [0, 0, 0.2]}}\n")
    shown = robodyn("pose", "irb2400", "--tool", str(tmp_path / "tool.yaml"), "--frame", "tip", "--json")
    assert json.loads(shown.stdout)["frames"]["tip"][:3] == pytest.approx([1.140, 0, 1.455], abs=1e-12)
    (tmp_path / "motion.yaml").write_text(
        "rate: 50\nduration: 2\nperiod: 2\ncentre: {m1: 0, m2: 0, m3: 0, m4: 0, m5: 0.5, m6: 0}\nsin: {m1: [0.2]}\n"
    )
    log = ["simulate", "irb2400", "--motion", str(tmp_path / "motion.yaml"), "--out", str(tmp_path / "log.csv")]
    assert robodyn(*log).exit_code == 0
    carrying = ["--tool", str(tmp_path / "tool.yaml")]
    out = ["--out", str(tmp_path / "out.csv")]
    for words in (
        ["predict", "irb2400", str(tmp_path / "log.csv"), *out],
        ["joints", "irb2400", str(tmp_path / "log.csv"), *out],
        [*log[:-1], str(tmp_path / "out.csv")],
    ):
        result = robodyn(*words, *carrying)
        assert isinstance(result.exception, BadFile)
        assert "tool 'gripper', whose centre and inertia its file does not say: torques are not known" in str(
            result.exception
        )
    assert not (tmp_path / "out.csv").exists()
    tool = read_yaml(tmp_path / "tool.yaml", ToolFile)
    held = with_tool(load("irb2400"), tool)
    for asked in (rp.mass_matrix, rp.gravity):
        with pytest.raises(BadFile, match="gripper"):
            asked(held, np.zeros((1, 6)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"link": "flnge"}, "did you mean 'flange'"),
        ({"inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.3}}, "tool 'spindle' cannot exist: its principal inertias"),
        ({"frames": {"T": {"at": [0, 0, 1]}}}, "frame 'T' of tool 'spindle' is named twice"),
        ({"frames": {"link6": {}}}, "already a link"),
        ({"mass": -1}, "mass"),
        ({"weight": 1}, "unknown key 'weight'"),
        ({"name": "link6"}, "link 'link6' stands 2 times"),
    ],
)
def test_tools_that_cannot_be_are_one_sentence(change, said, tmp_path):
    (tmp_path / "tool.yaml").write_text(yaml.safe_dump(yaml.safe_load(FILE.read_text()) | change))
    result = robodyn("pose", "irb2400", "--tool", str(tmp_path / "tool.yaml"))
    assert isinstance(result.exception, RobodynError)
    assert said in str(result.exception)


# Joints ---------------------------------------------------------------------------------------------------------------


def masses(q: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Mass and place of every link and of the tool, in the base frame."""
    T = [*frames(IRB2400, q), flange(IRB2400, q)]
    return [(m, (t @ [*c, 1])[:3]) for (m, c), t in zip([*LINKS, TOOL], T, strict=True)]


def wrench(robot: Robot, joint: str, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """What a joint carries at one state (6,), along its body's axes."""
    names, values = joint_wrenches(robot, robot.close(q[None], qd[None], qdd[None]))
    return values[0, names.index(joint)]


@pytest.mark.parametrize("k", [1, 4, 5, 6])
def test_at_rest_a_joint_carries_the_weight_beyond_it(equipped, k):
    """Joints 2 and 3 share theirs with the rod."""
    for q in motion()[0]:
        T = frames(IRB2400, q)[k - 1]
        beyond = masses(q)[k - 1 :]
        force = sum(m * np.array([0, 0, G]) for m, _ in beyond)
        moment = sum(np.cross(p - T[:3, 3], m * np.array([0, 0, G])) for m, p in beyond)
        expected = np.concatenate([T[:3, :3].T @ force, T[:3, :3].T @ moment])
        assert wrench(equipped, f"j{k}", q, 0 * q, 0 * q) == pytest.approx(expected, abs=2e-4)  # crank and rod: 2e-6 kg


def test_the_rod_is_pulled_along_itself_and_holds_the_upper_arm_with_joint_3(equipped):
    for q in motion()[0]:
        names, values = joint_wrenches(equipped, equipped.close(q[None], 0 * q[None], 0 * q[None]))
        carried = dict(zip(names, values[0], strict=True))
        turned = [rp.forward_kinematics(equipped, q[None], name)[0, :3, :3] for name in ("rod", "link3")]
        # The closure's frame is the rod's, turned so that z is the pins' axis, y of the base at zero.
        pull = carried["rod_joint"][:3]
        assert np.linalg.norm(carried["parallelogram"][:3]) == pytest.approx(np.linalg.norm(pull), abs=1e-3)
        assert np.abs(pull[:2]).max() < 1e-3  # the rod's own weight: 1e-5 N
        total = turned[0] @ pull + turned[1] @ carried["j3"][:3]
        weight = sum(m for m, _ in masses(q)[2:]) * G
        assert total == pytest.approx([0, 0, weight], abs=1e-3)


@pytest.mark.parametrize("k", [1, 4, 5, 6])
def test_in_motion_a_joint_carries_the_rate_of_momentum_beyond_it(equipped, k):
    """Forces from second differences of where the masses are."""
    h = 1e-3
    for q, qd, qdd in zip(*motion(5), strict=True):
        before, now, after = (masses(q + t * qd + t**2 / 2 * qdd)[k - 1 :] for t in (-h, 0, h))
        force = sum(
            m * ((a - 2 * b + c) / h**2 + np.array([0, 0, G]))
            for (m, a), (_, b), (_, c) in zip(before, now, after, strict=True)
        )
        R = frames(IRB2400, q)[k - 1][:3, :3]
        assert wrench(equipped, f"j{k}", q, qd, qdd)[:3] == pytest.approx(R.T @ force, rel=1e-4, abs=2e-3)


def test_pins_carry_no_moment_about_their_free_axis():
    robot = load("irb360")
    c = np.random.default_rng(2).uniform(0, 0.3, (4, 4))
    state = robot.close(c, 0 * c, 0 * c)
    names, values = joint_wrenches(robot, state)
    lam = Loads(robot, state).multipliers
    pin = next(closure for closure in robot.loops.closures if closure.kind == "revolute")
    found = values[:, names.index(pin.name)]
    assert np.abs(found[:, 3]).max() == 0
    assert np.array_equal(found[:, [0, 1, 2, 4, 5]], lam[pin.name])
    assert np.abs(lam[pin.name]).max() > 1


def test_largest_force_and_moment_have_times_of_their_own():
    wrenches = np.zeros((5, 1, 6))
    wrenches[1, 0, :3], wrenches[3, 0, 3:] = [3, 4, 0], [0, 5, 12]
    (row,) = joint_extremes(JointHistory(np.arange(5) / 10, ("j",), wrenches))
    assert list(row.values()) == ["j", 5.0, 0.1, 13.0, 0.3]
    assert joint_extremes(JointHistory(np.arange(5) / 10, ("j",), wrenches, edge=2))[0]["largest force [N]"] == 0


def test_command_writes_every_joint_of_a_log(tmp_path):
    (tmp_path / "motion.yaml").write_text(
        "rate: 100\nduration: 4\nperiod: 4\ncentre: {m1: 0, m2: 0, m3: 0, m4: 0, m5: 0.5, m6: 0}\nsin: {m1: [0.2], m5: [0.3]}\n"
    )
    words = ["--tool", str(FILE), "--out"]
    made = robodyn("simulate", "irb2400", "--motion", str(tmp_path / "motion.yaml"), *words, str(tmp_path / "log.csv"))
    assert made.exit_code == 0
    out = tmp_path / "joints.csv"
    summary = json.loads(robodyn("joints", "irb2400", str(tmp_path / "log.csv"), *words, str(out), "--json").stdout)
    joints = {row["joint"]: row for row in summary["joints"]}
    assert set(joints) == {*(f"j{k}" for k in range(1, 7)), "crank_joint", "rod_joint", "parallelogram"}
    weight = sum(m for m, _ in [*LINKS, TOOL]) * G
    assert joints["j1"]["largest force [N]"] == pytest.approx(weight, rel=0.01)
    head, columns, *rows = out.read_text().splitlines()
    assert "SIMULATED" in head
    assert len(columns.split(",")) == 1 + 6 * 9
    assert (
        len(rows) == summary["rows"] == 400 - 2 * summary["edge rows"]
    )  # the rates of the others miss what lies beyond
    assert out.with_suffix(".svg").read_text().startswith("<")
    written = out.read_bytes()
    before = robodyn("forces", "irb2400", str(tmp_path / "log.csv"), "--joints", *words, str(out), "--json")
    assert (json.loads(before.stdout), out.read_bytes()) == (summary, written)
    assert before.stderr == "`robodyn forces --joints` is `robodyn joints` now, which runs here\n"
    refused = robodyn("forces", "irb2400", str(tmp_path / "log.csv"), "--joints", "--reduced", "--out", str(out))
    assert "--joints goes without" in str(refused.exception)
