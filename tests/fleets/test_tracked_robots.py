"""`robodyn track-fleet` on SIMULATED logs of small Deltas: as `robodyn track` would, log after log, and on from where it was ended."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from robodyn_pin.errors import BadFile
from robodyn_pin.files import read_yaml
from robodyn_pin.fleets import tracking
from robodyn_pin.fleets.states import opened_states
from robodyn_pin.fleets.tracking import states_made_with, track_robots
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.motion_file import read_motion
from robodyn_pin.online.session import start_session
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate

EXAMPLES = Path(__file__).parents[2] / "examples"
ROBOTS, LOGS = ("cell_1", "cell_2", "cell_10"), 3


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    """Three robots with three logs of two seconds each."""
    folder, robot = tmp_path_factory.mktemp("plant"), load("delta3")
    motion = read_motion(EXAMPLES / "delta3_sine.yaml").model_copy(update={"duration": 2})
    for k, name in enumerate(ROBOTS):
        (folder / "logs" / name).mkdir(parents=True)
        for day in range(LOGS):
            log = simulate(robot, motion, Noise(np.full(3, 0.05), seed=LOGS * k + day))
            write_log(folder / "logs" / name / f"2026-11-{day + 1:02}.csv", log, robot, "SIMULATED")
    (folder / "run.yaml").write_text("robot: delta3\nfit: [{file: none.csv}]\n")
    (folder / "fleet.yaml").write_text("run: run.yaml\nrobots: logs/*\n")
    return folder


def specs(plant: Path, days: int = LOGS) -> dict[str, list[LogSpec]]:
    return {n: [LogSpec(file=plant / "logs" / n / f"2026-11-{d + 1:02}.csv") for d in range(days)] for n in ROBOTS}


def arrays(path: Path) -> dict[str, bytes]:
    with sqlite3.connect(path) as connection:
        return dict(connection.execute("select name, state from robots"))


def test_each_robot_is_tracked_as_by_track_and_every_process_writes_the_same(plant, tmp_path, robodyn):
    words = ("track-fleet", plant / "fleet.yaml", "--settings", EXAMPLES / "delta3_track.yaml")
    done = robodyn(*words, "--out", tmp_path / "one", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert "9 new logs tracked, 9 in all" in done.stdout
    assert "SIMULATED" in done.stdout
    robot, settings = load("delta3"), read_yaml(EXAMPLES / "delta3_track.yaml", TrackFile)
    logs = [spec.file for spec in specs(plant)["cell_10"]]
    session = start_session(robot, logs, settings)
    for _ in session.samples():
        pass
    table = pl.read_csv(tmp_path / "one/parameters.csv", comment_prefix="#")
    assert table["robot"].to_list() == sorted(ROBOTS)
    own = table.row(by_predicate=pl.col("robot") == "cell_10", named=True)
    tracker = session.stream.tracker
    for label, value in zip(tracker.tracked.labels, tracker.estimator.values, strict=True):
        assert own[label] == pytest.approx(value, rel=1e-12, abs=1e-15)
    shared = robodyn(*words, "--out", tmp_path / "two", "--workers", "2")
    assert shared.returncode == 0, shared.stderr
    for file in ("parameters.csv", "logs.csv", "tracked.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    again = robodyn(*words, "--out", tmp_path / "one", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["new logs"] == 0
    assert json.loads(again.stdout)["logs"] == len(ROBOTS) * LOGS


def test_a_run_that_ends_early_goes_on_to_the_same_states(plant, tmp_path, monkeypatch):
    robot, settings = load("delta3"), read_yaml(EXAMPLES / "delta3_track.yaml", TrackFile)
    made_with = states_made_with(robot, settings)
    with opened_states(tmp_path / "whole.sqlite", made_with) as states:
        track_robots(robot, settings, specs(plant), plant, states)
    along, left = tracking._tracked_along, [4]

    def killed(*what):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return along(*what)

    monkeypatch.setattr(tracking, "_tracked_along", killed)
    with opened_states(tmp_path / "parts.sqlite", made_with) as states, pytest.raises(KeyboardInterrupt):
        track_robots(robot, settings, specs(plant), plant, states)
    monkeypatch.undo()
    with opened_states(tmp_path / "parts.sqlite", made_with) as states:
        assert len(states.logs()) == 4
        found = track_robots(robot, settings, specs(plant), plant, states)
    assert found.new == len(ROBOTS) * LOGS - 4
    assert arrays(tmp_path / "parts.sqlite") == arrays(tmp_path / "whole.sqlite")


def test_what_cannot_be_used_is_named_and_the_rest_goes_on(plant, tmp_path):
    robot, settings = load("delta3"), read_yaml(EXAMPLES / "delta3_track.yaml", TrackFile)
    torn, kept = tmp_path / "torn.csv", tmp_path / "kept.csv"
    torn.write_text("t,q_phi1\n0,zero\n")
    kept.write_bytes((plant / "logs/cell_1/2026-11-01.csv").read_bytes())
    robots = {"a": [LogSpec(file=torn), LogSpec(file=kept)]}
    with opened_states(tmp_path / "states.sqlite", "made") as states:
        found = track_robots(robot, settings, robots, tmp_path, states)
        assert [log.file for log in found.logs] == [str(kept)]
        assert found.left_out[0].startswith("a: ")
        assert "torn.csv" in found.left_out[0]
        kept.write_bytes((plant / "logs/cell_1/2026-11-02.csv").read_bytes())
        found = track_robots(robot, settings, robots, tmp_path, states)
        assert found.new == 0
        assert "has changed since it was tracked" in found.left_out[0]
        with pytest.raises(BadFile, match="along whole logs"):
            track_robots(robot, settings, {"a": [LogSpec(file=kept, rows=(0, 5))]}, tmp_path, states)
        with pytest.raises(BadFile, match="another process uses it"), opened_states(tmp_path / "states.sqlite", "made"):
            pass
    with pytest.raises(BadFile, match="other settings"), opened_states(tmp_path / "states.sqlite", "other"):
        pass
    with pytest.raises(BadFile, match="is it a file of states"), opened_states(kept, "made"):
        pass
    with opened_states(tmp_path / "new.sqlite", "made") as states, pytest.raises(BadFile, match="none of 1 logs"):
        track_robots(robot, settings, {"a": [LogSpec(file=torn)]}, tmp_path, states)


def test_a_log_is_tracked_once_whatever_its_name_and_robot_and_a_robot_without_logs_is_named(plant, tmp_path):
    robot, settings = load("delta3"), read_yaml(EXAMPLES / "delta3_track.yaml", TrackFile)
    first, second = (plant / f"logs/cell_1/2026-11-0{day}.csv" for day in (1, 2))
    (tmp_path / "copy.csv").write_bytes(first.read_bytes())
    (tmp_path / "empty").mkdir()
    robots = {"a": [first, tmp_path / "copy.csv"], "b": [second, first], "c": [tmp_path / "empty"]}
    specs = {name: [LogSpec(file=path) for path in paths] for name, paths in robots.items()}
    with opened_states(tmp_path / "states.sqlite", "made") as states:
        for new in (2, 0):
            found = track_robots(robot, settings, specs, tmp_path, states)
            assert ([(log.robot, log.file) for log in found.logs], found.new) == (
                [("a", str(first)), ("b", str(second))],
                new,
            )
            empty, copied, of_other = sorted(found.left_out, key=lambda text: "cab".index(text[0]))
            assert empty.startswith(f"c: {tmp_path / 'empty'}: found no log")
            assert copied == f"a: {tmp_path / 'copy.csv'}: {first} is there already and has the same samples"
            assert of_other == f"b: {first}: a has a log with the same samples; which of the two robots is it of?"


def test_settings_that_no_robot_was_tracked_with_are_forgotten(tmp_path):
    """As where the first run found no log."""
    for made_with in ("wrong settings", "right ones"):
        with opened_states(tmp_path / "states.sqlite", made_with) as states:
            assert states.logs() == []
