"""Two results: chance alone changes nothing, a real change is found, other combinations are brought together."""

import json

import numpy as np
import pytest

from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.comparison import changes, holm
from robodyn_pin.identification.fold import empty, fold
from robodyn_pin.identification.least_squares import ordinary


def estimate(rng, truth, columns=None):
    W = rng.normal(size=(200, 6))
    W[:, 5] = W[:, 0] + 2 * W[:, 1]
    found = ordinary([fold(empty(6), W, W @ truth + 0.3 * rng.normal(size=200))], base_set(W, columns))
    return found.base, found.values, found.covariance


def test_holm_corrects_as_written_out():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


def test_chance_changes_nothing_but_one_time_in_twenty():
    rng, truth = np.random.default_rng(0), np.arange(1.0, 7)
    found = [changes(*estimate(rng, truth), *estimate(rng, truth)) for _ in range(300)]
    assert np.mean([f.joint < 0.05 for f in found]) == pytest.approx(0.05, abs=0.038)  # three deviations
    assert np.mean([f.significant.any() for f in found]) < 0.09


def test_changed_parameter_is_found_in_another_base_set_and_the_unknown_left_out():
    rng, truth = np.random.default_rng(1), np.arange(1.0, 7)
    first, later = estimate(rng, truth), truth + np.eye(6)[3]
    second = estimate(rng, later, np.array([5, 4, 3, 2, 1, 0]))  # keeps column 5, drops another
    assert set(first[0].columns) != set(second[0].columns)
    found = changes(*first, *second)
    assert found.joint < 1e-6
    assert [int(first[0].columns[k]) for k in found.rows[found.significant]] == [3]
    np.testing.assert_allclose(found.second, first[0].of(later), atol=5 * found.deviations.max())
    base, values, covariance = second
    less = np.flatnonzero(base.columns != 4)
    blind = BaseSet(base.columns[less], np.sort(np.append(base.dropped, 4)), np.zeros((4, 2)), 1.0)
    blind.regroup[:, blind.dropped != 4] = base.regroup[less]
    partly = changes(*first, blind, values[less], covariance[np.ix_(less, less)])
    assert 4 not in first[0].columns[partly.rows]
    assert len(partly.rows) == 4


@pytest.fixture(scope="module")
def results(robodyn, tmp_path_factory):
    """Two logs of one simulated robot with other noise, a third with other friction, a fourth of another robot."""
    folder = tmp_path_factory.mktemp("compare")
    motion = "rate: 500\nduration: 6\nperiod: 3\ncentre: {phi1: 0.3, phi2: 0.3, phi3: 0.3}\nsin: {phi1: [0.2, 0.1, 0, 0.05], phi2: [0.1, -0.2, 0.05], phi3: [-0.1, 0.1, 0.1]}\n"
    (folder / "motion.yaml").write_text(motion)
    for name, seed in (("monday", 1), ("tuesday", 2)):
        done = robodyn("simulate", "delta3", "--motion", folder / "motion.yaml", "--out", folder / f"{name}.csv",
                       "--noise", "0.02,0.02,0.02", "--seed", seed)  # fmt: skip
        assert done.returncode == 0, done.stderr
    lines = (folder / "tuesday.csv").read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("t,"))
    at = lines[head].split(",").index("tau_phi1")
    heavier = [line.split(",") for line in lines[head + 1 :]]
    for row in heavier:
        row[at] = str(1.1 * float(row[at]))
    (folder / "wednesday.csv").write_text("\n".join([*lines[: head + 1], *(",".join(row) for row in heavier)]) + "\n")
    for name in ("monday", "tuesday", "wednesday"):
        (folder / f"{name}.yaml").write_text(
            f"robot: delta3\nfit: [{{file: {name}.csv}}]\ninstruments: false\nbounds: {{mass: [0.01, 10]}}\n"
        )
        done = robodyn("identify", folder / f"{name}.yaml", "--out", folder / name)
        assert done.returncode == 0, done.stderr + done.stdout
    return folder


def test_the_table_gives_each_motor_its_own_unit(robodyn, results):
    done = robodyn("compare", results / "monday", results / "tuesday")
    lines = [line for line in done.stdout.splitlines() if "held-out RMSE" in line]
    assert len(lines) == 3  # the three motors of the Delta turn
    assert all("[N m]" in line for line in lines)


def test_two_logs_of_one_robot_differ_by_chance_only(robodyn, results):
    done = robodyn("compare", results / "monday", results / "tuesday", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["probability"] > 0.01
    assert not any(p["changed"] for p in found["parameters"])
    assert not found["same_log"]
    printed = robodyn("compare", results / "monday", results / "tuesday")
    assert printed.returncode == 0
    assert "0 changed significantly" in printed.stdout


def test_a_result_that_fails_on_another_days_log_is_not_accepted(robodyn, results):
    run = (results / "monday.yaml").read_text() + "held_out: [{file: wednesday.csv}]\n"
    (results / "both.yaml").write_text(run)
    done = robodyn("identify", results / "both.yaml", "--out", results / "both", "--json")
    assert done.returncode == 3, done.stderr
    (reason,) = json.loads(done.stdout)["verdict"]["reasons"]
    assert "times that on the fit data" in reason


def test_motor_that_pulls_harder_is_found(robodyn, results):
    found = json.loads(robodyn("compare", results / "tuesday", results / "wednesday", "--json").stdout)
    for which, name in (("first", "tuesday"), ("second", "wednesday")):
        said = json.loads((results / name / "result.json").read_text())
        errors = {name: both[which] for name, both in found["held_out_rmse"].items()}
        assert errors == said["errors"]["feasible"]["held_out"]["rmse"]
    assert found["probability"] < 1e-6
    changed = {p["label"] for p in found["parameters"] if p["changed"]}
    assert {"coulomb(phi1)"} <= changed
    assert not {"coulomb(phi2)", "coulomb(phi3)", "viscous(phi2)"} & changed


def test_same_log_and_other_robots_are_said(robodyn, results, tmp_path):
    assert "same log" in robodyn("compare", results / "monday", results / "monday").stdout
    other = json.loads((results / "monday/result.json").read_text()) | {"robot": "irb360"}
    (tmp_path / "result.json").write_text(json.dumps(other))
    (tmp_path / "parameters.npz").write_bytes((results / "monday/parameters.npz").read_bytes())
    done = robodyn("compare", results / "monday", tmp_path)
    assert done.returncode == 1
    assert "robot 'delta3'" in done.stderr
    assert "'irb360'" in done.stderr
    assert done.stderr.count("\n") == 1
    nothing = robodyn("compare", results / "monday", tmp_path / "nothing")
    assert nothing.returncode == 1
    assert "no result folder" in nothing.stderr
