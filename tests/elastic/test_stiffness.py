"""Stiffness from a file of simulated measurements: the command, its files, and bad input."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from robodyn_pin.commands.elastic import print_stiffness
from robodyn_pin.elastic.inference import deviation_function
from robodyn_pin.elastic.measurements import (
    read_measurements,
    simulate_measurements,
    unloaded_poses,
    write_measurements,
)
from robodyn_pin.elastic.springs import Tool, coordinates_of, pose_kinematics, springs_in
from robodyn_pin.elastic.stiffness import StiffnessResult, identify_stiffness
from robodyn_pin.elastic.stiffness_file import StiffnessFile
from robodyn_pin.errors import BadFile, BadLog, RobodynError, UnknownName
from robodyn_pin.files import read_yaml
from robodyn_pin.identification.bayes import Observed, infer
from robodyn_pin.output.stiffness import write_stiffness
from robodyn_pin.robot.robot import load

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN, FOLDER = EXAMPLES / "irb6660_stiffness.yaml", EXAMPLES / "irb6660_stiffness"
USES = ("map", "task", "path")
TRUTH = np.array([2.5, 2.4, 2.25, 1.04, 0.45, 0.48]) * 1e6  # [N m/rad] that the example's file was simulated with


@pytest.fixture
def desk(tmp_path) -> Path:
    shutil.copy(RUN, tmp_path)
    shutil.copytree(FOLDER, tmp_path / FOLDER.name)
    return tmp_path


def found(desk: Path, **changes: object) -> StiffnessResult:
    """The example without its uses, with changes."""
    raw = yaml.safe_load((desk / RUN.name).read_text())
    return identify_stiffness(StiffnessFile.model_validate(raw | dict.fromkeys(USES) | changes), desk)


def rewrite(desk: Path, edit) -> None:
    """Change the measurements (a table) and keep the comment lines."""
    path = desk / FOLDER.name / "measurements.csv"
    notes = [line for line in path.read_text().splitlines() if line.startswith("#")]
    table = edit(pl.read_csv(path, comment_prefix="#"))
    path.write_text("\n".join([*notes, table.write_csv()]))


def test_round_trip_the_command_finds_the_simulated_springs_and_says_that_they_are_simulated(robodyn, tmp_path):
    done = robodyn("stiffness", RUN, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "result.json").read_text())
    assert result["simulated"] is True
    theta, C = np.array(result["posterior"]["mean"]), np.array(result["posterior"]["covariance"])
    off = 1 / TRUTH - theta
    assert off @ np.linalg.solve(C, off) < 12.6  # 95 % of chi-square with six degrees of freedom
    page = (tmp_path / "stiffness.html").read_text()
    assert "SIMULATED" in page
    for name in ("stiffness.csv", "campaigns.csv", "stiffness.svg", "campaigns.svg", "validation.svg"):
        assert (tmp_path / name).stat().st_size > 100
        assert "SIMULATED" in (tmp_path / name).read_text()  # each file by itself


def test_more_measurements_leave_less_of_the_prior_and_predict_better(desk):
    by_name = {c.name: c for c in found(desk).campaigns}
    assert list(by_name) == ["one", "three in Y", "two in X", "all five", "prior only"]
    traces = [by_name[name].trace for name in ("prior only", "one", "three in Y", "all five")]
    assert traces == sorted(traces, reverse=True)
    assert by_name["all five"].rms["all"] < 0.3 * by_name["prior only"].rms["all"]


def test_stiffness_and_compliance_agree_where_measurements_say_much(desk):
    a, b = (found(desk, form=form).estimate for form in ("compliance", "stiffness"))
    assert np.abs(a.stiffness / b.stiffness - 1).max() < 0.1


def test_a_heavier_prior_holds_the_estimate_nearer_to_it(desk):
    light, heavy = (found(desk, gamma=gamma).estimate for gamma in (1.0, 100.0))
    assert np.linalg.norm((heavy.posterior.mean - heavy.prior.mean) / heavy.prior.mean) < 0.9 * np.linalg.norm(
        (light.posterior.mean - light.prior.mean) / light.prior.mean
    )
    assert (heavy.posterior.deviations < light.posterior.deviations).all()


def test_weight_of_the_tool_comes_out_of_the_sensor(desk):
    plain = found(desk).estimate.stiffness
    rewrite(desk, lambda t: t.with_columns(fz=pl.col("fz") - 30 * 9.81))
    assert np.allclose(found(desk, tool_mass=30.0, validation=None).estimate.stiffness, plain, rtol=1e-9)


def test_a_tool_on_axis_6_leaves_spring_6_unobservable_and_says_so(desk):
    result = found(desk, tool={"frame": "flange", "at": [0, 0, 0.35]}, validation=None)
    assert "cannot be observed" in result.estimate.undetermined["m6"]
    assert any("m6 cannot be observed" in line for line in result.cautions)


def test_springs_that_one_measurement_does_not_tell_keep_their_prior_by_name(desk):
    result = found(desk, use=[1], validation=None)
    assert result.estimate.undetermined
    assert all("prior" in why for why in result.estimate.undetermined.values())
    informed = set(result.springs.names) - set(result.estimate.undetermined)
    left = result.estimate.posterior.deviations / result.estimate.prior.deviations
    for name, part in zip(result.springs.names, left, strict=True):
        assert (part <= 0.9) == (name in informed)


def test_forces_in_the_axes_of_the_tool_are_told_and_read(desk):
    springs = springs_in(load("irb6660"), Tool(frame="flange"))
    path = desk / FOLDER.name / "measurements.csv"
    m = read_measurements(path, springs.robot, None)
    turned = np.einsum("nji,nj->ni", pose_kinematics(springs, coordinates_of(springs, m.q)).rotation, m.force)
    plain = found(desk).estimate.stiffness
    rewrite(desk, lambda t: t.with_columns(**{f"f{a}": turned[:, k] for k, a in enumerate("xyz")}))
    assert np.allclose(found(desk, force_frame="flange", validation=None).estimate.stiffness, plain, rtol=1e-9)
    with pytest.raises(BadLog, match=r"against its force.*force_frame"):
        found(desk, validation=None)


def test_a_deviation_in_an_implausible_direction_is_not_accepted(desk):
    rewrite(desk, lambda t: t.with_columns(dz=-pl.col("dz")))
    result = found(desk, validation=None)
    assert not result.accepted
    assert "degrees off the expected direction" in result.complaints[0]


def test_validation_at_a_measured_pose_is_cautioned_against(desk):
    result = found(desk, validation=f"{FOLDER.name}/measurements.csv")
    assert "measurement 1 of measurements.csv is at the pose of measurement 1" in result.cautions[0]


BAD = [
    (lambda t: t.with_columns(fx=0.0, fy=0.0, fz=0.0), "measurement 1 of measurements.csv: the force is zero"),
    (lambda t: t.with_columns(pl.col("^d.$") * 1000), "deviations are in metres, is this in millimetres"),
    (lambda t: t.with_columns(pl.col("^q.$") * 180 / np.pi), "positions are in radians, is this in degrees"),
    (lambda t: t.with_columns(q2=1.6), "measurement 1 of measurements.csv: the position of 'm2' is 1.6 rad, outside its limits -0.733 to 1.4835 rad"),
    (lambda t: t.with_columns(sigma=0.0), "a sensor has a positive standard deviation"),
    (lambda t: t.with_columns(q3=None), "column 'q3' is not a number in 5 rows"),
    (lambda t: t.drop("sigma"), "no column 'sigma'"),
    (lambda t: t.clear(), "no measurements below the header"),
    (lambda t: t.with_columns(fx=-pl.col("fx"), fy=-pl.col("fy")), "the tool moved against its force"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "words"), BAD, ids=[words[:40] for _, words in BAD])
def test_bad_measurements_are_told_in_a_sentence(desk, edit, words):
    rewrite(desk, edit)
    with pytest.raises((BadLog, BadFile)) as error:
        found(desk)
    assert words in str(error.value)


def test_a_missing_column_is_told_by_name(desk):
    rewrite(desk, lambda t: t.drop("q4"))
    with pytest.raises(UnknownName, match="'q4'"):
        found(desk)


SETTINGS = [
    ({"prior": {"stiffness": {"m1": 1e6}}}, "prior.stiffness says nothing of m2, m3, m4, m5, m6"),
    ({"prior": {"stiffness": {"j1": 1e6}}}, "no spring 'j1' in prior.stiffness; did you mean 'm1'"),
    ({"campaigns": {"far": [9]}}, "campaign 'far': no measurement 9 in measurements.csv; it has 1 to 5"),
    ({"use": [0]}, "'use': no measurement 0"),
    ({"use": [1, 2, 2]}, "'use' names measurement 2 more than once"),
    ({"measurements": "nowhere.csv"}, "nowhere.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), SETTINGS, ids=[words[:30] for _, words in SETTINGS])
def test_bad_settings_are_told_in_a_sentence(desk, changes, words):
    with pytest.raises(RobodynError) as error:
        found(desk, **changes)
    assert words in str(error.value)


def test_the_command_ends_without_traceback_and_without_files_on_bad_input(robodyn, desk, tmp_path):
    rewrite(desk, lambda t: t.with_columns(q2=1.6))
    out = tmp_path / "out"
    done = robodyn("stiffness", desk / RUN.name, "--out", out)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_map_task_and_path_come_with_the_run(desk, tmp_path, capsys):
    result = identify_stiffness(read_yaml(desk / RUN.name, StiffnessFile), desk)
    write_stiffness(result, tmp_path / "out")
    for name in ("deviations.csv", "deviations.html", "deviations.svg", "task.svg", "corrected.csv", "correction.svg"):
        assert (tmp_path / "out" / name).stat().st_size > 100
    page = (tmp_path / "out" / "stiffness.html").read_text()
    for words in ("Deviations over the workspace", "Stiffest orientation", "Corrected path", "SIMULATED robot"):
        assert words in page
    print_stiffness(result, tmp_path)
    printed = capsys.readouterr().out
    assert "SIMULATED measurements" in printed
    assert "lowers its rms deviation by" in printed
    assert result.correction is not None
    assert result.correction.remaining_share < 0.1


def test_a_stiffness_without_upper_bound_is_null_and_infinite_in_words(desk, tmp_path):
    result = found(
        desk, use=[1], prior={"stiffness": dict.fromkeys([f"m{i}" for i in range(1, 7)], 1e6), "spread": 0.9}
    )
    write_stiffness(result, tmp_path / "out")
    rows = json.loads((tmp_path / "out" / "result.json").read_text(), parse_constant=pytest.fail)["stiffness"]
    assert any(row["high"] is None for row in rows)
    assert "∞" in (tmp_path / "out" / "stiffness.html").read_text()


def test_axes_in_which_the_forces_would_fit_are_named(desk):
    tool = {"frame": "link6", "at": [0.3, 0, -0.2]}
    springs = springs_in(load("irb6660"), Tool.model_validate(tool))
    q = np.array([[0.5, 0, 0.3, 0.3, 0.4, 0.2], [-0.5, 0.2, 0.4, -0.4, 0.3, 0.1], [0.6, -0.1, 0.2, 0.2, -0.5, -0.4]])
    force = np.array([[0, 300.0, 0], [300, 0, 0], [0, 0, 300]])
    m = simulate_measurements(springs, "m", q, force, TRUTH, 5e-6, 1)
    turn = pose_kinematics(springs, coordinates_of(springs, q)).rotation
    path = desk / FOLDER.name / "measurements.csv"
    write_measurements(path, replace(m, force=np.einsum("nji,nj->ni", turn, force)), springs.robot, "SIMULATED")
    result = found(desk, tool=tool, validation=None, campaigns={})
    assert not result.accepted
    assert "forces in the axes of frame 'link6' would fit" in result.complaints[0]
    assert found(desk, tool=tool, validation=None, campaigns={}, force_frame="link6").accepted


def test_ellipsoid_in_compliance_holds_truths_drawn_from_a_wide_prior(desk):
    """A small version of the study, linear model; 200 campaigns tell 95 % within 4.6 % (three standard deviations)."""
    example = found(desk, validation=None, campaigns={}, samples=100)
    e, springs, rng = example.estimate, example.springs, np.random.default_rng(5)
    at, force = unloaded_poses(e.measurements, springs), e.measurements.force
    model, hits, n = deviation_function(springs, at, force, "compliance", "linear"), 0, 200
    for _ in range(n):
        while (truth := rng.normal(e.prior.mean, e.prior.deviations)).min() <= 0:
            pass
        z = model(truth)[0]
        z = z + rng.normal(0, 5e-6, z.shape)
        hits += bool(infer(model, Observed(z, np.full(z.shape, 5e-6), e.prior)).inside(truth))
    assert abs(hits / n - 0.95) < 3 * np.sqrt(0.95 * 0.05 / n)
