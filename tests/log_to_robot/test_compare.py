"""Two results: chance alone changes nothing, a real change is found, other combinations are brought together."""

import json

import numpy as np
import pytest
from same_robot import compared, named, record
from scipy.signal import lfilter
from scipy.stats import binom, norm

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.base_parameters import BaseSet, base_set
from robodyn_pin.identification.block_jackknife import without_each
from robodyn_pin.identification.comparison import Known, changes, holm
from robodyn_pin.identification.fold import empty, fold_rows
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.simulated_log import Noise, simulate


def known(rng, truth, columns=None, errors=None):
    W = rng.normal(size=(400, 6))
    W[:, 5] = W[:, 0] + 2 * W[:, 1]
    return estimate(W, W @ truth + (0.3 * rng.normal(size=400) if errors is None else errors), columns)


def estimate(W, y, columns=None):
    found = ordinary([fold_rows(empty(6), W, y)], base_set(W, columns))
    pieces = np.array_split(np.arange(len(W)), 16)
    without = without_each([fold_rows(empty(found.base.size), W[k][:, found.base.columns], y[k]) for k in pieces])
    return Known(found.base, found.values, without, found.covariance)


def test_holm_corrects_as_written_out():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


def false_alarms(many):
    """So many of 200 that five in a hundred is not believable any more (1 in 1000)."""
    return many > binom.ppf(0.999, 200, 0.05)


def test_chance_changes_nothing_but_one_time_in_twenty():
    rng, truth = np.random.default_rng(0), np.arange(1.0, 7)
    pairs = [(known(rng, truth), known(rng, truth)) for _ in range(200)]
    found = [changes(*pair, paired=True) for pair in pairs]
    assert not false_alarms(sum(f.changed for f in found))
    assert not false_alarms(sum(changes(*pair).changed for pair in pairs))
    t = np.array([(f.second - f.first) / f.certainty.deviations for f in found])
    assert np.sqrt(np.mean(t**2)) == pytest.approx(np.sqrt(15 / 13), abs=0.1)  # Student's t with 15 degrees of freedom


def test_coloured_errors_change_nothing_although_white_ones_would_be_sure():
    rng, truth, slow = np.random.default_rng(3), np.arange(1.0, 7), np.exp(-1 / 20)
    ours = white = 0
    for _ in range(200):
        pair = []
        for _ in range(2):  # regressor and errors stay alike for 20 rows
            W, e = (
                lfilter([1], [1, -slow], rng.normal(size=(2000, 6)), axis=0),
                lfilter([1], [1, -slow], rng.normal(size=2000)),
            )
            W[:, 5] = W[:, 0] + 2 * W[:, 1]
            pair.append(estimate(W, W @ truth + e))
        found = changes(*pair)
        ours += found.changed
        z = (pair[1].values - pair[0].values) / np.sqrt(np.diag(pair[0].covariance + pair[1].covariance))
        white += (holm(2 * norm.sf(np.abs(z))) < 0.05).any()
    assert not false_alarms(ours)
    assert white > 100


def test_errors_that_come_back_with_the_motion_cancel():
    rng, truth = np.random.default_rng(4), np.arange(1.0, 7)
    W = rng.normal(size=(400, 6))
    W[:, 5] = W[:, 0] + 2 * W[:, 1]
    wrong = np.sin(3 * W[:, 0]) + np.abs(W[:, 1])  # of the model, the same in both logs
    one, other = (estimate(W, W @ truth + wrong + 0.01 * rng.normal(size=400)) for _ in range(2))
    apart, together = changes(one, other), changes(one, other, paired=True)
    assert not together.changed
    assert (together.certainty.deviations < 0.1 * apart.certainty.deviations).all()


def test_changed_parameter_is_found_in_another_base_set_and_the_unknown_left_out():
    rng, truth = np.random.default_rng(1), np.arange(1.0, 7)
    later = truth + np.eye(6)[3]
    first, second = known(rng, truth), known(rng, later, np.array([5, 4, 3, 2, 1, 0]))  # keeps column 5, drops another
    assert set(first.base.columns) != set(second.base.columns)
    found = changes(first, second)
    assert found.least < 1e-6
    assert [int(first.base.columns[k]) for k in found.rows[found.significant]] == [3]
    assert found.cause.columns.tolist() == [3]
    assert abs(found.cause.size - 1) < found.cause.reach < 0.1
    np.testing.assert_allclose(found.second, first.base.of(later), atol=5 * found.certainty.deviations.max())
    base, less = second.base, np.flatnonzero(second.base.columns != 4)
    blind = BaseSet(base.columns[less], np.sort(np.append(base.dropped, 4)), np.zeros((4, 2)), 1.0)
    blind.regroup[:, blind.dropped != 4] = base.regroup[less]
    partly = changes(
        first, Known(blind, second.values[less], second.without[:, less], second.covariance[np.ix_(less, less)])
    )
    assert 4 not in first.base.columns[partly.rows]
    assert len(partly.rows) == 4


def test_a_robot_is_told_from_itself_no_more_often_than_said_and_a_change_is_named():
    """The Delta with coloured noise and friction that the model lacks; `figures/compare.py` is the long version."""
    robot, names = load("delta3"), ("phi1", "phi2", "phi3")
    run = RunFile.model_validate({"robot": "delta3", "fit": [{"file": "x.csv"}]})
    series = np.random.default_rng(1).normal(size=(2, 3, 5)) * 0.1
    motion = FourierMotion(
        rate=125, duration=10, period=5, centre=dict.fromkeys(names, 0.3),
        sin=dict(zip(names, series[0].tolist(), strict=True)), cos=dict(zip(names, series[1].tolist(), strict=True)),
    )  # fmt: skip
    log = record(robot, simulate(robot, motion, Noise(np.zeros(3)), ignore_limits=True), run)
    rng, rest = np.random.default_rng(0), (np.full(3, 0.03), 12, np.array([0.3, 0.25, 0.35]), True)
    alarms = sum(compared(log, log, rng, *rest).changed for _ in range(60))
    assert alarms <= binom.ppf(0.999, 60, 0.05)
    for label, size in (("coulomb(phi1)", 0.09), ("m(platform)", 0.2)):
        change = size * (np.array(columns(robot).layout.labels) == label)
        assert sum(named(robot, compared(log, log, rng, *rest, change), label) for _ in range(10)) >= 8


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
    assert not found["changed"]
    assert found["cause"] is None
    assert not found["same_log"]
    assert found["same_motion"]  # although the pieces are found in each log by itself
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
    assert found["changed"]
    assert found["probability"] < 1e-4
    changed = {p["label"] for p in found["parameters"] if p["changed"]}
    assert {"coulomb(phi1)"} <= changed
    assert not {"coulomb(phi2)", "coulomb(phi3)", "viscous(phi2)"} & changed


def test_same_log_and_other_robots_are_said(robodyn, results, tmp_path):
    itself = robodyn("compare", results / "monday", results / "monday")
    assert "same log" in itself.stdout
    assert "0 changed" in itself.stdout
    assert not itself.stderr  # no difference at all divides nothing by zero
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


def refused(robodyn, results, folder, change):
    """What `compare` says of monday beside a result that was changed in place."""
    summary = json.loads((results / "monday/result.json").read_text())
    with np.load(results / "monday/parameters.npz") as file:
        arrays = dict(file)
    change(summary, arrays)
    (folder / "result.json").write_text(json.dumps(summary))
    np.savez(folder / "parameters.npz", **arrays)
    done = robodyn("compare", results / "monday", folder)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_results_that_cannot_be_compared_are_refused_in_one_sentence(robodyn, results, tmp_path):
    def older(summary, arrays):
        del arrays["wls_without"]

    def slow(summary, arrays):  # pieces far shorter than the memory of the errors
        wave = np.sin(np.linspace(0, np.pi, 16))[:, None]
        arrays["wls_without"] = arrays["wls"] * (1 + 0.1 * (wave - wave.mean()))
        arrays["piece_positions"] = arrays["piece_positions"] + 1.0

    def one_piece(summary, arrays):
        arrays["wls_without"] = np.full_like(arrays["wls_without"], np.nan)

    def no_number(summary, arrays):
        summary["errors"]["feasible"]["held_out"]["rmse"]["phi1"] = np.nan  # as `NaN` in the text

    assert "NaN is no finite number" in refused(robodyn, results, tmp_path, no_number)
    assert "older version" in refused(robodyn, results, tmp_path, older)
    assert "record a motion that takes" in refused(robodyn, results, tmp_path, slow)
    assert "no base parameter in common" in refused(robodyn, results, tmp_path, one_piece)
