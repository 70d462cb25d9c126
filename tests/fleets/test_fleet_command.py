"""`robodyn fleet` on folders of SIMULATED logs: what it names, what it leaves out, and that one robot alone is identified as ever."""

import json

import numpy as np
import pytest
import yaml
from simulated_fleets import SETTINGS, Changed, SimulatedFleet

import robodyn_pin as rp
from robodyn_pin.fleets.fleet import judge_fleet
from robodyn_pin.fleets.fleet_file import FleetFile
from robodyn_pin.fleets.members import Fold, fold_fleet, robots_of
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


def test_dates_in_names_are_days(plant, simulated):
    robots = robots_of(FleetFile(run="run.yaml", robots="logs/*"), plant)
    assert list(robots) == [f"cell_{k + 1}" for k in range(ROBOTS)]
    fold = fold_fleet(simulated.robot, simulated.run, {"cell_1": robots["cell_1"]}, plant)
    assert fold.unit == "day"
    assert sorted(fold.members[0].when) == [0.0, 1.0, 2.0, 3.0]


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
