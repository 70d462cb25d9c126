"""Logs that are not one recording of one motion are refused with what to do, and their parts can be used. All logs are SIMULATED."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.errors import BadLog
from robodyn_pin.log_to_robot.run import execute
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs import breaks, stored_log
from robodyn_pin.logs.breaks import BrokenLog, unbroken
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.parts import open_rows
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.stored_log import open_log
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot, load

PARTS = "take each part as a log of its own: a file, 'rows: [0, {}]' and so on in the run file, or a section of a log in memory"


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, Log]:
    robot = load("irb6660")
    return robot, noisy_log(robot, "irb2400_motion")


def without(log: Log, begin: int, end: int) -> Log:
    kept = np.r_[:begin, end : log.size]
    return replace(log, t=log.t[kept], q=log.q[kept], tau=log.efforts[kept])


def behind(log: Log, at: int, jump: np.ndarray) -> Log:
    """The positions from a sample on moved by (n,)."""
    return replace(log, q=log.q + np.where(np.arange(log.size)[:, None] >= at, jump, 0.0))


def test_missing_samples_of_a_quarter_of_a_second_are_told_and_fewer_are_interpolated(arm, tmp_path):
    robot, log = arm
    for seconds, broken in ((0.2, False), (0.3, True)):
        path = tmp_path / "log.csv"
        write_log(path, without(log, 2000, 2000 + round(seconds * log.rate)), robot)
        if broken:
            with pytest.raises(BrokenLog) as said:
                open_log(LogKeys(), path, robot)
            first = said.value.args[0]
            assert "between rows 2001 and 2002 samples of 0.304 s are missing (column t: 7.996 s, then 8.3 s)" in first
            assert first.endswith(PARTS.format(2000))
        else:
            assert "samples are missing (gaps: 1, the longest 0.2 s)" in rp.read_log(path, robot).quality.clock


def test_parts_that_rows_name_are_logs_of_their_own(arm, tmp_path):
    """A file with a gap, one whose positions jump and one whose clock starts again give what their parts give in files of their own."""
    robot, log = arm
    log = log.section(0, 4000)
    t = np.where(np.arange(4000) < 2000, log.t, log.t - log.t[2000])
    whole = {
        "gap": replace(log, t=np.where(np.arange(4000) < 2000, log.t, log.t + 1)),
        "jump": behind(log, 2000, np.full(6, 0.05)),
        "restart": replace(log, t=t),
    }
    settings = {"robot": "irb6660", "instruments": False, "intervals": False}
    for name, kind in (("gap", "csv"), ("jump", "parquet"), ("restart", "csv")):
        found = whole[name]
        write_log(tmp_path / f"{name}.{kind}", found, robot)
        parts = [(0, 2000), (2000, 4000)]
        for k, (begin, end) in enumerate(parts):
            write_log(tmp_path / f"{name}{k}.csv", found.section(begin, end), robot)
        named = [{"file": f"{name}.{kind}", "rows": rows} for rows in parts]
        apart = [{"file": f"{name}{k}.csv", "rows": [0, 2000]} for k in range(2)]
        with pytest.raises(BrokenLog):
            execute(RunFile.model_validate({**settings, "fit": [{"file": f"{name}.{kind}"}]}), tmp_path)
        one, other = (
            execute(RunFile.model_validate({**settings, "fit": fit}), tmp_path, str) for fit in (named, apart)
        )
        assert [record.name for record in one.logs[:2]] == [f"{name}.{kind}[0:2000]", f"{name}.{kind}[2000:4000]"]
        np.testing.assert_allclose(one.feasible.values, other.feasible.values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("jump", [0.03, 0.3, -1.0])
def test_positions_that_jump_are_told_with_motor_row_and_size(arm, jump):
    robot, log = arm
    with pytest.raises(BrokenLog) as said:
        unbroken(behind(log, 2500, jump * (np.arange(6) == 1)), robot)
    step = abs(log.q[2500, 1] + jump - log.q[2499, 1])
    assert f"column q of motor 'm2' jumps by {step:.4g} rad in row 2502, as if" in said.value.args[0]
    assert said.value.args[0].endswith(PARTS.format(2500))


def test_a_jump_that_is_faster_than_any_motor_is_no_other_unit(arm, tmp_path, monkeypatch):
    """Its rows can be named, too, also where a long log is read piece by piece; angles in degrees remain another unit."""
    robot, log = arm
    for suffix, long in (("csv", stored_log.LONG), ("parquet", 1000)):
        monkeypatch.setattr(stored_log, "LONG", long)
        path = tmp_path / f"log.{suffix}"
        write_log(path, behind(log, 2500, np.full(6, 0.5)), robot)
        with pytest.raises(BrokenLog, match="jumps by 0"):
            open_log(LogKeys(), path, robot)
        part, begin, end = open_rows(LogKeys(), path, robot, LogSpec(file=path, rows=(2500, 5000)))
        assert (part.size, begin, end) == (2500, 0, 2500)
    write_log(tmp_path / "log.csv", replace(log, q=np.degrees(log.q)), robot)
    with pytest.raises(BadLog, match="in another unit than 'rad'"):
        rp.read_log(tmp_path / "log.csv", robot)


def test_an_angle_that_is_wrapped_is_told_so(arm, tmp_path):
    robot, log = arm
    q = log.q + 3.1 * (np.arange(6) == 5)
    write_log(tmp_path / "log.csv", replace(log, q=(q + np.pi) % (2 * np.pi) - np.pi), robot)
    with pytest.raises(BadLog, match=r"motor 'm6' jumps by a whole turn in row \d+: its angle is wrapped"):
        rp.read_log(tmp_path / "log.csv", robot)


@pytest.mark.parametrize("moving", [0.002, 0.02, 0.5])
def test_motion_that_starts_suddenly_stops_or_is_read_in_steps_is_no_jump(arm, moving):
    """A robot that stands nearly all the time, encoders of 1 mrad, rows that repeat for ten samples; a second at 200 Hz each way is left."""
    robot, _ = arm
    n, rate = 20_000, 200.0
    t = np.arange(n) / rate
    inside = np.clip((t - 50) / (moving * t[-1] / 2), -1, 1)
    swing = np.sin(np.pi * inside)[:, None] * np.linspace(0.1, 1, 6)
    creeping = swing + 0.01 * t[:, None]  # steps that nearly all others hardly reach
    for q in (swing, creeping, np.round(swing, 3), swing[np.arange(n) // 10 * 10]):
        log = Log("log", t, q, q)
        assert unbroken(log, robot) is log


def test_long_logs_are_checked_piece_by_piece(arm, tmp_path, monkeypatch):
    robot, log = arm
    monkeypatch.setattr(stored_log, "LONG", 1000)
    monkeypatch.setattr(stored_log, "PIECE", 1000)
    write_log(tmp_path / "whole.parquet", log, robot)
    open_log(LogKeys(), tmp_path / "whole.parquet", robot)
    for broken, said in (
        (without(log, 2600, 3000), "between rows 2600 and 2601 samples of 1.6 s are missing"),
        (behind(log, 3001, np.full(6, 0.3)), r"jumps by 0\.\d+ rad in row 3002"),
    ):
        write_log(tmp_path / "log.parquet", broken, robot)
        with pytest.raises(BrokenLog, match=said):
            open_log(LogKeys(), tmp_path / "log.parquet", robot)


def test_logs_in_memory_and_commands_refuse_them_too(arm, tmp_path, robodyn_here):
    robot, log = arm
    broken = without(log, 2000, 2000 + round(2 * breaks.GAP * log.rate))
    with pytest.raises(BrokenLog, match="samples of"):
        rp.identify(robot, broken)
    write_log(tmp_path / "log.csv", broken, robot)
    done = robodyn_here("predict", "irb6660", tmp_path / "log.csv", "--out", tmp_path / "tau.csv")
    assert done.returncode == 1
    assert "are missing" in done.stderr
