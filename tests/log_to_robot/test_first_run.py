"""A run file for somebody's log: columns and units by names and numbers, against the same log in SI."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.errors import BadLog, UnknownName
from robodyn_pin.log_to_robot.first_run import first_run
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.guessed_columns import guess_columns, named_unit, unit_of_angles, unit_of_time
from robodyn_pin.logs.reading import read_as
from robodyn_pin.urdf import catalogue

ROWS = 400
T = np.arange(ROWS) * 0.002
Q = 0.3 + 0.4 * np.sin(2 * np.pi * 0.8 * T[:, None] + np.arange(3))
TAU = 2.0 * np.cos(2 * np.pi * 0.8 * T[:, None] + np.arange(3))

# How others call the columns of three motors phi1, phi2, phi3; factors from SI.
HEADERS = {
    "UR": ("timestamp", "actual_q_{}", "target_q_{}", "actual_torque_{}", 0, 1.0, 1.0, 1.0),
    "ROS": ("time", "position.phi{1}", "commanded_position.phi{1}", "effort.phi{1}", 0, 1.0, 1.0, 1.0),
    "ABB": ("Time [ms]", "Joint {1} Position [deg]", "Joint {1} Speed [deg/s]", "Joint {1} Torque [Nm]", 0, 1e3, 180 / np.pi, 1.0),
    "camel": ("TimeStamp", "JointPos{1}", "JointVel{1}", "JointTorque{1}", 0, 1e6, 180 / np.pi, 1e3),
}  # fmt: skip


def written(path: Path, kind: str) -> Path:
    clock, position, other, torque, _, per_second, per_rad, per_nm = HEADERS[kind]
    columns = {clock: T * per_second}
    for k in range(3):
        columns |= {position.format(k, k + 1): Q[:, k] * per_rad, other.format(k, k + 1): np.zeros(ROWS)}
    for k in range(3):
        columns |= {torque.format(k, k + 1): TAU[:, k] * per_nm, f"motor_{k + 1}_current": np.ones(ROWS)}
    pl.DataFrame(columns).write_csv(path)
    return path


@pytest.mark.parametrize("kind", HEADERS)
def test_logs_as_others_write_them_are_read_in_si(tmp_path, kind):
    robot, log = rp.load("delta3"), written(tmp_path / "log.csv", kind)
    made = first_run(robot, Path("delta3"), log, tmp_path / "run.yaml")
    run = RunFile.model_validate(yaml.safe_load(made.text))
    assert run.robot == "delta3"
    assert run.fit[0].file == Path("log.csv")
    data = read_as(run, log, robot)
    np.testing.assert_allclose(data.t, T, atol=1e-9)
    np.testing.assert_allclose(data.q, Q, atol=1e-9)
    np.testing.assert_allclose(data.tau, TAU, atol=1e-9)
    assert bool(made.assumed) == (kind in ("UR", "ABB", "camel"))  # numbers, not the motors' names


def test_a_log_with_our_own_names_needs_no_columns(tmp_path):
    log = tmp_path / "log.csv"
    columns = {f"{p}_phi{k + 1}": x[:, k] for p, x in (("q", Q), ("tau", TAU)) for k in range(3)}
    pl.DataFrame({"t": T} | columns).write_csv(log)
    text = first_run(rp.load("delta3"), Path("delta3"), log, tmp_path / "run.yaml").text
    assert "columns:" not in text
    assert "units:" not in text


def test_what_is_measured_counts_before_what_was_asked_for():
    found = guess_columns(["t", "q_ref_m1", "q_m1", "tau_cmd_m1", "tau_m1", "qd_m1"], ["m1"], "log")
    assert found.columns == {"t": "t", "q_m1": "q_m1", "tau_m1": "tau_m1", "dq_m1": "qd_m1"}
    only = guess_columns(["t", "q_target_m1", "tau_m1"], ["m1"], "log")
    assert only.columns["q_m1"] == "q_target_m1"


LEG = (
    "Timestamp [us]",
    *(
        f"{m} Drive {what}"
        for m in ("Hip", "Knee")
        for what in ("Set Position [deg]", "Actual Position [deg]", "Torque [Nmm]")
    ),
)


def test_a_set_point_is_no_measured_position():
    """Drives write `set` and `actual` (German ones `Soll` and `Ist`) beside each other; the shorter header is the wrong one."""
    found = guess_columns(LEG, ["HipDrive", "KneeDrive"], "log")
    assert found.columns["q_HipDrive"] == "Hip Drive Actual Position [deg]"
    assert found.columns["q_KneeDrive"] == "Knee Drive Actual Position [deg]"
    assert not found.rivals
    german = ["t", "Pos_Soll_1", "Pos_Ist_1", "Pos_Soll_2", "Pos_Ist_2", "tau_1", "tau_2"]
    assert guess_columns(german, ["m1", "m2"], "log").columns["q_m2"] == "Pos_Ist_2"


def test_two_columns_for_one_quantity_are_said(tmp_path):
    log = tmp_path / "log.csv"
    columns = {f"{p}_phi{k + 1}": x[:, k] for p, x in (("q", Q), ("tau", TAU)) for k in range(3)}
    pl.DataFrame({"t": T, "filtered_q_phi2": Q[:, 1]} | columns).write_csv(log)
    made = first_run(rp.load("delta3"), Path("delta3"), log, tmp_path / "run.yaml")
    assert made.assumed == ("q_phi2 is 'q_phi2'; so could be 'filtered_q_phi2'",)
    actual = guess_columns(["t", "q_m1", "actual_q_m1", "tau_m1"], ["m1"], "log")
    assert actual.columns["q_m1"] == "actual_q_m1"
    assert actual.rivals == {"q_m1": ("q_m1",)}


def test_motors_are_not_taken_for_others_whose_names_begin_alike():
    headers = ["t", *(f"{kind}_j{k}" for kind in ("q", "tau") for k in (1, 11))]
    found = guess_columns(headers, ["j1", "j11"], "log").columns
    assert found["q_j1"] == "q_j1"
    assert found["q_j11"] == "q_j11"


def test_columns_that_are_not_there_are_said(tmp_path):
    with pytest.raises(
        BadLog, match=r"log: no torque is found for each of the motors m1, m2 in its columns t, q_1, q_2, i_1"
    ):
        guess_columns(["t", "q_1", "q_2", "i_1"], ["m1", "m2"], "log")
    log = tmp_path / "log.csv"
    pl.DataFrame({f"{p}_phi{k}": Q[:, 0] for p in ("q", "tau") for k in (1, 2, 3)}).write_csv(log)
    with pytest.raises(BadLog, match="no column is a clock"):
        first_run(rp.load("delta3"), Path("delta3"), log, tmp_path / "run.yaml")
    with pytest.raises(UnknownName):
        rp.load("delta4")


def test_units_by_names_and_by_numbers():
    assert [named_unit(h) for h in ("q [deg]", "tau (N m)", "t_ms", "pos_1", "tau_mNm")] == [
        "deg",
        "N m",
        "ms",
        None,
        "mN m",
    ]
    steps = {"s": 0.004, "ms": 4.0, "us": 4e3, "ns": 4e6}
    assert all(unit_of_time("t", np.arange(9) * step) == unit for unit, step in steps.items())
    t, slow = np.arange(100) / 100, np.full(1, np.inf)
    assert unit_of_angles(["q"], t, 10 * np.sin(t)[:, None], slow) == "rad"
    assert unit_of_angles(["q"], t, 100 * np.sin(6 * t)[:, None], slow) == "deg"
    assert unit_of_angles(["q"], t, np.sin(6 * t)[:, None], np.array([0.2])) == "deg"  # too fast for radians


def test_the_command_writes_both_files_and_what_it_wrote_runs(robodyn, tmp_path):
    urdf = tmp_path / "delta.urdf"
    urdf.write_text(catalogue()["delta3"].with_suffix(".urdf").read_text())
    (tmp_path / "other.csv").write_text("time,temperature\n0,20\n1,21\n")
    done = robodyn("init", urdf, "--log", tmp_path / "other.csv", "--yes")
    assert done.returncode == 1
    assert done.stderr.endswith("; nothing was written, without --log delta.yaml is\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "delta.urdf",
        "other.csv",
    ]  # the next try is not blocked
    log = written(tmp_path / "log.csv", "ABB")
    done = robodyn("init", urdf, "--log", log, "--yes")
    assert done.returncode == 0, done.stderr
    assert "angle in deg, as headers and numbers say" in done.stdout
    done = robodyn("check", tmp_path / "delta.yaml")
    assert done.returncode == 0, done.stderr
    again = robodyn("init", urdf, "--log", log, "--yes")
    assert again.returncode == 1
    assert "exists already" in again.stderr
    done = robodyn("init", tmp_path / "delta.yaml", "--log", log, "--out", tmp_path / "other.yaml")
    assert done.returncode == 0, done.stderr
    assert RunFile.model_validate(yaml.safe_load((tmp_path / "other.yaml").read_text())).robot == "delta.yaml"
