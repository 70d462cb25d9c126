"""The adaptive law: a load that nobody tells of comes on, the error falls back; what cannot learn is refused. Simulated."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from robodyn_pin.errors import BadFile
from robodyn_pin.files import read_yaml
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.robot.efforts import resolve_effort
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.balance import balance
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile

EXAMPLES = Path(__file__).parents[2] / "examples"
WORK = FourierMotion(
    rate=500, duration=1.6, period=0.8, coordinates=["x", "y", "z"], centre={"x": 0, "y": 0, "z": -0.0954}, sin={"z": [0.04]}
)  # fmt: skip
COMES = 0.4  # [s]
LOAD = {"link": "platform", "mass": 0.5, "radius": 0.02, "time": COMES}
GAINS = {"rate": 500, "bandwidth": 8, "damping": 1, "disturbance": {"payload": LOAD}}


def run(law: str) -> tuple[Tracking, object]:
    robot, settings = load("delta3"), read_yaml(EXAMPLES / "delta3_track.yaml", TrackFile)
    more = {"estimator": {"settings": "delta3_track.yaml"}} if law == "adaptive" else {}
    robot, controller = prepare(
        robot, robot, WORK, ControllerFile.model_validate(GAINS | {"law": law} | more), settings
    )
    return track_motion(robot, controller), controller.learner


def delta_under_control(robodyn_here, folder):
    """The command on motion.yaml and controller.yaml of a folder; the log goes there."""
    files = ("--motion", folder / "motion.yaml", "--controller", folder / "controller.yaml")
    return robodyn_here("simulate", "delta3", *files, "--out", folder / "log.csv")


def largest(found: Tracking, begin: float, end: float) -> float:
    return float(np.abs(found.error[(found.t >= begin) & (found.t < end)]).max())


def test_the_error_under_a_load_falls_back_and_the_load_is_found():
    (passive, _), (adaptive, learner) = run("passivity"), run("adaptive")
    before = COMES - 0.2, COMES
    assert largest(adaptive, *before) == pytest.approx(largest(passive, *before), rel=0.3)  # nothing to learn
    assert largest(passive, 1.2, 1.6) > 20 * largest(passive, *before)
    assert largest(adaptive, 1.2, 1.6) < 0.2 * largest(passive, 1.2, 1.6)
    (change,) = learner.tracker.changes
    assert change.size == pytest.approx(0.5, rel=0.02)
    assert change.begin == pytest.approx(COMES, abs=0.05)


def test_a_load_that_comes_on_brings_its_energy_and_the_balance_stays_closed():
    """At its height z, with its speed: m g z + m v^2 / 2 and the little turning that it does not do."""
    found, _ = run("passivity")
    spent = balance(found)
    k = found.stages[1].begin
    assert k == round(COMES * 500)
    robot = load("delta3").with_coordinates(["x", "y", "z"])
    speed = np.linalg.norm(robot.coordinates.S @ found.rates[k])
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, found.joints[k])
    height = data.oMf[robot.model.getFrameId("platform")].translation[2]
    assert spent.brought[k - 1] == 0
    assert spent.brought[k] == pytest.approx(0.5 * 9.81 * height + 0.5 * speed**2 / 2, rel=1e-6)
    assert np.abs(spent.missing).max() < 1e-3 * np.abs(spent.motors).max()


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        ("law: adaptive\n", "law 'adaptive' needs an 'estimator' with the settings of `track`"),
        ("law: passivity\nestimator: {settings: track.yaml}\n", "and no other law has one"),
        ("law: adaptive\nestimator: {settings: nowhere.yaml}\n", "nowhere.yaml"),
        ("law: adaptive\nestimator: {settings: silent.yaml}\n", "must give 'noise' [N m or N] of a torque sample"),
        ("law: adaptive\nestimator: {settings: track.yaml, rate: 300}\n", "the estimator's rate must divide that of the loop, 500 Hz"),
        ("law: passivity\ndisturbance: {payload: {link: platform, mass: 0.5, time: 9}}\n", "comes on at 9 s, when the motion of"),
        ("law: passivity\ndisturbance: {payload: {link: nowhere, mass: 0.5, time: 0.1}}\n", "no link or frame 'nowhere'"),
    ],
)  # fmt: skip
def test_what_cannot_learn_is_told_in_one_sentence(robodyn_here, tmp_path, controller, said):
    (tmp_path / "track.yaml").write_text("noise: 0.05\n")
    (tmp_path / "silent.yaml").write_text("forgetting: 0.99\n")
    (tmp_path / "controller.yaml").write_text("rate: 500\nbandwidth: 8\ndamping: 1\n" + controller)
    (tmp_path / "motion.yaml").write_text(
        "rate: 500\nduration: 0.2\nperiod: 1\ncentre: {phi1: 0.3, phi2: 0.3, phi3: 0.3}\n"
    )
    done = delta_under_control(robodyn_here, tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("log*"))


def test_a_robot_whose_friction_the_estimator_cannot_follow_is_refused():
    robot = load("delta3")
    effort = resolve_effort(
        EffortSpec(of="phi1", model="load", initial=0.1), robot.model, robot.motors, robot.loops, "test"
    )
    bearing = replace(robot, efforts=(*robot.efforts, effort))
    given = {"law": "adaptive", "rate": 500, "bandwidth": 5, "damping": 1, "estimator": {"settings": "x"}}
    still = FourierMotion(rate=500, duration=0.1, period=1, centre=dict.fromkeys(robot.coordinates.names, 0.3))
    with pytest.raises(BadFile, match="load"):
        prepare(bearing, bearing, still, ControllerFile.model_validate(given), TrackFile(noise=0.1))


def test_the_command_tells_of_the_load(robodyn_here, tmp_path):
    (tmp_path / "track.yaml").write_text((EXAMPLES / "delta3_track.yaml").read_text())
    (tmp_path / "controller.yaml").write_text(
        "law: adaptive\nrate: 500\nbandwidth: 8\ndamping: 1\nestimator: {settings: track.yaml}\n"
        "disturbance: {payload: {link: platform, mass: 0.5, radius: 0.02, time: 0.4}}\n"
    )
    (tmp_path / "motion.yaml").write_text(
        "rate: 500\nduration: 1.6\nperiod: 0.8\ncoordinates: [x, y, z]\ncentre: {x: 0, y: 0, z: -0.0954}\nsin: {z: [0.04]}\n"
    )
    done = delta_under_control(robodyn_here, tmp_path)
    assert done.returncode == 0
    assert "the estimator found a load of 0.5" in done.stdout
    summary = json.loads((tmp_path / "log_tracking.json").read_text())
    (found,) = summary["estimator"]["loads"]
    assert found["mass [kg]"] == pytest.approx(0.5, rel=0.05)
    assert summary["energy [J]"]["brought by the load"] != 0
