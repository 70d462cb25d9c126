"""Torques that come later than the positions of their rows: closed forms of a motion, and every reader of a log."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadLog
from robodyn_pin.forces.joint_history import joint_history
from robodyn_pin.forces.strut_history import strut_history
from robodyn_pin.forces.strut_intervals import strut_history_with_reach
from robodyn_pin.friction_tests.free_motor import _fresh
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.late_torques import late_pieces, paired
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import StoredLog, late, log_pieces
from robodyn_pin.logs.uniform import at_rows, torque_times, uniform
from robodyn_pin.logs.units import LogKeys

RATE, ROWS = 200.0, 2000  # [Hz]
W = 2 * np.pi * 0.7  # [rad/s]


def motion(t: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(x[:, None] for x in (np.sin(W * t), W * np.cos(W * t), -(W**2) * np.sin(W * t)))


def recorded(delay: float) -> Log:
    """A log whose torque is the acceleration, `delay` seconds late."""
    t = np.arange(ROWS) / RATE
    return Log("log", t, motion(t)[0], motion(t - delay)[2])


@pytest.mark.parametrize(
    "way",
    [
        {"differentiation": "spline", "cutoff": 20},
        {"filter": {"order": 4, "cutoff": 20}},
        {"differentiation": "fourier"},
    ],
)
@pytest.mark.parametrize("delay", [0.0115, -0.0071, 0.005, 0.0001])
def test_the_motion_is_that_of_the_torques(delay, way):
    log = late(recorded(delay), delay)
    *_, ddq = rates_of(log, Preparation.model_validate(way)).motion(log)
    inside = slice(300, -300)
    # A filter of 20 Hz passes 0.7 Hz to 1e-6; central differences at 200 Hz are off by (W / RATE)^2 / 3.
    np.testing.assert_allclose(ddq[inside], log.tau[inside], atol=4e-4 * W**2)


def test_the_delay_of_a_file_reaches_every_reader(tmp_path):
    robot, file = rp.load("delta3"), tmp_path / "log.csv"
    t = np.arange(600) / 100
    q = 0.3 + 0.05 * np.sin(2 * np.pi * 0.5 * t[:, None] + np.arange(3))
    tau = np.stack([np.arange(600.0)] * 3, axis=1)
    names = robot.motors.names
    pl.DataFrame(
        {"t": t}
        | {f"q_{n}": q[:, k] for k, n in enumerate(names)}
        | {f"tau_{n}": tau[:, k] for k, n in enumerate(names)}
    ).write_csv(file)
    log = rp.read_log(file, robot, delay=0.0432)
    even = uniform(log)
    np.testing.assert_allclose(even.tau[:-4, 0], np.arange(4, 600))  # four rows later, and 3.2 ms
    np.testing.assert_allclose(even.after[:-4], -0.0032, atol=1e-12)
    np.testing.assert_allclose(torque_times(log), t - 0.0432, atol=1e-12)
    # What is found at the times of the torques goes back to the rows that hold them.
    when = (even.t + even.after)[:, None]
    np.testing.assert_allclose(at_rows(log, when)[5:], t[5:, None] - 0.0432, atol=1e-12)
    parts = list(log_pieces(LogKeys(delay=0.0432), file, robot))
    assert sum(part.size for part in parts) == 596
    np.testing.assert_allclose(parts[0].tau[:10, 0], np.arange(4, 14))
    np.testing.assert_allclose(parts[0].q[:10], q[:10], atol=1e-12)


@pytest.mark.parametrize("delay", [0.0215, -0.0333])
def test_a_log_in_its_file_gives_the_bits_of_one_in_memory(delay):
    log = recorded(delay)
    stored = StoredLog("log", log.rate, log.quality, False, 0, ROWS, log.section)
    whole, pieces = late(log, delay), late(stored, delay)
    for begin, end in ((0, 100), (700, 1300), (1900, 2000)):
        own, theirs = whole.section(begin, end), pieces.section(begin, end)
        assert np.array_equal(own.tau, theirs.tau)
        assert np.array_equal(own.after, theirs.after)
    assert pieces.apart


@pytest.mark.parametrize("delay", [0.0215, -0.0333])
def test_pieces_lose_no_row_and_take_none_twice(delay):
    log = replace(recorded(0.0), tau=np.arange(ROWS)[:, None] + 0.0)
    pieces = list(late_pieces(iter([log.section(b, b + 3) for b in range(0, ROWS - 2, 3)]), delay))
    t, tau = (np.concatenate([getattr(p, key) for p in pieces]) for key in ("t", "tau"))
    steps = round(delay * RATE)
    np.testing.assert_allclose(tau[:, 0] - t * RATE, steps, atol=1e-9)
    assert len(t) == 1998 - abs(steps)


def test_a_delay_that_is_no_delay_is_refused():
    assert paired("log", 100, RATE, 0.01) == slice(0, 98)
    assert paired("log", 100, RATE, -0.01) == slice(2, 100)
    with pytest.raises(
        BadLog, match=r"log: its torques would come 4 s after its positions; expected a delay of at most 0\.1 s"
    ):
        paired("log", 10_000, RATE, 4.0)
    with pytest.raises(BadLog, match="shorter than the log"):
        paired("log", 10, RATE, 0.09)


def test_forces_stay_at_the_rows_of_their_positions():
    """The motion alone decides what struts, joints and their intervals are; a delay of torques changes nothing of them."""
    robot = rp.load("irb360")
    t = np.arange(400) / RATE
    q = np.stack([0.3 + 0.15 * np.sin(2 * np.pi * t + k / 3) for k in range(3)] + [0 * t], axis=1)
    log, spread = Log("log", t, q, None, simulated=True), np.eye(columns(robot).layout.size)
    late, way = replace(log, delay=0.0117), Preparation()
    for reduced in (None, "U2"):
        a, b = (strut_history(robot, x, way, reduced) for x in (log, late))
        np.testing.assert_array_equal(a.upper, b.upper)
        np.testing.assert_array_equal(a.lower, b.lower)
    np.testing.assert_array_equal(*(joint_history(robot, x, way).wrenches for x in (log, late)))
    np.testing.assert_array_equal(
        *(strut_history_with_reach(robot, x, way, None, spread).reach.upper for x in (log, late))
    )


def test_a_repeated_row_does_not_lose_the_delay():
    """Torques of rows that repeat their neighbour are left out; those that are kept are as late as before."""
    t = np.arange(ROWS) / RATE
    log = recorded(0.015)
    again = np.arange(100, ROWS, 100)
    q, tau = log.q.copy(), log.efforts.copy()
    q[again], tau[again] = q[again - 1], tau[again - 1]
    fresh = _fresh(replace(log, q=q, tau=tau, delay=0.015))
    inside = slice(50, -50)
    np.testing.assert_allclose(fresh.tau[inside, 0], motion(t)[2][inside, 0], atol=2e-3 * W**2)
    assert fresh.delay == 0.0
