"""Motions that are far out of reach are refused at once, long ways that are open are gone, divergence says when."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.closures import closing, kernel_choice
from robodyn_pin.closures.loops import Loops
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import ClosureFailed, Diverged, ShapeMismatch
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.robot.mobility import rank
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile

GANTRY = {
    "urdf": "gantry.urdf", "motors": ["left"],
    "closures": [{"name": "bridge", "kind": "coupling", "of": {"left": 1, "right": -1}}],
}  # fmt: skip
GANTRY_URDF = '<robot name="gantry"><link name="base"/>' + "".join(
    f'<link name="{side}_cart"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    f'</link><joint name="{side}" type="prismatic"><parent link="base"/><child link="{side}_cart"/><axis xyz="1 0 0"/>'
    '<limit lower="-20" upper="20" effort="9" velocity="9"/></joint>'
    for side in ("left", "right")
) + "</robot>"  # fmt: skip


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
@pytest.mark.parametrize("far", [1e3, 1e6, 1e13])
def test_what_is_far_out_of_reach_is_refused_without_going_there(path, far, monkeypatch):
    """Newton runs as often as the mechanism's reach asks for, not the distance; the sample is named."""
    robot = rp.load("irb360")
    steps = [0]
    place = Loops.at

    def counted(self, *arguments):
        steps[0] += 1
        return place(self, *arguments)

    monkeypatch.setattr(Loops, "at", counted)
    c = np.full((200, 4), 0.2)
    c[70:, 0] = far
    with kernel_choice.forced(path), pytest.raises(ClosureFailed, match=r"row (7\d|100): .*out of reach"):
        robot.close(c, 0 * c, 0 * c, label=lambda i: f"row {i}")
    assert steps[0] < 3000
    with kernel_choice.forced(path), pytest.raises(ClosureFailed, match=r"row 0: .*out of reach"):
        robot.close(c[70:], 0 * c[70:], 0 * c[70:], label=lambda i: f"row {i}")
    assert steps[0] < 6000


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_long_ways_that_are_open_are_gone(path):
    """A shaft after many turns, and a gantry whose bridge has gone eight metres on two coupled rails."""
    with kernel_choice.forced(path):
        robot = rp.load("irb360")
        c = np.full((40, 4), 0.2)
        turned = c + 2 * np.pi * 300 * np.eye(4)[3]
        np.testing.assert_allclose(robot.close(turned, 0 * c, 0 * c).q @ robot.coordinates.S.T, turned, atol=1e-9)
        gantry = build("gantry", RobotFile.model_validate(GANTRY), GANTRY_URDF, Path("gantry.urdf"))
        way = np.linspace(8.0, 9.0, 40)[:, None]
        q = gantry.close(way, 0 * way, 0 * way).q
        np.testing.assert_allclose(q, way * np.ones(2), atol=1e-9)
        with pytest.raises(ClosureFailed, match="sample 0"):
            gantry.close(way + 1e13, 0 * way, 0 * way)


def test_a_motion_that_diverges_says_when():
    """Negative friction drives the IRB 360 out of its workspace, carts without loops beyond all numbers."""
    robot, t = rp.load("irb360"), np.linspace(0, 2, 401)
    hold = rp.inverse_dynamics(robot, np.full((1, 4), 0.2), np.zeros((1, 4)), np.zeros((1, 4)))[0]
    with pytest.raises(Diverged, match=r"'irb360' diverged between t = 0\.\d+ and 0\.\d+ s: the loops no longer close"):
        rp.roll_out(robot, lambda time, c, cd: hold + 1e3 * np.sign(cd + 1e-9), np.full(4, 0.2), np.zeros(4), t)
    gantry = build("gantry", RobotFile.model_validate({"urdf": "gantry.urdf"}), GANTRY_URDF, Path("gantry.urdf"))
    with pytest.raises(Diverged, match=r"'gantry' diverged between t = 0\.\d+ and 0\.\d+ s: numbers overflow"):
        rp.roll_out(gantry, lambda time, c, cd: 1e3 * cd**3 + 1, np.zeros(2), np.zeros(2), t)


@pytest.mark.parametrize("far", [1e3, 1e13])
def test_measured_motors_that_are_far_away_are_refused_at_once(far):
    """The DualV has more motors than degrees of freedom: its positions come from all of them by least squares."""
    robot = rp.load("dualv")
    q = np.tile(robot.motors.S @ robot.home + robot.motors.offset, (500, 1))
    q[123:, 1] += far
    with pytest.raises(ClosureFailed, match=r"row 123 lie .* from the sample before, which is out of reach"):
        close_motors(robot, q, 0 * q, 0 * q, lambda i: f"row {i}")
    with pytest.raises(ClosureFailed, match=r"row 0 lie .* from where the robot is assembled"):
        close_motors(robot, q[123:], 0 * q[123:], 0 * q[123:], lambda i: f"row {i}")


def test_measured_motors_behind_gears_may_go_far():
    """Motors that turn 600 times for each turn of their joints go 360 rad where these go 0.6."""
    direct = rp.load("dualv")
    motors = [
        motor.model_copy(update={"of": {joint: 600 * x for joint, x in motor.of.items()}, "offset": 0.0})
        for motor in direct.file.motors
    ]
    file = direct.file.model_copy(update={"motors": motors, "limits": {}})
    geared = build("geared", file, direct.urdf_xml, direct.urdf_path)
    c = geared.coordinates.S @ geared.home + geared.coordinates.offset + np.linspace(0.09, 0.1, 200)[:, None]
    state = geared.close(c, 0 * c, 0 * c)
    q = state.q @ geared.motors.S.T
    assert np.abs(q - geared.motors.S @ geared.home).max() > 300
    np.testing.assert_allclose(close_motors(geared, q, 0 * q, 0 * q).q, state.q, atol=1e-9)


@pytest.mark.parametrize("gear", [1e-6, 1.0, 1e8])
def test_whole_turns_take_as_much_work_behind_any_gear(gear, monkeypatch):
    """The tool's shaft of the IRB 360 after 1e7 turns: one of them is walked, in steps of the joint."""
    robot, steps, place = rp.load("irb360"), [0], Loops.at

    def counted(self, *arguments):
        steps[0] += 1
        return place(self, *arguments)

    monkeypatch.setattr(Loops, "at", counted)
    axes, factor = robot.coordinates, np.array([1.0, 1.0, 1.0, gear])
    c = (0.2 + 2 * np.pi * 1e7 * np.eye(4)[3]) * factor
    with kernel_choice.forced("pinocchio"):
        q = closing.close(robot.loops, factor[:, None] * axes.S, factor * axes.offset, c[None], robot.home)
    assert steps[0] < 1000
    np.testing.assert_allclose((q @ axes.S.T + axes.offset)[0], c / factor, rtol=1e-12)


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
@pytest.mark.parametrize("size", [1e-12, 1e8, 1e150, 1e300])
def test_targets_and_lengths_of_any_size_end_in_bounded_work(path, size, monkeypatch):
    """Targets hardly or hugely apart, and walks that begin at an assembled pose or far from one: Newton's steps and the pieces of
    the compiled walk, of which none makes more strides than is allowed, are counted."""
    robot, work, place, follow = rp.load("delta3"), [0], Loops.at, closing.follow

    def counted(self, *arguments):
        work[0] += 1
        assert work[0] < 20_000, "the work has no bound"
        return place(self, *arguments)

    class Pieces:
        @staticmethod
        def follow_samples(*task):
            work[0] += 1
            assert work[0] < 20, "too many pieces"
            return compiled_walk(*task)

    def in_pieces(*task, **options):
        with monkeypatch.context() as patch:
            patch.setattr(kernel_choice, "kernel", lambda name: Pieces)
            return follow(*task, **options)

    if path == "kernel":
        pytest.importorskip("numba", reason="numba is not installed")
        compiled_walk = kernel_choice.kernel("robodyn_pin.closures.kernel_solve").follow_samples
        monkeypatch.setattr(closing, "follow", in_pieces)
    else:
        monkeypatch.setattr(Loops, "at", counted)
    axes = robot.coordinates
    home = axes.S @ robot.home + axes.offset
    c = np.tile(home, (100, 1))
    c[50:] += size * np.array([1.0, -1.0, 1.0])
    start = robot.home + (0 if size < 1 else size * np.eye(len(robot.home))[-1])
    with kernel_choice.forced(path), np.errstate(all="ignore"):
        for first in (robot.home, start):
            with contextlib.suppress(ClosureFailed):
                q = closing.close(robot.loops, axes.S, axes.offset, c, first)
                assert np.abs(robot.loops.evaluate(q).phi).max() < 1e-9
                assert np.abs(q @ axes.S.T + axes.offset - c).max() < 1e-9
            closing.reachable(robot.loops, axes.S, axes.offset, c, first)
    assert work[0] > 0


def test_a_compiled_walk_comes_in_pieces_that_ctrl_c_can_end(monkeypatch):
    """Every piece makes a bounded number of strides; the pieces give what one walk gives."""
    pytest.importorskip("numba", reason="numba is not installed")
    robot = rp.load("delta3")
    axes = robot.coordinates
    home = axes.S @ robot.home + axes.offset
    c = home + 0.3 * np.sin(np.arange(30_000)[:, None] / 200 + np.arange(3))
    compiled = robot.loops.compiled(axes.S)
    kernel = kernel_choice.kernel("robodyn_pin.closures.kernel_solve")
    calls = []

    def counted(*things):
        calls.append(things[-1])
        return kernel.follow_samples(*things)

    class Counted:
        follow_samples = staticmethod(counted)

    with monkeypatch.context() as patch:
        patch.setattr(kernel_choice, "kernel", lambda name: Counted)
        q, closed = closing.follow(compiled, axes.S, axes.offset, c, robot.home, scattered=False)
    assert closed.all()
    assert len(calls) >= 3
    assert np.abs(q @ axes.S.T + axes.offset - c).max() < 1e-12
    assert np.abs(robot.loops.evaluate(q[::100]).phi).max() < 1e-12
    assert np.abs(np.diff(q, axis=0)).max() < 0.05  # no other assembly mode where a piece begins


def test_rank_decisions_refuse_numbers_that_are_not_finite():
    for bad in (np.inf, np.nan):
        A = np.eye(4)
        A[1, 2] = bad
        with pytest.raises(ShapeMismatch, match="not finite"):
            base_set(A)
        assert rank(A) == 0
