"""Robots with dry friction, rotors and loops beside MuJoCo's implicit integrator, under the same sampled law."""

import numpy as np
import pytest
from mujoco_runs import RATE, Settings, apart, dry, law_of, run_mujoco, run_ours

from robodyn_pin.robot.robot import load


@pytest.mark.parametrize("name", ["fivebar", "irb360"])
def test_motion_that_ends_in_sticking_is_that_of_mujoco_as_its_step_and_softness_shrink(name):
    """MuJoCo is of first order: with a quarter of the step what is apart is a quarter, until its softness is left."""
    robot = dry(load(name))
    law = law_of(robot, 0.1, True, seconds=1.0)
    ours = run_ours(robot, law, 4)
    off, torques = zip(
        *(apart(ours, run_mujoco(robot, law, Settings("", steps, True))) for steps in (4, 16, 64)), strict=True
    )
    assert off[2] < 5e-5
    assert off[1] < 0.35 * off[0]
    assert torques[2] < 5e-3
    assert ours.gap < 1e-12
    assert (ours.rates[-RATE // 20 :] == 0).all()
    assert (np.abs(law.q[-1] - ours.q[-1]) > 1e-4).any()  # friction holds an error
