"""One sample of several: its rows are those that a fold of all samples keeps."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from simulated import noisy_log

import robodyn_pin as rp
from robodyn_pin.log_to_robot.fit_data import fold_logs
from robodyn_pin.log_to_robot.fitted_samples import fitted_samples
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.logs import stored_log
from robodyn_pin.logs.stored_log import StoredLog, open_log
from robodyn_pin.logs.writing import write_log

ROOT = Path(__file__).parents[2]
EVERY, SIZE = 3, 720


@pytest.fixture(scope="module")
def case():
    robot = rp.load("dualv")
    log = noisy_log(robot, "dualv_motion", bits=17)
    return robot, log.section(0, SIZE)


@pytest.mark.parametrize("cutoff", [20.0, (15.0, 20.0, 25.0, 30.0)])
def test_rows_are_those_of_all_samples_thinned_out_after_their_motion_was_found(case, cutoff):
    robot, log = case
    robot, run = ready_to_fold(
        robot, {"preparation": {"cutoff": cutoff, "differentiation": "auto"}, "rows": {"every": EVERY, "cut": 30}}
    )
    ones = np.ones(len(robot.efforts))
    whole, part = (fold_logs(robot, *asked, ones) for asked in ((run, [log]), fitted_samples(robot, run, [log])))
    assert [x.size for x in fitted_samples(robot, run, [log])[1]] == [SIZE // EVERY]
    for one, other in zip(whole.rows, part.rows, strict=True):
        for f, g in zip(one, other, strict=True):
            assert f.rows == g.rows
            np.testing.assert_allclose(g.R.T @ g.R, f.R.T @ f.R, rtol=1e-7, atol=1e-9 * np.abs(f.R.T @ f.R).max())
    assert sum(f.rows for x in part.scored for f in x) * EVERY == sum(f.rows for x in whole.scored for f in x)


def test_samples_keep_their_names_also_in_another_process(case):
    robot, log = case
    robot, run = ready_to_fold(robot, {"rows": {"every": EVERY}})
    _, [few] = fitted_samples(robot, run, [log.section(100, SIZE)])
    assert pickle.loads(pickle.dumps(few)).row(5) == log.section(100, SIZE).row(5 * EVERY) == log.row(100 + 5 * EVERY)


def test_what_is_known_of_a_log_that_stays_in_its_file_stays_known(case, tmp_path, monkeypatch):
    robot, log = case
    write_log(tmp_path / "log.parquet", log, robot)
    monkeypatch.setattr(stored_log, "LONG", 100)
    robot, run = ready_to_fold(robot, {"rows": {"every": EVERY}})
    kept = replace(open_log(run, tmp_path / "log.parquet", robot), loaded=True)
    assert isinstance(kept, StoredLog)
    _, [few] = fitted_samples(robot, run, [kept])
    assert (few.loaded, few.quality, few.size) == (True, kept.quality, SIZE // EVERY)
    np.testing.assert_array_equal(few.tau, kept.section(0, SIZE).tau[::EVERY])


LOWPASS = {"filter": {"order": 4, "cutoff": 20}}


@pytest.mark.parametrize(
    "asked", [{"rows": {"every": 1}}, {"rows": LOWPASS | {"every": 3}}, {"rows": {"every": 3}, "score": LOWPASS}]
)
def test_logs_stay_as_they_are_where_all_samples_count(case, asked):
    robot, log = case
    robot, run = ready_to_fold(robot, asked)
    assert fitted_samples(robot, run, [log]) == (run, [log])


@pytest.mark.parametrize(
    "part", [{"model": "maxwell_slip", "stops": [0.01]}, {"model": "viscous", "warmth": {"time": 100}}]
)
def test_friction_that_needs_the_samples_between_gets_them(case, tmp_path, part):
    robot, log = case
    file = yaml.safe_load((ROOT / "urdf/dualv.yaml").read_text())
    file |= {"urdf": str(ROOT / "urdf" / file["urdf"]), "efforts": [{"of": robot.motors.names[0]} | part]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(file))
    robot, run = ready_to_fold(rp.load(tmp_path / "own.yaml"), {"rows": {"every": EVERY}})
    assert fitted_samples(robot, run, [log]) == (run, [log])
