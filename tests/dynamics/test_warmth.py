"""Efforts that grow with a temperature or with the cold: columns by hand, logs of a simulated arm that warms up, every reader."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.memory import with_memory
from robodyn_pin.dynamics.regressor import columns, state_regressor
from robodyn_pin.errors import BadFile, BadLog, UnknownName
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.uniform import quality_of, uniform
from robodyn_pin.online.tracked import tracked
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

RATE, ROWS = 50.0, 3000
LINK = """<link name="{k}"><inertial><origin xyz="0.02 0.01 0.2"/><mass value="2"/><inertia ixx="0.05" iyy="0.05" izz="0.02" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="j{k}" type="revolute"><parent link="{before}"/><child link="{k}"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="99" velocity="9"/></joint>"""
URDF = f'<robot name="arm"><link name="base"/>{LINK.format(k=1, before="base")}{LINK.format(k=2, before=1)}</robot>'
PLAIN = [{"of": f"j{k}", "model": m, "initial": x, "width": 0.05} if m == "coulomb" else {"of": f"j{k}", "model": m, "initial": x}
         for k in (1, 2) for m, x in (("viscous", 2.0), ("coulomb", 0.5))]  # fmt: skip
BY_COLUMN = {"of": "j1", "model": "viscous", "warmth": {"column": "temp", "at": 40}}
BY_TIME = {"of": "j2", "model": "coulomb", "width": 0.05, "warmth": {"time": 20}}
PUT_IN = -0.03, 0.4  # N m s/rad per degree; N m while cold


def arm(*more: dict) -> Robot:
    file = RobotFile.model_validate({"urdf": "arm.urdf", "efforts": [*PLAIN, *more]})
    return build("arm", file, URDF, Path("arm.urdf"))


def logged(noise: float = 0.01) -> Log:
    """A motion of the arm that begins at 20 degrees and cold: torques of the arm without warmth, and the warmth by hand."""
    rng, t = np.random.default_rng(3), np.arange(ROWS) / RATE
    w, phase = 2 * np.pi * rng.uniform(0.05, 0.8, (5, 2)), rng.uniform(0, 6, (5, 2))
    angle, size = t[:, None, None] * w + phase, 0.5 / np.maximum(w / 2, 1)
    q, dq, ddq = ((size * x).sum(1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
    tau, temp = rp.inverse_dynamics(arm(), q, dq, ddq), 40 - 20 * np.exp(-t / 30)
    tau[:, 0] += PUT_IN[0] * (temp - 40) * dq[:, 0]
    tau[:, 1] += PUT_IN[1] * np.exp(-t / 20) * np.tanh(dq[:, 1] / 0.05)
    tau += noise * tau.std(axis=0) * rng.normal(size=tau.shape)
    found = Log("log", t, q + 1e-6 * rng.normal(size=q.shape), tau, simulated=True, further={"temp": temp})
    return replace(found, quality=quality_of(found, arm()))


def identified(robot: Robot, log: Log):
    run = RunFile.model_validate({"robot": "arm", "fit": [{"file": "log"}], "instruments": False})
    return estimate(robot, run, *split_last([Selected(log, 0, log.size)], cut=0))


def test_columns_are_those_of_the_effort_times_the_warmth():
    robot, log = arm(BY_COLUMN, BY_TIME), logged()
    q, dq, ddq = log.q[100:140], 0.3 + 0 * log.q[100:140], 0 * log.q[100:140]
    state = with_memory(robot, log, 100, robot.close(q, dq, ddq))
    W, labels = state_regressor(robot, state), columns(robot).layout.labels
    by_degree, cold = (W[:, :, labels.index(name)] for name in ("viscous_per_degree(j1)", "coulomb_cold(j2)"))
    t = log.t[100:140]
    np.testing.assert_allclose(by_degree[:, 0], 0.3 * -20 * np.exp(-t / 30), rtol=1e-12)
    np.testing.assert_allclose(cold[:, 1], np.tanh(0.3 / 0.05) * np.exp(-t / 20), rtol=1e-12)
    assert not by_degree[:, 1].any()
    assert not cold[:, 0].any()
    still = state_regressor(robot, state[3:5])[:, :, labels.index("coulomb_cold(j2)")]
    np.testing.assert_array_equal(still, cold[3:5])


def test_without_a_log_the_robot_is_warm_and_at_the_reference():
    warm = [x | {"initial": 5.0} for x in (BY_COLUMN, BY_TIME)]
    c = np.array([[0.2, -0.4]])
    for f in (rp.inverse_dynamics, rp.forward_dynamics):
        np.testing.assert_allclose(f(arm(*warm), c, 2 * c, 3 * c), f(arm(), c, 2 * c, 3 * c), rtol=1e-12)


def test_what_was_put_in_is_found():
    log = logged()
    with_warmth, without = identified(arm(BY_COLUMN, BY_TIME), log), identified(arm(), log)
    labels, wls = with_warmth.layout.labels, with_warmth.wls
    for label, truth in zip(("viscous_per_degree(j1)", "coulomb_cold(j2)"), PUT_IN, strict=True):
        k = list(wls.base.columns).index(labels.index(label))
        assert abs(wls.values[k] - truth) < 4 * wls.deviations[k]
        assert wls.deviations[k] < 0.05 * abs(truth)
        assert with_warmth.feasible.values[labels.index(label)] == pytest.approx(truth, rel=0.1)
    errors = [r.scored["feasible"].fit.percent_all for r in (with_warmth, without)]
    assert errors[0] < 0.5 * errors[1]


def test_the_column_comes_from_the_file_and_is_missed_by_name(tmp_path):
    robot, log = arm(BY_COLUMN), logged()
    cells = {"t": log.t} | {f"{p}_j{k + 1}": x[:, k] for p, x in (("q", log.q), ("tau", log.tau)) for k in range(2)}
    pl.DataFrame(cells | {"oil": log.further["temp"]}).write_csv(tmp_path / "log.csv")
    read = read_log(tmp_path / "log.csv", robot, columns={"temp": "oil"})
    np.testing.assert_allclose(read.further["temp"], log.further["temp"], rtol=1e-12)
    assert "oil" not in read.quality.unused
    late = uniform(replace(read, delay=0.02))
    np.testing.assert_allclose(late.section(5, 9).further["temp"], log.further["temp"][5:9], rtol=1e-12)
    with pytest.raises(UnknownName, match="temp"):
        read_log(tmp_path / "log.csv", robot)
    with pytest.raises(BadLog, match="log has no column 'temp', which an effort of 'arm' grows with"):
        with_memory(robot, replace(log, further={}), 0, robot.close(log.q[:3], 0 * log.q[:3], 0 * log.q[:3]))


def test_a_log_with_jitter_keeps_its_temperature():
    log = logged(0.0)
    t = log.t + 0.2 / RATE * np.random.default_rng(0).uniform(-1, 1, ROWS)
    jittery = replace(log, t=t, quality=quality_of(replace(log, t=t), arm()))
    even = uniform(jittery)
    assert even is not jittery
    np.testing.assert_allclose(even.further["temp"], np.interp(even.t, t, log.further["temp"]), atol=0.02)


@pytest.mark.parametrize(
    ("effort", "said"),
    [
        ({"of": "j1", "model": "viscous", "warmth": {}}, "names a column of the log"),
        ({"of": "j1", "model": "viscous", "warmth": {"column": "T", "time": 3}}, "names a column of the log"),
        ({"of": "j1", "model": "load", "warmth": {"time": 3}}, "the model has no warmth"),
        (
            {"of": "j1", "model": "coulomb", "width": 0.1, "fit": ["width"], "warmth": {"time": 3}},
            "its shape cannot be fitted",
        ),
    ],
)
def test_warmth_that_makes_no_sense_is_refused(effort, said):
    with pytest.raises((BadFile, ValueError), match=said):
        arm(effort)


def test_tracking_refuses_warmth():
    with pytest.raises(BadFile, match="track does not follow the 'warmth' of efforts, and the robot has some on j1"):
        tracked(arm(BY_COLUMN))
