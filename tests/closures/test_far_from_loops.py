"""Measured positions that no state on the loops comes near: refused at the first sample, not sought at all of them."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.closures import closing_measured
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import ClosureFailed


def test_the_search_ends_at_the_first_sample_without_rest(monkeypatch):
    robot = rp.load("dualv")
    t = np.arange(400)[:, None] / 200
    home = robot.motors.S @ robot.home + robot.motors.offset
    q = home + 3.0 + 0.05 * np.sin(np.array([2.0, 3.0, 4.0, 5.0]) * t)  # encoders without their offsets
    solved = []
    newton = closing_measured.newton
    monkeypatch.setattr(closing_measured, "newton", lambda *of, **more: (solved.append(1), newton(*of, **more))[1])
    with pytest.raises(ClosureFailed):
        close_motors(robot, q, 0 * q, 0 * q)
    assert len(solved) <= 2 * closing_measured.FAR_STEPS
