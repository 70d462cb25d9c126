"""A coarse encoder is no mistake: those are looked for with the rates that were chosen. The log is SIMULATED."""

from dataclasses import replace

import numpy as np
from simulated import noisy_log

from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.robot.robot import load


def test_coarse_encoders_make_no_torque_look_too_small():
    """0.01 rad on one axis: by rates with all of that noise its torque looked ten thousand times too small, or the log one of another robot."""
    robot = load("irb360")
    log = noisy_log(robot, "irb360_motion")
    coarse = replace(log, q=np.where(np.arange(4) == 0, np.round(log.q, 2), log.q))
    verdict = identify(robot, coarse, instruments=False, intervals=False).verdict
    assert verdict.accepted
    assert not any("look" in text and "times too" in text for text in verdict.cautions)
