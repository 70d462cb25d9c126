"""Arms with a spherical wrist: every branch, limits, poses out of reach, singular poses and rates near them.

The oracle is the MDH tables of mdh.py, in motors' angles; it shares no number with the package.
"""

import numpy as np
import pinocchio as pin
import pytest
from mdh import IRB2400, IRB6660, Table, flange, frames, step

import robodyn_pin as rp
from robodyn_pin.branches import BRANCHES, OutOfReach
from robodyn_pin.robot import Robot, build, load
from robodyn_pin.robot_file import RobotFile
from robodyn_pin.spherical_wrist import NoClosedForm

SPINDLE = np.array([[0, 0, 1, 0.240], [0, 1, 0, 0], [-1, 0, 0, 0.162], [0, 0, 0, 1]])  # equation (12), table 4
ARMS = {
    # robot, frame: table, pose of the frame from the flange
    ("irb2400", "flange"): (IRB2400, np.eye(4)),
    ("irb2400", "tool0"): (IRB2400, np.eye(4)),
    ("irb2400", "T"): (IRB2400, SPINDLE),
    ("irb2400_spindle", "tcp"): (IRB2400, SPINDLE),
    ("irb6660", "tool0"): (IRB6660, np.eye(4)),
    ("irb6660", "tcp"): (IRB6660, np.block([[np.eye(3), np.array([[0.20], [0], [0.30]])], [np.zeros((1, 3)), 1]])),
}


def ranges(robot: Robot) -> np.ndarray:
    return np.array([robot.file.limits[name].position for name in robot.motors.names])


def allowed(robot: Robot, rng: np.random.Generator, n: int) -> np.ndarray:
    """Motors' angles (n, 6) over their whole ranges, upper against lower arm within its own."""
    low, high = ranges(robot).T
    c = rng.uniform(low, high, (5 * n, 6))
    least, most = robot.file.limits["j3"].position
    return c[(c[:, 2] - c[:, 1] > least) & (c[:, 2] - c[:, 1] < most)][:n]


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
def test_jacobian_of_every_frame_is_equation_33(name, frame):
    robot, (table, tool) = load(name), ARMS[name, frame]
    c = allowed(robot, np.random.default_rng(4), 50)
    for q, J in zip(c, rp.frame_jacobian(robot, c, frame), strict=True):
        T, end = frames(table, q), (flange(table, q) @ tool)[:3, 3]
        expected = np.zeros((6, 6))
        for i in range(6):
            z, to = T[i][:3, 2], T[2][:3, 3] if i == 1 else end  # axis 2 carries the elbow and turns nothing beyond it
            expected[:, i] = [*np.cross(z, to - T[i][:3, 3]), *(0 * z if i == 1 else z)]
        assert np.abs(J - expected).max() < 1e-12


def test_pose_out_of_reach_names_what_stops_it():
    robot = load("irb2400")
    far = np.eye(4)
    far[:3, 3] = [3, 0, 1]
    with pytest.raises(OutOfReach, match=r"wrist centre would be 3\.\d+ m from the axis of j2.* to 1\.47"):
        rp.inverse_kinematics(robot, far).best()
    # The only motor beyond its limits, by 0.1 rad, and a pose that no other branch takes within them.
    c = np.array([0.3, 0.2, -0.3, 0.5, 2.0944 + 0.1, -0.4])
    found = rp.inverse_kinematics(robot, flange(IRB2400, c))
    assert not found.inside.any()
    with pytest.raises(OutOfReach, match=r"m5 would be at -?2\.1944 rad, its limits are -2\.0944 and 2\.0944"):
        found.best()
    assert found.excess[0].max(axis=1).min() == pytest.approx(0.1, abs=1e-9)


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
    c[:, [0, 3, 5]] /= 4  # less than half a turn: a whole turn more would be farther
    found = rp.inverse_kinematics(robot, poses_of(IRB2400, np.eye(4), c))
    assert np.abs(found.best(near=c) - c).max() < 1e-9
    assert found.c.shape == (100, len(BRANCHES), 6)


@pytest.mark.parametrize(
    ("name", "frame", "why"),
    [
        ("irb360", "end_effector", "degrees of freedom"),
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


def puma(folder) -> Robot:
    joints = [
        ("j1", "0 0 0.5", "0 0 1"), ("j2", "0 0.15 0", "0 1 0"), ("j3", "0.4 0 0", "0 1 0"), ("j4", "0 0 0.02", "1 0 0"),
        ("j5", "0.43 0 0", "0 1 0"), ("j6", "0 0 0", "0 0 1"),
    ]  # fmt: skip
    links = [f"l{k}" for k in range(7)]
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = '<robot name="puma"><link name="l0"/>' + "".join(f'<link name="{link}">{body}</link>' for link in links[1:])
    for k, (name, at, axis) in enumerate(joints):
        text += (
            f'<joint name="{name}" type="revolute"><parent link="{links[k]}"/><child link="{links[k + 1]}"/><origin xyz="{at}"/>'
            f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        )
    file = RobotFile.model_validate({"urdf": "puma.urdf", "frames": {"hand": {"link": "l6", "at": [0, 0, 0.1]}}})
    return build("puma", file, text + "</robot>", folder / "puma.urdf")


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
    assert np.abs(near.determinant - determinants).max() < 1e-12


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
    undamped = np.linalg.solve(J[1:2], v[1:2, :, None])  # a two-hundredth of the way: what damping is for
    assert np.abs(undamped).max() > 2 * np.abs(found.rates[1]).max()


def test_spindle_frame_of_the_robot_file_is_that_of_the_robot_with_spindle():
    c = allowed(load("irb2400"), np.random.default_rng(9), 20)
    plain, spindle = (
        rp.forward_kinematics(load("irb2400"), c, "T"),
        rp.forward_kinematics(load("irb2400_spindle"), c, "tcp"),
    )
    assert np.abs(plain - spindle).max() < 1e-12
    assert step(0, 0, 0, 0) == pytest.approx(np.eye(4))
