"""Springs in the drives of a calibrated robot: closed forms of one joint, slopes, statics, what is found, what is said of bad input."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.calibration.calibrated import calibrated_texts
from robodyn_pin.calibration.calibration import Calibration, calibrate
from robodyn_pin.calibration.calibration_file import CalibrationFile
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, possible_errors
from robodyn_pin.calibration.geometry_fit import Z95
from robodyn_pin.calibration.measured_loads import DriveSpringsSpec, MeasuredLoadSpec, read_loads
from robodyn_pin.calibration.simulated_points import columns_of_observations, simulate_observations
from robodyn_pin.calibration.targets import COLUMNS, TargetSpec
from robodyn_pin.calibration.yielding_drives import YieldingDrives
from robodyn_pin.errors import BadFile, BadLog, RobodynError, UnknownName
from robodyn_pin.files import parse_yaml
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN, FOLDER = EXAMPLES / "irb6660_calibration.yaml", EXAMPLES / "irb6660_calibration"
NOISE = 2e-5  # [m]
AHEAD = np.array([0, 0.3, 0, 0, 0, 0])  # [rad] where the arm moves freely


def arm(axis: str, kind: str = "revolute") -> Robot:
    urdf = (
        f'<robot name="arm"><link name="base"/><link name="arm"><inertial><origin xyz="0.4 0 0"/><mass value="5"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="turn" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="{axis}"/>'
        '<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>'
    )
    return build("arm", RobotFile.model_validate({"urdf": "a.urdf"}), urdf, Path("a.urdf"))


def springy(robot: Robot, k: float, frame: str, weight: bool, groups: list[str]) -> ErringRobot:
    """The robot with springs of k in all drives, loads at (0.2, 0, 0.3) of a frame, and the errors that its loops allow."""
    robot = robot.with_coordinates(robot.motors.names)
    targets = {"end": TargetSpec(frame=frame, at=(0.7, 0, 0)), "pose": TargetSpec(kind="pose", frame=frame)}
    errors = possible_errors(robot, robot.coordinates.names, targets, groups, Tolerances(), springs=True)
    drives = YieldingDrives(np.full(len(robot.coordinates.names), k), frame, (0.7, 0.0, 0.0), weight)
    found = ErringRobot(robot, errors, targets, drives=drives)
    c = (robot.coordinates.S @ robot.home + robot.coordinates.offset)[None]
    fine = found.rigid().contradictions(np.zeros(len(errors)), c, found.nominal(c)) < 1e-7
    return found.with_errors([error for error, good in zip(errors, fine, strict=True) if good])


def test_one_joint_yields_by_its_moment_over_its_stiffness():
    robot = springy(arm("0 0 1"), 2e3, "arm", False, ["stiffness"])
    c, wrench = np.array([[0.3], [-0.5]]), np.zeros((2, 6))
    wrench[:, 5] = 20.0, -8.0
    rest, slopes = robot.settled(np.zeros(1), c, c, wrench)
    np.testing.assert_allclose(rest.x[:, 0] - c[:, 0], [0.01, -0.004], atol=1e-15)
    np.testing.assert_allclose(
        slopes[:, 0, 0], [-0.01, 0.004], atol=1e-15
    )  # of a logarithm: e times as stiff, 1/e as far
    stiffer, _ = robot.settled(np.array([np.log(2.0)]), c, c, wrench)
    np.testing.assert_allclose(stiffer.x[:, 0] - c[:, 0], [0.005, -0.002], atol=1e-15)


@pytest.mark.parametrize(
    ("k", "force"), [(500.0, 30.0), (530.0, 100.0)]
)  # the latter yields nearly as far as drives may
def test_one_joint_turns_until_force_and_weight_balance_its_spring(k, force):
    robot = springy(arm("0 -1 0"), k, "arm", True, ["stiffness"])
    c, wrench = np.linspace(-1, 1, 5)[:, None], np.tile([0.0, 0, force, 0, 0, 0], (5, 1))
    rest, _ = robot.settled(np.zeros(1), c, c, wrench)
    x = rest.x[:, 0]
    lift = (force * 0.7 - 5 * 9.81 * 0.4) * np.cos(x)  # turning up is positive
    np.testing.assert_allclose(k * (x - c[:, 0]), lift, atol=1e-10)
    assert np.abs(x - c[:, 0]).max() > 1e-3


def test_a_sliding_drive_yields_by_force_over_stiffness():
    robot = springy(arm("1 0 0", "prismatic"), 1e5, "arm", False, ["stiffness"])
    c = np.array([[0.2]])
    rest, _ = robot.settled(np.zeros(1), c, c, np.array([[300.0, 50, 0, 0, 9, 0]]))
    assert rest.x[0, 0] - 0.2 == pytest.approx(3e-3, abs=1e-15)


@pytest.mark.parametrize(
    ("name", "frame", "k"),
    [("irb6660", "flange", 1e6), ("irb2400", "flange", 1e6), ("delta3", "platform", 2e4), ("hexapod", "platform", 1e7)],
)
def test_slopes_under_load_are_those_of_finite_differences(name, frame, k):
    groups = ["offsets", "gears", "joints", "closures", "base", "tool", "stiffness"]
    robot = springy(rp.load(name), k, frame, True, groups)
    rng = np.random.default_rng(4)
    centre = robot.robot.coordinates.S @ robot.robot.home + robot.robot.coordinates.offset
    c = centre + rng.uniform(-0.05, 0.05, (3, len(centre)))
    tolerance = np.array([error.tolerance for error in robot.errors])
    e, wrench = 0.5 * rng.normal(size=len(tolerance)) * tolerance, rng.normal(size=(3, 6)) * ([200] * 3 + [50] * 3)
    found = robot.predict(e, c, robot.nominal(c), wrench=wrench)
    rigid = robot.rigid().predict(e, c, found.q)
    assert np.abs(rigid.values["end"] - found.values["end"]).max() > 1e-5  # the springs do yield
    for _ in range(3):
        way = rng.normal(size=len(tolerance)) * tolerance / np.sqrt(len(tolerance))
        h = 0.5

        def at(step: float, way: np.ndarray = way) -> np.ndarray:
            return robot.predict(e + step * way, c, found.q, slopes=False, wrench=wrench).values["end"]

        difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        assert np.abs(difference).max() > 1e-4
        np.testing.assert_allclose(found.slopes["end"] @ way, difference, atol=1e-11)


def test_what_springs_carry_is_what_the_written_robot_asks_of_its_motors():
    """The balance of springs against the torques of the ordinary statics, on the robot that is written to files."""
    robot = springy(rp.load("irb6660"), 1e6, "flange", True, ["offsets", "joints", "closures", "stiffness"])
    rng = np.random.default_rng(5)
    tolerance = np.array([error.tolerance for error in robot.errors])
    e, c = rng.normal(size=len(tolerance)) * tolerance, rng.uniform(-0.3, 0.3, (4, 6)) + AHEAD
    wrench = np.zeros((4, 6))
    wrench[:, :3] = rng.normal(size=(4, 3)) * 300
    rest, _ = robot.settled(e, c, robot.nominal(c), wrench)
    true, _ = robot.coordinates(e, c)
    built = calibrated_texts(robot, e, simulated=True)[2]
    at = c + rest.x - true
    lever = rp.forward_kinematics(built, at, "flange")[:, :3, :3] @ [0.7, 0, 0]
    load = np.concatenate([wrench[:, :3], np.cross(lever, wrench[:, :3])], axis=1)
    tau = rp.inverse_dynamics(built, at, 0 * at, 0 * at, rp.Wrench("flange", load))
    stiffness = 1e6 * np.exp(
        [value for error, value in zip(robot.errors, e, strict=True) if error.group == "stiffness"]
    )
    np.testing.assert_allclose(-stiffness * (rest.x - true), tau, atol=1e-8)
    assert np.abs(tau).max() > 300


@pytest.fixture
def desk(tmp_path) -> Path:
    shutil.copy(RUN, tmp_path)
    shutil.copytree(FOLDER, tmp_path / FOLDER.name)
    return tmp_path


def found(desk: Path, **changes: object) -> Calibration:
    """The example with changes."""
    content = {
        key: value
        for key, value in (yaml.safe_load((desk / RUN.name).read_text()) | changes).items()
        if value is not None
    }
    return calibrate(parse_yaml(yaml.safe_dump(content), CalibrationFile, RUN.name), desk)


def rewrite(desk: Path, *drop: str, **columns: pl.Expr) -> None:
    """Change the points."""
    path = desk / FOLDER.name / "points.csv"
    table = pl.read_csv(path, comment_prefix="#").with_columns(**columns).drop(drop)
    path.write_text("# SIMULATED\n" + table.write_csv())


def test_geometry_and_stiffness_come_out_together(robodyn_here, tmp_path):
    done = robodyn_here("calibrate", RUN, "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    for row in result["held_out"]:
        assert row["rms_before"] > 10 * row["noise"]
        assert row["rms_after"] < 2 * row["noise"]
    assert [row["drive"] for row in result["stiffness"]] == ["m1", "m2", "m3", "m4", "m5", "m6"]
    for row in result["stiffness"]:
        assert row["low"] < row["stiffness"] < row["high"]
    assert result["stiffness"][0]["remaining"] < 0.1
    page = (tmp_path / "calibration.html").read_text()
    assert not re.search(r'(?:src|href)="(?:https?:|//)', page)
    assert page.count("<svg") == 4  # where the errors point and their sizes, of free and of loaded poses
    assert "under load" in page
    carried = pl.read_csv(tmp_path / "carried.csv", comment_prefix="#")
    assert (carried["m2_standard_deviation"] > 0).all()
    assert (carried["m2_calibrated"] - carried["m2_drawn"]).abs().max() > 1  # [N m]
    corrected = result["corrected"]["largest"]
    assert corrected["uncorrected_length"] > 1e-3
    assert corrected["left_length"] < 1e-12  # by the balance of springs and forces at what is commanded
    again = robodyn_here("stiffness", _stiffness_run(tmp_path), "--json")
    assert again.returncode == 0, again.stderr
    assert [row["spring"] for row in json.loads(again.stdout)["stiffness"]] == [
        row["drive"] for row in result["stiffness"]
    ]


def _stiffness_run(folder: Path) -> Path:
    """The example of `stiffness` on the calibrated robot."""
    shutil.copytree(EXAMPLES / "irb6660_stiffness", folder / "irb6660_stiffness")
    run = yaml.safe_load((EXAMPLES / "irb6660_stiffness.yaml").read_text()) | {"robot": "irb6660_calibrated.yaml"}
    path = folder / "stiffness.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in run.items() if key not in ("map", "task", "path")}))
    return path


def test_a_simulated_machine_is_found_again(tmp_path):
    """Against the machine: places under loads that were not measured, and the intervals of its springs."""
    drawn = springy(rp.load("irb6660"), 1e6, "flange", True, ["offsets", "stiffness"])
    targets = {
        f"r{k}": TargetSpec(frame="flange", at=at)
        for k, at in enumerate(((0.1, 0, 0), (-0.05, 0.08, 0), (0, -0.08, 0.03)))
    }
    machine = ErringRobot(drawn.robot, drawn.errors, targets, drives=drawn.drives)
    rng = np.random.default_rng(2)
    e = rng.normal(size=len(machine.errors)) * [error.tolerance for error in machine.errors]
    c, wrench = rng.uniform(-0.4, 0.4, (44, 6)) + AHEAD, np.zeros((44, 6))
    wrench[1::2, :3] = 400 * rng.normal(size=(22, 3))
    seen = simulate_observations(machine, e, c, rng, wrench)
    pl.DataFrame(columns_of_observations(machine, seen, COLUMNS)).write_csv(tmp_path / "points.csv")
    names = machine.robot.coordinates.names
    fit = calibrate(
        CalibrationFile(
            robot="irb6660", measurements=Path("points.csv"), targets=targets, calibrate=["offsets", "stiffness"],
            drives=DriveSpringsSpec(stiffness=dict.fromkeys(names, 1e6)), load=MeasuredLoadSpec(frame="flange", at=(0.7, 0, 0)),
        ),
        tmp_path,
    )  # fmt: skip
    assert fit.accepted
    new, push = rng.uniform(-0.4, 0.4, (30, 6)) + AHEAD, np.zeros((30, 6))
    push[:, :3] = 300 * rng.normal(size=(30, 3))
    start = machine.nominal(new)
    there = machine.predict(e, new, start, slopes=False, wrench=push).places["r0"][:, :3, 3]
    said = fit.robot.predict(fit.fit.e, new, start, slopes=False, wrench=push).places["r0"][:, :3, 3]
    stiff = fit.robot.rigid().predict(fit.fit.e, new, start, slopes=False).places["r0"][:, :3, 3]
    assert np.sqrt(((said - there) ** 2).mean()) < NOISE
    assert np.sqrt(((stiff - there) ** 2).mean()) > 10 * NOISE
    values = dict(zip([error.name for error in machine.errors], e, strict=True))
    off = [
        (x - values[error.name]) / s
        for error, x, s in zip(fit.robot.errors, fit.fit.e, fit.fit.deviations, strict=True)
    ]
    assert len(off) == 12
    assert np.mean(np.abs(off) < Z95) >= 0.75
    assert np.abs(off).max() < 4
    left = {error.name: s / error.tolerance for error, s in zip(fit.robot.errors, fit.fit.deviations, strict=True)}
    assert max(left[f"m{k} stiffness"] for k in (1, 2, 3)) < 0.1  # those of the arm, on which forces have long levers


@pytest.mark.parametrize(
    ("drop", "columns", "changes", "error", "said"),
    [
        ((), {"fx": pl.col("fx") / 1e3, "fy": pl.col("fy") / 1e3, "fz": pl.col("fz") / 1e3}, {}, BadLog, r"forces are in kN, expected N"),
        ((), {"fx": -pl.col("fx"), "fy": -pl.col("fy"), "fz": -pl.col("fz")}, {}, BadLog, r"against its loads"),
        ((), {}, {"units": {"force": "kN"}}, RobodynError, r"spring of 'm\d' would yield by .* pose \d+, expected less than 0.1: are forces in N"),
        (("fz",), {}, {}, BadLog, r"without its direction: it has fx, fy and no fz"),
        (("fx", "fy", "fz", "mx", "my", "mz"), {}, {}, BadLog, r"no columns fx, fy, fz \[N\] or mass \[kg\]"),
        ((), {"fy": pl.when(pl.int_range(pl.len()) == 4).then(None).otherwise(pl.col("fy"))}, {}, BadLog, r"fy is empty in 1 rows, first at line 7"),
        ((), {"mass": pl.lit(-1.0)}, {}, BadLog, r"a mass of -1 kg"),
        ((), {}, {"drives": {"stiffness": {"m1": 0.0}}}, BadFile, r"m1.*greater than 0"),
        ((), {}, {"drives": {"stiffness": {"m1": 2e6}}}, BadFile, r"says nothing of m2, m3, m4, m5, m6"),
        ((), {}, {"drives": {"stiffness": {"q1": 2e6}}}, UnknownName, r"'q1'"),
        ((), {}, {"load": {"frame": "nose"}}, UnknownName, r"'nose'"),
        ((), {}, {"load": None}, BadFile, r"add 'load: \{frame"),
        ((), {}, {"load": None, "drives": None}, BadFile, r"says nothing of springs"),
    ],
)  # fmt: skip
def test_bad_loads_are_told_in_one_sentence(desk, drop, columns, changes, error, said):
    rewrite(desk, *drop, **columns)
    with pytest.raises(error, match=said) as told:
        found(desk, **changes)
    assert "\n" not in str(told.value)


def test_a_stiffness_that_no_load_shows_is_told_by_name(desk):
    free = {name: pl.lit(0.0) for name in ("fx", "fy", "fz")}
    rewrite(desk, **free)
    springs = yaml.safe_load(RUN.read_text())["drives"]
    with pytest.raises(BadFile, match="nothing shows m1 stiffness, m2 stiffness"):
        found(desk, drives=springs | {"weight": False})
    with pytest.raises(
        BadFile, match="'m1 stiffness', which is twisted by no load"
    ):  # weight twists the others, not an upright axis
        found(desk, calibrate=["offsets", "base", "tool", "m1 stiffness"])


def test_forces_may_be_along_the_flange_or_a_weight(desk):
    """The same loads said in three ways."""
    robot = rp.load("irb6660")
    robot = robot.with_coordinates(robot.motors.names)
    path = desk / FOLDER.name / "points.csv"
    table = pl.read_csv(path, comment_prefix="#")
    q = ErringRobot(robot, (), {}).nominal(table.select(robot.motors.names).to_numpy())
    said = read_loads(path, MeasuredLoadSpec(frame="flange"), robot, q, 1.0)
    np.testing.assert_array_equal(said[:, :3], table.select("fx", "fy", "fz").to_numpy())
    c = q @ robot.coordinates.S.T + robot.coordinates.offset
    turn = rp.forward_kinematics(robot, c, "flange")[:, :3, :3]
    own = np.einsum("nji,nj->ni", turn, said[:, :3])
    rewrite(desk, fx=pl.Series(own[:, 0]), fy=pl.Series(own[:, 1]), fz=pl.Series(own[:, 2]))
    np.testing.assert_allclose(
        read_loads(path, MeasuredLoadSpec(frame="flange", axes="flange"), robot, q, 1.0), said, atol=1e-9
    )
    rewrite(desk, "fx", "fy", "fz", "mx", "my", "mz", mass=pl.lit(20.0))
    hung = read_loads(path, MeasuredLoadSpec(frame="flange"), robot, q, 1.0)
    np.testing.assert_allclose(hung, np.tile([0, 0, -20 * 9.81, 0, 0, 0], (len(q), 1)))
