"""`rp.identify` of logs in memory: the same result as the run file that says the same of the logs' files."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.log_to_robot.run import read_run
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.writing import write_log

ASKED = {
    "rows": {"every": 2, "cut": 10},
    "bounds": {"mass": [0.001, 5.0]},
    "choose": {"coulomb_width": [0.02, 0.1]},
    "instruments": False,
}


@pytest.fixture(scope="module")
def robot():
    return rp.load("delta3")


@pytest.fixture(scope="module")
def files(robot, tmp_path_factory):
    folder, files = tmp_path_factory.mktemp("logs"), []
    for seed in range(2):
        rng, t = np.random.default_rng(seed), np.arange(1500) / 200
        w, phase = 2 * np.pi * rng.uniform(0.1, 1.2, (5, 3)), rng.uniform(0, 6, (5, 3))
        angle = t[:, None, None] * w + phase
        q, dq, ddq = ((0.06 * x).sum(1) for x in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
        tau = rp.inverse_dynamics(robot, q + 0.3, dq, ddq)
        tau = tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
        files.append(folder / f"log{seed}.csv")
        write_log(files[-1], Log("log", t, q + 0.3, tau, simulated=True), robot, "SIMULATED")
    return files


def by_file(files, held_out=None, **asked):
    run = {"robot": "delta3", "fit": [{"file": str(f)} for f in files]} | asked
    run |= {} if held_out is None else {"held_out": [{"file": str(held_out)}]}
    path = files[0].with_name("run.yaml")
    path.write_text(yaml.safe_dump(run))
    return rp.execute(read_run(path), path.parent)


def test_a_run_file_may_be_named_by_a_text(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("robot: delta3\nfit: [{file: log.csv}]\n")
    assert rp.read_run(str(path)) == rp.read_run(path)
    with pytest.raises(BadFile, match=r"rum\.yaml: No such file or directory"):
        rp.read_run(str(tmp_path / "rum.yaml"))


def test_settings_are_those_of_a_run_file(robot, files):
    found = rp.identify(robot, rp.read_log(files[0], robot), **ASKED)
    expected = by_file(files[:1], **ASKED)
    np.testing.assert_array_equal(found.feasible.values, expected.feasible.values)
    assert found.scored["feasible"].held_out.rmse_all == expected.scored["feasible"].held_out.rmse_all
    assert found.settings.run.choose == expected.settings.run.choose


def test_other_logs_may_judge(robot, files):
    fit, judge = (rp.read_log(f, robot) for f in files)
    found, expected = rp.identify(robot, [fit], judge, **ASKED), by_file(files[:1], files[1], **ASKED)
    np.testing.assert_array_equal(found.feasible.values, expected.feasible.values)
    assert found.scored["feasible"].held_out.rmse_all == expected.scored["feasible"].held_out.rmse_all


def test_late_torques_are_put_right_as_in_a_run_file(robot, files):
    log = rp.read_log(files[0], robot)
    named = rp.identify(robot, log, delay=0.012, **ASKED)
    read = rp.identify(robot, replace(log, delay=0.012), **ASKED)
    expected = by_file(files[:1], delay=0.012, **ASKED)
    for found in (named, read):
        np.testing.assert_array_equal(found.feasible.values, expected.feasible.values)
        assert found.run.delay == 0.012  # a log that is read with the result has its torques put right, too


def test_wrong_settings_are_named(robot, files):
    log = rp.read_log(files[0], robot)
    with pytest.raises(BadFile, match=r"rp\.identify: unknown key 'chose'; did you mean 'choose'\?"):
        rp.identify(robot, log, chose={})
    with pytest.raises(BadFile, match=r"rp\.identify: key 'bounds.mass.0'"):
        rp.identify(robot, log, bounds={"mass": ["a", 2.0]})
    with pytest.raises(BadFile, match=r"takes no 'columns': its robot and its logs are in memory"):
        rp.identify(robot, log, columns={"q_m1": "a"})
    with pytest.raises(BadLog, match="found an empty list"):
        rp.identify(robot, log, [])
    for strange, name in ((ASKED, "dict"), (log.to_frame(robot), "DataFrame"), (str(files[0]), "str")):
        for logs in ([strange], [log, strange], [[log, strange]]):
            with pytest.raises(BadLog, match=rf"a log of rp\.read_log .* found {name}; settings .* by name"):
                rp.identify(robot, *logs)
        with pytest.raises(BadLog, match=rf"found {name}"):
            rp.fold(robot, {}, strange)
    with pytest.raises(BadLog, match="different sampling rates"):
        rp.identify(robot, [log, halved(log)])


def halved(log: Log) -> Log:
    return Log("halved", log.t[::2], log.q[::2], log.tau[::2], simulated=True)
