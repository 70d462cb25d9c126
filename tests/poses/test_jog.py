"""A robot led along its coordinates: closed at every step, in one assembly mode, with limits and static loads told."""

import numpy as np
import pinocchio as pin
import pytest

from robodyn_pin.closures.kinds import Closure
from robodyn_pin.dynamics.equations import Wrench
from robodyn_pin.errors import ClosureFailed
from robodyn_pin.poses.jog import (
    coordinate_choices,
    jogged,
    nearest_limits,
    pose_at,
    position_bounds,
    slider_ranges,
    static_loads,
)
from robodyn_pin.robot.payload import loadable
from robodyn_pin.robot.robot import load

ROBOTS = ["irb360", "dualv", "irb2400", "irb6660", "delta3"]


def gap(robot, q) -> float:
    """Largest distance [m] between points that closures hold together, by Pinocchio's kinematics alone."""
    model, data = robot.model, robot.model.createData()
    pin.framesForwardKinematics(model, data, q)
    gaps = [0.0]
    for closure in robot.loops.closures:
        if isinstance(closure, Closure) and closure.kind != "rod":
            a = data.oMf[model.getFrameId(closure.frame_a)] * closure.placement_a
            b = data.oMf[model.getFrameId(closure.frame_b)] * closure.placement_b
            apart = a.actInv(b.translation)
            gaps.append(float(np.linalg.norm(apart[:2] if closure.kind == "planar_point" else apart)))
    return max(gaps)


@pytest.mark.parametrize("name", ROBOTS)
def test_every_step_is_closed_and_keeps_the_side_of_the_singularity(name):
    for robot in coordinate_choices(load(name)).values():
        span, pose = slider_ranges(robot, position_bounds(robot)), pose_at(robot, robot.home)
        rng, side, arrived = np.random.default_rng(3), pose.side, 0
        for step in range(40):
            c = pose.c.copy()
            k = step % len(c)
            c[k] = np.clip(c[k] + rng.uniform(-0.05, 0.05) * np.ptp(span[k]), *span[k])
            try:
                pose = jogged(robot, pose, c)
            except ClosureFailed:
                continue  # a corner that the mechanism does not reach
            arrived += 1
            assert gap(robot, pose.state.q[0]) < 1e-9
            led = robot.coordinates.S @ pose.state.q[0] + robot.coordinates.offset
            assert led == pytest.approx(c, abs=1e-9)
            assert pose.side == side
        assert arrived > 25


def test_out_of_reach_is_refused_with_the_closure_named():
    robot = load("delta3").with_coordinates(["x", "y", "z"])
    with pytest.raises(ClosureFailed, match=r"'ball_.*' does not close"):
        jogged(robot, pose_at(robot, robot.home), np.array([0.0, 0.0, -0.35]) * 3)


def test_a_pose_behind_a_singularity_is_refused():
    """Half a metre up, the platform of the small Delta stands above its arms: rods closed, but folded over."""
    robot = load("delta3").with_coordinates(["x", "y", "z"])
    pose, up = pose_at(robot, robot.home), np.array([0.0, 0.0, 0.5])
    folded = robot.close(up[None], np.zeros((1, 3)), np.zeros((1, 3)), robot.home)
    assert gap(robot, folded.q[0]) < 1e-9
    with pytest.raises(ClosureFailed, match="a singularity lies between"):
        jogged(robot, pose, pose.c + up)


@pytest.mark.parametrize("name", ["irb360", "dualv"])
def test_distance_to_singularity_is_that_of_the_robot(name):
    robot = load(name)
    c = pose_at(robot, robot.home).c + 0.03
    assert jogged(robot, pose_at(robot, robot.home), c).singularity == pytest.approx(robot.singularity(c[None])[0])


def test_choices_are_the_files_the_motors_and_the_platform():
    assert list(coordinate_choices(load("irb360"))) == ["phi1, phi2, phi3, psi", "x, y, z, R5"]
    assert list(coordinate_choices(load("dualv"))) == ["x, y, phi", "m1, m2, m3"]
    assert list(coordinate_choices(load("irb2400"))) == ["m1, m2, m3, m4, m5, m6"]


def test_sliders_span_the_limits_of_file_and_urdf():
    irb360, dualv = load("irb360"), load("dualv")
    span = slider_ranges(irb360, position_bounds(irb360))
    assert np.degrees(span[0]) == pytest.approx([-40.3, 100], abs=0.1)  # URDF: -0.703 .. 1.745
    assert span[3] == pytest.approx([-2 * np.pi, 2 * np.pi])  # turns a thousand times: two are shown
    legs = dualv.with_coordinates(["m1", "m2", "m3"])
    assert slider_ranges(legs, position_bounds(legs))[0] == pytest.approx(
        2.353104842341665 + np.array([-2, 2])
    )  # of A1
    assert dualv.slides(dualv.coordinates.S).tolist() == [True, True, False]


def test_the_nearest_limit_comes_first():
    robot = load("dualv")
    pose = jogged(robot, pose_at(robot, robot.home), np.array([0.14, 0.0, 0.0]))
    nearest = nearest_limits(robot, position_bounds(robot), pose)[0]
    assert (nearest.name, nearest.share) == ("x", pytest.approx(1.0))


def test_closures_carry_the_platform_and_what_pulls_at_it():
    robot = load("delta3")
    pose = jogged(robot, pose_at(robot, robot.home), np.array([0.3, 0.1, -0.2]))
    pull = np.array([4.0, -7.0, -20.0])
    loads = static_loads(robot, pose, Wrench("platform", np.array([*pull, 0, 0, 0])))
    mass = robot.model.inertias[robot.model.frames[robot.model.getFrameId("platform")].parentJoint].mass
    carried = sum(force for _, force in loads.closures.values())  # on the platform, the second body of each
    assert carried == pytest.approx([-4.0, 7.0, 20.0 + 9.81 * mass], abs=1e-9)
    assert loads.struts is not None
    assert "platform" in loadable(robot)


def test_motors_hold_what_virtual_work_says():
    """DualV lies flat: nothing to hold, until the platform is pulled along x, the motors then give J'f."""
    robot = load("dualv")
    pose = jogged(robot, pose_at(robot, robot.home), np.array([0.03, -0.02, 0.1]))
    assert static_loads(robot, pose).torques == pytest.approx(np.zeros(4), abs=1e-9)
    torques = static_loads(robot, pose, Wrench("platform", np.array([50.0, 0, 0, 0, 0, 0]))).torques
    h, work = 1e-6, []
    for k in range(3):  # work of the motors along each coordinate against that of the pull, by central differences
        ahead, behind = (jogged(robot, pose, pose.c + s * h * np.eye(3)[k]).state.q[0] for s in (1, -1))
        work.append(torques @ robot.motors.S @ (ahead - behind) / (2 * h))
    assert work == pytest.approx([-50.0, 0.0, 0.0], abs=1e-6)
