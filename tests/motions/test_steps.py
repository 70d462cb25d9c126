"""Motions that hold poses and speeds, against what holding means; and the noise that static poses show."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.log_to_robot.noise_of_poses import noise_along, poses_of
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.steps import StepMotion, stepped
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

SPEEDS = "{rate: 1000, hold: 0.5, ramp: 0.3, centre: {a: 0.2}, speeds: [{b: 2}, {b: -50}]}"
POSES = "{rate: 1000, hold: 0.5, ramp: 0.3, centre: {a: 0.2}, poses: [{b: 1}, {a: -0.4}]}"


@pytest.mark.parametrize("text", [SPEEDS, POSES])
def test_rates_are_the_derivatives_of_the_course(text):
    t, c, cd, cdd = stepped(parse_yaml(text, StepMotion, "motion"), ("a", "b"))
    h = t[1] - t[0]
    scale = np.abs(cdd).max()
    np.testing.assert_allclose((c[2:] - c[:-2]) / (2 * h), cd[1:-1], atol=1e-4 * scale)
    np.testing.assert_allclose(
        (cd[2:] - cd[:-2]) / (2 * h), cdd[1:-1], atol=1e-2 * scale
    )  # the jerk jumps at both ends of a ramp


def test_speeds_start_and_end_at_rest_and_hold_between():
    t, c, cd, cdd = stepped(parse_yaml(SPEEDS, StepMotion, "motion"), ("a", "b"))
    np.testing.assert_allclose(c[:, 0], 0.2)
    for begin, speed in ((0.0, 0), (0.8, 2), (1.6, -50), (2.4, 0)):
        held = (t >= begin + 1e-9) & (t < begin + 0.5 - 1e-9)
        np.testing.assert_allclose(cd[held, 1], speed, atol=1e-9)
        np.testing.assert_allclose(cdd[held, 1], 0, atol=1e-6)


def test_poses_hold_what_they_name_and_the_centre_elsewhere():
    t, c, cd, _ = stepped(parse_yaml(POSES, StepMotion, "motion"), ("a", "b"))
    np.testing.assert_allclose(c[t < 0.5], np.tile([0.2, 1], (500, 1)), atol=1e-12)
    np.testing.assert_allclose(c[t > 0.8], np.tile([-0.4, 0], ((t > 0.8).sum(), 1)), atol=1e-12)
    assert np.abs(cd[(t > 0.55) & (t < 0.75)]).min() > 0


def test_a_motion_in_steps_is_of_one_kind():
    with pytest.raises(BadFile, match="either 'poses' or 'speeds'"):
        parse_yaml("{rate: 100, hold: 1, ramp: 1}", StepMotion, "motion")
    with pytest.raises(UnknownName, match="coordinate 'bb'"):
        stepped(parse_yaml(SPEEDS.replace("{b: 2}", "{bb: 2}"), StepMotion, "motion"), ("a", "b"))


def held(robot, poses, seed, **noise):
    """A simulated log of poses: 0.6 s each."""
    motion = StepMotion(rate=1000, hold=0.6, ramp=0.4, poses=poses)
    return simulate(robot, motion, Noise(np.array(list(noise.values())), 15, seed))


def test_noise_of_poses_is_found_where_the_robot_stands_still():
    robot = load("irb360_arms")
    log = held(robot, [{"phi1": x, "phi2": 0.1, "phi3": -x} for x in (-0.5, 0.3, 0.6)], 4, a=1.5, b=1.5, c=1.6, d=0.16)
    poses = poses_of(robot, log)
    assert len(poses) == 3
    for k, pose in enumerate(poses):
        assert k <= pose.begin / 1000 < pose.end / 1000 <= k + 0.6
    found = noise_along(robot, poses)
    # 3 poses of about 400 samples: 2 % of the standard deviation.
    np.testing.assert_allclose(list(found.values()), [1.5, 1.5, 1.6, 0.16], rtol=0.08)
    # The same torques, measured at the motors: 30 and 11 turns of theirs are one of the joint.
    at_motors = replace(log, tau=log.tau / [30, 30, 30, 11])
    again = noise_along(robot, poses_of(robot, at_motors, before_gear=True))
    np.testing.assert_allclose(list(again.values()), list(found.values()), rtol=1e-9)


def test_a_log_that_never_stands_still_has_no_poses():
    robot = load("irb360_arms")
    t = np.arange(2000) / 1000
    q = np.stack([0.3 * np.sin(3 * t)] * 4, axis=1)
    with pytest.raises(BadLog, match="stands still nowhere"):
        poses_of(robot, Log("moving.csv", t, q, 0 * q))
