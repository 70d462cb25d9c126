"""Evidence of logs: made one by one, merged in any order, by any number of processes, the same bits; and what is refused."""

import pickle
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from dualv_logs import SETTINGS, bits_of, dualv_log

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog, RobodynError, UnknownName
from robodyn_pin.files import read_yaml
from robodyn_pin.log_to_robot.run_file import RunFile


@pytest.fixture(scope="module")
def robot():
    return rp.load("dualv")


@pytest.fixture(scope="module")
def logs(robot):
    """SIMULATED: five motions of their own, torques by the model with noise."""
    return [dualv_log(robot, seed) for seed in range(5)]


def test_evidence_merges_to_the_same_bits_in_any_order_and_grouping(robot, logs):
    parts = [pickle.loads(pickle.dumps(rp.fold(robot, SETTINGS, log))) for log in logs[:4]]
    together = bits_of(rp.merge(*parts))
    for a, b, c, d in list(permutations(parts))[::5]:
        assert bits_of(rp.merge(rp.merge(a, b), rp.merge(c, d))) == together
        assert bits_of(rp.merge(a, rp.merge(b, rp.merge(c, d)))) == together
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
            rp.identify(robot, short[1:], logs[0], **SETTINGS)


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
