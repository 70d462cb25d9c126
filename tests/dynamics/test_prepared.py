"""One sample at a time: prepared robots, and public calls once the kernels are loaded, against Pinocchio's path."""

import numpy as np
import pytest
from arm import arm

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.errors import ClosureFailed, ShapeMismatch
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile

ROBOTS = ["irb360", "dualv", "irb2400", "irb6660", "delta3"]


def motion(robot, samples=20):
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    t = np.linspace(0, 0.2, samples)[:, None]
    phase = np.arange(1, len(home) + 1)
    return home + 0.04 * np.sin(5 * t * phase), 0.2 * phase * np.cos(5 * t * phase), -(phase**2) * np.sin(5 * t * phase)


def alike(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


def held_closed(robot, *one):
    found = rp.constraint_forces(robot, *one)
    return np.concatenate([*found.multipliers.values(), found.tau], axis=1)


@pytest.mark.parametrize("name", [*ROBOTS, "arm"])
def test_prepared_robot_gives_the_torques_of_the_usual_path(name):
    robot = arm() if name == "arm" else rp.load(name)
    with kernel_choice.forced("pinocchio"):
        expected = rp.inverse_dynamics(robot, *motion(robot))
    loop = rp.prepared(robot)
    alike([loop.inverse_dynamics(*x) for x in zip(*motion(robot), strict=True)], expected)


def test_without_kernels_a_prepared_robot_computes_the_same(monkeypatch):
    robot = rp.load("irb360")
    c, cd, cdd = motion(robot)
    expected = rp.inverse_dynamics(robot, c, cd, cdd)
    monkeypatch.setattr(kernel_choice, "installed", lambda: False)
    loop = rp.prepared(robot)
    alike([loop.inverse_dynamics(*x) for x in zip(c, cd, cdd, strict=True)], expected)


def test_an_error_leaves_the_last_pose():
    robot = rp.load("irb360")
    loop = rp.prepared(robot)
    c, cd, cdd = (x[5] for x in motion(robot))
    tau, last = loop.inverse_dynamics(c, cd, cdd), loop.last.copy()
    with pytest.raises(ClosureFailed, match="does not close"):
        loop.inverse_dynamics(c + np.array([3.0, 0, 0, 0]), cd, cdd)
    with pytest.raises(ShapeMismatch, match=r"cdd is nan"):
        loop.inverse_dynamics(c, cd, np.nan * cdd)
    with pytest.raises(ShapeMismatch, match=r"expected \(4,\) each"):
        loop.inverse_dynamics(c[None], cd, cdd)
    assert (loop.last == last).all()
    alike(loop.inverse_dynamics(c, cd, cdd), tau)


def test_single_samples_use_the_kernels_once_they_are_loaded():
    robot = rp.load("irb360")
    kernel_choice.kernel("robodyn_pin.closures.kernel_solve")
    assert kernel_choice.chosen(1)
    one = [x[7:8] for x in motion(robot)]
    functions = [rp.inverse_dynamics, rp.regressor, held_closed]
    with kernel_choice.forced("pinocchio"):
        expected = [f(robot, *one) for f in functions]
    for f, x in zip(functions, expected, strict=True):
        alike(f(robot, *one), x)


def test_motors_of_a_tree_may_drive_several_joints():
    plain = arm()
    motors = [{"name": "both", "of": {"joint1": 1.0, "joint2": 0.5}}, *(f"joint{k}" for k in range(2, 8))]
    robot = build(
        "arm", RobotFile.model_validate({"urdf": "arm.urdf", "motors": motors}), plain.urdf_xml, plain.urdf_path
    )
    c, cd, cdd = motion(robot)
    first = [x[:, 0] - 0.5 * x[:, 1] for x in (c, cd, cdd)]  # joint 1, by hand
    joints = [np.column_stack([a, x[:, 1:]]) for a, x in zip(first, (c, cd, cdd), strict=True)]
    with kernel_choice.forced("pinocchio"):
        tau = rp.inverse_dynamics(plain, *joints)
    tau[:, 1] -= 0.5 * tau[:, 0]  # what the first motor gives along joint 2, the second need not
    loop = rp.prepared(robot)
    alike([loop.inverse_dynamics(*x) for x in zip(c, cd, cdd, strict=True)], tau)
