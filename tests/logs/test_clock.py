"""Clocks with faults, put into exact motions: what is found of them, and what is left after they are undone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.errors import BadLog
from robodyn_pin.logs import stored_log
from robodyn_pin.logs.clock import Clock, find_clock
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import read_as, read_log
from robodyn_pin.logs.stored_log import StoredLog, open_log
from robodyn_pin.logs.uniform import at_rows, quality_of, uniform
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

RATE, SIZE, JITTER = 100.0, 4000, 2e-3  # [Hz], rows, [s]
NOISE = 1e-5  # [rad] of the positions


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load("irb360_arms")


def exact(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rates and accelerations (N, 4) of a sum of sines up to 1.5 Hz."""
    rng = np.random.default_rng(0)
    w, phase = 2 * np.pi * rng.uniform(0.1, 1.5, (5, 4)), rng.uniform(0, 6, (5, 4))
    angle, size = t[:, None, None] * w + phase, 0.4 / w
    return (size * np.sin(angle)).sum(1), (size * w * np.cos(angle)).sum(1), -(size * w**2 * np.sin(angle)).sum(1)


def faulty(robot: Robot, kind: str, share: float = 0.1, jitter: float = JITTER) -> Log:
    """A log whose stamps are true but irregular, irregular but the samples are not, or regular while values are late; the torques
    are the accelerations, so that they say when they were sampled."""
    rng = np.random.default_rng(1)
    regular = np.arange(SIZE) / RATE
    spread = regular + np.clip(jitter * rng.normal(size=SIZE), -0.45 / RATE, 0.45 / RATE)
    sampled = regular if kind == "received" else spread
    q, _, tau = exact(sampled)
    q = q + NOISE * rng.normal(size=q.shape)
    for k in np.flatnonzero(rng.uniform(size=SIZE) < share)[1:]:
        q[k], tau[k] = q[k - 1], tau[k - 1]
    log = Log("log", regular if kind == "late" else spread, q, tau)
    return replace(log, quality=quality_of(log, robot))


def repeats_of(log: Log) -> int:
    return int((np.diff(log.q, axis=0) == 0).all(axis=1).sum())


@pytest.mark.parametrize("kind", ["true", "received", "late"])
def test_faults_are_measured_and_told_apart(robot, kind):
    log = faulty(robot, kind)
    assert log.quality.repeated == pytest.approx(repeats_of(log), abs=3)
    assert (log.quality.irregular > 0.01) == (kind != "late")
    if kind == "true":
        assert log.quality.late == 0
    else:
        assert log.quality.late == pytest.approx(JITTER, rel=0.1)
    for words, named in (
        ("time stamps deviate by 2.", kind != "late"),
        ("early or late", kind != "true"),
        ("repeat", True),
    ):
        assert (words in log.quality.clock) == named


@pytest.mark.parametrize(("kind", "most"), [("true", 0.02), ("received", 0.1), ("late", 0.1)])
def test_accelerations_are_those_at_the_times_of_the_torques(robot, kind, most):
    """A spline over the same values as if nothing were odd is off several times as much."""
    log, way = faulty(robot, kind), Preparation(differentiation="spline", cutoff=8.0)
    inner = slice(100, -100)
    size = np.sqrt(np.mean(exact(log.t)[2] ** 2))

    def error(of: Log, asked: Preparation) -> float:
        even = uniform(of)
        return float(np.sqrt(np.mean((rates_of(even, asked).motion(even)[2] - even.efforts)[inner] ** 2)) / size)

    done = error(log, way)
    assert done < most
    undone_not = replace(
        log, t=np.arange(SIZE) / RATE, quality=replace(log.quality, irregular=0.0, late=0.0, repeated=0)
    )
    assert error(undone_not, way) > 3 * done


def test_rows_have_what_is_predicted_for_the_time_at_which_they_were_sampled(robot):
    log = faulty(robot, "late")
    even = uniform(log)
    found = at_rows(log, even.efforts)
    own = np.abs(found - log.efforts).max(axis=1) == 0
    assert own.mean() > 0.7  # torques are interpolated only where two rows lie nearest to one sample of the clock
    assert len(found) == log.size


@pytest.mark.parametrize("kind", ["received", "late"])
def test_stamps_count_where_they_are_to(robot, tmp_path, monkeypatch, kind):
    """Also for a log that stays in its file: no row is moved because of its values, none is left out."""
    log = faulty(robot, kind)
    write_log(tmp_path / "log.parquet", log, robot)
    keys = LogKeys(clock="stamps")
    whole = read_as(keys, tmp_path / "log.parquet", robot)
    assert (whole.quality.late, whole.quality.repeated) == (0, 0)
    monkeypatch.setattr(stored_log, "LONG", 1000)
    left = open_log(keys, tmp_path / "log.parquet", robot)
    assert isinstance(left, StoredLog)
    stored = left.section(0, left.size)
    for found in (uniform(whole), stored):
        if kind == "late":  # on a regular clock
            np.testing.assert_array_equal(found.q, log.q)
            np.testing.assert_array_equal(found.efforts, log.tau)
    np.testing.assert_array_equal(stored.q, uniform(whole).q)


def test_standstill_and_coarse_encoders_are_no_repeated_rows(robot):
    q, _, tau = exact(np.minimum(np.arange(SIZE) / RATE, 20.0))
    step = 0.02  # [rad] coarse: most rows equal the one before
    for values in (q, np.round(q / step) * step):
        log = Log("log", np.arange(SIZE) / RATE, values, tau)
        assert quality_of(log, robot).repeated <= 0.005 * SIZE
    clean = Log("log", np.arange(SIZE) / RATE, q, tau)
    assert quality_of(clean, robot).clock == ""
    judged = replace(clean, quality=quality_of(clean, robot))
    assert uniform(judged) is judged


@pytest.mark.parametrize("unlike", [1.0, 10.0, 100.0])
def test_lateness_shows_in_more_than_one_motor(unlike):
    """Moving the rows in time can always explain the noise of the motor that is fastest for its noise."""
    rng, t = np.random.default_rng(3), np.arange(3000) / RATE

    def clock(when: np.ndarray) -> Clock:
        fast, slow = np.sin(3 * when) + 0.3 * np.sin(7.1 * when), np.cos(2.2 * when) + 0.2 * np.sin(5 * when)
        q = np.stack([fast, slow / unlike], axis=1)
        return find_clock(Log("log", t, q + NOISE * rng.normal(size=q.shape), None), RATE)

    assert clock(t).late == 0
    assert clock(t + JITTER * rng.normal(size=len(t))).late == pytest.approx(JITTER, rel=0.1)


def test_motors_that_move_exactly_alike_count_once():
    """As of a symmetric robot in a simulation: what their equal encoders round off is the same, as if the rows were late."""
    t, rng = np.arange(3000) / RATE, np.random.default_rng(4)

    def clock(when: np.ndarray, *further: np.ndarray) -> Clock:
        angle = np.round((np.sin(3 * when) + 0.3 * np.sin(7.1 * when)) / NOISE) * NOISE
        return find_clock(Log("log", t, np.stack([angle, angle + 0.2, 0.5 - angle, *further], axis=1), None), RATE)

    assert clock(t).late == 0
    assert clock(t, np.cos(2.2 * t) + NOISE * rng.normal(size=len(t))).late == 0
    when = t + JITTER * rng.normal(size=len(t))
    assert clock(when, np.cos(2.2 * when) + NOISE * rng.normal(size=len(t))).late == pytest.approx(JITTER, rel=0.1)


@pytest.mark.parametrize("kind", ["true", "late"])
def test_a_log_that_stays_in_its_file_gives_the_same_bits(robot, tmp_path, monkeypatch, kind):
    log = faulty(robot, kind)
    ways = (slice(None), slice(None, None, -1), slice(None))  # there, back, and there again
    long = replace(log, **{k: np.concatenate([getattr(log, k)[way] for way in ways]) for k in ("q", "tau")})
    back = (SIZE - 1) / RATE - log.t[::-1]
    long = replace(long, t=np.concatenate([t + k * SIZE / RATE for k, t in enumerate((log.t, back, log.t))]))
    write_log(tmp_path / "log.parquet", long, robot)
    whole = open_log(LogKeys(), tmp_path / "log.parquet", robot)
    monkeypatch.setattr(stored_log, "LONG", 1000)
    monkeypatch.setattr(stored_log, "PIECE", 777)
    left = open_log(LogKeys(), tmp_path / "log.parquet", robot)
    assert isinstance(left, StoredLog)
    assert (left.quality.repeated, left.quality.late) == (whole.quality.repeated, whole.quality.late)
    assert left.quality.jitter == pytest.approx(whole.quality.jitter, rel=1e-9)
    for begin, end in ((0, 500), (8000, 8400), (11_000, 12_000)):
        a, b = left.section(begin, end), whole.section(begin, end)
        for name in ("t", "q", "tau", "after", "begin"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def written(robot: Robot, folder: Path, log: Log) -> Path:
    write_log(folder / "log.csv", log, robot)
    return folder / "log.csv"


def test_clocks_that_no_log_may_have(robot, tmp_path):
    log = replace(faulty(robot, "late", 0.0), tau=None)
    back = log.t.copy()
    back[700] = back[690]
    with pytest.raises(
        BadLog, match=r"does not increase in 1 rows, first in row 702 .*expected stamps that increase.*sort"
    ):
        read_log(written(robot, tmp_path, replace(log, t=back)), robot, torque=False)
    twice = replace(log, t=np.concatenate([log.t, log.t]), q=np.concatenate([log.q, log.q]))
    with pytest.raises(BadLog, match=r"starts again in row 4002 .*2 recordings.*a log of its own"):
        read_log(written(robot, tmp_path, twice), robot, torque=False)
    path = written(robot, tmp_path, log)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0] + ",t", *(line + ",0" for line in lines[1:])]))
    with pytest.raises(BadLog, match="column 't' stands there twice; rename one"):
        read_log(path, robot, torque=False)


def test_rows_written_twice_with_their_stamp_count_as_repeated(robot, tmp_path):
    log = faulty(robot, "true", 0.0)
    index = np.sort(np.r_[np.arange(SIZE), np.random.default_rng(2).choice(np.arange(10, SIZE - 10), 300, False)])
    path = written(robot, tmp_path, replace(log, t=log.t[index], q=log.q[index], tau=log.efforts[index]))
    assert read_log(path, robot).quality.repeated == pytest.approx(300, abs=15)  # some lie where the robot turns


def test_a_log_of_which_half_repeats_says_its_true_rate(robot):
    log = faulty(robot, "true", 0.0, 1e-9)
    held = np.arange(SIZE) // 2 * 2
    log = replace(log, q=log.q[held], tau=log.efforts[held])
    (text,) = quality_of(log, robot).remarks
    assert "expected is a new sample in each: log at the rate at which the robot samples, about 50" in text
