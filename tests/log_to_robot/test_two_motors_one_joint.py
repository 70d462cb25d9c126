"""The least of robots with motors to spare: carts, as Figure 1 of Briot et al. (DualV), everything by hand."""

import numpy as np
import pytest

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

CART = """<robot name="cart"><link name="base"/><link name="cart"><inertial><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="x" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="100" velocity="10"/></joint></robot>"""


def test_a_cart_that_two_motors_push_is_weighed_whatever_they_push_against_each_other(tmp_path):
    """Figure 1 of Briot et al. (DualV): f1 + f2 = m a. By hand: m = sum (f1 + f2) a / sum a^2, deviation sigma sqrt 2 / |a|."""
    (tmp_path / "cart.urdf").write_text(CART)
    (tmp_path / "cart.yaml").write_text(
        "urdf: cart.urdf\nmotors: [{name: f1, of: {x: 1}}, {name: f2, of: {x: 1}}]\ncoordinates: [x]\n"
    )
    robot, w = load(tmp_path / "cart.yaml"), 2 * np.pi / 2.5
    motion = FourierMotion(rate=200, duration=5, period=2.5, centre={"x": 0}, sin={"x": [0.1]})
    log = uniform(simulate(robot, motion, Noise(np.full(2, 0.1), seed=1, internal=5.0)))
    run = RunFile.model_validate({"robot": "cart", "fit": [{"file": "log.csv"}], "preparation": {"differentiation": "fourier", "period": 2.5}})  # fmt: skip
    result = estimate(robot, run, [Selected(log, 0, 500)], [Selected(log, 500, 1000)])
    a, pushed = -0.1 * w**2 * np.sin(w * log.t[:500]), log.tau[:500].sum(axis=1)
    assert result.wls.values == pytest.approx([pushed @ a / (a @ a)], rel=1e-6)
    assert result.wls.deviations == pytest.approx([0.1 * np.sqrt(2 / (a @ a))], rel=0.1)
    assert result.check.diagnosis.overconstraint.internal_rms > 3


def test_two_motors_on_one_joint_and_one_on_the_other_find_the_pose(tmp_path):
    """Two of three motors do not always determine two joints; by hand the nearest x is the mean of its two encoders."""
    second = (
        CART.replace('name="x"', 'name="y"').replace('link="cart"', 'link="top"').replace('link="base"', 'link="cart"')
    )
    both = CART.replace("</robot>", "") + second.split('<link name="base"/>')[1].replace(
        'link name="cart"', 'link name="top"'
    )
    (tmp_path / "cart.urdf").write_text(both)
    (tmp_path / "cart.yaml").write_text(
        "urdf: cart.urdf\nmotors: [{name: f1, of: {x: 1}}, {name: f2, of: {x: 1}}, {name: f3, of: {y: 1}}]\ncoordinates: [x, y]\n"
    )
    q = 0.01 * np.random.default_rng(8).normal(size=(200, 3))
    found = close_motors(load(tmp_path / "cart.yaml"), q, 0 * q, 0 * q).q
    np.testing.assert_allclose(found, np.stack([q[:, :2].mean(axis=1), q[:, 2]], axis=1), atol=1e-9)
