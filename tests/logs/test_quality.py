"""What is said of motors that stand, of wrong measured rates and of flat tops; the same of logs that stay in their files."""

from dataclasses import replace

import numpy as np
import pytest

from robodyn_pin.dynamics.equations import coordinate_efforts
from robodyn_pin.log_to_robot.run import Selected, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs import stored_log
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.saturation import left_out
from robodyn_pin.logs.stored_log import StoredLog, open_log
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

RATE, SIZE = 500.0, 10_000
STEP = 2 * np.pi / 2**15 / 30  # [rad] of an encoder
MOST = 4.0  # [N m] where torques are clipped


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load("irb360_arms")  # four motors; limits of 120 N m and 10 N m


@pytest.fixture(scope="module")
def exact(robot) -> Log:
    """SIMULATED: three frequencies a motor, exact rates, torques of the robot's file without noise."""
    n, rng = len(robot.motors.names), np.random.default_rng(0)
    t, w, phase = np.arange(SIZE) / RATE, rng.uniform(2, 12, (3, n)), rng.uniform(0, 6, (3, n))
    angle, size = t[:, None, None] * w + phase, 0.5 / w
    q, dq = (size * np.sin(angle)).sum(axis=1), (size * w * np.cos(angle)).sum(axis=1)
    state = robot.close(q, dq, -(size * w**2 * np.sin(angle)).sum(axis=1))
    return Log("log", t, q, coordinate_efforts(robot, state), dq)


def with_column(x: np.ndarray, column: int, values: np.ndarray | float) -> np.ndarray:
    x = x.copy()
    x[:, column] = values
    return x


def clipped(log: Log) -> Log:
    assert log.tau is not None
    return replace(log, tau=np.clip(log.tau, -np.inf, [MOST, np.inf, np.inf, np.inf]))


def test_nothing_is_said_of_good_logs(robot, exact):
    """Exact; read by encoders, torques in coarse steps; half of the time standing still; rates by differences of steps."""
    coarse = replace(exact, q=np.round(exact.q / STEP) * STEP, tau=np.round(exact.tau * 2) / 2)
    held = np.minimum(np.arange(SIZE), SIZE // 2)
    halting = replace(exact, q=exact.q[held], tau=exact.tau[held], dq=exact.dq[held] * (held < SIZE // 2)[:, None])
    greatest = np.argmax(exact.tau[:, 0])  # stands where the torque is greatest
    held = np.where(np.arange(SIZE) < greatest, np.arange(SIZE), greatest)
    holding = replace(exact, q=exact.q[held], tau=exact.tau[held], dq=None)
    differenced = replace(coarse, dq=np.gradient(coarse.q, 1 / RATE, axis=0))
    for log in (exact, coarse, halting, holding, differenced):
        assert quality_of(log, robot).remarks == []


def test_motor_that_stands_still(robot, exact):
    flicker = STEP * np.random.default_rng(1).integers(-1, 2, SIZE)
    found = quality_of(replace(exact, q=with_column(exact.q, 3, flicker)), robot)
    assert found.still == {"psi": pytest.approx(2 * STEP)}
    assert "friction and inertia cannot be identified" in found.remarks[0]


@pytest.mark.parametrize("factor", [-1.0, 180 / np.pi, np.pi / 180, 1.3])
def test_rates_that_differ_by_a_factor(robot, exact, factor):
    coarse = replace(exact, q=np.round(exact.q / STEP) * STEP)
    noise = 0.01 * np.random.default_rng(2).normal(size=exact.q.shape)
    found = quality_of(replace(coarse, dq=(exact.dq + noise) * [1, factor, 1, 1]), robot)
    assert found.factors.keys() == {"phi2"}
    assert found.factors["phi2"] == pytest.approx((factor, factor), rel=0.01)


def test_rates_that_are_none(robot, exact):
    found = quality_of(replace(exact, dq=with_column(exact.dq, 0, 0.5)), robot)
    assert found.constant == {"phi1": 0.5}
    swapped = quality_of(replace(exact, dq=exact.dq[:, [1, 0, 2, 3]]), robot)
    assert swapped.unlike.keys() == {"phi1", "phi2"}


def test_flat_tops_and_torques_at_the_limit(robot, exact):
    log = clipped(exact)
    found = quality_of(log, robot)
    assert found.saturated == {"phi1": int((exact.tau[:, 0] >= MOST).sum())}
    assert found.ends == {"phi1": (None, MOST)}
    mirrored = quality_of(replace(log, tau=-log.tau), robot)
    assert mirrored.saturated == found.saturated
    assert mirrored.ends == {"phi1": (-MOST, None)}
    lower = replace(log, tau=-log.tau, quality=mirrored)
    inside = left_out(robot, lower, None, True)(np.arange(SIZE))
    np.testing.assert_array_equal(inside, exact.tau[:, 0] >= MOST)
    limited = quality_of(replace(exact, tau=exact.tau * [1, 1, 1, -11 / np.abs(exact.tau[:, 3]).max()]), robot)
    assert limited.saturated.keys() == {"psi"}
    assert "its limit or a constant maximum" in limited.remarks[0]


def stored(robot: Robot, log: Log, folder, monkeypatch) -> tuple[StoredLog, Log]:
    """One log left in its file, and read whole."""
    write_log(folder / "log.parquet", log, robot)
    whole = open_log(LogKeys(), folder / "log.parquet", robot)
    monkeypatch.setattr(stored_log, "LONG", 1000)
    monkeypatch.setattr(stored_log, "PIECE", 777)
    left = open_log(LogKeys(), folder / "log.parquet", robot)
    assert isinstance(left, StoredLog)
    assert isinstance(whole, Log)
    return left, whole


def test_logs_that_stay_in_their_files_are_judged_alike(robot, exact, tmp_path, monkeypatch):
    spoilt = replace(
        clipped(exact),
        q=with_column(exact.q, 3, 0.1),
        dq=with_column(with_column(exact.dq, 1, 2 * exact.dq[:, 1]), 2, 0.0),
    )
    left, whole = stored(robot, spoilt, tmp_path, monkeypatch)
    a, b = left.quality, whole.quality
    assert a.remarks == b.remarks
    assert len(a.remarks) == 4
    assert (a.rows, a.gaps, a.repeated, a.saturated, a.ends) == (b.rows, b.gaps, b.repeated, b.saturated, b.ends)
    assert a.factors["phi2"] == pytest.approx(b.factors["phi2"], rel=1e-9)
    index = np.arange(SIZE)
    kept, kept_whole = (left_out(robot, log, Lowpass(cutoff=20.0), True)(index) for log in (left, whole))
    assert (kept == kept_whole).all()
    assert 0 < kept.sum() < SIZE


@pytest.mark.parametrize("way", ["spline", "fourier", "auto"])
def test_logs_that_stay_in_their_files_are_differentiated_alike(robot, exact, tmp_path, monkeypatch, way):
    w = 2 * np.pi * np.array([0.25, 0.5, 0.75, 1.0]) * (1 + 1e-4)  # repeats after about four seconds
    q = np.round(0.3 * np.sin(np.outer(exact.t, w)) / STEP) * STEP
    left, whole = stored(robot, replace(exact, q=q), tmp_path, monkeypatch)
    ways = [rates_of(log, Preparation(differentiation=way)) for log in (left, whole)]
    assert ways[0].reason == ways[1].reason
    for x, y in zip(*(w.motion(whole) for w in ways), strict=True):
        assert np.abs(x - y).max() < 1e-9 * np.abs(y).max()


def test_a_log_is_looked_at_once(exact):
    preparation = Preparation(differentiation="spline")
    assert rates_of(exact, preparation) is rates_of(exact, preparation)


def test_saturated_samples_left_out_leave_the_truth(robot, exact):
    """Torques clipped where the motor was in truth asked for more: the fit without them finds the parameters of the file."""
    filtered = {"cutoff": 40.0}
    spec = {"robot": "irb360_arms", "fit": [{"file": "log"}], "preparation": {"differentiation": "spline"}}
    found = {}
    for what in ("keep", "drop"):
        rows = {"saturated": what, "filter": filtered, "cut": 200}
        run = RunFile.model_validate({**spec, "rows": rows, "score": {"filter": filtered}, "instruments": False})
        log = clipped(exact)
        log = replace(log, quality=quality_of(log, robot))
        result = estimate(robot, run, [Selected(log, 0, 7000)], [Selected(log, 7000, SIZE - 200)])
        truth = result.wls.base.of(result.settings.initial)
        found[what] = np.abs(result.wls.values - truth).max() / np.abs(truth).max()
        assert any("tau_phi1 is saturated" in text for text in result.verdict.cautions)
    assert found["drop"] < 0.01 * found["keep"]
