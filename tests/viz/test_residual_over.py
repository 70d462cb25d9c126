"""Residuals over position and speed: a step of friction that the model lacks stands at speed zero."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.log_to_robot.held_out import Sample
from robodyn_pin.viz.residual_over import residual_pictures


def test_missing_coulomb_friction_is_a_step_over_speed_in_the_csv_and_a_line_in_the_picture():
    robot = rp.load("irb2400")
    t = np.arange(400) / 100
    q = robot.home + 0.1 * np.sin(2 * np.pi * t)[:, None]
    speed = 0.2 * np.pi * np.cos(2 * np.pi * t) * robot.coordinates.S[0].sum()
    left = np.zeros((400, 6))
    left[:, 0] = 2.0 * np.sign(speed)
    none, rates = np.zeros((400, 6)), np.gradient(q @ robot.coordinates.S.T, t, axis=0)
    sample = Sample("log", t, q, left, {"feasible": none}, none, rates, none)
    first = residual_pictures(robot, sample, ["N m"] * 6)[0]
    assert "position [rad]" in first.svg
    found = {head: np.asarray(column) for head, column in first.columns.items()}
    fast = np.abs(found["speed [rad/s]"]) > 0.1 * np.abs(speed).max()
    np.testing.assert_array_equal(np.sign(found["speed [rad/s]"])[fast], np.sign(found["residual [N m]"])[fast])
    assert found["speed [rad/s]"][1:-1] == pytest.approx(speed[1:-1], abs=0.01 * np.abs(speed).max())
