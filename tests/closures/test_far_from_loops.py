"""Measured positions that no state on the loops comes near: refused at the first sample, not sought at all of them."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.closures import closing, closing_measured
from robodyn_pin.closures.kernel_choice import forced, installed
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.errors import ClosureFailed


def test_the_search_ends_at_the_first_sample_without_rest(monkeypatch):
    robot = rp.load("dualv")
    t = np.arange(400)[:, None] / 200
    home = robot.motors.S @ robot.home + robot.motors.offset
    q = home + 3.0 + 0.05 * np.sin(np.array([2.0, 3.0, 4.0, 5.0]) * t)  # encoders without their offsets
    solved = []
    moved = closing_measured._moved
    monkeypatch.setattr(closing_measured, "_moved", lambda *of: (solved.append(1), moved(*of))[1])
    with pytest.raises(ClosureFailed):
        close_motors(robot, q, 0 * q, 0 * q)
    assert 0 < len(solved) <= 2 * closing_measured.FAR_STEPS


@pytest.mark.skipif(not installed(), reason="numba is not installed")
@pytest.mark.parametrize("broken", [False, True])
def test_the_compiled_walk_ends_where_newton_does(monkeypatch, broken):
    """One encoder's zero is off by 0.3 rad: what any three motors drive misses the fourth. `broken`: the walk ends nowhere."""
    robot = rp.load("dualv")
    t = np.arange(300)[:, None] / 200
    with forced("pinocchio"):
        c = robot.coordinates.S @ robot.home + robot.coordinates.offset + 0.1 * np.sin(np.array([2.0, 3.0, 4.0]) * t)
        q = robot.close(c, 0 * c, 0 * c).q @ robot.motors.S.T + robot.motors.offset + [0.0, 0.3, 0.0, 0.0]
        expected = close_motors(robot, q, 0 * q, 0 * q)
    walks = []

    def follow(compiled, S, offset, c, start, scattered):
        walks.append(1)
        if broken:
            return np.full((1, len(start)), np.nan), np.array([False])
        return closing.follow(compiled, S, offset, c, start, scattered)

    monkeypatch.setattr(closing_measured, "follow", follow)
    with forced("kernel"):
        found = close_motors(robot, q, 0 * q, 0 * q)
    assert walks
    np.testing.assert_allclose(found.q, expected.q, atol=1e-9)


@pytest.mark.parametrize(("off", "walked"), [(0.0, False), (0.5, True)])
def test_states_that_are_known_near_are_where_the_search_begins(monkeypatch, off, walked):
    """One encoder is off by 0.1 rad; known are the states of one that is off by 0.08 rad, or joints `off` from these."""
    robot = rp.load("dualv")
    t = np.arange(60)[:, None] / 200
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset + 0.1 * np.sin(np.array([2.0, 3.0, 4.0]) * t)
    q = robot.close(c, 0 * c, 0 * c).q @ robot.motors.S.T + robot.motors.offset
    second = np.array([0.0, 1.0, 0.0, 0.0])
    near = close_motors(robot, q + 0.08 * second, 0 * q, 0 * q).q
    expected = close_motors(robot, q + 0.1 * second, 0 * q, 0 * q)
    walks, along = [], closing_measured._followed
    monkeypatch.setattr(closing_measured, "_followed", lambda *of: (walks.append(1), along(*of))[1])
    monkeypatch.setattr(closing_measured, "_by_some", lambda *of: None)
    found = close_motors(robot, q + 0.1 * second, 0 * q, 0 * q, near=near + off)
    assert bool(walks) == walked
    np.testing.assert_allclose(found.q, expected.q, atol=1e-9)
