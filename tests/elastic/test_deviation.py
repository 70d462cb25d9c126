"""Deviations of a tool under a force, against chains of frames turned by hand and against virtual work."""

import numpy as np
import pinocchio as pin
import pytest
from mdh import IRB6660, relative, step
from scipy.optimize import root

from robodyn_pin.elastic.deviation import compliance, deviation
from robodyn_pin.elastic.springs import Springs, Tool, coordinates_of, motors_of, pose_kinematics, springs_in
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.robot.robot import load

PRIOR = np.array([2.0, 3.0, 2.5, 0.8, 0.6, 0.4]) * 1e6  # [N m/rad] assumed
TCP = np.array([0.20, 0, 0.30])  # from the flange
FORCE = 300.0


def chain(q: np.ndarray, twist: np.ndarray) -> list[np.ndarray]:
    """Frames 1 to 6 and the tool (4 x 4) of the IRB 6660: after each joint one more turn about its z, as in (2)."""
    angles = relative(q) + np.array(IRB6660.offset)
    frames = [np.eye(4)]
    for *row, angle, more in zip(IRB6660.a, IRB6660.alpha, IRB6660.d, angles, twist, strict=True):
        frames.append(frames[-1] @ step(*row, angle) @ step(0, 0, 0, more))
    tool = np.eye(4)
    tool[:3, 3] = [*TCP[:2], TCP[2] + IRB6660.flange]
    return [*frames[1:], frames[-1] @ tool]


def moments(frames: list[np.ndarray], force: np.ndarray, layout: str) -> np.ndarray:
    """Moments (6,) that the springs carry, lever times force about each axis.

    On the motors: drive 2 alone moves the upper arm without turning it, so the force on it works at the elbow; drive 3
    turns the upper arm about the elbow.
    """
    tool = frames[-1][:3, 3]
    m = np.array([T[:3, 2] @ np.cross(tool - T[:3, 3], force) for T in frames[:-1]])
    if layout == "motors":
        m[1] = frames[1][:3, 2] @ np.cross(frames[2][:3, 3] - frames[1][:3, 3], force)
    return m


def by_hand(q: np.ndarray, force: np.ndarray, layout: str, model: str) -> np.ndarray:
    rigid = twisted = chain(q, np.zeros(6))
    for _ in range(1 if model == "unloaded" else 12):
        turn = moments(twisted, force, layout) / PRIOR
        # The upper arm's absolute angle is motor 3's: what motor 2 yields turns the elbow back.
        relative_turn = turn - np.array([0, 0, turn[1] if layout == "motors" else 0, 0, 0, 0])
        twisted = chain(q, relative_turn)
    return twisted[-1][:3, 3] - rigid[-1][:3, 3]


def poses(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.uniform([-2.5, -0.6, 0.0, -3, -2, -3], [2.5, 1.0, 1.0, 3, 2, 3], (n, 6))
    force = rng.normal(size=(n, 3))
    return q, FORCE * force / np.linalg.norm(force, axis=1, keepdims=True)


@pytest.mark.parametrize("model", ["unloaded", "loaded"])
@pytest.mark.parametrize("layout", ["motors", "joints"])
def test_deviation_is_that_of_a_chain_of_frames_with_turned_joints(layout, model):
    springs = springs_in(load("irb6660"), Tool(frame="tcp"), layout)
    q, force = poses(30)
    found = deviation(springs, coordinates_of(springs, q), force, PRIOR, model).values
    expected = np.array([by_hand(a, f, layout, model) for a, f in zip(q, force, strict=True)])
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("model", ["unloaded", "loaded"])
@pytest.mark.parametrize("layout", ["motors", "joints"])
def test_linear_deviation_is_within_a_thousandth_of_the_exact_one_at_300_newton(layout, model):
    springs = springs_in(load("irb6660"), Tool(frame="tcp"), layout)
    q, force = poses(200, seed=2)
    c = coordinates_of(springs, q)
    exact, linear = (deviation(springs, c, force, PRIOR, m).values for m in (model, "linear"))
    assert (np.linalg.norm(linear - exact, axis=1) < 1e-3 * np.linalg.norm(exact, axis=1)).all()


def potential(springs: Springs, c: np.ndarray, rest: np.ndarray, force: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Energy (N,) of the springs less the work of one force, straight from Pinocchio's frames."""
    robot = springs.robot
    state = robot.close(c, 0 * c, 0 * c)
    data, number = robot.model.createData(), robot.model.getFrameId(springs.tool.frame)
    work = []
    for q in state.q:
        pin.framesForwardKinematics(robot.model, data, q)
        work.append(data.oMf[number].act(np.array(springs.tool.at)) @ force)
    turn = state.q @ springs.axes.S.T + springs.axes.offset - rest
    return 0.5 * turn**2 @ k - np.array(work)


@pytest.mark.parametrize(("name", "frame"), [("irb360", "platform"), ("delta3", "platform"), ("dualv", "platform"),
                                             ("irb2400", "link6"), ("irb6660", "tcp")])  # fmt: skip
def test_springs_of_any_robot_settle_where_no_virtual_displacement_gives_work(name, frame):
    springs = springs_in(load(name), Tool(frame=frame, at=(0.02, 0.03, -0.05)))
    n, rng = len(springs.names), np.random.default_rng(3)
    k, force = rng.uniform(0.5, 1, n) * 1e4, rng.normal(size=3) * 60
    at_home = springs.robot.home @ springs.robot.coordinates.S.T + springs.robot.coordinates.offset
    c = at_home + rng.uniform(-0.03, 0.03, len(at_home))
    rest = pose_kinematics(springs, c[None])
    found = deviation(springs, c[None], force[None], k, "loaded")
    h = 1e-5
    ends = np.concatenate([h * np.eye(len(c)), -h * np.eye(len(c))])

    def slope(c: np.ndarray) -> np.ndarray:
        value = potential(springs, c + ends, rest.angles[0], force, k)
        return np.asarray((value[: len(c)] - value[len(c) :]) / (2 * h))

    low = root(slope, c, options={"eps": 1e-4}).x
    moved = pose_kinematics(springs, low[None]).point - rest.point
    assert np.linalg.norm(found.values - moved) < 1e-5 * np.linalg.norm(moved)  # the energy's slope is by differences


@pytest.mark.parametrize("model", ["linear", "unloaded", "loaded"])
@pytest.mark.parametrize(("name", "frame"), [("irb6660", "tcp"), ("dualv", "platform"), ("irb360", "platform")])
def test_sensitivities_are_the_slopes_of_the_deviation(name, frame, model):
    springs = springs_in(load(name), Tool(frame=frame, at=(0.05, 0.1, 0.0)))
    at_home = springs.robot.home @ springs.robot.coordinates.S.T + springs.robot.coordinates.offset
    c, force, k = at_home[None] + 0.1, np.array([[40.0, 30, -20]]), np.full(len(springs.names), 2e4)
    slopes = deviation(springs, c, force, k, model).slopes
    for i, unit in enumerate(np.eye(len(k))):
        up, down = (deviation(springs, c, force, k + s * 4 * unit, model).values for s in (1, -1))
        assert np.abs((up - down) / 8 - slopes[..., i]).max() < 1e-6 * np.abs(slopes).max()


def test_compliance_is_the_slope_of_small_deviations():
    springs = springs_in(load("irb6660"), Tool(frame="tcp"))
    q, _ = poses(1)
    c = coordinates_of(springs, q)
    columns = [deviation(springs, c, np.eye(3)[None, i], PRIOR, "loaded").values[0] for i in range(3)]
    assert np.allclose(np.array(columns).T, compliance(pose_kinematics(springs, c), PRIOR)[0], rtol=1e-5, atol=1e-12)


def test_motors_of_a_pose_come_back():
    springs = springs_in(load("irb6660"), Tool(frame="tcp"), "joints")
    q, _ = poses(3)
    assert np.allclose(motors_of(springs, pose_kinematics(springs, coordinates_of(springs, q))), q, atol=1e-12)


def test_relative_angles_are_refused_where_there_is_no_serial_arm():
    with pytest.raises(BadFile, match=r"serial arm.*use 'springs: motors'"):
        springs_in(load("dualv"), Tool(frame="platform"), "joints")


def test_a_tool_on_no_frame_is_refused_by_name():
    with pytest.raises(UnknownName, match="did you mean 'tcp'"):
        springs_in(load("irb6660"), Tool(frame="tpc"))
