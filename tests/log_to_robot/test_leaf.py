"""What a leaf holds of one log, and leaves that are kept in a folder: a killed program or worker costs what it was at."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from dualv_logs import SETTINGS, bits_of, dualv_log

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, RobodynError
from robodyn_pin.identification.fold import fold_rows
from robodyn_pin.log_to_robot import rows as of_rows
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.log_to_robot.leaf import keeping
from robodyn_pin.log_to_robot.rows import fold_log
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows, segmented


@pytest.fixture(scope="module")
def robot():
    return rp.load("dualv")


@pytest.fixture(scope="module")
def logs(robot):
    """SIMULATED: five motions of their own, torques by the model with noise."""
    return [dualv_log(robot, seed) for seed in range(5)]


def test_full_bandwidth_is_kept_beside_a_filter_of_the_scores(robot, logs, tmp_path):
    scored = SETTINGS | {"score": {"filter": {"order": 4, "cutoff": 5}}}
    with keeping(tmp_path):
        first, again = (rp.fold(robot, scored, logs[0]) for _ in range(2))
    plain = rp.fold(robot, SETTINGS, logs[0])
    for one in (first, again):
        assert [f.R.tobytes() for x in one.whole for f in x] == [f.R.tobytes() for x in plain.scored for f in x]
        assert bits_of(one) != bits_of(plain)
    assert plain.whole is not None


LOWPASS = {"filter": {"order": 4, "cutoff": 20}}


@pytest.mark.parametrize(
    ("asked", "alike"),
    [
        ({}, True),
        ({"rows": LOWPASS, "score": LOWPASS}, True),
        ({"rows": LOWPASS}, False),
        ({"score": LOWPASS}, False),
        ({"rows": {"every": 2}}, False),
        ({"noise": "residuals"}, False),  # rows are whitened by the motors' noise
    ],
)
def test_rows_that_are_scored_as_they_are_fitted_are_folded_once(robot, logs, monkeypatch, asked, alike):
    robot, run = ready_to_fold(robot, {"noise": "coordinates", "choose": {"folds": 2}} | asked)
    jobs = [fitted_rows(robot, run, logs[0]), segmented(robot, run, logs[0], run.score.filter, 1)]
    apart = [
        [f.R.tobytes() for part in folded for f in part] for folded in fold_log(robot, logs[0], run.preparation, jobs)
    ]
    folded = []
    monkeypatch.setattr(of_rows, "fold_rows", lambda *given: folded.append(0) or fold_rows(*given))
    found = evidence_of(robot, run, logs[:1])
    assert [[f.R.tobytes() for part in x for f in part] for x in (found.rows, found.scored)] == apart
    assert (apart[0] == apart[1]) == alike
    ways = 1 + (not alike) + bool(run.score.filter)  # those of full bandwidth beside a filter of the scores
    assert len(folded) == ways * run.choose.folds * len(robot.coordinates.names)


def test_a_folder_that_is_full_is_named(robot, logs, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with keeping(tmp_path), pytest.raises(BadFile, match="No space left on device; make room there"):
        rp.fold(robot, SETTINGS, logs[0])
    assert not list(tmp_path.iterdir())


def test_finished_leaves_are_taken_from_their_folder_and_a_changed_setting_folds_anew(robot, logs, tmp_path):
    def kept():
        return {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}

    with keeping(tmp_path):
        first = rp.fold(robot, SETTINGS, logs[0])
        made = kept()
        assert len(made) == 1
        assert bits_of(rp.fold(robot, SETTINGS, logs[0])) == bits_of(first)
        assert kept() == made
        changed = SETTINGS | {"rows": SETTINGS["rows"] | {"every": 4}}
        assert bits_of(rp.fold(robot, changed, logs[0])) != bits_of(first)
        assert len(kept()) == 2
        rp.fold(robot, SETTINGS | {"bounds": {"mass": [0.02, 20.0]}}, logs[0])  # bounds decide nothing of a leaf
        heavier = replace(robot, efforts=robot.efforts[:-1])
        rp.fold(heavier, SETTINGS, logs[0])
        assert len(kept()) == 3
        (path,) = made
        (tmp_path / path).write_bytes((tmp_path / path).read_bytes()[:5000])
        assert bits_of(rp.fold(robot, SETTINGS, logs[0])) == bits_of(first)


def test_a_killed_campaign_goes_on_from_finished_leaves(robot, logs, tmp_path):
    """The program is killed while it folds; the next one takes what is ready and finds the same bits."""
    program = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parents[1])!r}]
from pathlib import Path
import robodyn_pin as rp
from dualv_logs import SETTINGS, dualv_log
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.leaf import keeping
robot = rp.load("dualv")
with keeping(Path({str(tmp_path)!r})):
    for seed in range(1000):
        rp.fold(robot, SETTINGS, dualv_log(robot, seed))
"""
    process = subprocess.Popen([sys.executable, "-P", "-c", program], env=os.environ)
    while process.poll() is None and len(list(tmp_path.glob("*.npz"))) < 2:
        time.sleep(0.05)
    process.kill()
    process.wait()
    ready = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    with keeping(tmp_path):
        again = [rp.fold(robot, SETTINGS, log) for log in logs]
    assert len(ready) >= 2
    assert {path: path.stat().st_mtime_ns for path in ready} == ready
    assert bits_of(rp.merge(*again)) == bits_of(rp.merge(*(rp.fold(robot, SETTINGS, log) for log in logs)))


class _Deadly:
    """What ends the process that it comes to."""

    def __reduce__(self):
        return os._exit, (1,)


def test_what_is_ready_outlives_a_killed_worker(robot, logs, tmp_path):
    """The last log ends the worker that takes it; whoever takes it has finished another one, which is not folded again."""
    run = RunFile.model_validate(SETTINGS | {"robot": "dualv", "fit": [{"file": "unused"}]})
    with rp.working(2), keeping(tmp_path), pytest.raises(RobodynError, match="killed or out of memory; run again"):
        evidence_of(robot, run, [*logs[:4], replace(logs[4], line=_Deadly())])
    ready = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert 1 <= len(ready) <= 4
    with rp.working(2), keeping(tmp_path):
        again = evidence_of(robot, run, logs)
    assert {path: path.stat().st_mtime_ns for path in ready} == ready
    assert bits_of(again) == bits_of(evidence_of(robot, run, logs[::-1]))
