"""Noise of the motors along the coordinates of a robot with motors to spare: what it does to deviations, and whitening."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated import fold_seeds

from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.errors import BadFile, UnknownName
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.least_squares import weighted_least_squares
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.noise_of_poses import noise_along, poses_of
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.uniform import uniform
from robodyn_pin.motions.fourier import FourierMotion, fourier
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

ROBOT = load("dualv")
EXAMPLE = read_yaml(Path(__file__).parents[2] / "examples/dualv_empty_motion.yaml", FourierMotion)
ESSENTIAL = [*(f"Izz(proximal_{k})" for k in range(1, 5)), "Izz(platform)", "m(platform)"]
MOTION = EXAMPLE.model_copy(update={"duration": EXAMPLE.period})


def run_file(**more: object) -> RunFile:
    return RunFile.model_validate({"robot": "dualv", "fit": [{"file": "log.csv"}], "instruments": False} | more)


def test_whitened_noise_is_independent_and_of_size_one():
    rng = np.random.default_rng(0)
    B, s = rng.normal(size=(50, 4, 3)), rng.uniform(0.5, 3, 4)
    L = whitened(np.broadcast_to(np.eye(3), (50, 3, 3)), B, s)
    covariance = np.einsum("nij,nkj,k,nkl,nml->nim", L, B, s**2, B, L)
    np.testing.assert_allclose(covariance, np.broadcast_to(np.eye(3), (50, 3, 3)), atol=1e-9)


@pytest.mark.parametrize("names", [("x", "y", "phi"), ("m1", "m2", "m3")], ids=" ".join)
def test_deviations_are_those_of_many_seeds_if_rows_are_whitened_and_too_small_if_not(names):
    """The essential parameters from 300 seeds: an empirical deviation is known to 4 %, so the worst of six to some 12 %."""
    robot = ROBOT.with_coordinates(names)
    c, *rates = fourier(MOTION, ("x", "y", "phi"))[1:]
    of_pose, M = ROBOT.close(c, *rates), ROBOT.motors
    state = close_motors(robot, of_pose.q @ M.S.T + M.offset, of_pose.v @ M.S.T, of_pose.a @ M.S.T)
    named, B = columns(robot), motor_map(robot, state)
    essential = [named.layout.labels.index(name) for name in ESSENTIAL]
    W, truth = state_regressor(robot, state)[:, :, essential], named.values[essential]
    white = np.random.default_rng(1).normal(size=(len(c), 4, 300))

    def over_spread(ratios: np.ndarray | None, sigma: tuple[float, ...] = (1, 1, 1, 1)) -> np.ndarray:
        rows, noise = whitened(W, B, ratios), np.einsum("nij,i,nis->njs", B, sigma, white)
        groups = fold_seeds([(np.arange(len(c)), rows, rows @ truth)], whitened(noise, B, ratios))
        found = [weighted_least_squares(g) for g in groups]
        mean = np.sqrt(np.mean([e.deviations**2 for e in found], axis=0))
        return mean / np.std([e.values for e in found], axis=0, ddof=1)

    right, printed = over_spread(np.ones(4)), over_spread(None)
    assert np.abs(right - 1).max() < 0.12
    assert printed.min() < 0.7
    taken_alike = over_spread(np.ones(4), (0.3, 1, 1, 2))  # motors that differ by seven, and nothing says so
    assert np.abs(np.log(taken_alike)).max() < np.log(1.5)


def test_with_the_motors_noise_known_it_does_not_matter_what_torques_are_projected_onto(tmp_path):
    log = uniform(simulate(ROBOT, MOTION, Noise(np.array([0.5, 1.0, 0.7, 1.2]), seed=3, internal=6.0)))
    run = run_file(noise={"m1": 0.5, "m2": 1.0, "m3": 0.7, "m4": 1.2})
    first, second = (
        estimate(ROBOT.with_coordinates(names), run, [Selected(log, 0, 1000)], [Selected(log, 1000, log.size)])
        for names in (("x", "y", "phi"), ("m1", "m2", "m3"))
    )
    np.testing.assert_array_equal(first.wls.base.columns, second.wls.base.columns)
    assert np.abs((first.wls.values - second.wls.values) / first.wls.deviations).max() < 1e-6
    np.testing.assert_allclose(first.wls.deviations, second.wls.deviations, rtol=1e-6)
    assert first.summary()["noise"] == pytest.approx({"m1": 0.5, "m2": 1.0, "m3": 0.7, "m4": 1.2})
    page = (first.write(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert "internal torque in the fit logs has an rms of" in page


def test_noise_of_still_poses_is_that_of_each_motor():
    still = MOTION.model_copy(update={"duration": 10, "sin": {}, "cos": {}})
    sigma = np.array([0.5, 1.0, 0.7, 1.2])
    found = noise_along(ROBOT, poses_of(ROBOT, simulate(ROBOT, still, Noise(sigma, seed=4)), (0, 2000)))
    assert found == pytest.approx(dict(zip(("m1", "m2", "m3", "m4"), sigma, strict=True)), rel=4 / np.sqrt(2 * 2000))


def test_rows_stay_as_projected_where_that_is_asked_or_the_coordinates_are_the_motors():
    assert motor_noise(run_file(noise="coordinates"), ROBOT) is None
    assert motor_noise(run_file(noise={"x": 1, "y": 1, "phi": 1}), ROBOT) is None
    assert motor_noise(run_file(), load("irb360")) is None
    np.testing.assert_allclose(motor_noise(run_file(), ROBOT), 1.0)  # four equal limits


def test_noise_of_some_motors_and_a_motor_without_limit_are_named():
    log = uniform(simulate(ROBOT, MOTION, Noise(np.zeros(4))))
    parts = [Selected(log, 0, 1000)], [Selected(log, 1000, log.size)]
    with pytest.raises(UnknownName, match="m1"):
        estimate(ROBOT, run_file(noise={"m1": 1.0, "m2": 1.0}), *parts)
    file = ROBOT.file.model_copy(update={"limits": {k: v for k, v in ROBOT.file.limits.items() if k != "m3"}})
    model = ROBOT.model.copy()
    model.upperEffortLimit = np.zeros(model.nv)  # neither does the URDF know one
    with pytest.raises(BadFile, match="limit of 'm3'"):
        motor_noise(run_file(noise="limits"), replace(ROBOT, file=file, model=model))


def test_the_compiled_guess_and_the_one_in_sequence_end_at_the_same_pose():
    c, *_ = fourier(MOTION, ("x", "y", "phi"))[1:]
    M = ROBOT.motors
    q = ROBOT.close(c, 0 * c, 0 * c).q @ M.S.T + M.offset + 1e-3 * np.random.default_rng(5).normal(size=(len(c), 4))
    with kernel_choice.forced("kernel"):
        quick = close_motors(ROBOT, q, 0 * q, 0 * q).q
    with kernel_choice.forced("pinocchio"):
        slow = close_motors(ROBOT, q[::4], 0 * q[::4], 0 * q[::4]).q
    np.testing.assert_allclose(quick[::4], slow, atol=1e-9)
