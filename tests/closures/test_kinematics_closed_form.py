"""Closed mechanisms against closed forms: delta robots and their bar, DualV's five-bars, arms by their MDH tables."""

import time

import numpy as np
import pinocchio as pin
import pytest
from mdh import IRB2400, IRB6660, Table, flange
from slowness import slowness
from workspaces import DELTA3, IRB360, WORKSPACES, delta_angles, five_bars

from robodyn_pin.closures import kernel_choice
from robodyn_pin.robot.kinematics import forward_kinematics, frame_accelerations
from robodyn_pin.robot.robot import Robot, State, load

STATES = 200
EXACT = 1e-12  # [m or rad]


def closed(name: str, seed: int = 1) -> tuple[Robot, State, dict[str, np.ndarray]]:
    """A robot, brought onto its loops at random reachable coordinates, and its joints by closed form."""
    robot, reach = load(name), WORKSPACES[name](np.random.default_rng(seed), STATES)
    still = np.zeros_like(reach.c)
    return robot, robot.close(reach.c, still, still), reach.joints


def joint(robot: Robot, name: str) -> int:
    return robot.model.joints[robot.model.getJointId(name)].idx_v


def placement(robot: Robot, q: np.ndarray, frame: str) -> np.ndarray:
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    return data.oMf[robot.model.getFrameId(frame)].homogeneous


@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_every_joint_is_where_the_closed_form_has_it(name):
    robot, state, expected = closed(name)
    assert set(expected) == set(list(robot.model.names)[1:])
    q = np.stack([expected[name] for name in list(robot.model.names)[1:]], axis=1)
    assert np.abs(state.q - q).max() < EXACT


@pytest.mark.parametrize("path", ["pinocchio", "kernel"])
@pytest.mark.parametrize("name", sorted(WORKSPACES))
def test_every_joint_is_there_on_either_path(name, path):
    if path == "kernel":
        pytest.importorskip("numba", reason="the compiled path needs numba, the extra 'fast'")
    with kernel_choice.forced(path):
        robot, state, expected = closed(name, seed=2)
    q = np.stack([expected[name] for name in list(robot.model.names)[1:]], axis=1)
    assert np.abs(state.q - q).max() < EXACT


@pytest.mark.parametrize("path", ["pinocchio", "kernel"])
def test_a_shaft_a_thousand_turns_from_home_is_reached_at_once(path):
    if path == "kernel":
        pytest.importorskip("numba", reason="the compiled path needs numba, the extra 'fast'")
    robot, reach = load("irb360"), WORKSPACES["irb360"](np.random.default_rng(3), 40)
    far, wound = np.array([0, 0, 0, 6000.0]), 6000 // (2 * np.pi)
    with kernel_choice.forced(path):
        begin = time.process_time()
        near, state = (robot.close(c, 0 * c, 0 * c) for c in (reach.c + far % (2 * np.pi), reach.c + far))
        assert time.process_time() - begin < 5 * slowness()  # walked in steps of 0.2 rad it took three minutes
    names = list(robot.model.names)[1:]
    expected = near.q + 2 * np.pi * wound * np.array([name in ("psi", "R5") for name in names])
    assert np.abs(state.q - expected).max() < 1e-10  # 6000 rad are known to 1e-12


@pytest.mark.parametrize(("name", "lengths"), [("irb360", IRB360), ("delta3", DELTA3)])
def test_delta_arms_follow_their_closed_inverse_kinematics_from_the_platform_side(name, lengths):
    """The same robot driven by its platform: closing is inverse kinematics."""
    robot, state, _ = closed(name)
    pose = ["x", "y", "z"] + (["psi"] if name == "irb360" else [])
    by_pose = robot.with_coordinates(pose)
    p = state.q[:, [joint(robot, axis) for axis in "xyz"]] + np.array([0, 0, lengths.home])
    c = state.q[:, [joint(robot, axis) for axis in pose]]
    q = by_pose.close(c, 0 * c, 0 * c).q
    angles = q[:, [joint(robot, f"phi{k}") for k in (1, 2, 3)]]
    assert np.abs(angles - delta_angles(lengths, p)).max() < EXACT


def test_a_delta_platform_never_tilts_and_its_shaft_transmits_the_angle_exactly():
    robot, state, _ = closed("irb360")
    for name in ("rx", "ry", "rz"):
        assert np.abs(state.q[:, joint(robot, name)]).max() < EXACT
    assert np.abs(state.q[:, joint(robot, "R5")] - state.q[:, joint(robot, "psi")]).max() < EXACT


@pytest.mark.parametrize("name", ["dualv", "dualv_payload"])
def test_dualv_motors_count_from_the_x_axis_with_elbows_outwards(name):
    robot, state, joints = closed(name)
    pose = np.stack([joints[c] for c in ("x", "y", "phi")], axis=1)
    angles = state.q @ robot.motors.S.T + robot.motors.offset
    q1, _ = five_bars(pose)
    assert np.abs(np.exp(1j * angles) - np.exp(1j * q1)).max() < EXACT
    home = np.rad2deg(robot.motors.S @ robot.home + robot.motors.offset)
    assert home == pytest.approx([134.8, 45.2, -45.2, -134.8], abs=0.05)  # as printed for the home pose


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("irb2400", IRB2400),
        ("irb2400_printed", IRB2400),
        ("irb2400_rods", IRB2400),
        ("irb2400_spindle", IRB2400),
        ("irb6660", IRB6660),
    ],
)
def test_flange_is_where_the_table_puts_it(name: str, table: Table):
    robot, state, _ = closed(name)
    motors = state.q @ robot.motors.S.T + robot.motors.offset
    worst = max(
        np.abs(placement(robot, q, "flange") - flange(table, m)).max() for q, m in zip(state.q, motors, strict=True)
    )
    assert worst < EXACT


def test_zero_poses_are_the_printed_ones():
    irb2400, irb6660 = load("irb2400"), load("irb6660")
    forwards = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # z along x of the base, x down
    at = placement(irb2400, irb2400.home, "flange")
    assert np.abs(at[:3, 3] - [0.940, 0, 1.455]).max() < EXACT
    assert np.abs(at[:3, :3] - forwards).max() < EXACT
    assert np.abs(placement(irb6660, irb6660.home, "flange")[:3, 3] - [1.393, 0, 1.7945]).max() < EXACT


def test_the_flange_accelerates_as_its_places_say():
    """A round trip by differences: places a step before and behind, as the robot stands there."""
    robot, h = load("irb2400"), 1e-4
    rng = np.random.default_rng(5)
    c, cd, cdd = (scale * rng.uniform(-1, 1, (20, 6)) for scale in (0.5, 1.0, 3.0))
    before, at, behind = (
        forward_kinematics(robot, c + k * h * cd + (k * h) ** 2 / 2 * cdd, "flange")[:, :3, 3] for k in (-1, 0, 1)
    )
    found = frame_accelerations(robot, robot.close(c, cd, cdd), "flange")
    np.testing.assert_allclose(found, (behind - 2 * at + before) / h**2, atol=1e-5)
