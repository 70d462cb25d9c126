"""Outliers put into the torques of a clean SIMULATED log: how far base parameters move, in standard deviations of the clean fit."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.log_to_robot import outliers
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import StoredLog
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.robot.robot import Robot, load

RATE, ROWS, NOISE, OFF = 100.0, 2500, 0.02, 20.0  # [Hz], of the torques' deviation, standard deviations of an outlier


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load("irb360_arms")


@pytest.fixture(scope="module")
def clean(robot: Robot) -> Log:
    rng, t = np.random.default_rng(0), np.arange(ROWS) / RATE
    w, phase = 2 * np.pi * rng.uniform(0.1, 1.5, (5, 4)), rng.uniform(0, 6, (5, 4))
    angle, size = t[:, None, None] * w + phase, 0.15 / w
    q, dq = (size * np.sin(angle)).sum(1), (size * w * np.cos(angle)).sum(1)
    tau = rp.inverse_dynamics(robot, q, dq, -(size * w**2 * np.sin(angle)).sum(1))
    tau = tau + NOISE * tau.std(axis=0) * rng.normal(size=tau.shape)
    found = Log("log", t, q + 1e-5 * rng.normal(size=q.shape), tau, simulated=True)
    return replace(found, quality=quality_of(found, robot))


def spoiled(clean: Log, kind: str) -> Log:
    """One percent of the samples of the first motor are off: here and there, or one after the other."""
    rng, many = np.random.default_rng(1), ROWS // 100
    off = np.zeros(ROWS)
    if kind == "single":
        off[rng.choice(ROWS, many, replace=False)] = rng.choice([-1.0, 1.0], many)
    else:
        off[700 : 700 + many] = 1.0
    tau = clean.efforts.copy()
    tau[:, 0] += OFF * NOISE * clean.efforts[:, 0].std() * off
    return replace(clean, tau=tau)


def identified(robot: Robot, log: Log, robust: str | None) -> Result:
    asked = {"robot": robot.name, "fit": [{"file": "log"}], "robust": robust, "instruments": False}
    return estimate(robot, RunFile.model_validate(asked), *split_last([Selected(log, 0, log.size)], cut=0))


@pytest.fixture(scope="module")
def before(robot: Robot, clean: Log) -> Result:
    return identified(robot, clean, None)


def moved(before: Result, after: Result) -> float:
    one, other = before.estimates.wls, after.estimates.wls
    return float((np.abs(other.values - one.values) / np.sqrt(np.diag(one.covariance))).max())


@pytest.mark.parametrize("kind", ["single", "burst"])
def test_outliers_move_no_base_parameter_by_a_standard_deviation(robot, clean, before, kind):
    log = spoiled(clean, kind)
    assert moved(before, identified(robot, log, None)) > 1
    found = identified(robot, log, "student")
    assert moved(before, found) < 1
    assert any("robust: student" in said and "count less than a quarter" in said for said in found.verdict.cautions)


def held_out_percent(result: Result) -> np.ndarray:
    return result.check.scored["feasible"].held_out.percent


def far_ones(clean: Log, log: Log) -> int:
    """Held-out samples (the last 30 %) that were spoiled."""
    return int((log.efforts != clean.efforts).any(axis=1)[int(0.7 * ROWS) :].sum())


def test_held_out_outliers_are_told_and_with_robust_left_out_of_the_error(robot, clean, before):
    log = spoiled(clean, "single")
    many, without, found = far_ones(clean, log), identified(robot, log, None), identified(robot, log, "huber")
    assert held_out_percent(without)[0] > 1.5 * held_out_percent(before)[0]
    assert any(
        f"{many} of 750 held-out samples" in said and "are they outliers?" in said for said in without.verdict.cautions
    )
    assert not any("outliers" in said for said in before.verdict.cautions)
    assert held_out_percent(found) == pytest.approx(held_out_percent(before), rel=0.05)
    assert any(f"{many} of 750 held-out samples" in said and "left out" in said for said in found.verdict.cautions)


def test_robust_hides_no_model_that_fails_on_the_held_out_samples(robot, clean):
    """All of them: their scale grows with the error. A tenth of them: too many for outliers."""
    wrong, rare = clean.efforts.copy(), clean.efforts.copy()
    wrong[int(0.7 * ROWS) :] *= 1.5
    rare[int(0.7 * ROWS) :: 10, 0] += OFF * NOISE * clean.efforts[:, 0].std()
    for tau, said in ((wrong, ""), (rare, "too many for outliers")):
        log = replace(clean, tau=tau)
        plain, found = identified(robot, log, None), identified(robot, log, "student")
        assert held_out_percent(found) == pytest.approx(held_out_percent(plain), rel=0.05)
        assert any(said in text for text in found.verdict.cautions)


@pytest.mark.parametrize("robust", ["student", "huber"])
def test_a_burst_moves_little_more_than_if_it_were_left_out(robot, clean, before, robust):
    """From the robust estimate of the clean log: 1 % of the samples hold about 1 % of the information."""
    own, found = identified(robot, clean, robust), identified(robot, spoiled(clean, "burst"), robust)
    deviations = np.sqrt(np.diag(before.estimates.wls.covariance))
    assert (np.abs(found.estimates.wls.values - own.estimates.wls.values) / deviations).max() < 0.35


def test_a_clean_log_gives_nearly_the_same_and_honest_deviations(robot, clean, before):
    """Three standard deviations of the difference between estimates that are 93 to 95 % efficient and least squares, of 16 parameters."""
    for robust in ("huber", "student"):
        found = identified(robot, clean, robust)
        assert moved(before, found) < 0.85
        ratio = np.sqrt(np.diag(found.estimates.wls.covariance) / np.diag(before.estimates.wls.covariance))
        assert ratio == pytest.approx(1.03, abs=0.06)


@pytest.mark.parametrize("robust", ["student", "huber"])
def test_a_log_that_stays_in_its_file_gives_the_same_as_in_memory(robot, clean, robust, monkeypatch):
    """The same but for round-off, though its torques are moved again whenever a section is read, in blocks of 1000."""
    monkeypatch.setattr(outliers, "BLOCK", 1000)
    log = spoiled(clean, "burst")
    stored = StoredLog("log", RATE, clean.quality, True, 0, ROWS, log.section)
    one, other = (identified(robot, given, robust).estimates.wls for given in (log, stored))
    deviations = np.sqrt(np.diag(one.covariance))
    np.testing.assert_allclose(other.values, one.values, atol=1e-6 * deviations.min(), rtol=1e-9)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-6, atol=1e-9 * np.abs(one.covariance).max())


def test_moved_torques_are_read_piece_by_piece_and_by_other_processes(robot, clean, monkeypatch):
    monkeypatch.setattr(outliers, "BLOCK", 300)
    log = spoiled(clean, "single")
    stored = StoredLog("log", RATE, clean.quality, True, 100, 2100, log.section)
    window, x = log.section(100, 2100), columns(robot).values
    fair = outliers.Fair(robot, Preparation(differentiation="filter"), x, np.full(4, 0.1), 0.9, "student", True)
    in_memory, in_file = (outliers._moved(given, fair) for given in (window, stored))
    # Filters see the margins of a window alike, whether the rest is in the file or not.
    for begin, end in ((0, 2000), (5, 17), (299, 301), (1990, 2000)):
        part = in_file.section(begin, end)
        np.testing.assert_allclose(part.efforts, in_memory.efforts[begin:end], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(part.q, window.q[begin:end])
    assert not np.allclose(in_memory.efforts, window.efforts, rtol=1e-3)
    assert in_file.content != stored.content
    sent = pickle.loads(
        pickle.dumps(replace(in_file, read=replace(in_file.read, log=replace(stored, read=Section(log)))))
    )
    np.testing.assert_array_equal(sent.section(250, 700).efforts, in_file.section(250, 700).efforts)


@dataclass(frozen=True)
class Section:
    """Reads a log as a file would be read; unlike a method of a log, small enough to send."""

    log: Log

    def __call__(self, begin: int, end: int) -> Log:
        return self.log.section(begin, end)
