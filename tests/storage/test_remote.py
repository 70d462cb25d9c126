"""Logs and leaves on an S3 server, a process of its own on this machine: the same bits as local files; and what goes wrong."""

import os
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import polars as pl
import pytest
from dualv_logs import SETTINGS, dualv_log
from s3_server import KEYS, failing, s3_server, settings

import robodyn_pin as rp
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.fleets.fleet_file import FleetFile
from robodyn_pin.fleets.members import logs_there, robots_of
from robodyn_pin.log_to_robot.leaf import keeping
from robodyn_pin.log_to_robot.run import execute
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs import stored_log
from robodyn_pin.logs.stored_log import open_log
from robodyn_pin.logs.table import content_hash
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.storage.remote import placed

s3fs = pytest.importorskip("s3fs", reason="the extra 'remote' is not installed")

NAMES = (
    "robot=7/day=2026-11-03/part-0.parquet",
    "robot=7/day=2026-11-04/part-0.parquet",
    "robot=9/day=2026-11-03/part-0.parquet",
)


@pytest.fixture(scope="module")
def robot():
    return rp.load("dualv")


@pytest.fixture(scope="module")
def dataset(robot, tmp_path_factory):
    """SIMULATED: two robots' logs in Parquet by robot and day, one more as packed text, one damaged."""
    folder = tmp_path_factory.mktemp("plant")
    for seed, name in enumerate((*NAMES, "apart.csv")):
        log = dualv_log(robot, seed, 4.0)
        named = {f"{key}_{m}": x for key, values in (("q", log.q), ("tau", log.tau)) for m, x in zip(robot.motors.names, values.T, strict=True)}  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        frame = pl.DataFrame({"t": log.t} | named)
        frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path, row_group_size=300)
    (folder / "robot=7/day=2026-11-05").mkdir()
    (folder / "robot=7/day=2026-11-05/part-0.parquet").write_bytes((folder / NAMES[0]).read_bytes()[:5000])
    return folder


@pytest.fixture(scope="module")
def server(dataset):
    with s3_server() as port, pytest.MonkeyPatch.context() as patched:
        _lead_to(patched, port)
        there = s3fs.S3FileSystem()
        there.mkdir("plant")
        for path in (p for p in dataset.rglob("*") if p.is_file()):
            there.put_file(str(path), f"plant/{path.relative_to(dataset)}")
        yield port


@pytest.fixture
def there(server, monkeypatch):
    _lead_to(monkeypatch, server)


def _lead_to(monkeypatch, port):
    for name, value in settings(port).items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()


def _run(files):
    return RunFile.model_validate(
        SETTINGS | {"robot": "dualv", "fit": [{"file": file} for file in files], "instruments": False}
    )


def _bits(found):
    return found.feasible.values.tobytes() + found.wls.values.tobytes()


def test_logs_of_the_server_are_those_of_the_folder(there, robot, dataset, monkeypatch):
    for name in (NAMES[0], "apart.csv"):
        here, found = rp.read_log(dataset / name, robot), rp.read_log(f"s3://plant/{name}", robot)
        assert (found.name, found.content) == (name, here.content)
        assert content_hash(Path(f"s3://plant/{name}")) == content_hash(dataset / name)
    monkeypatch.setattr(stored_log, "LONG", 500)
    here, found = (open_log(LogKeys(), path, robot) for path in (dataset / NAMES[0], Path(f"s3://plant/{NAMES[0]}")))
    assert found.content == here.content
    for begin, end in ((0, 10), (290, 620)):
        np.testing.assert_array_equal(found.section(begin, end).tau, here.section(begin, end).tau)


def test_a_long_log_is_read_by_the_columns_and_row_groups_that_are_used(there, tmp_path, robot):
    path = tmp_path / "wide.parquet"
    noise = np.random.default_rng(0).normal(size=(40, 20_000))
    frame = pl.DataFrame({f"x{k}": x for k, x in enumerate(noise)})
    frame.write_parquet(path, row_group_size=2000)
    s3fs.S3FileSystem().put_file(str(path), "plant/wide/wide.parquet")
    asked = []
    fetch = s3fs.core.S3File._fetch_range

    def counted(self, start, end):
        asked.append(end - start)
        return fetch(self, start, end)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(s3fs.core.S3File, "_fetch_range", counted)
        from robodyn_pin.logs.table import open_table

        part = open_table(Path("s3://plant/wide/wide.parquet")).part(4500, 5500, ["x3", "x7"])
    assert part.equals(frame[4500:5500].select("x3", "x7"))
    assert sum(asked) < 0.05 * path.stat().st_size


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_a_run_over_the_server_gives_the_same_bits_and_leaves_there(server, dataset, monkeypatch, share, tmp_path):
    """Also where one request in twenty fails; the damaged day is named and counted, its sisters are used."""
    with failing(server, share) as (port, counts):
        _lead_to(monkeypatch, port)
        alone = execute(_run([str(dataset / "robot=7"), str(dataset / "apart.csv")]), tmp_path)
        run, cache = _run(["s3://plant/robot=7", "s3://plant/apart.csv"]), Path(f"s3://plant/leaves/{share}")
        with keeping(cache):
            found = execute(run, tmp_path)
        assert _bits(found) == _bits(alone)
        assert [(r.name, r.sha256) for r in found.logs] == [(r.name, r.sha256) for r in alone.logs]
        assert any("1 of 4 logs" in text for text in found.verdict.cautions)
        assert any("day=2026-11-05" in text for text in found.verdict.cautions)
        kept = s3fs.S3FileSystem().ls(f"plant/leaves/{share}", refresh=True)
        assert len(kept) >= 3
        with keeping(cache), pytest.MonkeyPatch.context() as patched:
            patched.setattr("robodyn_pin.log_to_robot.evidence.fold_log", None)  # nothing is left to be folded
            assert _bits(execute(run, tmp_path)) == _bits(alone)
    assert counts[1] > 0 if share else counts[1] == 0


def test_processes_share_logs_of_the_server(there, dataset, tmp_path):
    alone = execute(_run([str(dataset / name) for name in NAMES]), tmp_path)
    with rp.working(2):
        assert _bits(execute(_run(["s3://plant/robot=*/day=2026-11-0[34]"]), tmp_path)) == _bits(alone)


@pytest.mark.parametrize("remote", [False, True])
def test_robots_of_a_fleet_are_partitions(there, dataset, remote):
    root = "s3://plant" if remote else str(dataset)
    found = robots_of(FleetFile(run=Path("run.yaml"), robots=f"{root}/robot=*"), Path())
    assert {name: [str(spec.file) for spec in specs] for name, specs in found.items()} == {
        "7": [f"{root}/robot=7"], "9": [f"{root}/robot=9"],
    }  # fmt: skip
    assert len(logs_there(FleetFile(run=Path("run.yaml"), robots=f"{root}/robot=*"), Path())) == 4


def test_folders_of_one_robot_on_several_days_are_one_robot(tmp_path):
    for name in ("day=1/robot=a", "day=2/robot=a", "day=2/robot=b"):
        (tmp_path / name).mkdir(parents=True)
    found = robots_of(FleetFile(run=Path("run.yaml"), robots="day=*/robot=*"), tmp_path)
    assert {name: len(specs) for name, specs in found.items()} == {"a": 2, "b": 1}


def test_a_log_of_a_web_server_that_knows_no_ranges(dataset, robot, tmp_path):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(dataset)))
    Thread(target=web.serve_forever, daemon=True).start()
    try:
        root = f"http://127.0.0.1:{web.server_address[1]}"
        for name in (NAMES[0], "apart.csv"):
            assert rp.read_log(f"{root}/{name}", robot).content == rp.read_log(dataset / name, robot).content
        with pytest.raises(BadFile, match="no such file") as error:
            rp.read_log(f"{root}/none.csv", robot)
        assert f"{root}/none.csv" in str(error.value)
        with pytest.raises(BadFile, match="cannot reach http://"), keeping(Path(root)):
            pass
    finally:
        web.shutdown()
        web.server_close()


def test_what_is_not_there(there, tmp_path, robot):
    for place in ("plant/none.csv", "nobucket/none.parquet"):
        with pytest.raises(BadFile, match=f"cannot reach s3://{place}: there is no such file or bucket"):
            rp.read_log(f"s3://{place}", robot)
    for file in ("s3://plant/none*.csv", "s3://plant/wrong/*"):
        with pytest.raises(BadFile, match="found no log"):
            execute(_run([file]), tmp_path)
    with pytest.raises(BadFile, match="cannot reach s3://nobucket/leaves"), keeping(Path("s3://nobucket/leaves")):
        pass
    with pytest.raises(BadFile, match=r"Protocol not known: s4"):
        rp.read_log("s4://plant/none.csv", robot)
    with pytest.raises(BadLog, match="bags are read on this machine only"):
        rp.read_log("s3://plant/log.mcap", robot)


def test_no_credentials(there, monkeypatch, robot):
    for name in KEYS:
        monkeypatch.delenv(name)
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(BadFile, match=r"cannot reach s3://plant/apart.csv: .*credentials"):
        rp.read_log("s3://plant/apart.csv", robot)


def test_an_unreachable_server(monkeypatch, robot):
    _lead_to(monkeypatch, 9)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(BadFile, match=r"cannot reach s3://plant/apart.csv: .*connect.*check the address"):
        rp.read_log("s3://plant/apart.csv", robot)


def test_without_the_extra(monkeypatch, robot):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(BadFile, match=r"pip install 'robodyn_pin\[remote\]'"):
        rp.read_log("s3://plant/apart.csv", robot)


def test_paths_of_this_machine_stay_what_they_are():
    for path in ("logs/a.csv", "/logs/a:b/c.csv", "c:/logs/a.csv", os.devnull):
        assert type(placed(Path(path))) is type(Path(path))
    assert str(placed(Path("s3://bucket/a//b.csv"))) == "s3://bucket/a/b.csv"
