"""The command from measured points to a calibrated robot, and what it says of bad ones."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.calibration.calibration import Calibration, calibrate
from robodyn_pin.calibration.calibration_file import CalibrationFile
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, possible_errors
from robodyn_pin.calibration.geometry_fit import Z95
from robodyn_pin.calibration.pose_design import PosesFile, design_poses
from robodyn_pin.calibration.simulated_points import columns_of_observations, simulate_observations
from robodyn_pin.calibration.targets import COLUMNS, TargetSpec
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.errors import BadFile, BadLog, ClosureFailed, RobodynError, UnknownName
from robodyn_pin.output.calibration import held_out_columns, held_out_table

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN, FOLDER = EXAMPLES / "irb360_calibration.yaml", EXAMPLES / "irb360_calibration"
NOISE = 2e-5  # [m]


@pytest.fixture
def desk(tmp_path) -> Path:
    shutil.copy(RUN, tmp_path)
    shutil.copytree(FOLDER, tmp_path / FOLDER.name)
    return tmp_path


def found(desk: Path, **changes: object) -> Calibration:
    """The example with changes."""
    return calibrate(CalibrationFile.model_validate(yaml.safe_load((desk / RUN.name).read_text()) | changes), desk)


def rewrite(desk: Path, **columns: pl.Expr) -> None:
    """Change the points."""
    path = desk / FOLDER.name / "points.csv"
    table = pl.read_csv(path, comment_prefix="#").with_columns(**columns)
    path.write_text("# SIMULATED\n" + table.write_csv())


def rms(off: dict[str, np.ndarray]) -> float:
    return float(np.sqrt(np.nanmean(np.concatenate([x.ravel() for x in off.values()]) ** 2)))


def test_the_example_reaches_the_noise_and_writes_a_robot_that_loads(robodyn, tmp_path):
    done = robodyn("calibrate", RUN, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "result.json").read_text())
    assert result["accepted"] is result["simulated"] is True
    for row in result["held_out"]:
        assert row["rms_before"] > 5 * row["noise"]
        assert row["rms_after"] < 2 * row["noise"]
    page = (tmp_path / "calibration.html").read_text()
    assert not re.search(r'(?:src|href)="(?:https?:|//)', page)
    assert "SIMULATED" in page
    assert page.count("<svg") == 2  # where the errors point, and their sizes
    assert page.count("<iframe") == 1  # the same in space, beside the robot
    robot, drawn = rp.load(tmp_path / "irb360_calibrated.yaml"), rp.load("irb360")
    c = np.array([[0.1, 0.2, -0.1, 0.0]])
    moved = rp.forward_kinematics(robot, c, "end_effector") - rp.forward_kinematics(drawn, c, "end_effector")
    assert 1e-5 < np.abs(moved[0, :3, 3]).max() < 1e-2
    assert np.abs(rp.gravity(robot, c) - rp.gravity(drawn, c)).max() < 1.0  # it has its dynamics, a little different
    assert not np.array_equal(rp.gravity(robot, c), rp.gravity(drawn, c))


def test_the_written_robot_is_where_the_machine_is_and_knows_how_sure_that_is(tmp_path):
    """Against the machine that was simulated: places where nothing was measured, and the intervals of its errors."""
    robot = rp.load("irb360")
    targets = {
        f"r{k}": TargetSpec(frame="end_effector", at=at)
        for k, at in enumerate(((0.1, 0, 0), (-0.05, 0.08, 0), (0, -0.08, 0.03)))
    }
    errors = possible_errors(robot, robot.motors.names, targets, ["offsets", "joints", "closures"], Tolerances())
    rng = np.random.default_rng(11)
    machine = ErringRobot(robot, errors, targets)
    e = rng.normal(size=len(errors)) * [error.tolerance for error in errors]
    seen = simulate_observations(machine, e, 0.1 + rng.uniform(-0.4, 0.4, (80, 4)), rng)
    columns = columns_of_observations(machine, seen, COLUMNS)
    pl.DataFrame(columns).write_csv(tmp_path / "points.csv")
    run = CalibrationFile(
        robot="irb360", measurements=Path("points.csv"), targets=targets, calibrate=["offsets", "joints", "closures"]
    )
    fit = calibrate(run, tmp_path)
    assert fit.accepted
    c = 0.1 + rng.uniform(-0.4, 0.4, (50, 4))
    truth = machine.predict(e, c, machine.nominal(c), slopes=False).places["r0"][:, :3, 3]
    place = rp.forward_kinematics(fit.calibrated, c, "end_effector") @ [0.1, 0, 0, 1.0]
    assert np.sqrt(((place[:, :3] - truth) ** 2).mean()) < 1.5 * NOISE
    values = dict(zip([error.name for error in errors], e, strict=True))
    inside = [
        abs(x - values[err.name]) < Z95 * s
        for err, x, s in zip(fit.robot.errors, fit.fit.e, fit.fit.deviations, strict=True)
    ]
    assert 0.85 < np.mean(inside) <= 1  # of some 80 errors that depend on each other; the study has 20 seeds


def test_lengths_and_angles_of_a_pose_are_told_apart(tmp_path):
    robot, targets = rp.load("irb360"), {"tool": TargetSpec(kind="pose", frame="end_effector", sigma_angle=5e-4)}
    machine = ErringRobot(
        robot, possible_errors(robot, robot.motors.names, targets, ["offsets"], Tolerances()), targets
    )
    rng = np.random.default_rng(3)
    seen = simulate_observations(machine, np.full(4, 2e-3), 0.1 + rng.uniform(-0.4, 0.4, (60, 4)), rng)
    pl.DataFrame(columns_of_observations(machine, seen, COLUMNS)).write_csv(tmp_path / "points.csv")
    run = CalibrationFile(robot="irb360", measurements=Path("points.csv"), targets=targets, calibrate=["offsets"])
    fit = calibrate(run, tmp_path)
    place, turn = held_out_table(fit)
    assert (place["target"], place["unit"], turn["target"], turn["unit"]) == (
        "tool position",
        "m",
        "tool orientation",
        "rad",
    )
    assert place["rms_after"] == pytest.approx(np.sqrt(3) * NOISE, rel=0.4)  # of 15 poses, 45 numbers
    assert turn["rms_after"] == pytest.approx(np.sqrt(3) * 5e-4, rel=0.4)
    columns = held_out_columns(fit)
    assert [name for name in columns if name.endswith("_after")] == [f"tool_{x}_after" for x in COLUMNS["pose"]]
    squares = sum(columns[f"tool_{x}_after"] ** 2 for x in ("rx", "ry", "rz"))
    assert turn["rms_after"] == pytest.approx(np.sqrt(squares.mean()), rel=1e-12)


def test_outliers_are_counted_and_do_not_bend_the_geometry(desk):
    rewrite(desk, r1_x=pl.col("r1_x") + pl.when(pl.int_range(pl.len()) % 27 == 5).then(5e-3).otherwise(0.0))
    fit = found(desk)
    assert fit.fit.outliers == 3
    assert rms({k: np.where(np.abs(x) < 1e-3, x, np.nan) for k, x in fit.after.items()}) < 2 * NOISE


def test_cells_that_were_not_measured_are_left_empty(desk):
    rewrite(desk, r2_y=pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("r2_y")))
    fit = found(desk)
    assert np.isnan(fit.fitted.values["r2"]).all(axis=1).sum() > 10
    assert rms(fit.after) < 2 * NOISE


def test_millimetres_can_be_said(desk):
    expected = found(desk).fit.e
    rewrite(desk, **{f"r{k}_{x}": 1e3 * pl.col(f"r{k}_{x}") for k in (1, 2, 3) for x in "xyz"})
    np.testing.assert_allclose(found(desk, units={"length": "mm"}).fit.e, expected, atol=1e-8)


def test_a_ball_bar_a_touched_plane_and_a_passive_encoder_improve_what_they_do_not_see(tmp_path):
    """No tracker: one end of a bar, a table below and an encoder at a passive joint."""
    robot = rp.load("irb360")
    targets = {
        "bar": TargetSpec(kind="distance", frame="platform", at=(0.02, 0, 0), to=(0.5, 0.3, -0.2)),
        "table": TargetSpec(kind="plane", frame="platform", normal=(0, 0, 1)),
        "elbow": TargetSpec(kind="encoder", joint="strut_1a_y", sigma=2e-5),
    }
    errors = possible_errors(robot, robot.motors.names, targets, ["offsets", "tool"], Tolerances(angle=3))
    rng = np.random.default_rng(2)
    machine = ErringRobot(robot, errors, targets)
    e = rng.normal(size=len(errors)) * [error.tolerance for error in errors]
    seen = simulate_observations(machine, e, rng.uniform(-0.4, 0.6, (60, 4)), rng)
    pl.DataFrame(columns_of_observations(machine, seen, COLUMNS)).write_csv(tmp_path / "points.csv")
    run = CalibrationFile(
        robot="irb360",
        measurements=Path("points.csv"),
        targets=targets,
        calibrate=["offsets", "tool"],
        tolerances=Tolerances(angle=3),
    )
    fit = calibrate(run, tmp_path)
    assert fit.accepted
    values = dict(zip([error.name for error in errors], e, strict=True))
    off = {error.name: abs(x - values[error.name]) for error, x in zip(fit.robot.errors, fit.fit.e, strict=True)}
    for k in (1, 2, 3):
        assert off[f"phi{k} offset"] < 0.1 * 3e-3


def test_too_small_tolerances_are_not_accepted(robodyn, desk):
    text = (desk / RUN.name).read_text().replace("length: 0.5, angle: 1", "length: 0.02, angle: 0.02")
    (desk / RUN.name).write_text(text)
    done = robodyn("calibrate", desk / RUN.name, "--out", desk / "out")
    assert done.returncode == 3, done.stderr
    assert "NOT ACCEPTED: the fitted poses contradict the geometry" in done.stdout
    assert "NOT ACCEPTED" in (desk / "out" / "calibration.html").read_text()


MM = {f"r{k}_{x}": 1e3 * pl.col(f"r{k}_{x}") for k in (1, 2, 3) for x in "xyz"}
SWAPPED = {f"r{a}_{x}": pl.col(f"r{b}_{x}") for a, b in ((1, 2), (2, 1)) for x in "xyz"}


@pytest.mark.parametrize(
    ("columns", "changes", "kind", "words"),
    [
        (MM, {}, BadLog, "in millimetres, expected metres"),
        ({}, {"units": {"length": "mm"}}, BadLog, "in metres, and the run file says millimetres"),
        (SWAPPED, {}, BadLog, "'r1' and 'r2' seem to be swapped"),
        ({"phi1": pl.col("phi1") + 2.5}, {}, ClosureFailed, "of points.csv"),
        ({"phi1": pl.col("phi2"), "phi2": pl.col("phi1")}, {}, BadLog, "order and units of the coordinates"),
        ({"r2_y": pl.lit(None, pl.Float64)}, {}, BadLog, "nothing was measured of 'r2'"),
        ({"psi": pl.lit("x")}, {}, BadLog, "'psi' is not a number"),
        ({"r1_x": pl.lit("1,2O")}, {}, BadLog, "'r1_x' is not a number in 80 rows"),
        ({x: pl.col(x) * 180 / np.pi for x in ("phi1", "phi2", "phi3", "psi")}, {}, BadLog, "in degrees, expected rad"),
        ({"phi1": pl.col("phi1") + pl.when(pl.int_range(pl.len()) == 5).then(2.5).otherwise(0.0)}, {}, BadLog, "pose 6 of points.csv lies .* the others"),
        ({}, {"calibrate": ["offsets", "base", "x ry"]}, BadFile, "names 'x ry', which moves nothing that is measured"),
        ({}, {"calibrate": ["offset"]}, UnknownName, "did you mean 'offsets'"),
        ({}, {"calibrate": ["lengths"]}, BadFile, "none of the errors lengths"),
        ({}, {"calibrate": ["base", "tool"]}, BadFile, "no error of the robot itself"),
        ({}, {"targets": {"r1": {"frame": "nowhere"}}}, UnknownName, "'nowhere'"),
        ({}, {"targets": {"r9": {"frame": "platform"}}}, UnknownName, "'r9_x'"),
        ({}, {"calibrate": ["offsets", "joints"]}, BadLog, "add base to calibrate"),
        ({}, {"held_out": 0.98}, BadLog, "expected at least"),
        ({}, {"columns": {"r9_x": 3}}, UnknownName, "'r9_x'"),
        ({}, {"columns": {"r1_x": 30}}, BadLog, "from column 30, expected 1 to 13"),
        ({}, {"columns": {"r1_x": "r1_y"}}, BadLog, "are read from one column"),
        ({}, {"targets": {"r1": {"kind": "encoder", "joint": "elbow"}}}, UnknownName, "'elbow'"),
        ({}, {"path": {"file": "irb360_calibration/points.csv", "frame": "hand"}}, UnknownName, "'hand'"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_one_sentence(desk, columns, changes, kind, words):
    if columns:
        rewrite(desk, **columns)
    with pytest.raises(kind, match=words) as caught:
        found(desk, **changes)
    assert isinstance(caught.value, RobodynError)
    assert "\n" not in str(caught.value)


def test_nothing_is_written_when_the_input_is_bad(robodyn, desk):
    rewrite(desk, **MM)
    done = robodyn("calibrate", desk / RUN.name, "--out", desk / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("robodyn: points.csv: the points spread")
    assert not (desk / "out").exists()


def test_designed_poses_are_better_than_all_random_ones_and_lie_within_the_limits(robodyn, tmp_path):
    done = robodyn("design", EXAMPLES / "irb360_poses.yaml", "--for", "calibration", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["better_than"] == result["random_sets"] == 500
    assert result["rank"] == 61  # as many combinations as the fitted poses of the other example show
    poses = pl.read_csv(tmp_path / "poses.csv", comment_prefix="#")
    assert poses.columns == ["phi1", "phi2", "phi3", "psi"]
    assert len(poses) == 30
    robot = rp.load("irb360")
    check_positions(robot, robot.at_rest(poses.to_numpy()).q, str)


def test_the_criteria_of_a_design_are_what_they_say():
    """Against the information of the poses that were chosen, worked out here."""
    targets = {"r": TargetSpec(frame="rod_1_end")}
    for criterion in ("D", "E"):
        run = PosesFile(
            robot="fivebar",
            targets=targets,
            poses=8,
            calibrate=["offsets", "joints"],
            criterion=criterion,
            candidates=60,
            random=20,
        )
        found = design_poses(run, Path())
        robot = found.robot
        c = found.c
        slopes = (
            robot.predict(np.zeros(len(robot.errors)), c, robot.nominal(c)).slopes["r"].reshape(-1, len(robot.errors))
        )
        A = slopes / NOISE * [error.tolerance for error in robot.errors]
        eigenvalues = np.sort(np.linalg.eigvalsh(np.eye(A.shape[1]) + A.T @ A))[::-1][: found.rank]
        expected = 0.5 * np.log(eigenvalues).sum() if criterion == "D" else np.sqrt(eigenvalues[-1])
        assert found.value == pytest.approx(expected, rel=1e-6)
        assert found.better == 20
        left = np.sqrt(np.diag(np.linalg.inv(np.eye(A.shape[1]) + A.T @ A)))
        np.testing.assert_allclose(found.remaining, left, rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"ranges": {"phi9": (0, 1)}}, UnknownName, "'phi9'"),
        ({"ranges": {"phi1": (1, 0)}}, BadFile, "leaves no room"),
        ({"ranges": {"phi1": (2.5, 2.6)}}, BadFile, "random poses of 'irb360' close within its limits"),
    ],
)
def test_a_design_without_poses_is_told(changes, kind, words):
    run = PosesFile(robot="irb360", targets={"r": TargetSpec(frame="end_effector")}, candidates=30, **changes)
    with pytest.raises(kind, match=words):
        design_poses(run, Path())
