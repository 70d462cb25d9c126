"""Predicted against measured torques: the table's columns against their definitions, in command, result and report."""

import json

import numpy as np
import polars as pl
import pytest

from robodyn_pin.identification.accuracy import accuracy


def test_columns_are_their_definitions_and_parts_add_up():
    rng = np.random.default_rng(0)
    measured = rng.normal(size=(100, 2)) * [3, 50] + [1, 200]
    predicted = measured + rng.normal(size=(100, 2)) + [0.5, -1]
    found = accuracy(measured[:30], predicted[:30]) + accuracy(measured[30:], predicted[30:])
    away = predicted - measured
    np.testing.assert_allclose(found.mae, np.mean(np.abs(away), axis=0))
    np.testing.assert_allclose(found.rmse**2, np.var(away, axis=0) + np.mean(away, axis=0) ** 2)
    np.testing.assert_allclose(found.percent, 100 * found.rmse / np.mean(np.abs(measured), axis=0))
    # Eq. (76) as printed squares the sum: it would be the mean error times the root of the number of samples.
    printed = np.sqrt(np.sum(away, axis=0) ** 2 / 100)
    assert (np.abs(printed / found.rmse - 1) > 0.5).all()


def test_a_motor_without_torque_has_no_ratio():
    row = accuracy(np.zeros((3, 1)), np.ones((3, 1))).table(["m1"])[0]
    assert row["RMSE / mean [%]"] is None
    assert row["MAE"] == row["RMSE"] == 1


@pytest.fixture(scope="module")
def verified(robodyn, tmp_path_factory):
    """A log of the IRB 2400 with bias and noise, and what the true model makes of it."""
    folder = tmp_path_factory.mktemp("verified")
    (folder / "motion.yaml").write_text(
        "{rate: 250, duration: 12, period: 12, centre: {m1: 0, m2: 0.5, m3: 0, m4: 0, m5: 0, m6: 0},"
        " sin: {m1: [0.5], m2: [0.3], m3: [0, 0.3], m4: [0.8], m5: [0.7], m6: [1.1]}}"
    )
    log = folder / "log.csv"
    done = robodyn(
        "simulate", "irb2400", "--motion", folder / "motion.yaml", "--out", log, "--noise", "3,8,3,0.9,0.6,0.6",
        "--bias", "4,-6,0,1.2,0,-0.8", "--seed", 1,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = robodyn("predict", "irb2400", log, "--out", folder / "torques.csv", "--json")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_the_true_model_scores_bias_and_noise_in_quadrature(verified):
    folder, found = verified
    noise, bias = np.array([3, 8, 3, 0.9, 0.6, 0.6]), np.array([4, -6, 0, 1.2, 0, -0.8])
    rmse = [row["RMSE"] for row in found["accuracy"]]
    np.testing.assert_allclose(rmse, np.hypot(noise, bias), rtol=0.04)
    assert found["simulated"]
    edge = found["edge rows"]
    measured = pl.read_csv(folder / "log.csv", comment_prefix="#")["tau_m2"].to_numpy()[edge:-edge]
    assert found["accuracy"][1]["mean |measured|"] == pytest.approx(np.abs(measured).mean())


def test_pictures_say_simulated_and_name_every_motor(verified):
    folder, found = verified
    for name in found["files"][:2]:
        text = (folder / name).read_text()
        assert "SIMULATED" in text
        assert all(f"m{k} [" in text for k in range(1, 7))
    assert json.loads((folder / found["files"][2]).read_text())["accuracy"] == found["accuracy"]


def test_bias_figures_are_counted_and_read(robodyn, verified, tmp_path):
    folder, _ = verified
    command = ("simulate", "irb2400", "--motion", folder / "motion.yaml", "--out", tmp_path / "log.csv", "--bias")
    done = robodyn(*command, "1,2")
    assert done.returncode == 1
    assert "2 torque bias figures for 6 motors" in done.stderr
    done = robodyn(*command, "a,b")
    assert done.returncode == 1
    assert "--bias expects numbers" in done.stderr
    assert not (tmp_path / "log.csv").exists()


def test_torque_that_moves_nothing_counts_as_error_only_until_it_is_taken_from_the_log(robodyn, tmp_path):
    (tmp_path / "motion.yaml").write_text(
        "{rate: 500, duration: 2, period: 2, centre: {x: 0, y: 0, phi: 0}, sin: {x: [0.03], y: [0, 0.02]}, cos: {phi: [0.2]}}"
    )
    log = tmp_path / "log.csv"
    done = robodyn("simulate", "dualv", "--motion", tmp_path / "motion.yaml", "--out", log, "--internal", 3)
    assert done.returncode == 0, done.stderr
    done = robodyn("predict", "dualv", log, "--out", tmp_path / "torques.csv")
    assert "without --internal the log's internal torque counts as error" in done.stdout
    done = robodyn("predict", "dualv", log, "--internal", "--out", tmp_path / "torques.csv", "--json")
    found = json.loads(done.stdout)
    assert not found["internal torque left in"]
    assert all(row["RMSE"] < 0.02 * row["mean |measured|"] for row in found["accuracy"])


def test_what_becomes_of_the_edges_is_said_as_it_is(robodyn, verified, tmp_path):
    folder, found = verified
    out = tmp_path / "torques.csv"
    done = robodyn("predict", "irb2400", folder / "log.csv", "--out", out)
    assert (
        f"the {found['edge rows']} rows at each end of the log are in the file, and neither compared nor drawn"
        in done.stdout
    )
    assert pl.read_csv(out, comment_prefix="#").height == found["rows"] == found["samples"] + 2 * found["edge rows"]


def test_a_log_too_short_for_the_filter_to_settle_is_told(robodyn, verified, tmp_path):
    folder, _ = verified
    rough = pl.read_csv(folder / "log.csv", comment_prefix="#").head(4)
    rough.with_columns(pl.col("^q_.*$").round(4)).write_csv(tmp_path / "log.csv")
    done = robodyn("predict", "irb2400", tmp_path / "log.csv", "--out", tmp_path / "torques.csv")
    assert done.returncode == 0, done.stderr
    assert "4 rows; largest torque" in done.stdout
    assert "near the ends torques and forces may be far off" in done.stdout


def test_what_a_robot_carries_is_in_its_predicted_torques(robodyn, tmp_path):
    (tmp_path / "motion.yaml").write_text(
        "{rate: 250, duration: 4, period: 4, centre: {m1: 0, m2: 0.5, m3: 0, m4: 0, m5: 0, m6: 0}, sin: {m1: [0.5], m2: [0.3]}}"
    )
    (tmp_path / "weight.yaml").write_text("{link: link6, mass: 5.0, radius: 0.05, length: 0.1, at: [0, 0, 0.1]}")
    log, weight = tmp_path / "log.csv", ("--payload", tmp_path / "weight.yaml")
    done = robodyn("simulate", "irb2400", "--motion", tmp_path / "motion.yaml", "--out", log, *weight)
    assert done.returncode == 0, done.stderr
    errors = []
    for carried in ((), weight):
        done = robodyn("predict", "irb2400", log, "--out", tmp_path / "torques.csv", "--json", *carried)
        assert done.returncode == 0, done.stderr
        errors.append(json.loads(done.stdout)["accuracy"][1]["RMSE"])  # of motor 2, which lifts it
    assert errors[0] > 10  # the parallelogram leaves motor 2 about 5 kg * 9.81 m/s2 * 0.7 m * sin(0.5)
    assert errors[1] < 1
