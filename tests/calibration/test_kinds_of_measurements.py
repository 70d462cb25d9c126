"""Each kind of measurement by the command, and none but the closure itself; files as trackers' users have them."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.calibration.calibration_file import CalibrationFile
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, possible_errors
from robodyn_pin.calibration.simulated_points import columns_of_observations, simulate_observations
from robodyn_pin.calibration.targets import COLUMNS, TargetSpec
from robodyn_pin.robot.robot import Robot

EXAMPLES = Path(__file__).parents[2] / "examples"
KINDS: dict[str, dict] = {
    "reflectors": {"r1": {"frame": "end_effector", "at": [0.1, 0, 0]}, "r2": {"frame": "end_effector", "at": [0, 0.1, 0]}},
    "pose": {"tool": {"kind": "pose", "frame": "end_effector"}},
    "ball bar": {"bar": {"kind": "distance", "frame": "platform", "at": [0.02, 0, 0], "to": [0.5, 0.3, -0.2]}},
    "plane": {"table": {"kind": "plane", "frame": "platform", "normal": [0, 0.1, 1]}},
    "passive encoders": {
        "elbow": {"kind": "encoder", "joint": "strut_1a_y", "sigma": 2e-5}, "rod": {"kind": "encoder", "joint": "ext", "sigma": 2e-5},
    },
}  # fmt: skip


def simulated(
    robot: Robot, targets: dict[str, TargetSpec], groups: list[str], c: np.ndarray, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Columns of a file of a machine with errors, and these by name."""
    errors = possible_errors(robot, robot.coordinates.names, targets, groups, Tolerances())
    machine = ErringRobot(robot, errors, targets)
    fine = machine.contradictions(np.zeros(len(errors)), c[:5], machine.nominal(c[:5])) < 1e-9
    machine = machine.with_errors([error for error, good in zip(errors, fine, strict=True) if good])
    e = rng.normal(size=len(machine.errors)) * [error.tolerance for error in machine.errors]
    seen = simulate_observations(machine, e, c, rng)
    names = [error.name for error in machine.errors]
    return columns_of_observations(machine, seen, COLUMNS), dict(zip(names, e.tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_measurement_works_by_the_command_with_units_and_outliers(robodyn, tmp_path, kind):
    """In millimetres and degrees, three of 60 numbers wrong: encoders' offsets come out where this kind shows them."""
    targets = {name: TargetSpec.model_validate(spec) for name, spec in KINDS[kind].items()}
    robot, rng = rp.load("irb360"), np.random.default_rng(2)
    c = rng.uniform(-0.4, 0.6, (60, 4))
    columns, truth = simulated(robot, targets, ["offsets"], c, rng)
    first = next(name for name in columns if name.startswith(next(iter(targets))))
    columns[first] = columns[first] + np.where(np.arange(60) % 20 == 7, 5e-3, 0.0)
    degrees = {*robot.motors.names, "elbow_angle", *(f"tool_r{axis}" for axis in "xyz")}
    columns = {name: np.degrees(x) if name in degrees else 1e3 * x for name, x in columns.items()}
    pl.DataFrame(columns).write_csv(tmp_path / "points.csv")
    run = {"robot": "irb360", "measurements": "points.csv", "targets": KINDS[kind], "calibrate": ["offsets"],
           "units": {"length": "mm", "angle": "deg"}}  # fmt: skip
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(run))
    done = robodyn("calibrate", tmp_path / "run.yaml", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    result = json.loads(done.stdout)
    assert 1 <= result["outliers"] <= 3  # some of the three are held out
    found = {row["error"]: row for row in result["errors"]}
    assert found
    for name, row in found.items():
        assert abs(row["value"] - truth[name]) < 4 * row["standard_deviation"], name
        if row["shown"] == "alone" and name != "psi offset":
            assert row["standard_deviation"] < 0.2 * row["tolerance"], name


def test_an_over_actuated_robot_calibrates_itself_and_says_that_its_size_is_not_known(robodyn, tmp_path):
    """DualV: four motors for three degrees of freedom; the fourth encoder is all that is measured."""
    robot, rng = rp.load("dualv").with_coordinates(["m1", "m2", "m3"]), np.random.default_rng(5)
    spec = {"fourth": {"kind": "encoder", "joint": "A4", "sigma": 2e-5}}
    targets = {name: TargetSpec.model_validate(one) for name, one in spec.items()}
    at = rp.load("dualv").at_rest(rng.uniform(-1, 1, (80, 3)) * [0.05, 0.05, 0.2])
    c = at.q @ robot.coordinates.S.T + robot.coordinates.offset
    columns, truth = simulated(robot, targets, ["offsets", "closures", "joints", "tool"], c, rng)
    pl.DataFrame(columns).write_csv(tmp_path / "angles.csv")
    run = {"robot": "dualv", "measurements": "angles.csv", "coordinates": ["m1", "m2", "m3"], "targets": spec,
           "calibrate": ["offsets", "closures", "joints", "tool"]}  # fmt: skip
    CalibrationFile.model_validate(run)
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(run))
    done = robodyn("calibrate", tmp_path / "run.yaml", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "All lengths are known up to one common factor only" in " ".join(done.stdout.split())
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    (row,) = result["held_out"]
    assert row["unit"] == "rad"
    assert row["rms_before"] > 20 * row["rms_after"]
    assert row["rms_after"] < 2 * row["noise"]
    inside = [row["low"] <= truth[row["error"]] <= row["high"] for row in result["errors"]]
    assert np.mean(inside) > 0.85
    assert all(row["shown"] != "alone" for row in result["errors"] if row["unit"] == "m")


def test_a_robot_of_another_size_has_the_same_angles(tmp_path):
    """What the report says of a calibration without lengths is so."""
    small = rp.load("dualv")
    root = ET.fromstring(small.urdf_xml)
    for origin in root.iter("origin"):
        origin.set("xyz", " ".join(str(1.1 * float(x)) for x in origin.get("xyz", "0 0 0").split()))
    (tmp_path / "dualv.urdf").write_text(ET.tostring(root, encoding="unicode"))
    (tmp_path / "large.yaml").write_text((Path(__file__).parents[2] / "urdf" / "dualv.yaml").read_text())
    small, large = (one.with_coordinates(["m1", "m2", "m3"]) for one in (small, rp.load(tmp_path / "large.yaml")))
    at = rp.load("dualv").at_rest(np.linspace(-1, 1, 5)[:, None] * [0.05, -0.05, 0.2])
    c = at.q @ small.coordinates.S.T + small.coordinates.offset
    a, b = (robot.at_rest(c).q[:, robot.model.joints[robot.model.getJointId("A4")].idx_q] for robot in (small, large))
    np.testing.assert_allclose(a, b, atol=1e-10)


def test_the_example_of_published_tracker_data_runs_on_a_file_of_that_format(robodyn, tmp_path):
    """Numbers between blanks, no header: three reflectors [mm], six zeros, six angles [deg], as numpy.savetxt writes them."""
    run = yaml.safe_load((EXAMPLES / "tracker_data.yaml").read_text())
    places = [("0 0 0.5", "0 0 1"), ("0.3 0 0", "0 1 0"), ("0 0 1.0", "0 1 0"), ("0.4 0 0.2", "1 0 0"), ("0.8 0 0", "0 1 0"), ("0.2 0 0", "1 0 0")]  # fmt: skip
    joints = "".join(
        f'<joint name="joint_{k + 1}" type="revolute"><parent link="l{k}"/><child link="{"flange" if k == 5 else f"l{k + 1}"}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for k, (xyz, axis) in enumerate(places)
    )
    links = "".join(f'<link name="l{k}"/>' for k in range(6)) + '<link name="flange"/>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    motors = [{"name": f"q{k}", "of": {f"joint_{k}": 1}} for k in range(1, 7)]
    motors[2]["of"] = {"joint_2": 1, "joint_3": 1}
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump({"urdf": "arm.urdf", "motors": motors, "home": {"joint_5": 0.5}}))
    robot, rng = rp.load(tmp_path / "arm.yaml"), np.random.default_rng(1)
    robot = robot.with_coordinates(run["coordinates"])
    targets = {name: TargetSpec.model_validate(one) for name, one in run["targets"].items()}
    c = rng.uniform(-0.7, 0.7, (60, 6))
    columns, _ = simulated(robot, targets, ["offsets", "joints", "base", "tool"], c, rng)
    points = [1e3 * columns[f"n{k}_{axis}"] for k in (1, 2, 3) for axis in "xyz"]
    angles = [np.degrees(columns[name]) for name in run["coordinates"]]
    np.savetxt(tmp_path / "N1N2N3Jval.csv", np.stack([*points, *[np.zeros(60)] * 6, *angles], axis=1))
    (tmp_path / "tracker_data.yaml").write_text((EXAMPLES / "tracker_data.yaml").read_text())
    done = robodyn("calibrate", tmp_path / "tracker_data.yaml", "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    for row in json.loads(done.stdout)["held_out"]:
        assert row["rms_after"] < 2 * row["noise"] < row["rms_before"]
