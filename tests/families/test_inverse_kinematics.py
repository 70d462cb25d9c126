"""Arms with a spherical wrist: every branch, limits, poses out of reach, singular poses and rates near them.

The oracle is the MDH tables of mdh.py, in motors' angles; it shares no number with the package.
"""

import numpy as np
import pinocchio as pin
import pytest
from mdh import ARMS, IRB2400, Table, allowed, flange, ranges

import robodyn_pin as rp
from robodyn_pin.families.inverse_kinematics import BRANCHES, OutOfReach
from robodyn_pin.families.spherical_wrist import NoClosedForm
from robodyn_pin.robot.robot import Robot, build, load
from robodyn_pin.robot.robot_file import RobotFile


def poses_of(table: Table, tool: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.array([flange(table, q) @ tool for q in c])


@pytest.mark.parametrize(("name", "frame"), ARMS)
def test_every_branch_puts_the_frame_where_the_table_has_it(name, frame):
    robot, (table, tool) = load(name), ARMS[name, frame]
    c = allowed(robot, np.random.default_rng(1), 200)
    poses = poses_of(table, tool, c)
    found = rp.inverse_kinematics(robot, poses, frame)
    exists = ~np.isnan(found.c[..., 0])
    assert exists.sum(axis=1).min() >= 4
    for pose, branches in zip(poses, found.c, strict=True):
        again = poses_of(table, tool, branches[~np.isnan(branches[:, 0])])
        assert np.abs(again - pose).max() < 1e-10
    assert found.inside.any(axis=1).all()
    for i in range(len(c)):
        everyone = found.solutions(i)
        assert np.abs(everyone - c[i]).max(axis=1).min() < 1e-10
        assert len(np.unique(everyone.round(6), axis=0)) == len(everyone)
        assert (everyone >= ranges(robot)[:, 0] - 1e-8).all()
        assert (everyone <= ranges(robot)[:, 1] + 1e-8).all()


def test_branches_are_the_ones_that_a_search_from_many_starts_finds():
    """Newton's method on the table's poses, from random starts, finds no answer beyond the eight, and all of them."""
    robot, rng = load("irb2400"), np.random.default_rng(2)
    q = np.array([0.3, 0.2, -0.3, 0.5, 0.7, -0.4])
    pose = flange(IRB2400, q)
    found = rp.inverse_kinematics(robot, pose).theta[0] % (2 * np.pi)
    seen = set()
    for start in rng.uniform(-np.pi, np.pi, (300, 6)):
        answer = newton(start, pose)
        if answer is not None:
            relative = np.array([*answer[:2], answer[2] - answer[1], *answer[3:]])
            away = np.abs(np.angle(np.exp(1j * (found - relative)))).max(axis=1)
            assert away.min() < 1e-8
            seen.add(int(away.argmin()))
    assert seen == set(np.flatnonzero(~np.isnan(found[:, 0])))


def newton(c: np.ndarray, pose: np.ndarray) -> np.ndarray | None:
    for _ in range(60):
        now = pin.SE3(flange(IRB2400, c))
        miss = pin.log6(now.actInv(pin.SE3(pose))).vector
        if np.abs(miss).max() < 1e-11:
            return c
        J = np.stack(
            [pin.log6(now.actInv(pin.SE3(flange(IRB2400, c + 1e-6 * unit)))).vector / 1e-6 for unit in np.eye(6)],
            axis=1,
        )
        c = c + np.clip(np.linalg.lstsq(J, miss, rcond=1e-9)[0], -0.5, 0.5)
    return None


def test_singular_poses_are_inverted_exactly_too():
    robot = load("irb2400")
    stretched = np.arctan2(0.755, 0.135) - np.pi  # a3 sin(q3 - q2) + d4 cos(q3 - q2) = 0
    over = np.arcsin(-(0.1 + 0.135 * np.sin(-1) + 0.755 * np.cos(-1)) / 0.705)  # wrist centre on axis 1
    for c in (
        [0.3, 0.2, -0.3, 0.5, 0.0, -0.4],
        [0.3, 0.2, -0.3, 0.5, 1e-9, -0.4],
        [0.3, 0.2, 0.2 + stretched, 0.5, 0.7, -0.4],
        [0.3, 0.2, 0.2 + stretched + 1e-9, 0.5, 0.7, -0.4],
        [0.3, over, -1.0, 0.5, 0.7, -0.4],
        [0.3, over + 1e-9, -1.0, 0.5, 0.7, -0.4],
    ):
        pose = flange(IRB2400, np.array(c))
        found = rp.inverse_kinematics(robot, pose).c[0]
        again = np.array([flange(IRB2400, q) for q in found[~np.isnan(found[:, 0])]])
        assert len(again) >= 4
        assert np.abs(again - pose).max() < 1e-10


def test_pose_out_of_reach_names_what_stops_it():
    robot = load("irb2400")
    far = np.eye(4)
    far[:3, 3] = [3, 0, 1]  # wrist centre 0.085 below, 2.9 m and 0.3 m from axis 2
    with pytest.raises(
        OutOfReach, match=r"would be 2\.9155 m from the axis of j2, the arm reaches from 0\.0620 to 1\.4720"
    ):
        rp.inverse_kinematics(robot, far).best()
    # The only motor beyond its limits, by 0.1 rad, and a pose that no other branch takes within them.
    c = np.array([0.3, 0.2, -0.3, 0.5, 2.0944 + 0.1, -0.4])
    found = rp.inverse_kinematics(robot, flange(IRB2400, c))
    assert not found.inside.any()
    with pytest.raises(OutOfReach, match=r"m5 would be at -?2\.1944 rad, its limits are -2\.0944 and 2\.0944"):
        found.best()
    assert found.excess[0].max(axis=1).min() == pytest.approx(0.1, abs=1e-9)


def test_wrist_centre_too_near_to_axis_2_is_out_of_reach_as_well():
    near = np.eye(4)
    near[:3, 3] = [0.1 + 0.05, 0, 0.615 + 0.085]  # the flange is 0.085 m above the wrist centre
    found = rp.inverse_kinematics(load("irb2400"), near)
    assert found.lever[0] == pytest.approx([0.05, 0.25], abs=1e-12)  # in front and turned about; 0.0620 is the least
    assert np.isnan(found.theta[0, :4]).all()
    assert not np.isnan(found.theta[0, 4:]).any()


def test_where_axes_4_and_6_are_in_line_axis_4_stands_at_zero():
    pose = flange(IRB2400, np.array([0.3, 0.2, -0.3, 0.5, 0.0, -0.4]))
    found = rp.inverse_kinematics(load("irb2400"), pose).c[0]
    assert found[0] == pytest.approx([0.3, 0.2, -0.3, 0.0, 0.0, 0.1], abs=1e-12)


def test_limit_of_the_parallelogram_counts_although_no_motor_has_it():
    robot = load("irb2400")
    c = np.array([0.0, -0.9, 0.6, 0.5, 0.5, 0.0])  # both motors within their ranges, upper against lower arm is not
    found = rp.inverse_kinematics(robot, flange(IRB2400, c))
    k = int(np.nanargmin(np.abs(found.c[0] - c).max(axis=1)))
    assert not found.inside[0, k]
    assert found.limits.names[found.excess[0, k].argmax()] == "j3"
    assert found.excess[0, k].max() == pytest.approx(0.2, abs=1e-9)


def test_nearest_answer_is_chosen():
    robot = load("irb2400")
    c = allowed(robot, np.random.default_rng(5), 100)
    found = rp.inverse_kinematics(robot, poses_of(IRB2400, np.eye(4), c))
    assert np.abs(found.best(near=c) - c).max() < 1e-9
    assert found.c.shape == (100, len(BRANCHES), 6)


@pytest.mark.parametrize(
    ("name", "frame", "why"),
    [
        ("irb360", "flange", "4 degrees of freedom"),  # said before a frame is missed that nobody named
        ("irb2400", "link3", "carried by 3 joints"),
        ("irb2400", "crank", "carried by 2 joints"),
    ],
)
def test_robots_without_closed_form_are_refused_with_the_reason(name, frame, why):
    with pytest.raises(NoClosedForm, match=why):
        rp.inverse_kinematics(load(name), np.eye(4), frame)


def test_a_serial_arm_with_an_offset_shoulder_is_inverted_too(tmp_path):
    """Not only our two robots: a shoulder beside axis 1 and no parallelogram."""
    robot = puma(tmp_path)
    c = np.random.default_rng(6).uniform(-1.5, 1.5, (100, 6))
    poses = rp.forward_kinematics(robot, c, "hand")
    found = rp.inverse_kinematics(robot, poses, "hand")
    assert np.abs(found.c - c[:, None]).max(axis=2).min(axis=1).max() < 1e-10
    for k in range(8):
        there = ~np.isnan(found.c[:, k, 0])
        assert np.abs(rp.forward_kinematics(robot, found.c[there, k], "hand") - poses[there]).max() < 1e-10
    near = np.eye(4)
    near[:3, 3] = [0, 0.05, 0.9]  # turned so that the wrist centre lies nearer to axis 1 than the shoulder's offset
    near[2, 3] -= 0.1
    with pytest.raises(OutOfReach, match=r"from axis 1, at least 0\.1500 is needed"):
        rp.inverse_kinematics(robot, near, "hand").best()


@pytest.mark.parametrize("endless", [("j4", "j6"), ("j1", "j2", "j3", "j4", "j5", "j6")])
def test_joints_that_turn_for_ever_have_no_limits(tmp_path, endless):
    robot = puma(tmp_path, endless)
    c = np.random.default_rng(6).uniform(-1.5, 1.5, (20, 6))
    c[:, 5] += 20
    found = rp.inverse_kinematics(robot, rp.forward_kinematics(robot, c, "hand"), "hand")
    assert np.abs(found.best(near=c) - c).max() < 1e-9
    assert 1 <= len(found.solutions(0)) <= 8
    far = np.eye(4)
    far[:3, 3] = 9
    assert not rp.inverse_kinematics(robot, far, "hand").inside.any()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"j2": ("0 0.15 0", "0 1 0.1")}, "j1 and j2 are not perpendicular"),
        ({"j3": ("0.4 0 0", "0.1 1 0")}, "j2 and j3 are not parallel"),
        ({"j4": ("0 0 0.02", "1 0.1 0")}, "j4 and j5 are not perpendicular"),
        ({"j6": ("0 0 0", "0 0.1 1")}, "j5 and j6 are not perpendicular"),
        ({"j6": ("0 0.05 0", "0 0 1")}, "j4, j5, j6 do not meet in a point"),
    ],
)
def test_arms_of_another_shape_are_refused_and_the_axes_named(tmp_path, changed, why):
    with pytest.raises(NoClosedForm, match=why):
        rp.inverse_kinematics(puma(tmp_path, changed=changed), np.eye(4), "hand")


def puma(folder, endless: tuple[str, ...] = (), changed: dict | None = None) -> Robot:
    joints = [
        ("j1", "0 0 0.5", "0 0 1"), ("j2", "0 0.15 0", "0 1 0"), ("j3", "0.4 0 0", "0 1 0"), ("j4", "0 0 0.02", "1 0 0"),
        ("j5", "0.43 0 0", "0 1 0"), ("j6", "0 0 0", "0 0 1"),
    ]  # fmt: skip
    joints = [(name, *(changed or {}).get(name, (at, axis))) for name, at, axis in joints]
    links = [f"l{k}" for k in range(7)]
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = '<robot name="puma"><link name="l0"/>' + "".join(f'<link name="{link}">{body}</link>' for link in links[1:])
    for k, (name, at, axis) in enumerate(joints):
        text += (
            f'<joint name="{name}" type="{"continuous" if name in endless else "revolute"}"><parent link="{links[k]}"/><child link="{links[k + 1]}"/><origin xyz="{at}"/>'
            f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        )
    file = RobotFile.model_validate({"urdf": "puma.urdf", "frames": {"hand": {"link": "l6", "at": [0, 0, 0.1]}}})
    return build("puma", file, text + "</robot>", folder / "puma.urdf")


def test_each_joint_is_turned_towards_the_wish_as_far_as_its_own_limits_let_it():
    robot, c = load("irb2400"), np.array([0.3, 0.2, -0.1, 0.5, 0.7, 6.0])
    wish = c + np.array([2 * np.pi, 0, 0, 0, 0, 0])  # axis 1 cannot turn that far, axis 6 can stay
    assert rp.inverse_kinematics(robot, flange(IRB2400, c)).best(near=wish)[0] == pytest.approx(c, abs=1e-9)


def test_branches_are_called_after_what_they_are():
    robot = load("irb2400")
    for c, name in (
        ([0.3, 0.2, -0.1, 0.5, 0.7, -0.4], "shoulder front, elbow as at zero, wrist plus"),
        ([0.3, 0.2, -0.1, 0.5, -0.7, -0.4], "shoulder front, elbow as at zero, wrist minus"),
        ([0.3, -1.6, -1.0, 0.5, 0.7, -0.4], "shoulder back, elbow as at zero, wrist plus"),
    ):
        found = rp.inverse_kinematics(robot, flange(IRB2400, np.array(c))).c[0]
        assert BRANCHES[int(np.nanargmin(np.abs(found - c).max(axis=1)))] == name
