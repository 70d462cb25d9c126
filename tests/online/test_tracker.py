"""Online identification of whole robots: samples as they come, bad ones among them, states that are saved."""

import numpy as np
import pytest
from online_motions import NOISE, RATE, SETTINGS, delta, motor_motion, rich, wrong

from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.files import read_yaml
from robodyn_pin.online.sample_rows import SampleRows
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.robot import load

CATALOGUE = ["delta3", "dualv", "irb360", "irb2400", "irb2400_rods", "irb6660"]


@pytest.fixture(scope="module")
def model():
    return delta()


def near_home(robot, n, size=0.04):
    """A slow motion (c, c', c'') (n, d) about home at 500 Hz, off its symmetry."""
    t, w = np.arange(n) / RATE, 2 * np.pi * np.linspace(0.4, 0.9, len(robot.coordinates.names))
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    wave = np.exp(1j * np.outer(t, w))
    c, cd, cdd = (size * ((1j * w) ** k * wave).imag for k in range(3))
    return home + 0.03 + c, cd, cdd


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_rows_of_one_sample_are_those_of_the_regressor(name, path, monkeypatch):
    if path == "pinocchio":
        monkeypatch.setattr(kernel_choice, "installed", lambda: False)
    model = tracked(load(name), TrackFile())
    robot, sample = model.robot, SampleRows(model)
    c, cd, cdd = near_home(robot, 3)
    near = robot.close(c[:1], cd[:1], cdd[:1]).q[0]
    for k in range(1, 3):
        state = sample.close(c[k], cd[k], cdd[k], near)
        exact = robot.close(c[k : k + 1], cd[k : k + 1], cdd[k : k + 1])
        np.testing.assert_allclose(state.q, exact.q, atol=1e-11)
        np.testing.assert_allclose(state.a, exact.a, atol=1e-8 * max(1, np.abs(exact.a).max()))
        rows, _ = sample.rows(state)
        whole, _ = model.rows(exact)
        np.testing.assert_allclose(rows, whole[0], atol=1e-8 * np.abs(whole).max())


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_robot_predicts_its_own_torques_through_tracked_parameters(name):
    model = tracked(load(name), TrackFile())
    robot = model.robot
    c, cd, cdd = near_home(robot, 40)
    rows, known = model.rows(robot.close(c, cd, cdd))
    state = robot.close(c, cd, cdd)
    effort = np.einsum("nij,ni->nj", robot.motors.S @ state.T, inverse_dynamics(robot, c, cd, cdd))
    np.testing.assert_allclose(rows @ model.values + known, effort, atol=1e-7 * np.abs(effort).max())


@pytest.mark.parametrize("name", ["dualv", "irb2400", "irb6660"])
def test_tracker_corrects_wrong_parameters_of_any_robot(name):
    model = tracked(load(name), TrackFile())
    robot = model.robot
    c, cd, cdd = near_home(robot, 300)
    tau = inverse_dynamics(robot, c, cd, cdd)
    noise = 0.002 * np.abs(tau).max(axis=0) + 1e-3
    measured = tau + noise * np.random.default_rng(5).normal(size=tau.shape)
    tracker = Tracker(model, noise, RATE)
    tracker.estimator.values = 1.1 * model.values
    tracker.start = tracker.estimator.values.copy()
    updates = [tracker.update(*sample) for sample in zip(c, cd, cdd, measured, strict=True)]
    last = [u for u in updates[200:] if not u.refused]
    assert len(last) > 90
    before, after = (np.sqrt(np.mean(np.square([getattr(u, k) for u in last]))) for k in ("start_error", "error"))
    assert after < before / 5


def moving(model, n, seed=0):
    """Motion and torques (simulated) of n samples."""
    motion = motor_motion(model, rich(n))
    torque = inverse_dynamics(model.robot, *motion)
    return (*motion, torque + NOISE * np.random.default_rng(seed).normal(size=torque.shape))


def fresh(model, seed=0):
    tracker = Tracker(model, np.full(3, NOISE), RATE, read_yaml(SETTINGS, TrackFile))
    tracker.estimator.values = tracker.start = wrong(model.values, np.random.default_rng(seed))
    return tracker


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (lambda c, tau: (c, tau * np.nan), "not a number"),
        (lambda c, tau: (c + np.nan, tau), "not a number"),
        (lambda c, tau: (c, np.add(tau, [0, 5.0, 0])), "spike"),
        (lambda c, tau: (c, np.array([15.0, *tau[1:]])), "saturated"),
    ],
)
def test_bad_sample_is_counted_and_leaves_the_estimate_as_it_was(model, bad, reason):
    c, cd, cdd, tau = moving(model, 400)
    with_it, without = fresh(model), fresh(model)
    for k in range(400):
        t = k / RATE
        if k == 300:
            before = with_it.estimator.values
            c_bad, tau_bad = bad(c[k], tau[k])
            assert with_it.update(c_bad, cd[k], cdd[k], tau_bad, t).refused == reason
            np.testing.assert_array_equal(with_it.estimator.values, before)
            continue
        for tracker in (with_it, without):
            assert not tracker.update(c[k], cd[k], cdd[k], tau[k], t).refused
    assert with_it.refused == {reason: 1}
    np.testing.assert_allclose(with_it.estimator.values, without.estimator.values, rtol=1e-9)


def test_positions_that_the_loops_cannot_reach_are_counted():
    model = tracked(load("dualv"), TrackFile())
    c, cd, cdd = near_home(model.robot, 3)
    tau = inverse_dynamics(model.robot, c, cd, cdd)
    tracker = Tracker(model, np.full(4, 0.1), RATE)
    refused = [tracker.update(x, cd[0], cdd[0], tau[0]).refused for x in (c[0], np.add(c[0], [1.0, 0, 0]), c[1])]
    assert refused == ["", "out of reach", ""]


def test_change_that_lasts_is_no_spike(model):
    c, cd, cdd, tau = moving(model, 400)
    tracker = fresh(model)
    refused = [tracker.update(c[k], cd[k], cdd[k], tau[k] + (3.0 if k >= 300 else 0)).refused for k in range(400)]
    assert refused[300:305] == ["spike"] * 5
    assert not any(refused[306:])
