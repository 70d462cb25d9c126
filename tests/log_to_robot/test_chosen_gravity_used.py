"""A result whose gravity was chosen from the log: the commands that take it stand on the same leaning base."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl
import pytest
from simulated import SHORT, SIGMA

import robodyn_pin as rp
from robodyn_pin.files import write_text
from robodyn_pin.log_to_robot.held_out import Selected, split_last
from robodyn_pin.log_to_robot.lean import leaning
from robodyn_pin.log_to_robot.run import estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.uniform import quality_of
from robodyn_pin.logs.writing import write_log
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.simulated_log import Noise, simulate

GRAVITY = 9.81 * np.array([np.sin(0.05), 0, -np.cos(0.05)])  # [m/s^2] of the base that the log comes from
QUIET = 0.02 * SIGMA  # [N m] noise of the torques
STILL = {"phi1": 0.3, "phi2": 0.4, "phi3": 0.2, "psi": 0.1}  # [rad]


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> Path:
    """Of an IRB 360 that leans; its robot file says that it does not."""
    robot, folder = rp.load("irb360"), tmp_path_factory.mktemp("chosen") / "result"
    run = RunFile.model_validate(
        {"robot": "irb360", "fit": [{"file": "log"}], "gravity": "choose", "instruments": False}
    )
    log = of_the_leaning(robot, 20.0, 0)
    estimate(robot, run, *split_last([Selected(log, 0, log.size)], cut=0)).write(folder)
    return folder


def of_the_leaning(robot: Robot, seconds: float, seed: int) -> Log:
    motion = SHORT.model_copy(update={"duration": seconds})
    log = simulate(leaning(robot, GRAVITY), motion, Noise(QUIET, None, seed))
    return replace(log, quality=quality_of(log, robot))


def direction_of(result: Path) -> np.ndarray:
    """Gravity (3,) [m/s^2] as the result says in words of its own."""
    return np.array(json.loads((result / "result.json").read_text())["gravity"]["direction [m/s^2]"])


def test_the_lean_is_taken(result):
    np.testing.assert_allclose(direction_of(result), GRAVITY, atol=9.81 * np.deg2rad(0.1))


def test_simulate_holds_the_bodies_against_it(robodyn, result, tmp_path):
    """Oracle: the slope of the tree's potential energy, by differences, of the identified URDF alone."""
    write_text(tmp_path / "still.yaml", f"{{rate: 50, duration: 1, period: 1, centre: {json.dumps(STILL)}}}\n")
    run = robodyn("simulate", result, "--motion", tmp_path / "still.yaml", "--out", tmp_path / "log.csv")
    assert run.returncode == 0, run.stderr
    robot, model = rp.load(result), pin.buildModelFromUrdf(str(next(result.glob("*.urdf"))))
    names, h = robot.motors.names, 1e-4
    c = np.array([STILL[name] for name in names])
    data, order = model.createData(), [robot.model.names[j] for j in range(1, robot.model.njoints)]
    assert order == list(model.names)[1:]

    def slope(gravity: np.ndarray) -> np.ndarray:
        model.gravity.linear = gravity
        ends = [[robot.at_rest((c + s * h * u)[None]).q[0] for s in (1, -1)] for u in np.eye(len(c))]
        return np.array([np.subtract(*(pin.computePotentialEnergy(model, data, q) for q in pair)) / (2 * h) for pair in ends])  # fmt: skip

    table = pl.read_csv(tmp_path / "log.csv", comment_prefix="#")
    found = table.select([f"tau_{name}" for name in names]).to_numpy()[25]
    np.testing.assert_allclose(found, slope(direction_of(result)), atol=1e-4)
    assert np.abs(found - slope(np.array([0, 0, -9.81]))).max() > 0.1


def test_forces_of_struts_are_those_of_its_parts(robodyn, result, tmp_path):
    """Oracle: at rest they are linear in gravity, so that they are made up of those of three robot files, one for each axis."""
    robot = rp.load(result)
    q = np.tile([STILL[name] for name in robot.motors.names], (100, 1))
    still = Log("still", np.arange(100) / 50, q, None, simulated=True)
    write_log(tmp_path / "still.csv", still, robot, "SIMULATED")
    run = robodyn("forces", result, tmp_path / "still.csv", "--out", tmp_path / "struts.csv")
    assert run.returncode == 0, run.stderr
    found = pl.read_csv(tmp_path / "struts.csv", comment_prefix="#").select(pl.selectors.starts_with("upper_"))
    parts = [of_upper_ends(result, tmp_path, still, axis) for axis in 9.81 * np.eye(3)]
    expected = direction_of(result) / 9.81 @ parts
    np.testing.assert_allclose(found.to_numpy()[0], expected, atol=1e-6)
    assert np.abs(expected + parts[2]).max() > 0.1  # [N] level


def of_upper_ends(result: Path, folder: Path, log: Log, gravity: np.ndarray) -> np.ndarray:
    """Forces (6,) [N] of the identified robot with the gravity of its robot file rewritten."""
    text = next(result.glob("*_identified.yaml")).read_text()
    begin = text.index("gravity:")
    end = begin + len("gravity:") + text[begin + len("gravity:") :].index("\nsources:")
    urdf = next(result.glob("*.urdf"))
    write_text(folder / urdf.name, urdf.read_text())
    write_text(folder / "turned.yaml", f"{text[:begin]}gravity: {gravity.tolist()}{text[end:]}")
    return rp.strut_history(rp.load(folder / "turned.yaml"), log, rp.Preparation()).upper[50]


def test_track_starts_near_the_noise(robodyn, result, tmp_path):
    write_log(tmp_path / "log.csv", of_the_leaning(rp.load("irb360"), 5.0, 1), rp.load("irb360"), "SIMULATED")
    run = robodyn("track", result, tmp_path / "log.csv", "--out", tmp_path / "tracked")
    assert run.returncode == 0, run.stderr
    found = json.loads((tmp_path / "tracked/track.json").read_text())["errors"]
    before = np.array([along["before"] for along in found])
    assert (before < 2 * QUIET).all()  # [N m]; on a level base 0.99 with the first motor, thirty times its noise
