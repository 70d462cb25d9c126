"""Friction that remembers along logs: a stop by stop loop in NumPy that shares nothing with the package."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics import memory
from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.errors import BadFile
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import Robot, build

STOPS, STRENGTHS = [0.01, 0.08], [3.0, 5.0]
PLAIN = Preparation(differentiation="filter")
ELBOW = {"j3": 1}


def arm(**extra: object) -> Robot:
    """The IRB 2400 with stops on a motor and on the passive angle of its elbow, which its parallelogram decides, and without."""
    found = rp.load("irb2400")
    efforts = [EffortSpec.model_validate({"of": of, "model": "maxwell_slip", **extra}) for of in ("m1", found.model.names[3])] if extra else []  # fmt: skip
    return build("irb2400", found.file.model_copy(update={"efforts": efforts}), found.urdf_xml, found.urdf_path)


def moving(robot: Robot, n: int = 900) -> Log:
    t = np.arange(n) / 200
    gear = np.abs(robot.coordinates.S).max(axis=1)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    waves = 0.2 * np.sin(np.outer(t, np.arange(1.0, 7.0)) + np.arange(6)) + 0.05 * np.sin(9 * t)[:, None]
    return Log("log", t, home + gear * waves, None)


def by_hand(x: np.ndarray) -> np.ndarray:
    """Sum of strength times z/r along one axis."""
    z, found = np.zeros(len(STOPS)), []
    for step in np.diff(x, prepend=x[0]):
        z = [min(max(a + step, -r), r) for a, r in zip(z, STOPS, strict=True)]
        found.append(sum(s * a / r for s, a, r in zip(STRENGTHS, z, STOPS, strict=True)))
    return np.array(found)


def test_predicted_torques_grow_by_the_stops_of_motor_and_passive_elbow():
    """Virtual work: what the elbow asks reaches the motors by T' of the loop."""
    smooth, stopped = arm(), arm(stops=STOPS, initial=STRENGTHS)
    log = moving(smooth)
    extra = predict(stopped, log, PLAIN) - predict(smooth, log, PLAIN)
    state = smooth.close(log.q, 0 * log.q, 0 * log.q)
    elbow, motor = stopped.efforts[1].rows[0], stopped.efforts[0].rows[0]
    asked = by_hand(state.q @ motor)[:, None] * motor + by_hand(state.q @ elbow)[:, None] * elbow
    expected = np.einsum("nij,ni->nj", state.T, asked)  # coordinates are the motors
    np.testing.assert_allclose(extra, expected, atol=1e-9 * np.abs(expected).max())


def test_blocks_windows_and_chunks_of_a_log_see_the_same_bits(monkeypatch):
    robot = arm(stops=STOPS, initial=STRENGTHS)
    log = moving(robot)
    lowpass = Lowpass(order=2, cutoff=20)
    key = robot.efforts[1].memory

    def seen(size: int, begin: int = 0) -> np.ndarray:
        parts = along_log(robot, log, PLAIN, size, [lowpass], begin)
        return np.concatenate([p.state.stops[key][p.keep] for p in parts])

    whole = seen(10_000)
    np.testing.assert_array_equal(seen(150), whole)
    np.testing.assert_array_equal(seen(150, begin=400), whole[400:])  # a window in mid-log
    monkeypatch.setattr(memory, "KEPT", 1)
    monkeypatch.setattr(memory, "CHUNK", 100)
    fresh = log.window(0, log.size)
    trace = memory.trace_of(robot, fresh, robot.efforts)
    backwards = [trace.outputs(begin, begin + 50) for begin in range(850, -1, -50)][::-1]
    np.testing.assert_allclose(np.concatenate(backwards).reshape(log.size, 2, 2)[:, 1:], whole, atol=1e-9)


def test_what_does_not_know_the_motion_before_refuses_in_a_sentence():
    robot = arm(stops=STOPS, initial=STRENGTHS)
    c = np.zeros((1, 6))
    with pytest.raises(BadFile, match="'maxwell_slip' of 'm1' depends on the motion before"):
        rp.inverse_dynamics(robot, c, c, c)
    with pytest.raises(BadFile, match="'maxwell_slip' on 'm1' has no radii"):
        predict(arm(model="maxwell_slip"), moving(robot), PLAIN)


def test_a_plan_takes_stops_at_their_radius_and_a_pose_takes_them_relaxed():
    smooth, stopped = arm(), arm(stops=STOPS, initial=STRENGTHS)
    c, cd = np.zeros((1, 6)) + smooth.coordinates.offset, np.full((1, 6), 5.0)
    state = stopped.close(c, cd, 0 * cd)
    moving_on, still = (
        coordinate_efforts(stopped, way(stopped, state)) - coordinate_efforts(smooth, state)
        for way in (memory.saturated, memory.relaxed)
    )
    motor, elbow = (effort.rows[0] for effort in stopped.efforts)
    tree = sum(STRENGTHS) * (np.sign(state.v @ motor) * motor + np.sign(state.v @ elbow) * elbow)
    np.testing.assert_allclose(moving_on[0], state.T[0].T @ tree, rtol=1e-9)
    np.testing.assert_allclose(still, 0.0, atol=1e-9)
