"""Predictions and slopes of a robot with errors of its geometry, against solvers that know nothing of it."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from three_spheres import centre, errors_of

import robodyn_pin as rp
from robodyn_pin.calibration.calibrated import calibrated_texts, check_same
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.geometry_errors import GROUPS, Tolerances, possible_errors
from robodyn_pin.calibration.geometry_fit import residuals
from robodyn_pin.calibration.shown_errors import shown
from robodyn_pin.calibration.simulated_points import simulate_observations
from robodyn_pin.calibration.targets import TargetSpec
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

FRAMES = {
    "irb360": "end_effector",
    "hexapod": "platform",
    "irb2400": "flange",
    "fivebar": "rod_1_end",
    "delta3": "platform",
    "scara": "quill",
}


def every_kind(robot: Robot, frame: str) -> dict[str, TargetSpec]:
    return {
        "point": TargetSpec(frame=frame, at=(0.1, 0.02, 0.03)),
        "pose": TargetSpec(kind="pose", frame=frame),
        "bar": TargetSpec(kind="distance", frame=frame, at=(0, 0.1, 0), to=(1, 1, 1)),
        "table": TargetSpec(kind="plane", frame=frame, normal=(0, 0.2, 1)),
        "passive": TargetSpec(kind="encoder", joint=str(robot.model.names[2])),
    }


def poses(robot: Robot, n: int, span: float, rng: np.random.Generator) -> np.ndarray:
    centre = robot.coordinates.S @ robot.home + robot.coordinates.offset
    return centre + rng.uniform(-span, span, (n, len(centre))) * np.where(robot.slides(robot.coordinates.S), 0.3, 1.0)


def case(name: str, seed: int = 0, n: int = 8) -> tuple[ErringRobot, np.ndarray, np.ndarray]:
    """A robot with all errors that its loops allow, poses, and values of the errors."""
    robot = rp.load(name)
    robot = robot.with_coordinates(robot.motors.names)
    frame = FRAMES[name] if robot.model.existFrame(FRAMES[name]) else robot.model.frames[robot.model.nframes - 1].name
    targets = every_kind(robot, frame)
    errors = possible_errors(
        robot, robot.coordinates.names, targets, [x for x in GROUPS if x != "stiffness"], Tolerances()
    )
    rng = np.random.default_rng(seed)
    whole = ErringRobot(robot, errors, targets)
    c = poses(robot, n, 0.1, rng)
    fine = whole.contradictions(np.zeros(len(errors)), c, whole.nominal(c)) < 1e-9
    kept = [error for error, good in zip(errors, fine, strict=True) if good]
    e = 0.3 * rng.normal(size=len(kept)) * [error.tolerance for error in kept]
    return whole.with_errors(kept), c, e


@pytest.mark.parametrize("name", FRAMES)
def test_slopes_are_those_of_finite_differences(name):
    robot, c, e = case(name)
    found, h = robot.predict(e, c, robot.nominal(c)), 1e-6
    for k in np.random.default_rng(1).permutation(len(e))[:60]:
        step = h * (np.arange(len(e)) == k)
        up, down = (robot.predict(e + s, c, found.q, slopes=False) for s in (step, -step))
        for target, slopes in found.slopes.items():
            difference = (up.values[target] - down.values[target]) / (2 * h)
            if target == "pose":
                turned = np.swapaxes(down.places[target], 1, 2)[:, :3, :3] @ up.places[target][:, :3, :3]
                difference[:, 3:] = [pin.log3(R) / (2 * h) for R in turned]
            np.testing.assert_allclose(
                slopes[:, :, k], difference, atol=3e-8, err_msg=f"{target}, {robot.errors[k].name}"
            )


def test_a_delta_with_errors_is_where_three_spheres_meet():
    """Errors that both struts of an arm share: its platform stays level, and the textbook has the answer."""
    robot = rp.load("irb360")
    targets = {"centre": TargetSpec(frame="platform")}
    errors = possible_errors(robot, robot.motors.names, targets, ["offsets", "joints", "closures"], Tolerances())
    erring, place = ErringRobot(robot, errors, targets), {error.name: k for k, error in enumerate(errors)}
    rng = np.random.default_rng(3)
    c = np.concatenate([rng.uniform(-0.4, 0.8, (20, 3)), np.zeros((20, 1))], axis=1)

    turned = {name: robot.model.jointPlacements[j].rotation for j, name in enumerate(robot.model.names)}

    def spread(x: np.ndarray) -> np.ndarray:
        return errors_of(x, place, turned)

    def spheres(x: np.ndarray) -> np.ndarray:
        return centre(c, x)

    x = 2e-3 * rng.normal(size=(5, 3))
    found = erring.predict(spread(x), c, erring.nominal(c))
    np.testing.assert_allclose(found.values["centre"], spheres(x), atol=1e-10)
    for row in range(5):
        for k in range(3):
            step = np.zeros((5, 3))
            step[row, k] = 1e-5
            slopes = found.slopes["centre"] @ (spread(step) / 1e-5)
            around = [spheres(x + s * step) for s in (-2, -1, 1, 2)]
            expected = (around[0] - 8 * around[1] + 8 * around[2] - around[3]) / 12e-5
            np.testing.assert_allclose(slopes, expected, atol=1e-8)


def test_values_are_those_of_a_urdf_that_was_changed_by_hand():
    robot = rp.load("irb360")
    root = ET.fromstring(robot.urdf_xml)
    changes = {"strut_1a_end_fixed": (1.1063, 0, 0), "platform_2b_fixed": None, "phi2": None}
    for joint in root.findall("joint"):
        if joint.get("name") in changes:
            origin = joint.find("origin")
            xyz = [float(x) for x in origin.get("xyz").split()]
            if changes[joint.get("name")]:
                xyz = list(changes[joint.get("name")])
            else:
                xyz[2] += 4e-4
            origin.set("xyz", " ".join(map(repr, xyz)))
    by_hand = build("by_hand", robot.file, ET.tostring(root, encoding="unicode"), Path("by_hand.urdf"))
    targets = {"tool": TargetSpec(kind="pose", frame="end_effector")}
    names = {"ball_1a a tx": 3e-4, "ball_2b b tz": 4e-4, "phi2 tz": 4e-4}
    errors = possible_errors(robot, robot.motors.names, targets, list(names), Tolerances())
    erring = ErringRobot(robot, errors, targets)
    c = poses(robot, 10, 0.3, np.random.default_rng(0))
    found = erring.predict(np.array([names[error.name] for error in errors]), c, erring.nominal(c))
    np.testing.assert_allclose(found.places["tool"], rp.forward_kinematics(by_hand, c, "end_effector"), atol=1e-11)


@pytest.mark.parametrize("name", FRAMES)
def test_the_calibrated_files_hold_the_robot_with_its_errors(name):
    robot, c, e = case(name)
    _, _, built = calibrated_texts(robot, e, simulated=True)
    start = robot.predict(e, c, robot.nominal(c), slopes=False).q
    check_same(robot, e, built, c, start)
    own = np.array(
        [0.0 if error.group in ("base", "tool") else value for error, value in zip(robot.errors, e, strict=True)]
    )
    place = robot.predict(own, c, start, slopes=False).places["pose"]
    frame = str(robot.targets["pose"].frame)
    loaded = built.with_coordinates(robot.robot.coordinates.names)
    np.testing.assert_allclose(rp.forward_kinematics(loaded, c, frame), place, atol=1e-9)
    with pytest.raises(RobodynError, match="as written is"):
        check_same(robot, e * 1.01, built, c, start)


def arm(kinds: str, rng: np.random.Generator) -> Robot:
    """A serial arm of turning (R) and sliding (P) joints, placed at random."""
    links = "".join(f'<link name="l{k}"/>' for k in range(len(kinds) + 1))

    def text(x: np.ndarray) -> str:
        return " ".join(map(repr, map(float, x)))

    joints = "".join(
        f'<joint name="j{k}" type="{"revolute" if kind == "R" else "prismatic"}"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="{text(rng.uniform(-0.3, 0.3, 3))}" rpy="{text(rng.uniform(-1, 1, 3))}"/><axis xyz="0 0 1"/>'
        '<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        for k, kind in enumerate(kinds)
    )
    urdf = f'<robot name="arm">{links}{joints}</robot>'
    return build("arm", RobotFile(urdf=Path("arm.urdf")), urdf, Path("arm.urdf"))


def rank_of(robot: Robot, targets: dict[str, TargetSpec], wanted: list[str], span: float) -> tuple[int, float]:
    errors = possible_errors(robot, robot.coordinates.names, targets, wanted, Tolerances())
    erring, rng = ErringRobot(robot, errors, targets), np.random.default_rng(0)
    c, zero = poses(robot, 60, span, rng), np.zeros(len(errors))
    seen = simulate_observations(erring, zero, c, rng)
    _, J = residuals(erring, seen, erring.predict(zero, c, erring.nominal(c)))
    found = shown(J * [error.tolerance for error in errors])
    return found.rank, found.gap


@pytest.mark.parametrize("kinds", ["RRRRRR", "RRPRRR", "RPR", "PPPRRR", "RRRRRRR"])
def test_a_serial_arm_shows_as_many_errors_as_everett_and_others_count(kinds):
    """4 R + 2 P + 6 (Everett, Driels & Mooring 1987), of full poses, base and tool included."""
    robot = arm(kinds, np.random.default_rng(5))
    rank, gap = rank_of(
        robot, {"tool": TargetSpec(kind="pose", frame=f"l{len(kinds)}")}, ["joints", "offsets", "base", "tool"], 1.5
    )
    assert rank == 4 * kinds.count("R") + 2 * kinds.count("P") + 6
    assert gap > 1e3


def test_a_hexapod_with_perfect_joints_shows_42():
    """Seven of each leg, as published (Masory, Wang & Zhuang 1993): two anchors and a length; base and tool say nothing more."""
    legs = range(1, 7)
    upper = [f"ball_{k} b t{x}" for k in legs for x in "xyz"]
    lower = [
        f"leg_{k}_{error}" for k in legs for error in ("x ty", "x tz", "y tx")
    ]  # along x the second axis carries it
    lengths = [f"leg_{k} offset" for k in legs]
    targets = {"tool": TargetSpec(kind="pose", frame="platform")}
    robot = rp.load("hexapod")
    assert rank_of(robot, targets, [*upper, *lower, *lengths], 0.3) == (42, np.inf)
    rank, gap = rank_of(robot, targets, [*upper, *lower, *lengths, "base", "tool"], 0.3)
    assert rank == 42
    assert gap > 1e6


def test_a_rod_that_is_longer_pushes_its_slider_as_the_cosine_law_says():
    urdf = (
        '<robot name="crank"><link name="base"/><link name="crank"/><link name="slider"/>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="crank"/><axis xyz="0 0 1"/>'
        '<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="slider"/><axis xyz="1 0 0"/>'
        '<limit lower="0" upper="2" effort="1" velocity="1"/></joint></robot>'
    )
    rod = {"name": "rod", "kind": "rod", "between": ["crank", "slider"], "at": [[0.2, 0, 0], [0, 0, 0]], "length": 0.7}
    file = RobotFile.model_validate({"urdf": "c.urdf", "motors": ["turn"], "closures": [rod], "home": {"slide": 0.9}})
    robot = build("crank", file, urdf, Path("c.urdf"))
    targets = {"end": TargetSpec(frame="slider")}
    errors = possible_errors(robot, ("turn",), targets, ["lengths", "turn offset", "turn gear"], Tolerances())
    assert [error.name for error in errors] == ["turn offset", "turn gear", "rod length"]
    erring, c = ErringRobot(robot, errors, targets), np.linspace(-0.8, 0.9, 7)[:, None]
    offset, gear, longer = e = np.array([0.01, 0.02, 3e-3])
    found = erring.predict(e, c, erring.nominal(c))
    angle = c[:, 0] * (1 + gear) + offset
    root = np.sqrt((0.7 + longer) ** 2 - (0.2 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(found.values["end"][:, 0], 0.2 * np.cos(angle) + root, atol=1e-12)
    turning = -0.2 * np.sin(angle) - 0.2**2 * np.sin(angle) * np.cos(angle) / root
    slopes = np.stack([turning, turning * c[:, 0], (0.7 + longer) / root], axis=1)
    np.testing.assert_allclose(found.slopes["end"][:, 0], slopes, atol=1e-10)
    check_same(erring, e, calibrated_texts(erring, e, simulated=True)[2], c, found.q)
