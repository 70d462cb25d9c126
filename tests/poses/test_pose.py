"""Frames, Jacobians and singular poses of the two arms with a parallelogram, and the command that shows them."""

import json

import numpy as np
import pytest
from mdh import ARMS, IRB2400, IRB6660, SPINDLE, allowed, equation_33, flange, frames
from typer.testing import CliRunner

import robodyn_pin as rp
from robodyn_pin.commands.cli import app
from robodyn_pin.errors import RobodynError
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import load


def test_frames_are_those_of_the_paper():
    robot, rng = load("irb2400"), np.random.default_rng(3)
    c = allowed(robot, rng, 50)
    names = ["B", "1", "2", "3", "4", "5", "6", "7", "T"]
    found = rp.forward_kinematics(robot, c, *names)
    for q, poses in zip(c, found, strict=True):
        flat = flange(IRB2400, q)
        expected = [np.eye(4), *frames(IRB2400, q), flat, flat @ SPINDLE]
        assert np.abs(poses - np.array(expected)).max() < 1e-12


@pytest.mark.parametrize(("name", "frame"), ARMS)
def test_end_frames_are_where_the_table_has_them(name, frame):
    robot, (table, tool) = load(name), ARMS[name, frame]
    c = allowed(robot, np.random.default_rng(9), 50)
    expected = np.array([flange(table, q) @ tool for q in c])
    assert np.abs(rp.forward_kinematics(robot, c, frame) - expected).max() < 1e-12


@pytest.mark.parametrize(("name", "frame"), ARMS)
def test_jacobian_of_every_frame_is_equation_33(name, frame):
    robot, (table, tool) = load(name), ARMS[name, frame]
    c = allowed(robot, np.random.default_rng(4), 50)
    expected = np.array([equation_33(table, q, (flange(table, q) @ tool)[:3, 3]) for q in c])
    assert np.abs(rp.frame_jacobian(robot, c, frame) - expected).max() < 1e-12


# Singular poses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "table"), [("irb2400", IRB2400), ("irb6660", IRB6660)])
def test_distances_to_the_three_families_multiply_to_the_determinant(name, table):
    robot = load(name)
    c = allowed(robot, np.random.default_rng(7), 100)
    near = rp.nearness(robot, c)
    a1, a2, a3, d4 = *table.a[1:4], table.d[3]
    q2, q3 = c[:, 1], c[:, 2]
    shoulder = a1 + a2 * np.sin(q2) + a3 * np.sin(q3) + d4 * np.cos(q3)
    elbow = (a3 * np.sin(q3 - q2) + d4 * np.cos(q3 - q2)) / np.hypot(a3, d4)
    assert np.abs(near.shoulder - np.abs(shoulder)).max() < 1e-12
    assert np.abs(np.sin(near.elbow) - np.abs(elbow)).max() < 1e-12
    assert np.abs(np.sin(near.wrist) - np.abs(np.sin(c[:, 4]))).max() < 1e-12
    determinants = np.abs(np.linalg.det(rp.frame_jacobian(robot, c, "flange")))
    factors = near.shoulder * np.sin(near.elbow) * np.sin(near.wrist)
    assert np.abs(a2 * np.hypot(a3, d4) * factors - determinants).max() < 1e-12


def test_damped_rates_are_exact_away_from_singular_poses_and_bounded_in_them():
    robot, rng = load("irb2400"), np.random.default_rng(8)
    near = 0.05
    c = np.tile([0.3, 0.2, -0.3, 0.5, 0.0, -0.4], (200, 1))
    c[:, 4] = np.linspace(0, 1.2, 200)
    v = rng.normal(size=(200, 6))
    found = rp.damped_rates(robot, c, v, near=near)
    J = rp.frame_jacobian(robot, c, "flange")
    assert found.smallest[0] < 1e-12 < near < found.smallest[-1]
    far = found.smallest > near
    assert np.abs(np.einsum("nij,nj->ni", J[far], found.rates[far]) - v[far]).max() < 1e-10
    assert np.abs(found.missed[far]).max() < 1e-12
    assert (np.linalg.norm(found.rates, axis=1) <= 1.16 / near * np.linalg.norm(v, axis=1)).all()
    assert np.abs(v - np.einsum("nij,nj->ni", J, found.rates) - found.missed).max() < 1e-12
    smallest = np.linalg.svd(J, compute_uv=False)[:, -1]
    mu2 = np.where(smallest < near, (1 - (smallest / near) ** 2) * (near / 2) ** 2, 0)
    normal = np.einsum("nji,njk->nik", J, J) + mu2[:, None, None] * np.eye(6)
    expected = np.linalg.solve(normal, np.einsum("nji,nj->ni", J, v)[..., None])[..., 0]
    assert np.abs(found.rates - expected).max() < 1e-9
    undamped = np.linalg.solve(J[1:2], v[1:2, :, None])  # a two-hundredth of the way: what damping is for
    assert np.abs(undamped).max() > 2 * np.abs(found.rates[1]).max()


# Command ------------------------------------------------------------------------------------------------------------


def robodyn(*words: str):
    return CliRunner().invoke(app, list(words))


def test_pose_command_shows_frames_and_branches():
    shown = json.loads(robodyn("pose", "irb2400", "--at", "10,20,-10,30,40,0", "--degrees", "--json").stdout)
    at = frames(IRB2400, np.deg2rad([10, 20, -10, 30, 40, 0]))
    assert shown["frames"]["6"][:3] == pytest.approx(at[5][:3, 3], abs=1e-12)
    assert shown["singular poses"]["nearest"] == "wrist"
    assert shown["singular poses"]["wrist"]["away"] == pytest.approx(np.deg2rad(40), abs=1e-12)
    down = ("--reach", "0.9,0.2,0.6,180,0,180", "--frame", "T", "--degrees")
    found = json.loads(robodyn("pose", "irb2400", *down, "--json").stdout)
    kept = [b for b in found["branches"] if not b["beyond its limits"]]
    assert len(kept) == 2
    tip = flange(IRB2400, np.array(list(kept[0]["coordinates"].values()))) @ SPINDLE
    assert np.abs(tip - np.array([[-1, 0, 0, 0.9], [0, 1, 0, 0.2], [0, 0, -1, 0.6], [0, 0, 0, 1]])).max() < 1e-12
    assert "whole turns" in robodyn("pose", "irb2400", *down).stdout
    assert "axes 4 and 6" in robodyn("pose", "irb6660").stdout


def test_pose_command_shows_rates_and_damps_them_near_a_singular_pose():
    words = ("--degrees", "--velocity", "0,0.1,0,0,0,0")
    for at, damped in (("10,20,-10,30,40,0", False), ("10,20,-10,30,1,0", True)):
        motion = json.loads(robodyn("pose", "irb2400", "--at", at, *words, "--json").stdout)["motion"]
        q = np.deg2rad([float(x) for x in at.split(",")])
        J = rp.frame_jacobian(load("irb2400"), q[None], "flange")[0]
        reached = J @ np.array(list(motion["rates"].values()))
        assert np.abs(reached + motion["missed"] - [0, 0.1, 0, 0, 0, 0]).max() < 1e-12
        assert motion["damped"] == damped
        assert (np.abs(motion["missed"]).max() > 1e-6) == damped
        assert ("they miss" in robodyn("pose", "irb2400", "--at", at, *words).stdout) == damped


def test_degrees_are_for_angles_and_not_for_what_slides():
    shown = json.loads(robodyn("pose", "dualv", "--at", "0.05,0.02,10", "--degrees", "--json").stdout)
    assert list(shown["coordinates"].values()) == pytest.approx([0.05, 0.02, np.deg2rad(10)])


def test_singular_poses_of_a_motion_are_told_with_their_time(tmp_path):
    """The wrist passes through q5 = 0 at 1 s."""
    t = np.arange(201) / 100
    q = np.zeros((201, 6))
    q[:, 2], q[:, 4] = 0.3 * t, 0.5 * (1 - t)
    log = Log("made", t, q, None)
    write_log(tmp_path / "log.csv", log, load("irb2400"), "SIMULATED")
    found = json.loads(robodyn("pose", "irb2400", "--motion", str(tmp_path / "log.csv"), "--json").stdout)
    assert found["families"]["wrist"]["at"] == found["at"] == 1.0
    assert found["families"]["wrist"]["nearest"] == pytest.approx(0, abs=1e-12)
    elbow = np.abs(0.135 * np.sin(q[:, 2]) + 0.755 * np.cos(q[:, 2])) / np.hypot(0.135, 0.755)
    nearest = found["families"]["elbow"]
    assert np.sin(nearest["nearest"]) == pytest.approx(elbow.min(), abs=1e-12)
    assert nearest["at"] == t[elbow.argmin()]
    assert found["smallest singular value"] < 1e-12
    assert "SIMULATED" in robodyn("pose", "irb2400", "--motion", str(tmp_path / "log.csv")).stdout


def test_the_motion_of_an_identified_robot_is_read_in_the_units_of_its_run(tmp_path):
    """The wrist is nearest to q5 = 0 at 10 degrees."""
    result, t = tmp_path / "result", np.arange(101) / 100
    result.mkdir()
    robot = load("irb2400")
    (result / "irb2400.urdf").write_text(robot.urdf_path.read_text())
    (result / "irb2400_identified.yaml").write_text(robot.urdf_path.with_suffix(".yaml").read_text())
    (result / "run.yaml").write_text("{robot: irb2400, fit: [{file: log.csv}], units: {angle: deg}}")
    q = np.zeros((101, 6))
    q[:, 4] = 10 + 30 * t
    write_log(tmp_path / "log.csv", Log("made", t, q, None), robot)
    done = robodyn("pose", str(result), "--motion", str(tmp_path / "log.csv"), "--json")
    assert json.loads(done.stdout)["families"]["wrist"]["nearest"] == pytest.approx(np.deg2rad(10), abs=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reach", "3,0,1,0,0,0"), "the arm reaches from"),
        (("--reach", "0.9,0.3,0.8,0,2.0944,0", "--frame", "T"), "m5 would be at 2.17"),
        (("--reach", "1,2,3"), "found 3 numbers"),
        (("--velocity", "1,2"), "--velocity expects vx,vy,vz,wx,wy,wz, found 2 numbers"),
        (("--velocity", "1,2,3,4,5,6", "--reach", "1,0,1,0,0,0"), "give it with --at"),
        (("--at", "1,2,three"), "separated by commas"),
        (("--at", "1,2"), "--at expects m1,m2,m3,m4,m5,m6, found 2 numbers"),
        (("--at", "0,0,0,0,0,0", "--reach", "1,0,1,0,0,0"), "give one of them"),
        (("--at", "0,0,0,0,0,0", "--motion", "log.csv"), "give one of them"),
        (("--frame", "flnge"), "did you mean 'flange'"),
    ],
)
def test_pose_that_cannot_be_is_one_sentence(words, said):
    result = robodyn("pose", "irb2400", *words)
    assert isinstance(result.exception, RobodynError)
    assert said in str(result.exception)
