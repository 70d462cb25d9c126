"""Evidence of logs: made one by one, merged in any order, by any number of processes, the same bits; and what is refused."""

import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog, RobodynError, UnknownName
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.fold import fold_rows
from robodyn_pin.log_to_robot import rows as of_rows
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_evidence import ready_to_fold
from robodyn_pin.log_to_robot.leaf import keeping
from robodyn_pin.log_to_robot.rows import fold_log
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows, segmented

RATE = 200.0
SETTINGS = {
    "preparation": {"filter": {"order": 4, "cutoff": 20}},
    "rows": {"filter": {"order": 4, "cutoff": 20}, "cut": 40, "every": 5},
    "bounds": {"mass": [0.01, 50.0]},
}


@pytest.fixture(scope="module")
def robot():
    return rp.load("dualv")


@pytest.fixture(scope="module")
def logs(robot):
    """SIMULATED: five motions of their own, torques by the model with noise."""
    return [_log(robot, seed) for seed in range(5)]


def _log(robot, seed, seconds=6.0):
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * seconds)) / RATE
    turns = 2 * np.pi * np.outer(t, np.arange(1, 4)) / seconds * 2
    c = np.zeros((len(t), 3))
    rates = np.zeros((2, *c.shape))
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    for k in range(3):
        a, b = rng.uniform(-0.05, 0.05, (2, 3)) * (0.3 if k == 2 else 1.0)
        w = np.arange(1, 4) * 4 * np.pi / seconds
        c[:, k] = home[k] + np.sin(turns) @ a + np.cos(turns) @ b
        rates[0, :, k] = np.cos(turns) @ (w * a) - np.sin(turns) @ (w * b)
        rates[1, :, k] = -np.sin(turns) @ (w**2 * a) - np.cos(turns) @ (w**2 * b)
    state = robot.close(c, *rates)
    tau = rp.inverse_dynamics(robot, c, *rates)
    q = state.q @ robot.motors.S.T + robot.motors.offset
    return rp.Log(f"motion {seed}", t, q, tau + rng.normal(0, 0.2, tau.shape), simulated=True)


def _said(evidence):
    return b"".join(f.R.tobytes() for part in (evidence.rows, evidence.scored) for each_ in part for f in each_)


def test_evidence_merges_to_the_same_bits_in_any_order_and_grouping(robot, logs):
    parts = [pickle.loads(pickle.dumps(rp.fold(robot, SETTINGS, log))) for log in logs[:4]]
    together = _said(rp.merge(*parts))
    for a, b, c, d in list(permutations(parts))[::5]:
        assert _said(rp.merge(rp.merge(a, b), rp.merge(c, d))) == together
        assert _said(rp.merge(a, rp.merge(b, rp.merge(c, d)))) == together
    assert repr(rp.merge(*parts)) == "Evidence(dualv: SIMULATED, 4 logs, 4800 samples)"


def test_parameters_from_evidence_are_those_of_all_rows_at_once(robot, logs):
    """The rows themselves, stacked, and numpy's least squares: of the base columns, not folded."""
    found = rp.from_evidence(robot, SETTINGS, rp.merge(*(rp.fold(robot, SETTINGS, log) for log in logs)))
    whole = rp.identify(robot, logs[:4], logs[4], **SETTINGS, instruments=False)
    part = rp.from_evidence(robot, SETTINGS, rp.merge(*(rp.fold(robot, SETTINGS, log) for log in logs[:4])))
    np.testing.assert_allclose(part.wls.values, whole.wls.values, rtol=1e-9)
    R = np.concatenate([f.R for f in _pooled(rp.merge(*(rp.fold(robot, SETTINGS, log) for log in logs)))])
    W, y = R[:, :-1][:, found.wls.base.columns], R[:, -1]
    sigma = np.repeat(found.wls.sigma, len(R) // 3)
    expected = np.linalg.lstsq(W / sigma[:, None], y / sigma, rcond=None)[0]
    np.testing.assert_allclose(found.wls.values, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.fit.rmse, whole.scored["feasible"].fit.rmse, rtol=0.1)


def _pooled(evidence):
    from robodyn_pin.identification.validation import pooled

    return pooled(evidence.rows)


def test_every_number_of_processes_finds_the_same_bits(robot, logs):
    def bits():
        found = rp.identify(robot, logs, **SETTINGS, intervals=True)
        d = found.check.diagnosis
        of = (
            found.feasible.values,
            found.wls.values,
            found.estimates.pieces.without,
            d.intervals,
            d.feasible,
            d.instruments.values,
        )
        return b"".join(np.ascontiguousarray(x).tobytes() for x in of)

    alone = bits()
    with rp.working(2):
        assert bits() == alone


def test_a_dask_cluster_finds_the_same_bits(robot, logs):
    distributed = pytest.importorskip("distributed", reason="the extra 'scale' is not installed")
    alone = rp.identify(robot, logs, **SETTINGS).feasible.values
    short = [*logs[:4], logs[4].section(0, 60)]
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        rp.working(scheduler=cluster.scheduler_address),
    ):
        np.testing.assert_array_equal(rp.identify(robot, logs, **SETTINGS).feasible.values, alone)
        with pytest.raises(BadLog, match="motion 4: 60 rows are used"):  # an error comes back from the cluster as it is
            rp.identify(robot, short, logs[0], **SETTINGS)


def test_finished_leaves_are_taken_from_their_folder_and_a_changed_setting_folds_anew(robot, logs, tmp_path):
    def kept():
        return {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}

    with keeping(tmp_path):
        first = rp.fold(robot, SETTINGS, logs[0])
        made = kept()
        assert len(made) == 1
        assert _said(rp.fold(robot, SETTINGS, logs[0])) == _said(first)
        assert kept() == made
        changed = SETTINGS | {"rows": SETTINGS["rows"] | {"every": 4}}
        assert _said(rp.fold(robot, changed, logs[0])) != _said(first)
        assert len(kept()) == 2
        rp.fold(robot, SETTINGS | {"bounds": {"mass": [0.02, 20.0]}}, logs[0])  # bounds decide nothing of a leaf
        heavier = replace(robot, efforts=robot.efforts[:-1])
        rp.fold(heavier, SETTINGS, logs[0])
        assert len(kept()) == 3
        (path,) = made
        (tmp_path / path).write_bytes((tmp_path / path).read_bytes()[:5000])
        assert _said(rp.fold(robot, SETTINGS, logs[0])) == _said(first)


def test_a_killed_campaign_goes_on_from_finished_leaves(robot, logs, tmp_path):
    """The program is killed while it folds; the next one takes what is ready and finds the same bits."""
    program = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]
from pathlib import Path
import robodyn_pin as rp
from test_evidence import SETTINGS, _log
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.leaf import keeping
robot = rp.load("dualv")
with keeping(Path({str(tmp_path)!r})):
    for seed in range(1000):
        rp.fold(robot, SETTINGS, _log(robot, seed))
"""
    process = subprocess.Popen([sys.executable, "-c", program], env=os.environ)
    while process.poll() is None and len(list(tmp_path.glob("*.npz"))) < 2:
        time.sleep(0.05)
    process.kill()
    process.wait()
    ready = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    with keeping(tmp_path):
        again = [rp.fold(robot, SETTINGS, log) for log in logs]
    assert len(ready) >= 2
    assert {path: path.stat().st_mtime_ns for path in ready} == ready
    assert _said(rp.merge(*again)) == _said(rp.merge(*(rp.fold(robot, SETTINGS, log) for log in logs)))


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
    assert _said(again) == _said(evidence_of(robot, run, logs[::-1]))


@pytest.mark.parametrize("key", ["delay", "gravity", "robust", "choose"])
def test_what_all_logs_decide_is_refused(robot, logs, key):
    value = {"delay": "fit", "gravity": "fit", "robust": "huber", "choose": {"prior_weight": [0.1, 1]}}[key]
    with pytest.raises(BadFile, match=key):
        rp.fold(robot, SETTINGS | {key: value}, logs[0])


def test_evidence_that_does_not_belong_together_is_refused(robot, logs):
    one = rp.fold(robot, SETTINGS, logs[0])
    with pytest.raises(BadLog, match="count twice"):
        rp.merge(one, rp.fold(robot, SETTINGS, replace(logs[0], name="a copy")))
    slow = replace(logs[1], t=1.1 * logs[1].t)
    with pytest.raises(BadLog, match="different sampling rates"):
        rp.merge(one, rp.fold(robot, SETTINGS, slow))
    other = SETTINGS | {"rows": {"every": 2}}
    with pytest.raises(RobodynError, match="different robots, settings"):
        rp.merge(one, rp.fold(robot, other, logs[1]))
    with pytest.raises(RobodynError, match="fold the logs again"):
        rp.from_evidence(robot, other, one)


def test_a_payload_needs_logs_with_and_without_it(robot, logs):
    """A payload that is not there is found to weigh nothing; logs of one kind cannot tell."""
    with pytest.raises(BadLog, match="no payload is named"):
        rp.fold(robot, SETTINGS, replace(logs[0], loaded=True))
    carried = SETTINGS | {"payload": {"link": robot.bodies[-1]}}
    alone, loaded = (rp.fold(robot, carried, replace(log, loaded=k == 1)) for k, log in enumerate(logs[:2]))
    with pytest.raises(BadLog, match="all logs of the evidence are loaded"):
        rp.from_evidence(robot, carried, loaded)
    found = rp.from_evidence(robot, carried, rp.merge(alone, loaded))
    weighed = next(k for k, label in enumerate(found.wls.base.labels(found.layout.labels)) if label == "m(payload)")
    assert abs(found.wls.values[weighed]) < 5 * found.wls.deviations[weighed]
    assert found.simulated


def test_full_bandwidth_is_kept_beside_a_filter_of_the_scores(robot, logs, tmp_path):
    scored = SETTINGS | {"score": {"filter": {"order": 4, "cutoff": 5}}}
    with keeping(tmp_path):
        first, again = (rp.fold(robot, scored, logs[0]) for _ in range(2))
    plain = rp.fold(robot, SETTINGS, logs[0])
    for one in (first, again):
        assert [f.R.tobytes() for x in one.whole for f in x] == [f.R.tobytes() for x in plain.scored for f in x]
        assert _said(one) != _said(plain)
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


def test_logs_of_a_pattern_are_found_counted_and_left_out_where_they_cannot_be_used(robot, logs, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    for k, log in enumerate(logs):
        log.to_frame(robot).write_csv(folder / f"log{3 * k + 1}.csv")
    run = RunFile(robot="dualv", fit=[{"file": "logs/log*.csv"}], instruments=False, **SETTINGS)
    whole = rp.execute(run, tmp_path)
    assert [record.name for record in whole.logs if record.use == "fit"] == [f"log{k}.csv" for k in (1, 4, 7, 10, 13)]
    of_folder = rp.execute(
        run.model_copy(update={"fit": [run.fit[0].model_copy(update={"file": Path("logs")})]}), tmp_path
    )
    np.testing.assert_array_equal(of_folder.feasible.values, whole.feasible.values)
    (folder / "log5.csv").write_text("t,angle\n0,1\n")
    found = rp.execute(run, tmp_path)
    np.testing.assert_array_equal(found.feasible.values, whole.feasible.values)
    assert any("1 of 6 logs" in text for text in found.verdict.cautions)
    assert any("log5.csv" in text for text in found.verdict.cautions)
    with pytest.raises(UnknownName, match=r"log5\.csv"):
        rp.execute(run, tmp_path, strict=True)
    (folder / "log5.csv").write_bytes((folder / "log1.csv").read_bytes())
    judged = rp.execute(
        run.model_copy(update={"held_out": [run.fit[0].model_copy(update={"file": Path("logs/log13.csv")})]}), tmp_path
    )
    assert [record.name for record in judged.logs] == ["log1.csv", "log4.csv", "log7.csv", "log10.csv", "log13.csv"]
    assert any("log5.csv: log1.csv is there already" in text for text in judged.verdict.cautions)
    assert any("log13.csv: log13.csv judges the result" in text for text in judged.verdict.cautions)
    named = [*run.fit, run.fit[0].model_copy(update={"file": Path("logs/log5.csv")})]
    (folder / "log5.csv").write_text("t,angle\n0,1\n")
    with pytest.raises(UnknownName, match=r"log5\.csv"):  # a log that is named must be one
        rp.execute(run.model_copy(update={"fit": named}), tmp_path)
    none = run.model_copy(update={"fit": [run.fit[0].model_copy(update={"file": Path("logs/x*.csv")})]})
    with pytest.raises(BadFile, match="found no log"):
        rp.execute(none, tmp_path)


def test_an_example_run_file_is_folded_as_it_stands():
    run = read_yaml(Path(__file__).parents[2] / "examples/irb360.yaml", RunFile)
    robot = rp.load("irb360")
    t = np.arange(800) / 1000
    q = np.tile(robot.motors.S @ robot.home + robot.motors.offset, (800, 1)) + 0.01 * np.sin(30 * t)[:, None]
    said = rp.fold(robot, run, rp.Log("short", t, q, np.zeros((800, 4))))
    assert len(said.leaves) == 1
    assert all(f.rows > 0 for f in _pooled(said))
