"""Logs in other units, with motors' gains and zeros, read everywhere as the same log in SI; columns that nobody reads."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.friction_tests.free_motor import logs_of
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.log_to_robot.noise_of_poses import read_poses
from robodyn_pin.log_to_robot.run_file import PosesSpec, RunFile
from robodyn_pin.logs import stored_log
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec, read_log
from robodyn_pin.logs.stored_log import StoredLog, log_pieces, open_log
from robodyn_pin.logs.units import LogKeys, Scale, Units, Zero
from robodyn_pin.logs.writing import write_log
from robodyn_pin.online.session import start_session
from robodyn_pin.online.track_file import TrackFile, reading_as
from robodyn_pin.robot.robot import Robot, load

CRANE = """<robot name="crane">
  <link name="rail"/>
  <link name="cart"><inertial><origin xyz="0 0 0"/><mass value="3"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="500" velocity="3"/></joint>
  <link name="boom"><inertial><origin xyz="0 0 -0.4"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.002"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="cart"/><child link="boom"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="9"/></joint>
</robot>"""
KEYS = {
    "units": {"time": "ms", "angle": "deg", "length": "mm", "torque": "mN m", "force": "kN"},
    "scale": {"position": {"hinge": -0.5}, "torque": {"slide": 4.0, "hinge": -0.25}},
    "zero": {"position": {"slide": -250.0, "hinge": 90.0}, "torque": {"hinge": 130.0}},
}
ZERO_POSITION = np.array([-250.0, 90.0])  # as the file has them, mm and deg
ZERO_TORQUE = np.array([0.0, 130.0])  # kN and mN m
POSITION, EFFORT = np.array([1e-3, -0.5 * np.pi / 180]), np.array([4e3, -0.25e-3])  # to SI, of slide and hinge


@pytest.fixture(scope="module")
def robot(tmp_path_factory) -> Robot:
    folder = tmp_path_factory.mktemp("crane")
    (folder / "crane.urdf").write_text(CRANE)
    return load(folder / "crane.urdf")


@pytest.fixture(scope="module")
def log(robot) -> Log:
    """SIMULATED: a crane that swings, its efforts from the Lagrange equations of a cart and a boom, by hand."""
    t = np.arange(2000) / 200
    x, dx, ddx = 0.4 * np.sin(2 * t), 0.8 * np.cos(2 * t), -1.6 * np.sin(2 * t)
    p, dp, ddp = 0.9 * np.sin(3 * t + 1), 2.7 * np.cos(3 * t + 1), -8.1 * np.sin(3 * t + 1)
    m, length, inertia = 1.0, 0.4, 0.02
    # The boom hangs: its centre is at x - l sin p, -l cos p (a turn about +y takes -z towards -x).
    force = (3 + m) * ddx - m * length * (ddp * np.cos(p) - dp**2 * np.sin(p))
    torque = (inertia + m * length**2) * ddp - m * length * ddx * np.cos(p) + m * 9.81 * length * np.sin(p)
    x, y, z, tau = (np.stack(pair, axis=1) for pair in ((x, p), (dx, dp), (ddx, ddp), (force, torque)))
    return Log("log.csv", t, x, tau, y, z)


@pytest.fixture(scope="module")
def folder(robot, log, tmp_path_factory) -> Path:
    """The log in other units, and the robot's file."""
    folder = tmp_path_factory.mktemp("logs")
    foreign = replace(
        log, t=1e3 * log.t, q=log.q / POSITION + ZERO_POSITION, dq=log.dq / POSITION, ddq=log.ddq / POSITION,
        tau=log.tau / EFFORT + ZERO_TORQUE,
    )  # fmt: skip
    (folder / "crane.urdf").write_text(CRANE)
    for name, written in (("log", foreign), ("si", log)):
        write_log(folder / f"{name}.csv", written, robot, "SIMULATED")
        write_log(folder / f"{name}.parquet", written, robot, "SIMULATED")
    more = pl.read_csv(folder / "si.csv", comment_prefix="#").with_columns(tau_des1=0.0, q_wrist=1.0)
    more = more.with_columns(pl.lit("warm").alias("temperature"))
    more.write_csv(folder / "more.csv")
    more.write_parquet(folder / "more.parquet")
    return folder


def same(found: Log, log: Log) -> None:
    for name in ("t", "q", "dq", "ddq", "tau"):
        np.testing.assert_allclose(getattr(found, name), getattr(log, name), rtol=1e-12, atol=1e-12, err_msg=name)


def test_motors_that_slide_have_units_of_their_own(robot, log, folder):
    degrees = replace(log, q=log.q / [1, np.pi / 180], dq=None, ddq=None)
    write_log(folder / "degrees.csv", degrees, robot)
    np.testing.assert_allclose(read_log(folder / "degrees.csv", robot, None, Units(angle="deg")).q, log.q, rtol=1e-12)


def test_every_reader_brings_units_scale_and_zero_to_si(robot, log, folder, monkeypatch):
    keys = parse_yaml(yaml.safe_dump({"robot": "crane.urdf", "fit": [{"file": "log.csv"}]} | KEYS), RunFile, "run")
    same(read_log(folder / "log.csv", robot, units=keys.units, scale=keys.scale, zero=keys.zero), log)
    same(read_log(folder / "log.csv", robot, **KEYS), log)
    same(Log.from_frame(pl.read_csv(folder / "log.csv", comment_prefix="#"), robot, **KEYS), log)
    same(open_log(keys, folder / "log.parquet", robot), log)
    monkeypatch.setattr(stored_log, "LONG", 1000)
    stored = open_log(keys, folder / "log.parquet", robot)
    assert isinstance(stored, StoredLog)
    same(stored.section(0, stored.size), log)
    monkeypatch.setattr(stored_log, "PIECE", 900)
    parts = list(log_pieces(keys, folder / "log.csv", robot))
    for name in ("t", "q", "tau"):
        np.testing.assert_allclose(np.concatenate([getattr(p, name) for p in parts]), getattr(log, name), rtol=1e-11)
    of_poses = read_poses(robot, keys, folder, PosesSpec(poses=[LogSpec(file=Path("log.csv"), rows=(10, 400))]))
    np.testing.assert_allclose(of_poses[0].tau, log.tau[10:400], rtol=1e-11)
    text = yaml.safe_dump({"robot": "crane.urdf", "motor": "hinge", "logs": [{"file": "log.csv"}]} | KEYS)
    same(next(logs_of(parse_yaml(text, FrictionFile, "friction"), folder, robot))[0], log)
    tracked = start_session(
        robot, [folder / "log.csv"], parse_yaml(yaml.safe_dump({"noise": 0.1} | KEYS), TrackFile, "track")
    )
    np.testing.assert_allclose(next(tracked.logs[0]()).q, log.q[:900], rtol=1e-11)


def test_commands_read_a_log_as_the_result_was_read(robodyn, folder):
    """identify, predict, joints and show on the log in SI and in other units: the same numbers."""
    found = {}
    for name, keys in (("si", {}), ("log", KEYS)):
        run = {"robot": "crane.urdf", "fit": [{"file": f"{name}.csv"}], "prior": {"weight": 0.001}} | keys
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(run))
        done = robodyn("identify", folder / f"{name}.yaml", "--out", folder / name)
        assert done.returncode == 0, done.stdout + done.stderr
        for command in ("predict", "joints"):
            out = folder / f"{name}_{command}.csv"
            done = robodyn(command, folder / name, folder / f"{name}.csv", "--out", out)
            assert done.returncode == 0, done.stderr
            found[name, command] = pl.read_csv(out, comment_prefix="#").to_numpy()
        done = robodyn("show", folder / name, "--motion", folder / f"{name}.csv", "--export", folder / "page.html")
        assert done.returncode == 0, done.stderr
    for command in ("predict", "joints"):
        np.testing.assert_allclose(found["log", command], found["si", command], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("key", "unit", "instead"), [("angle", "mm", "length: mm"), ("torque", "N", "force: N")])
def test_units_of_another_kind_of_axis_are_refused_with_the_right_key(key, unit, instead):
    with pytest.raises(BadFile, match=instead):
        parse_yaml(f"{key}: {unit}", Units, "units")


@pytest.mark.parametrize("factor", [0.0, float("inf"), float("nan")])
def test_factors_that_leave_nothing_are_refused(factor):
    with pytest.raises(BadFile, match=r"leaves nothing of the column|key 'position.hinge': expected a finite number"):
        parse_yaml(yaml.safe_dump({"position": {"hinge": factor}}), Scale, "scale")


@pytest.mark.parametrize(("key", "kind"), [("scale", Scale), ("zero", Zero)])
def test_scale_and_zero_of_a_motor_that_is_not_there(robot, folder, key, kind):
    with pytest.raises(UnknownName, match=rf"'hing'.*{key}: \{{torque.*did you mean 'hinge'"):
        read_log(folder / "si.csv", robot, **{key: kind(torque={"hing": 2.0})})


def test_keys_of_a_log_in_python_are_refused_as_a_run_file_would_refuse_them(robot, folder):
    for keys, said in (
        ({"units": {"angle": "grad"}}, "read_log.*units.angle.*'grad'"),
        ({"scale": {"position": {"hinge": 0}}}, "leaves nothing"),
        ({"zero": {"torque": {"hinge": "four"}}}, "zero.torque.hinge.*a number"),
        ({"clock": "mine"}, "clock"),
        ({"delay": "fit"}, "give it in seconds"),
        ({"rate": -5.0}, "rate"),
    ):
        with pytest.raises(BadFile, match=said):
            read_log(folder / "si.csv", robot, **keys)


def test_speeds_that_cannot_be_name_the_unit_of_their_kind(robot, log, folder):
    write_log(folder / "fast.csv", replace(log, q=log.q * [1000, 1]), robot)
    with pytest.raises(BadLog, match=r"'slide'.*units: \{length: mm\}"):
        read_log(folder / "fast.csv", robot)


def test_tracking_reads_logs_as_the_run_of_the_result_that_it_starts_from(robodyn, robot, log, folder):
    (folder / "keys.yaml").write_text(yaml.safe_dump({"robot": "crane.urdf", "fit": [{"file": "log.csv"}]} | KEYS))
    assert robodyn("identify", folder / "keys.yaml", "--out", folder / "keys").returncode in (0, 3)
    write_log(folder / "si.csv", log, robot)
    noise = []
    for words in (("crane.urdf", "si.csv"), ("keys", "log.csv")):
        done = robodyn("track", *(folder / word for word in words), "--json")
        assert done.returncode == 0, done.stderr
        noise.append(json.loads(done.stdout.splitlines()[-1])["summary"]["noise [N m or N]"])
    assert noise[1] == pytest.approx(noise[0], rel=1e-6)
    own = reading_as(LogKeys(units=Units(angle="deg"), columns={"t": "time"}), TrackFile(units=Units(length="mm")))
    assert (own.units, own.columns) == (Units(length="mm"), {"t": "time"})


def test_columns_that_nobody_reads_are_named_once(robodyn, robot, log, folder):
    found = read_log(folder / "more.csv", robot)
    same(found, log)
    assert found.quality.unused == ("tau_des1", "q_wrist", "temperature")
    (folder / "more.yaml").write_text("robot: crane.urdf\nfit: [{file: more.csv}]\n")
    sentence = "more.csv: columns not used: tau_des1, q_wrist, temperature"
    assert robodyn("identify", folder / "more.yaml", "--out", folder / "more").stdout.count(sentence) == 1
    assert sentence in (folder / "more" / "report.html").read_text()
    for command in ("predict", "joints"):
        done = robodyn(command, folder / "crane.urdf", folder / "more.csv", "--out", folder / "out.csv")
        assert done.stdout.count(sentence) == 1, done.stderr
    assert robodyn("track", folder / "crane.urdf", folder / "more.csv").stdout.count(sentence) == 1


def test_a_needed_column_that_is_misspelt_stays_an_error(robot, folder):
    table = pl.read_csv(folder / "si.csv", comment_prefix="#").rename({"tau_hinge": "tau_hnige"})
    table.write_csv(folder / "misspelt.csv")
    with pytest.raises(UnknownName, match=r"'tau_hinge'.*did you mean 'tau_hnige'"):
        read_log(folder / "misspelt.csv", robot)


def test_a_long_log_names_its_columns_too(robot, folder, monkeypatch):
    monkeypatch.setattr(stored_log, "LONG", 1000)
    assert "tau_des1" in open_log(LogKeys(), folder / "more.parquet", robot).quality.unused
