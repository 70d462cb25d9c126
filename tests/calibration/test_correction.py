"""Corrected paths, against forward kinematics that know nothing of the package: three spheres, and a chain of plain matrices."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from three_spheres import centre, errors_of

import robodyn_pin as rp
from robodyn_pin.calibration.calibrated import calibrated_texts
from robodyn_pin.calibration.correction import DrawnPathSpec, correct_for_geometry, read_path, tool_of
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import Tolerances, possible_errors
from robodyn_pin.errors import BadFile, RobodynError, SolverFailed, UnknownName
from robodyn_pin.robot.robot import Robot

EXAMPLES = Path(__file__).parents[2] / "examples"


def written(folder: Path, columns: dict[str, np.ndarray], **settings: object) -> DrawnPathSpec:
    pl.DataFrame(columns).write_csv(folder / "path.csv")
    return DrawnPathSpec.model_validate({"file": "path.csv"} | settings)


def corrected(folder: Path, robot: Robot, erring: ErringRobot, e: np.ndarray, spec: DrawnPathSpec):
    calibrated = calibrated_texts(erring, e, simulated=True)[2].with_coordinates(robot.coordinates.names)
    tool = tool_of(robot, spec)
    return correct_for_geometry(robot, calibrated, read_path(folder / "path.csv", spec, robot, tool), tool)


def test_a_corrected_delta_is_where_three_spheres_of_its_true_lengths_meet(tmp_path):
    robot = rp.load("irb360")
    errors = possible_errors(robot, robot.motors.names, {}, ["offsets", "joints", "closures"], Tolerances())
    place = {error.name: k for k, error in enumerate(errors)}
    turned = {name: robot.model.jointPlacements[j].rotation for j, name in enumerate(robot.model.names)}
    rng = np.random.default_rng(4)
    x = 2e-3 * rng.normal(size=(5, 3))
    c = np.concatenate([rng.uniform(-0.3, 0.6, (20, 3)), np.zeros((20, 1))], axis=1)
    spec = written(tmp_path, dict(zip(robot.motors.names, c.T, strict=True)), frame="platform")
    found = corrected(tmp_path, robot, ErringRobot(robot, errors, {}), errors_of(x, place, turned), spec)
    planned = centre(c, np.zeros((5, 3)))
    assert np.abs(centre(c, x) - planned).max() > 1e-3
    np.testing.assert_allclose(centre(found.c, x), planned, atol=1e-8)
    np.testing.assert_allclose(found.uncorrected[:, :3], centre(c, x) - planned, atol=1e-8)
    np.testing.assert_allclose(found.left[:, :3], 0, atol=1e-9)


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def chain(urdf: str, q: np.ndarray, e: dict[str, float], at: np.ndarray) -> np.ndarray:
    """Place (4, 4) of a tool on the last link of a serial URDF whose joints turn about x, y or z, with errors by name."""
    T, k = np.eye(4), 0
    for joint in ET.fromstring(urdf).findall("joint"):
        origin, name = joint.find("origin"), joint.get("name")
        xyz, rpy = (np.array(origin.get(key, "0 0 0").split(), float) for key in ("xyz", "rpy"))
        step = np.eye(4)
        step[:3, 3] = xyz
        for axis, angle in zip(np.eye(3)[::-1], rpy[::-1], strict=True):
            step[:3, :3] = step[:3, :3] @ rotation(axis, angle)
        T = T @ step
        for error in (f"{name} {kind}{axis}" for kind in "tr" for axis in "xyz"):
            if error in e:
                unit, moved = np.eye(3)["xyz".index(error[-1])], np.eye(4)
                if error[-2] == "t":
                    moved[:3, 3] = e[error] * unit
                else:
                    moved[:3, :3] = rotation(unit, e[error])
                T = T @ moved
        if joint.get("type") == "revolute":
            turned = np.eye(4)
            read = q[k] * (1 + e.get(f"{name} gear", 0)) + e.get(f"{name} offset", 0)
            turned[:3, :3] = rotation(np.array(joint.find("axis").get("xyz").split(), float), read)
            T, k = T @ turned, k + 1
    T[:3, 3] += T[:3, :3] @ at
    return T


ARM = (
    '<robot name="arm">' + "".join(f'<link name="l{k}"/>' for k in range(7))
    + "".join(
        f'<joint name="j{k + 1}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="{xyz}" rpy="0 {0.1 * k} 0"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for k, (xyz, axis) in enumerate(
            [("0 0 0.4", "0 0 1"), ("0.15 0 0", "0 1 0"), ("0 0 0.7", "0 1 0"), ("0.3 0 0.1", "1 0 0"), ("0.4 0 0", "0 1 0"), ("0 0 0", "1 0 0")]
        )
    ) + "</robot>"
)  # fmt: skip


@pytest.mark.parametrize("asked", ["coordinates", "tool"])
def test_a_corrected_arm_has_its_tool_where_plain_matrices_of_its_true_geometry_put_it(tmp_path, asked):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.yaml").write_text("urdf: arm.urdf\nhome: {j5: 0.8}\n")
    robot, at = rp.load(tmp_path / "arm.yaml"), np.array([0.05, 0.02, 0.1])
    errors = possible_errors(robot, robot.motors.names, {}, ["offsets", "gears", "joints"], Tolerances())
    rng = np.random.default_rng(6)
    e = rng.normal(size=len(errors)) * [error.tolerance for error in errors]
    named = dict(zip([error.name for error in errors], e, strict=True))
    c = np.array([0, 0, 0, 0, 0.8, 0]) + rng.uniform(-0.4, 0.4, (15, 6))
    wanted = np.array([chain(ARM, one, {}, at) for one in c])
    columns = dict(zip(robot.motors.names, c.T, strict=True))
    if asked == "tool":
        from scipy.spatial.transform import Rotation

        turns = Rotation.from_matrix(wanted[:, :3, :3]).as_rotvec()
        x = np.concatenate([1e3 * wanted[:, :3, 3], np.degrees(turns)], axis=1)
        columns = dict(zip(("x", "y", "z", "rx", "ry", "rz"), x.T, strict=True))
    units = {"length": "mm", "angle": "deg"} if asked == "tool" else {}
    spec = written(tmp_path, columns, frame="l6", at=at.tolist(), units=units)
    found = corrected(tmp_path, robot, ErringRobot(robot, errors, {}), e, spec)
    reached = np.array([chain(ARM, one, named, at) for one in found.c])
    np.testing.assert_allclose(reached, wanted, atol=1e-8)
    before = np.array([chain(ARM, one, named, at) for one in c])
    np.testing.assert_allclose(found.uncorrected[:, :3], (before - wanted)[:, :3, 3], atol=1e-8)
    assert np.abs(found.uncorrected).max() > 1e-3


def test_motors_beyond_the_coordinates_are_commanded_too(tmp_path):
    """DualV: three coordinates, a motor more; in the plane each leg is two sides of a triangle."""
    robot = rp.load("dualv").with_coordinates(["m1", "m2", "m3"])
    errors = possible_errors(robot, robot.coordinates.names, {}, ["offsets"], Tolerances())
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    c = home + np.linspace(0, 0.1, 5)[:, None] * [1, -1, 0.5]
    spec = written(tmp_path, dict(zip(robot.coordinates.names, c.T, strict=True)), frame="platform")
    e = np.array([2e-3, -1e-3, 3e-3])
    found = corrected(tmp_path, robot, ErringRobot(robot, errors, {}), e, spec)
    np.testing.assert_allclose(found.c, c - e, atol=1e-9)
    np.testing.assert_allclose(found.left, 0, atol=1e-9)
    q = found.q @ robot.motors.S.T + robot.motors.offset
    np.testing.assert_allclose(q, robot.at_rest(c).q @ robot.motors.S.T + robot.motors.offset, atol=1e-9)


def test_the_command_corrects_the_example_s_path(robodyn, tmp_path):
    done = robodyn("calibrate", EXAMPLES / "irb360_calibration.yaml", "--out", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    largest = json.loads(done.stdout)["corrected"]["largest"]
    table = pl.read_csv(tmp_path / "corrected.csv", comment_prefix="#")
    names = ["phi1", "phi2", "phi3", "psi"]
    assert table.columns[:5] == ["t", *names]
    planned = pl.read_csv(EXAMPLES / "irb360_calibration" / "path.csv", comment_prefix="#")
    calibrated = rp.load(tmp_path / "irb360_calibrated.yaml")
    places = rp.forward_kinematics(calibrated, table.select(names).to_numpy(), "end_effector")
    np.testing.assert_allclose(places[:, :3, 3], planned.select("x", "y", "z").to_numpy(), atol=1e-9)
    drawn = rp.forward_kinematics(
        rp.load("irb360"), table.select(f"planned_{name}" for name in names).to_numpy(), "end_effector"
    )
    np.testing.assert_allclose(drawn[:, :3, 3], places[:, :3, 3], atol=1e-9)
    assert largest["uncorrected_length"] > 1e-4
    assert largest["left_length"] < 1e-9


@pytest.mark.parametrize(
    ("columns", "settings", "kind", "words"),
    [
        ({"x": [0.0], "y": [0.0], "z": [-0.95]}, {"frame": "end_effector"}, BadFile, "turns its tool, too; add columns rx, ry, rz"),
        ({"x": [0.0], "y": [0.0], "z": [-0.95], "rx": [0.3], "ry": [0.0], "rz": [0.0]}, {"frame": "end_effector"}, BadFile, "not one that the drawn"),
        ({"x": [3.0], "y": [0.0], "z": [-0.95]}, {"frame": "platform"}, RobodynError, "point 1 of path.csv"),
        ({"x": [30.0], "y": [0.0], "z": [-950.0]}, {"frame": "platform"}, RobodynError, "point 1 of path.csv"),
        ({"phi1": [0.0], "phi2": [0.0], "phi3": [0.0]}, {"frame": "platform"}, UnknownName, "'psi'"),
        ({"phi1": [3.0], "phi2": [0.0], "phi3": [0.0], "psi": [0.0]}, {"frame": "platform"}, RobodynError, "point 1 of path.csv"),
        ({"x": [0.0], "y": [0.0], "z": [-0.95]}, {"frame": "hand"}, UnknownName, "'hand'"),
    ],
)  # fmt: skip
def test_a_path_that_cannot_be_is_told(tmp_path, columns, settings, kind, words):
    robot = rp.load("irb360")
    spec = written(tmp_path, {name: np.array(x) for name, x in columns.items()}, **settings)
    with pytest.raises(kind, match=words) as caught:
        read_path(tmp_path / "path.csv", spec, robot, tool_of(robot, spec))
    assert "\n" not in str(caught.value)


def test_a_point_near_a_singular_pose_is_named(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.yaml").write_text("urdf: arm.urdf\nhome: {j5: 0.8}\n")
    robot = rp.load(tmp_path / "arm.yaml")
    errors = possible_errors(robot, robot.motors.names, {}, ["offsets", "joints"], Tolerances())
    c = np.array([[0, 0, 0, 0, angle, 0] for angle in (0.5, -0.8995, 0.5)])  # axes 4 and 6 are parallel at -0.9
    # The drawn wrist does not tilt its axis so: the calibrated one has to turn by axis 4.
    e = np.array([3e-3 if error.name == "j5 rz" else 0.0 for error in errors])
    spec = written(tmp_path, dict(zip(robot.motors.names, c.T, strict=True)), frame="l6")
    with pytest.raises(SolverFailed, match=r"corrected point 2: .* singular"):
        corrected(tmp_path, robot, ErringRobot(robot, errors, {}), e, spec)
