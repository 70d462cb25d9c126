"""`robodyn fleet` on folders of SIMULATED logs: what it names, what it leaves out, and that one robot alone is identified as ever."""

import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from pydantic import ValidationError
from simulated import SHORT
from simulated_fleets import SETTINGS, Changed, SimulatedFleet, changed_body

import robodyn_pin as rp
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.errors import BadLog
from robodyn_pin.fleets.causes import causes_of
from robodyn_pin.fleets.fleet import judge_fleet
from robodyn_pin.fleets.fleet_file import FleetFile
from robodyn_pin.fleets.members import Fold, MemberLogs, fold_fleet, robots_of
from robodyn_pin.identification.base_parameters import base_set
from robodyn_pin.log_to_robot.evidence import evidence_of
from robodyn_pin.log_to_robot.from_memory import all_samples
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.leaf import keeping
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.writing import write_log

DAYS, ROBOTS = 4, 6


@pytest.fixture(scope="module")
def simulated():
    return SimulatedFleet(rp.load("irb360_arms"), SETTINGS)


@pytest.fixture(scope="module")
def plant(simulated, tmp_path_factory):
    """Six robots with four logs each; the third has twice the friction in phi2, the fifth a torn log."""
    folder, rng = tmp_path_factory.mktemp("plant"), np.random.default_rng(0)
    for k in range(ROBOTS):
        own = folder / "logs" / f"cell_{k + 1}"
        own.mkdir(parents=True)
        change = Changed({"coulomb(phi2)": 1.0}) if k == 2 else Changed()
        for day, log in enumerate(simulated.logs("log", change, rng, DAYS)):
            write_log(own / f"2026-11-{day + 1:02}.csv", log, simulated.robot, "SIMULATED")
    (folder / "logs/cell_5/2026-11-09.csv").write_text("t,q_phi1\n0,zero\n")
    settings = {**SETTINGS, "robot": "irb360_arms", "fit": [{"file": "logs/cell_1"}]}
    (folder / "run.yaml").write_text(yaml.safe_dump(settings))
    (folder / "fleet.yaml").write_text("run: run.yaml\nrobots: logs/*\n")
    return folder


def test_the_robot_that_differs_is_named_first_with_its_cause(plant, robodyn):
    done = robodyn("fleet", plant / "fleet.yaml", "--out", plant / "out", "--cache", plant / "leaves")
    assert done.returncode == 3, done.stderr
    assert "cell_3: differs from the others: if one thing alone, then coulomb(phi2) +" in " ".join(done.stdout.split())
    assert "cell_5: 1 of 5 logs that were found are left out" in " ".join(done.stdout.split())
    found = json.loads((plant / "out/fleet.json").read_text())
    assert found["simulated"]
    assert [r["name"] for r in found["robots"] if r["differs"]] == ["cell_3"]
    first = found["robots"][0]
    assert first["difference"]["cause"] == "coulomb(phi2)"
    assert first["difference"]["size"] == pytest.approx(4.376, abs=4 * first["difference"]["deviation"])
    torn = next(r for r in found["robots"] if r["name"] == "cell_5")
    assert torn["logs"] == DAYS
    assert "2026-11-09.csv" in " ".join(torn["left_out"])
    page = (plant / "out/fleet.html").read_text()
    assert "SIMULATED logs" in page
    assert "<svg" in page
    table = (plant / "out/parameters.csv").read_text().splitlines()
    assert table[1].startswith("parameter,type,spread,cell_1,cell_1 deviation")
    for k in range(ROBOTS):
        assert rp.load(plant / f"out/cell_{k + 1}/irb360_arms_identified.yaml").name == "irb360_arms_identified"
    assert len(list((plant / "leaves").glob("*.npz"))) == ROBOTS * DAYS


def test_a_fleet_that_is_read_from_its_cache_is_the_same_bit_for_bit(plant, robodyn):
    for out, more in (("memory", ("--workers", "2")), ("kept", ("--workers", "1", "--cache", plant / "leaves"))):
        assert robodyn("fleet", plant / "fleet.yaml", "--out", plant / out, *more).returncode == 3
    for file in ("fleet.json", "parameters.csv"):
        assert (plant / "memory" / file).read_bytes() == (plant / "kept" / file).read_bytes()


def test_a_log_of_another_robot_is_named_and_left_out(simulated, plant, tmp_path, robodyn):
    """Of the same columns, and torques of arms three times as heavy; small motions of the robot itself stay."""
    heavy = {f"{name}(arm_{k})": 2.0 for name in ("m", "mx", "my", "mz", "Ixx", "Iyy", "Izz") for k in (1, 2, 3)}
    shutil.copytree(plant / "logs", tmp_path / "logs")
    shutil.copy(plant / "run.yaml", tmp_path)
    (tmp_path / "fleet.yaml").write_text("run: run.yaml\nrobots: logs/*\n")
    series = {part: {k: [0.1 * x for x in v] for k, v in getattr(SHORT, part).items()} for part in ("sin", "cos")}
    small = SimulatedFleet(simulated.robot, SETTINGS, SHORT.model_copy(update=series))
    rng = np.random.default_rng(3)
    for fleet, change, day in ((simulated, Changed(heavy), 7), (small, Changed(), 8)):
        (log,) = fleet.logs("log", change, rng, 1)
        write_log(tmp_path / f"logs/cell_2/2026-11-{day:02}.csv", log, simulated.robot, "SIMULATED")
    done = robodyn(
        "fleet", tmp_path / "fleet.yaml", "--out", tmp_path / "out", "--cache", tmp_path / "leaves", "--json"
    )
    found = {r["name"]: r for r in json.loads(done.stdout)["robots"]}
    assert found["cell_2"]["logs"] == DAYS + 1
    assert done.returncode == 3
    assert not found["cell_2"]["differs"]
    (said,) = found["cell_2"]["sentences"]
    assert "2026-11-07.csv" in said
    assert "is it of another robot, or has something broken?" in said
    page = (tmp_path / "out/fleet.html").read_text()
    assert "in a log" in page
    assert said.split(":")[0] in page
    (tmp_path / "logs/cell_5/2026-11-09.csv").unlink()
    strict = robodyn(
        "fleet", tmp_path / "fleet.yaml", "--out", tmp_path / "strict", "--cache", tmp_path / "leaves", "--strict"
    )
    assert strict.returncode == 1
    assert "2026-11-07.csv" in strict.stderr
    assert not (tmp_path / "strict/fleet.json").exists()


def test_new_logs_are_taken_as_they_come(simulated, plant, tmp_path):
    """One is there whole, one is torn; Ctrl-C keeps what is written."""
    (tmp_path / "fleet.yaml").write_text(f"run: {plant}/run.yaml\nrobots: logs/*\n")
    for k in (1, 2):
        shutil.copytree(plant / f"logs/cell_{k}", tmp_path / f"logs/cell_{k}")

    def logs_once(changed):
        end = time.monotonic() + 120
        while time.monotonic() < end and running.poll() is None:
            with suppress(FileNotFoundError):  # not there yet, or its folder is just being changed for the next one
                found = json.loads(summary.read_text())["robots"]
                if changed(counts := {r["name"]: (r["logs"], len(r["left_out"])) for r in found}):
                    return counts
            time.sleep(0.1)
        raise AssertionError("nothing was written")

    summary, program = tmp_path / "out/fleet.json", Path(sys.executable).with_name("robodyn")
    words = [
        program,
        "fleet",
        tmp_path / "fleet.yaml",
        "--out",
        tmp_path / "out",
        "--cache",
        plant / "leaves",
        "--watch",
        "1",
    ]
    running = subprocess.Popen([*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert logs_once(bool) == {"cell_1": (DAYS, 0), "cell_2": (DAYS, 0)}
    (log,) = simulated.logs("log", Changed(), np.random.default_rng(5), 1)
    write_log(tmp_path / "logs/cell_1/2026-11-10.csv", log, simulated.robot, "SIMULATED")
    assert logs_once(lambda counts: counts["cell_1"][0] > DAYS) == {"cell_1": (DAYS + 1, 0), "cell_2": (DAYS, 0)}
    (tmp_path / "logs/cell_2/2026-11-11.csv").write_text("t,q_phi1\n0,zero\n")
    assert logs_once(lambda counts: counts["cell_2"][1]) == {
        "cell_1": (DAYS + 1, 0),
        "cell_2": (DAYS, 2),
    }  # how many, and which
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "its results are written" in said


def test_a_share_of_a_body_is_one_of_what_the_robot_files_say(simulated):
    """Whatever was identified of it: a hundredth more of an arm changes the torques by a hundredth of the cause's direction."""
    plant = SimulatedFleet(simulated.robot, SETTINGS, between=0.0)
    rng = np.random.default_rng(6)
    base = base_set(plant.W.reshape(-1, len(plant.values)))
    found = {
        c.name: c
        for c in causes_of(
            plant.robot,
            columns(plant.robot).layout,
            base,
            rng.normal(size=len(plant.values)),
            plant.values,
            np.ones(base.size),
        )
    }
    more = plant.W @ (plant.own_values(changed_body("arm_2", 0.01), rng) - plant.values)
    expected = 0.01 * plant.W[..., base.columns] @ found["body arm_2"].direction
    np.testing.assert_allclose(more, expected, atol=1e-9)
    assert np.abs(more).max() > 1e-3


def test_dates_in_names_are_days(plant, simulated):
    robots = robots_of(FleetFile(run="run.yaml", robots="logs/*"), plant)
    assert list(robots) == [f"cell_{k + 1}" for k in range(ROBOTS)]
    fold = fold_fleet(simulated.robot, simulated.run, {"cell_1": robots["cell_1"]}, plant)
    assert fold.unit == "day"
    assert sorted(fold.members[0].when) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("cached", [False, True])
def test_a_log_that_two_robots_have_is_the_first_ones_and_named(plant, simulated, tmp_path, cached):
    """Of which of them it is, nobody can say; both would look alike."""
    logs = plant / "logs"
    cell_1, cell_2 = ([LogSpec(file=logs / f"cell_{k}" / f"2026-11-{day:02}.csv") for day in (1, 2)] for k in (1, 2))
    robots = {"one": cell_1, "two": [*cell_2, cell_1[1]], "three": cell_1, "four": [cell_2[0], cell_2[0]]}
    with keeping(tmp_path) if cached else nullcontext():
        fold = fold_fleet(simulated.robot, simulated.run, robots, plant)
        with pytest.raises(BadLog, match="one has a log with the same samples"):
            fold_fleet(simulated.robot, simulated.run, robots, plant, strict=True)
    one, two = fold.members
    assert (one.left_out, [len(m.evidence.leaves) for m in fold.members]) == ((), [2, 2])
    (said,) = two.left_out
    assert "cell_1/2026-11-02.csv: one has a log with the same samples" in said
    assert sorted(two.when) == [0.0, 1.0]
    assert [leaf.content for leaf in two.evidence.leaves] == list(two.contents)
    alike, doubled = fold.left_out
    assert alike.startswith("three: none of its logs is its own alone")
    assert doubled.startswith("four: 2026-11-01.csv")
    assert doubled.endswith("they would count twice; leave one out")


@pytest.mark.parametrize("name", ["../../other", "a/b", "a\\b", "..", ""])
def test_a_robot_whose_name_is_a_path_is_refused(name):
    """What is found of it would be written beside the result folder."""
    with pytest.raises(ValidationError, match="give a name without '/'"):
        FleetFile.model_validate({"run": "run.yaml", "robots": {name: [{"file": "log.csv"}]}})


def of_logs(simulated, name, logs):
    evidence = evidence_of(simulated.robot, simulated.run, windows([all_samples(simulated.robot, x) for x in logs]))
    return MemberLogs(name, evidence, np.arange(float(len(logs))))


@pytest.mark.parametrize(("robots", "spoiled"), [(3, 1), (3, 2), (1, 1)])
def test_logs_in_another_unit_are_named_however_large_they_are(simulated, robots, spoiled):
    """Torques in N mm: what all logs have in common was theirs, so that none stood out and other robots were blamed."""
    rng, fleet = np.random.default_rng(4), []
    for k in range(robots):
        logs = simulated.logs(f"log of {k}", Changed(), rng, 4)
        if k < spoiled:
            logs[1] = replace(logs[1], tau=1000 * logs[1].efforts)
        fleet.append(of_logs(simulated, f"cell {k}", logs))
    found = judge_fleet(simulated.robot, simulated.run, Fold(tuple(fleet), "log", ()))
    said = {m.logs.name: m.logs.strange for m in found.members if m.logs.strange}
    assert sorted(said) == [f"cell {k}" for k in range(spoiled)]
    assert all(f"log of {name[-1]} 1: " in texts[0] and len(texts) == 1 for name, texts in said.items())
    assert not any(m.named for m in found.members)


def test_a_fleet_of_one_is_identified_as_ever(simulated):
    rng = np.random.default_rng(1)
    logs = simulated.logs("log", Changed(), rng, 3)
    member = simulated.member("alone", Changed(), np.random.default_rng(1), 3)
    found = judge_fleet(simulated.robot, simulated.run, Fold((member,), "log", ()))
    settings = {key: value for key, value in SETTINGS.items() if key != "separate"}
    judge = simulated.logs("judge", Changed(), rng, 1)
    expected = rp.identify(simulated.robot, logs, judge, **settings, instruments=False)
    np.testing.assert_allclose(found.of_type.mean, expected.wls.values, rtol=1e-9)
    np.testing.assert_allclose(found.values, expected.feasible.values, rtol=1e-9, atol=1e-12)
    assert not found.members[0].named


def test_a_fleet_of_one_names_the_strange_log_that_identify_names(simulated):
    rng = np.random.default_rng(1)
    smooth = Changed({f"coulomb(phi{k})": -1.0 for k in (1, 2, 3)})
    logs = simulated.logs("log", Changed(), rng, 4) + simulated.logs("smooth", smooth, rng, 1)
    fold = Fold((of_logs(simulated, "alone", logs),), "log", ())
    (member,) = judge_fleet(simulated.robot, simulated.run, fold).members
    (said,) = member.logs.strange
    assert "smooth 0: the parameters explain its torques " in said
    assert len(member.logs.evidence.leaves) == 5
    settings = {key: value for key, value in SETTINGS.items() if key != "separate"}
    found = rp.identify(simulated.robot, logs, simulated.logs("judge", Changed(), rng, 1), **settings)
    (caution,) = [text for text in found.verdict.cautions if "times worse" in text]
    assert caution.startswith("smooth 0, ")
    with pytest.raises(BadLog, match="smooth 0"):
        judge_fleet(simulated.robot, simulated.run, fold, strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run: run.yaml\nrobots: nowhere/*\n", "found no folder"),
        ("run: run.yaml\nrobots: {cell_1: []}\n", "robots"),
        ("run: run.yaml\nrobot: irb360\n", "robot"),
        ("run: none.yaml\nrobots: logs/*\n", "none.yaml"),
        (
            "run: run.yaml\nrobots: {a: [{file: logs/cell_5/2026-11-09.csv}]}\n",
            "none of 1 robots has a log that can be used",
        ),
    ],
)
def test_what_a_fleet_file_lacks_is_one_sentence(plant, robodyn, text, said):
    (plant / "wrong.yaml").write_text(text)
    done = robodyn("fleet", plant / "wrong.yaml", "--out", plant / "wrong")
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (plant / "wrong/fleet.json").exists()
