"""Recordings for Rerun, read back with Rerun's own reader."""

import sys

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import RobodynError
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.viz.rerun_file import write_rerun

chunks = pytest.importorskip("rerun.chunk", reason="the extra 'rerun' is not installed")


@pytest.fixture(scope="module")
def log():
    robot, t = rp.load("irb360"), np.arange(800) / 400
    q = np.stack([0.3 + 0.15 * np.sin(2 * np.pi * t + k / 3) for k in range(3)] + [0 * t], axis=1)
    tau = rp.inverse_dynamics(robot, q, np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0))
    return Log("swing", t, q, tau, simulated=True)


def columns(path) -> dict[str, dict[str, list]]:
    """Component -> values of each entity."""
    found: dict[str, dict[str, list]] = {}
    for chunk in chunks.RrdReader(path).stream():
        batch = chunk.to_record_batch()
        for name in batch.schema.names:
            found.setdefault(chunk.entity_path, {}).setdefault(name, []).extend(batch.column(name).to_pylist())
    return found


def test_a_recording_holds_the_robot_and_its_torques(robodyn, log, tmp_path):
    robot = rp.load("irb360")
    write_log(tmp_path / "log.csv", log, robot, "SIMULATED")
    run = robodyn("show", "irb360", "--motion", tmp_path / "log.csv", "--export", tmp_path / "swing.rrd")
    assert run.returncode == 0, run.stderr
    assert "rerun " in run.stdout
    found = columns(tmp_path / "swing.rrd")
    for k, motor in enumerate(robot.motors.names):
        at = np.array([x.total_seconds() for x in found[f"/torque/{motor}/measured"]["log time"]])
        tau = np.array(found[f"/torque/{motor}/measured"]["Scalars:scalars"])[:, 0]
        np.testing.assert_allclose(
            tau, np.interp(at, log.t, log.tau[:, k]), atol=1e-6
        )  # stamps are read to the microsecond
        predicted, left = (
            np.array(found[name]["Scalars:scalars"])[:, 0]
            for name in (f"/torque/{motor}/predicted", f"/residual/{motor}")
        )
        np.testing.assert_allclose(predicted + left, tau, atol=1e-12)
        assert len(at) > 700  # all rows but the edges
    assert sum(name.startswith("/robot/") and name.count("/") == 3 for name in found) >= 20  # bodies


def test_joints_are_where_the_closed_robot_has_them(log, tmp_path):
    robot = rp.load("irb360")
    write_rerun(robot, log, rp.Preparation(), tmp_path / "swing.rrd")
    found = columns(tmp_path / "swing.rrd")
    joint = robot.model.names[-1]
    moved = found[f"/robot/{joint}"]
    at = np.array([x.total_seconds() for x in moved["log time"]])
    expected = rp.forward_kinematics(robot, np.array([np.interp(at, log.t, x) for x in log.q.T]).T, joint)
    np.testing.assert_allclose(np.array(moved["Transform3D:translation"])[:, 0], expected[:, :3, 3], atol=2e-5)


def test_what_rerun_cannot_show_is_said(robodyn, log, tmp_path, monkeypatch):
    for words in ((), ("--motion", "log.csv", "--forces")):
        run = robodyn("show", "irb360", *words, "--export", tmp_path / "x.rrd")
        assert run.returncode == 1
        assert run.stderr.startswith("robodyn: x.rrd: a recording for Rerun has the motion and the torques of a log")
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(RobodynError, match=r"need the extra 'rerun': pip install 'robodyn_pin\[rerun\]'"):
        write_rerun(rp.load("irb360"), log, rp.Preparation(), tmp_path / "x.rrd")
    assert not (tmp_path / "x.rrd").exists()
