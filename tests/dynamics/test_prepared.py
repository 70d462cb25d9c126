"""One sample at a time: prepared robots, and public calls once the kernels are loaded, against Pinocchio's path."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.errors import ClosureFailed, ShapeMismatch

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


@pytest.mark.parametrize("name", ROBOTS)
def test_prepared_robot_gives_the_torques_of_the_usual_path(name):
    robot = rp.load(name)
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
