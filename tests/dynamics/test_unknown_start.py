"""Logs that begin in motion with stops stretched by known amounts: a loop in NumPy that shares nothing with the package."""

from dataclasses import replace

import numpy as np
import pytest
from test_memory import arm, moving

import robodyn_pin as rp
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics import memory
from robodyn_pin.dynamics.unknown_start import STARTS, unknown_start, without_start
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.logs.log import Log

STOPS, STRENGTHS = [0.01, 0.08], [3.0, 5.0]


def followed(x: np.ndarray, radius: float, start: float) -> np.ndarray:
    """Stretch over radius of one stop that begins at `start` of it."""
    z, found = start * radius, []
    for step in np.diff(x, prepend=x[0]):
        z = min(max(z + step, -radius), radius)
        found.append(z / radius)
    return np.array(found)


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_columns_are_what_stops_change_that_began_elsewhere_and_end_when_they_have_forgotten(path):
    """On a motor and on the passive elbow of a parallelogram, by virtual work."""
    robot = arm(stops=STOPS, initial=STRENGTHS)
    log = moving(robot)
    state = robot.close(log.q, 0 * log.q, 0 * log.q)
    with forced(path):
        start = unknown_start(robot, log.window(0, log.size))
        assert start is not None
        found = start.columns(0, state)
        forgotten = start.forgotten
    expected, last = [], 0
    for begin in STARTS:
        for effort in robot.efforts:
            x = state.q @ effort.rows[0]
            for radius in STOPS:
                off = followed(x, radius, begin) - followed(x, radius, 0.0)
                expected.append(off[:, None] * (state.T.transpose(0, 2, 1) @ effort.rows[0]))
                last = max(last, int(np.flatnonzero(off)[-1]) + 1)
    assert found.shape == (log.size, 6, len(STARTS) * 4)
    np.testing.assert_allclose(found, np.stack(expected, axis=2), atol=1e-9 * np.abs(found).max())
    assert forgotten == last < log.size


def test_both_paths_give_the_same_columns_whatever_the_chunks(monkeypatch):
    robot = arm(stops=STOPS, initial=STRENGTHS)
    log = moving(robot)
    state = robot.close(log.q, 0 * log.q, 0 * log.q)

    def columns() -> np.ndarray:
        start = unknown_start(robot, log.window(0, log.size))
        return start.columns(0, state)

    with forced("kernel"):
        compiled = columns()
    with forced("pinocchio"):
        np.testing.assert_allclose(columns(), compiled, atol=1e-12 * np.abs(compiled).max())
    whole = unknown_start(robot, log.window(0, log.size)).forgotten
    monkeypatch.setattr(memory, "CHUNK", 100)
    monkeypatch.setattr("robodyn_pin.dynamics.unknown_start.CHUNK", 100)
    monkeypatch.setattr(memory, "KEPT", 1)
    again = unknown_start(robot, log.window(0, log.size))
    assert again.forgotten == whole
    np.testing.assert_allclose(again.columns(0, state), compiled, atol=1e-9 * np.abs(compiled).max())


def test_only_axes_that_move_where_the_log_begins_have_an_unknown_start():
    robot = arm(stops=STOPS, initial=STRENGTHS)
    log = moving(robot)
    t, home = log.t, log.q[0]
    rising = 0.5 - 0.5 * np.cos(np.pi * np.minimum(t, 1.0))  # from rest
    resting = replace(log, q=home + rising[:, None] * (log.q - home))
    assert unknown_start(robot, log).size == len(STARTS) * 4
    assert unknown_start(robot, resting) is None
    assert unknown_start(rp.load("irb2400"), log) is None  # no stops
    for round_off in (0.0, 1e-12):
        m1 = Log("m1", t, np.where(np.arange(6) == 0, log.q, home + round_off * np.sin(50 * t)[:, None]), None)
        assert unknown_start(robot, m1).size == len(STARTS) * 2


def test_columns_in_front_are_left_free():
    """Against least squares with them among the unknowns."""
    rng = np.random.default_rng(0)
    N, W, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 4)), rng.normal(size=40)
    (free,) = without_start([Factor(triangle(np.column_stack([N, W, y])), 40)], 3)
    x, squares, *_ = np.linalg.lstsq(np.column_stack([N, W]), y, rcond=None)
    np.testing.assert_allclose(np.linalg.solve(free.R[:4, :4], free.R[:4, 4]), x[3:], rtol=1e-9)
    assert free.residual(x[3:]) == pytest.approx(squares[0], rel=1e-9)
