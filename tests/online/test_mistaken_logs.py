"""Tracked logs with a mistake are told: the estimate follows whatever it is given. All logs are SIMULATED."""

import json
import shutil
from collections.abc import Callable

import polars as pl
import pytest
from online_motions import SETTINGS
from simulated import noisy_log

from robodyn_pin.files import read_yaml
from robodyn_pin.fleets.states import opened_states
from robodyn_pin.fleets.tracking import track_robots
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.robot import load

SPOILED: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "sign": ("tau_phi1 looks like -tau_phi1", lambda log: log.with_columns(-pl.col("tau_phi1"))),
    "all signs": (
        "all torques look as if their signs were wrong",
        lambda log: log.with_columns(-pl.col("tau_phi1", "tau_phi2", "tau_phi3")),
    ),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The log as it should be, and spoiled."""
    folder, robot = tmp_path_factory.mktemp("logs"), load("delta3")
    write_log(folder / "good.csv", noisy_log(robot, "delta3_sine"), robot, "SIMULATED")
    good = pl.read_csv(folder / "good.csv", comment_prefix="#")
    for name, (_, spoil) in SPOILED.items():
        spoil(good).write_csv(folder / f"{name}.csv")
    return folder


def test_a_good_log_has_none(logs, robodyn_here, tmp_path):
    done = robodyn_here("track", "delta3", logs / "good.csv", "--settings", SETTINGS, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "track.json").read_text())["mistakes"] == []


@pytest.mark.parametrize("name", SPOILED)
def test_a_mistake_is_named_and_ends_with_exit_code_3(logs, robodyn_here, tmp_path, name):
    said = f"{name}.csv: {SPOILED[name][0]}"
    done = robodyn_here("track", "delta3", logs / f"{name}.csv", "--settings", SETTINGS, "--out", tmp_path)
    assert done.returncode == 3
    assert f"NOT GOOD: {said}" in done.stdout
    assert json.loads((tmp_path / "track.json").read_text())["mistakes"][0].startswith(said)


def test_torques_that_are_explained_badly_show_it_however_little_is_known(logs, robodyn_here, tmp_path):
    """Torques that are said to be as noisy as they are large let the estimate be anything."""
    (tmp_path / "track.yaml").write_text(SETTINGS.read_text().replace("noise: 0.05", "noise: 50"))
    log = logs / "sign.csv"
    done = robodyn_here("track", "delta3", log, "--settings", tmp_path / "track.yaml", "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out/track.json").read_text())
    assert summary["consistency"]["distance in deviations"] < 5
    assert "NOT GOOD: sign.csv: tau_phi1 looks like -tau_phi1" in done.stdout


def test_a_robot_of_many_keeps_its_state(logs, tmp_path):
    robot, settings = load("delta3"), read_yaml(SETTINGS, TrackFile)
    with opened_states(tmp_path / "states.sqlite", "made") as states:
        track_robots(robot, settings, {"a": [LogSpec(file=logs / "good.csv")]}, tmp_path, states)
        before = states.state("a")
        found = track_robots(robot, settings, {"a": [LogSpec(file=logs / "sign.csv")]}, tmp_path, states)
        assert states.state("a") == before
    assert found.new == 0
    [said] = found.left_out
    assert said.startswith("a: sign.csv: tau_phi1 looks like -tau_phi1; the robot's state stays")


def test_a_log_that_is_given_twice_is_refused(logs, robodyn_here, tmp_path):
    """Its torques would count twice, and the deviations would be too small."""
    shutil.copy(logs / "good.csv", tmp_path / "copy.csv")
    given = logs / "good.csv", tmp_path / "copy.csv"
    done = robodyn_here("track", "delta3", *given, "--settings", SETTINGS, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert f"{given[0]} and {given[1]} have the same samples and would count twice; leave one out" in done.stderr
    assert not (tmp_path / "out").exists()
