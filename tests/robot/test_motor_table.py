"""Factors between joints and motors behind parallelograms: by hand, and by the torques of an arm without its linkage."""

import io
from dataclasses import replace

import numpy as np
import pinocchio as pin
import polars as pl
import pytest
from test_reduced_delta import LIGHT, with_masses

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.motor_table import motor_table
from robodyn_pin.robot.robot import Robot, load


def table(robot: Robot) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(motor_table(robot)[0]), comment_prefix="#")


def test_the_upper_arm_of_the_irb_2400_keeps_its_angle_while_axis_2_turns():
    rows = {name: values for name, *values in table(load("irb2400")).rows()}
    assert rows["j3"] == [0, 0, -1, 1, 0, 0, 0]  # offset, m1 to m6: j3 = m3 - m2
    assert rows["j2"] == [0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("name", ["irb2400", "irb6660"])
def test_motors_bear_what_the_serial_arm_asks_of_its_joints(name):
    """With a linkage that weighs nothing, factors of j1 to j6 take Newton and Euler's efforts of the plain tree to the motors."""
    robot = with_masses(load(name), dict.fromkeys(("crank", "rod"), LIGHT))
    assert {"crank", "rod"} <= set(robot.bodies)
    robot = replace(robot, efforts=())
    rng, names = np.random.default_rng(1), [f"j{k}" for k in range(1, 7)]
    c = robot.coordinates.S @ robot.home + 0.2 * rng.uniform(-1, 1, (5, 6))
    cd, cdd = rng.normal(size=(2, 5, 6))
    state, tau = robot.close(c, cd, cdd), inverse_dynamics(robot, c, cd, cdd)
    factors = table(robot).filter(pl.col("joint").is_in(names)).select(robot.motors.names).to_numpy()
    columns, data = [list(robot.model.names).index(n) - 1 for n in names], robot.model.createData()
    for k in range(5):
        serial = pin.rnea(robot.model, data, state.q[k], state.v[k], state.a[k])[columns]
        np.testing.assert_allclose(factors.T @ serial, tau[k], atol=1e-9 * np.abs(tau[k]).max())


def test_positions_are_those_of_the_closed_loops():
    robot = load("scara")  # a ball screw: a lead of 20 mm a turn
    found = table(robot)
    c = robot.coordinates.S @ robot.home + 0.1 * np.random.default_rng(2).uniform(-1, 1, (4, 4))
    q = robot.at_rest(c).q
    for name, offset, *factors in found.rows():
        k = list(robot.model.names).index(name) - 1
        motors = q @ robot.motors.S.T + robot.motors.offset
        np.testing.assert_allclose(q[:, k], offset + motors @ factors, atol=1e-10)
    assert dict(zip(found["joint"], found["nut"], strict=True))["z"] == pytest.approx(0.02 / (2 * np.pi), rel=1e-10)


def test_what_follows_otherwise_is_said_and_what_has_no_factors_refused():
    _, lost = motor_table(load("fourbar_leg"))
    assert lost == ["joints that follow the motors otherwise in every pose: shin_pin, rod_pin"]
    with pytest.raises(RobodynError, match="4 motors for 3 degrees of freedom"):
        motor_table(load("dualv"))
