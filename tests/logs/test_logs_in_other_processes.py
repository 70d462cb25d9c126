"""A log that goes to another process is the same log there: in memory or in its file, of every kind of file."""

import pickle

import numpy as np
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.logs import stored_log
from robodyn_pin.logs.stored_log import StoredLog, open_log
from robodyn_pin.logs.units import LogKeys

N = 4000


def _frame(robot, late=0.0):
    t = np.arange(N) / 1000
    stamps = t + late * np.random.default_rng(0).uniform(-0.3e-3, 0.3e-3, N)
    home = robot.motors.S @ robot.home + robot.motors.offset
    q, tau = (
        {
            f"{key}_{m}": x0 + 0.05 * np.sin((3 + k) * t)
            for k, (m, x0) in enumerate(zip(robot.motors.names, home, strict=True))
        }
        for key in ("q", "tau")
    )
    return pl.DataFrame({"t": stamps} | q | tau)


@pytest.fixture(scope="module")
def robot():
    return rp.load("fivebar")


def _same(log, again):
    assert again.content == log.content
    assert again.size == log.size
    a, b = log.section(1000, 3000), again.section(1000, 3000)
    for name in ("t", "q", "tau"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert b.row(7) == a.row(7)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_logs_in_memory(robot, tmp_path, suffix):
    path = tmp_path / f"log.{suffix}"
    frame = _frame(robot)
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    for log in (rp.read_log(path, robot), rp.Log.from_frame(frame, robot)):
        _same(log, pickle.loads(pickle.dumps(log)))


@pytest.mark.parametrize("late", [0.0, 1.0])
@pytest.mark.parametrize("delay", [0.0, 0.0125])
def test_logs_that_stay_in_their_file(robot, tmp_path, monkeypatch, late, delay):
    monkeypatch.setattr(stored_log, "LONG", 1000)
    path = tmp_path / "log.parquet"
    _frame(robot, late).write_parquet(path, row_group_size=700)
    log = open_log(LogKeys(delay=delay), path, robot)
    assert isinstance(log, StoredLog)
    window = log.window(10, N - 10)
    _same(window, pickle.loads(pickle.dumps(window)))
    assert window.content != log.content


def test_contents_differ_where_the_samples_do(robot, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_log, "LONG", 1000)
    frame = _frame(robot)
    found = set()
    for k, changed in enumerate((frame, frame.with_columns(pl.nth(1) + 1e-9))):
        path = tmp_path / f"log{k}.parquet"
        changed.write_parquet(path)
        found |= {open_log(LogKeys(delay=d), path, robot).content for d in (0.0, 0.01)}
        found.add(rp.read_log(path, robot).content)
    assert len(found) == 6
