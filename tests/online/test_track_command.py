"""Online identification of logs: the command, logs in pieces, mistakes, the live page."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from conftest import leaves, new_page
from online_motions import AWAY, SETTINGS, delta, feed, new_stream, signals
from typer.testing import CliRunner

from robodyn_pin.commands.cli import app, main
from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.files import read_yaml
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.online.session import start_session
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.robot import load


@pytest.fixture(scope="module")
def model():
    return delta()


@pytest.fixture(scope="module")
def log_file(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("track")
    t, q, tau = signals(model, 3000)
    write_log(folder / "log.csv", Log("simulated", t, q, tau, simulated=True), model.robot, "SIMULATED for a test")
    return folder / "log.csv"


def invoke(*words):
    return CliRunner().invoke(app, ["track", *map(str, words)])


def test_command_streams_one_line_a_second_and_writes_a_folder(log_file, tmp_path):
    done = invoke("delta3", log_file, "--settings", SETTINGS, "--out", tmp_path / "out", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [round(line["t"]) for line in lines[:-1]] == [1, 2, 3, 4, 5, 6]
    assert lines[0]["estimate"]["m(platform)"] == pytest.approx(0.92, rel=0.05)
    summary = lines[-1]["summary"]
    assert summary["simulated"]
    for name in summary["files"]:
        assert (tmp_path / "out" / name).stat().st_size > 500
    again = invoke("delta3", log_file, "--settings", SETTINGS, "--resume", tmp_path / "out" / "state.npz")
    assert again.exit_code == 0
    assert "SIMULATED" in again.stdout
    assert "after 5960 samples" in again.stdout  # twice 2980: the window is filled anew


def edited(log_file, tmp_path, edit):
    lines = log_file.read_text().splitlines()
    edit(lines)
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "bad.csv"


def test_cells_without_a_number_are_counted_not_fatal(log_file, tmp_path):
    def edit(lines):
        cells = lines[1000].split(",")
        lines[1000] = ",".join([*cells[:-1], "n/a"])

    done = invoke("delta3", edited(log_file, tmp_path, edit), "--settings", SETTINGS)
    assert done.exit_code == 0, done.stderr
    assert "not a number 1" in done.stdout


def test_a_second_without_a_sample_that_counts_has_no_errors_and_is_json(log_file, tmp_path):
    def edit(lines):
        lines[1500:2200] = [",".join([*line.split(",")[:-1], "n/a"]) for line in lines[1500:2200]]

    done = invoke("delta3", edited(log_file, tmp_path, edit), "--settings", SETTINGS, "--json")
    lines = [json.loads(line, parse_constant=lambda word: pytest.fail(word)) for line in done.stdout.splitlines()]
    (silent,) = (line for line in lines if line.get("taken") == 0)
    assert set(silent["error before"].values()) == set(silent["error after"].values()) == {None}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q: np.degrees(q), "moved further than their speed allows"),
        (lambda q: np.median(q, axis=0) + AWAY + 0 * q, "reaches no position"),
    ],
)
def test_another_unit_or_zero_is_told_at_once(log_file, model, tmp_path, change, said):
    log = read_log(log_file, model.robot)
    write_log(tmp_path / "log.csv", replace(log, q=change(log.q)), model.robot)
    with pytest.raises(BadLog, match=said):
        start_session(model.robot, [tmp_path / "log.csv"], read_yaml(SETTINGS, TrackFile))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_log_in_pieces_is_the_log(log_file, model, tmp_path, monkeypatch, suffix):
    whole = read_log(log_file, model.robot)
    write_log(tmp_path / f"log{suffix}", whole, model.robot, "SIMULATED for a test")
    monkeypatch.setattr("robodyn_pin.logs.stored_log.PIECE", 700)  # of 3000 rows
    run = start_session(model.robot, [tmp_path / f"log{suffix}"], read_yaml(SETTINGS, TrackFile))
    pieces = list(run.logs[0]())
    assert [piece.size for piece in pieces] == [700, 700, 700, 700, 200]
    np.testing.assert_array_equal(np.concatenate([piece.q for piece in pieces]), whole.q)
    assert pieces[1].row(0).startswith(f"row {703 if suffix == '.csv' else 701} ")  # a note and a header before it
    for _ in run.history_rows():
        pass
    expected = new_stream(model)
    feed(expected, whole.t, whole.q, whole.tau)
    np.testing.assert_allclose(
        run.stream.tracker.estimator.values, expected.tracker.estimator.values, rtol=1e-9
    )  # round-off


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("delta3", "LOG", "nothing.csv"), "no such file"),
        (("delta3", "nothing.csv"), "no such file"),
        (("delta3", "LOG", "--settings", "bad.yaml"), "did you mean 'forgetting'"),
        (("delta3", "LOG", "--settings", "body.yaml"), "no body 'rod_9'"),
        (("delta3", "LOG", "--settings", "link.yaml"), "no moving link 'base'"),
        (("delta3", "LOG", "--settings", "even.yaml"), "must be odd"),
        (("delta3", "LOG", "--settings", "noise.yaml"), "but not of phi2, phi3"),
        (("irb360", "LOG"), "no column 'q_psi'"),
        (("delta3", "LOG", "--resume", "LOG"), "cannot read"),
    ],
)
def test_mistakes_are_one_sentence(log_file, tmp_path, words, said, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "bad": "forgeting: 0.9", "body": "scaled: [rod_9]", "link": "payload: {link: base}", "even": "causal: {window: 8}",
        "noise": "noise: {phi1: 1.0}",
    }.items():  # fmt: skip
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["robodyn", "track", *(str(log_file) if w == "LOG" else w for w in words)])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert printed.err.startswith("robodyn: ")
    assert said in printed.err
    assert not printed.out


def test_live_page_follows_a_log(log_file, model, browser):
    pytest.importorskip("viser", reason="viser is not installed")
    from robodyn_pin.viz.tracking_page import LivePage

    run = start_session(model.robot, [log_file], read_yaml(SETTINGS, TrackFile))
    with LivePage(run.stream.tracker, run.simulated, port=0) as live:
        page, problems = new_page(browser, viewport={"width": 1000, "height": 900}), []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if leaves(request.url) else None)
        page.goto(live.url)
        for moment in run.history_rows(live.paced(run.samples(10), speed=20.0)):
            live.show(moment)
        page.wait_for_function("() => document.querySelector('#tracked')?.dataset.t > 5.9")
        assert "SIMULATED" in page.inner_text("#tracked")
        shown = page.inner_text("#estimates")
        estimate = run.stream.tracker.estimator.values[model.labels.index("m(platform)")]
        assert f"m(platform)\t{estimate:.4g}" in shown
        assert page.locator("canvas").count() >= 3  # the robot and two charts
        assert not problems
        page.context.close()


def test_what_is_no_log_is_told_before_kernels_are_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "robodyn_pin.online.session.tracked",
        lambda *_: pytest.fail("the parameters, whose kernels take long, came first"),
    )
    (tmp_path / "log.yaml").touch()
    with pytest.raises(RobodynError, match="expected a log"):
        start_session(load("delta3"), [tmp_path / "log.yaml"], TrackFile())
