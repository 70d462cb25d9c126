"""Predictions that are no better than none: which rates, or that no rates, explain it. A pendulum by hand."""

from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.forces.calmer_rates import why_far_off
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile

m, l, J, g = 2.0, 0.5, 0.3, 9.81  # [kg, m, kg m^2 about the centre, m/s^2]
URDF = f"""<robot name="pendulum"><link name="rail"/><link name="rod"><inertial><origin xyz="0 0 -{l}"/><mass value="{m}"/>
<inertia ixx="1" iyy="{J}" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="rail"/><child link="rod"/><axis xyz="0 -1 0"/></joint></robot>"""
AS_IT_IS = Preparation.model_validate({"differentiation": "filter"})


@pytest.fixture(scope="module")
def pendulum() -> rp.Robot:
    file = RobotFile.model_validate({"urdf": "pendulum.urdf", "motors": ["hinge"]})
    return build("pendulum", file, URDF, Path("pendulum.urdf"))


@pytest.fixture(scope="module")
def log() -> Log:
    """Positions with noise of 1 mrad: their second differences at 200 Hz are off by some 10 rad/s^2."""
    t, rng = np.arange(0, 10, 1 / 200), np.random.default_rng(0)
    angle = 0.8 * np.sin(2 * t) + 0.3 * np.sin(3.1 * t)
    bent = -3.2 * np.sin(2 * t) - 0.3 * 3.1**2 * np.sin(3.1 * t)
    tau = (J + m * l**2) * bent + m * g * l * np.sin(angle)
    return Log("log.csv", t, (angle + 1e-3 * rng.normal(size=len(t)))[:, None], tau[:, None])


def test_rates_that_pass_noise_are_named_with_what_would_do(pendulum, log):
    said = why_far_off(pendulum, log, predict(pendulum, log, AS_IT_IS), AS_IT_IS)
    for part in ("of the torques' rms", "the rates are the likely cause", "differentiation: spline, cutoff: "):
        assert part in said


def test_what_the_identification_did_not_score_does_not_count(pendulum, log):
    tau = predict(pendulum, log, AS_IT_IS)
    assert why_far_off(pendulum, log, tau, AS_IT_IS, Lowpass(cutoff=2.0)) == ""


def test_a_prediction_that_no_rates_mend_is_said_to_be_so(pendulum, log):
    tau = -predict(pendulum, log, Preparation())
    assert "below 2 Hz, and other rates do not explain it" in why_far_off(
        pendulum, Log(log.name, log.t, log.q, -log.efforts), -tau, Preparation(), Lowpass(cutoff=2.0)
    )


def test_a_good_prediction_needs_no_reason(pendulum, log):
    assert why_far_off(pendulum, log, predict(pendulum, log, Preparation()), Preparation()) == ""
