"""A robot as an FMU, run by FMPy: against `simulate` under a controller that is written anew here, its state, and what it refuses."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipk

import robodyn_pin as rp
from robodyn_pin.errors import RobodynError
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.simulation.closed_loop import prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile
from robodyn_pin.simulation.fmu import write_fmu
from robodyn_pin.simulation.forward import roll_out

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed (extra 'test')")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
GAINS = {  # P and D of the motors
    "irb360": ([900.0, 900.0, 900.0, 20.0], [25.0, 25.0, 25.0, 0.3]),
    "irb2400": ([6e4, 8e4, 3e4, 2e3, 2e3, 600.0], [1500.0, 2000.0, 700.0, 10.0, 2.0, 0.05]),
}


class Plant:
    """An FMU under FMPy, in initialization mode until `begin`."""

    def __init__(self, file: Path, said: list[str] | None = None):
        self.about, self.folder = fmpy.read_model_description(str(file)), fmpy.extract(str(file))
        self.at = {v.name: v.valueReference for v in self.about.modelVariables}
        self.fmu = fmpy.fmi2.FMU2Slave(
            guid=self.about.guid, unzipDirectory=self.folder, modelIdentifier=self.about.coSimulation.modelIdentifier
        )
        logger = None
        if said is not None:
            self.callbacks = callbacks = fmpy.fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmpy.fmi2.fmi2CallbackLoggerTYPE(lambda *x: said.append(x[-1].decode()))
            callbacks.allocateMemory = fmpy.fmi2.fmi2CallbackAllocateMemoryTYPE(fmpy.calloc)
            callbacks.freeMemory = fmpy.fmi2.fmi2CallbackFreeMemoryTYPE(fmpy.free)
            logger = callbacks
        self.fmu.instantiate(callbacks=logger)
        self.fmu.setupExperiment()
        self.fmu.enterInitializationMode()

    def begin(self) -> None:
        self.fmu.exitInitializationMode()

    def put(self, kind: str, names: tuple[str, ...], values: np.ndarray) -> None:
        self.fmu.setReal([self.at[f"{kind}.{x}"] for x in names], list(values))

    def take(self, kind: str, names: tuple[str, ...]) -> np.ndarray:
        return np.array(self.fmu.getReal([self.at[f"{kind}.{x}"] for x in names]))

    def end(self) -> None:
        self.fmu.freeInstance()
        shutil.rmtree(self.folder)


def both_under_pd(robot: Robot, file: Path, seconds: float, rate: float) -> tuple[np.ndarray, np.ndarray, str]:
    """Joint positions (N, nv) along a motion under PD by the FMU and by `simulate`, and the scheme that the latter takes."""
    names = robot.motors.names
    P, D = map(np.array, GAINS[robot.name])
    motion = FourierMotion.model_validate(
        {"rate": rate, "duration": seconds, "period": 1.0, "centre": dict.fromkeys(names, 0.15),
         "cos": {n: [-0.15 + 0.01 * k, -0.01 * k] for k, n in enumerate(names)}}
    )  # fmt: skip
    gains = {n: {"p": float(p), "d": float(d)} for n, p, d in zip(names, P, D, strict=True)}
    spec = ControllerFile.model_validate({"law": "pd", "rate": rate, "gains": gains, "torque_limits": False})
    moved, controller = prepare(robot, robot, motion, spec)
    tracked = track_motion(moved, controller)
    plant, joints = Plant(file), list(robot.model.names)[1:]
    plant.put("position", names, tracked.reference[0])
    plant.begin()
    found, last = [], tracked.reference[0] - plant.take("position", names)
    for k, wanted in enumerate(tracked.reference):
        found.append(plant.take("joint", joints))
        e = wanted - plant.take("position", names)
        plant.put("torque", names, P * e + D * (e - last) * rate)
        last = e
        plant.fmu.doStep(k / rate, 1 / rate)
    plant.end()
    return np.array(found), tracked.joints, tracked.scheme


@pytest.fixture(scope="module")
def delta(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("fmu") / "irb360.fmu"
    write_fmu(rp.load("irb360"), file)
    return file


@pytest.mark.parametrize(
    ("rate", "scheme"), [(10_000.0, "Runge-Kutta of order 4: no"), (2000.0, "friction that sticks")]
)
def test_the_irb360_under_pd_moves_as_simulate_says(rate, scheme, delta):
    """By the same scheme, whichever the step asks for; the torques are this test's own."""
    found, expected, said = both_under_pd(rp.load("irb360"), delta, 0.3, rate)
    assert said.startswith(scheme)
    assert np.ptp(expected[:, 0]) > 0.05
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_the_irb2400_sticks_as_simulate_says(tmp_path):
    """Its wrist's friction is tens of thousands of times too steep for Runge-Kutta."""
    write_fmu(rp.load("irb2400"), tmp_path / "irb2400.fmu")
    found, expected, said = both_under_pd(rp.load("irb2400"), tmp_path / "irb2400.fmu", 0.5, 2000.0)
    assert said.startswith("friction that sticks")
    assert np.ptp(expected @ rp.load("irb2400").motors.S.T, axis=0).min() > 0.05
    assert (np.diff(expected, axis=0) == 0).any(axis=1).mean() > 0.1  # and stands still now and then
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_the_description_is_valid_and_the_file_the_same_again(delta, tmp_path):
    assert fmpy.validation.validate_fmu(str(delta)) == []
    write_fmu(rp.load("irb360"), tmp_path / "again.fmu")
    said = [zipfile.ZipFile(x).read("modelDescription.xml") for x in (delta, tmp_path / "again.fmu")]
    assert said[0] == said[1]
    assert b'unit="N.m"' in said[0]


def test_a_state_is_kept_and_goes_on_elsewhere(delta):
    names = rp.load("irb360").motors.names
    plant, other = Plant(delta), Plant(delta)
    plant.begin(), other.begin()
    plant.put("torque", names, np.array([20.0, 10.0, 5.0, 1.0]))
    for k in range(20):
        plant.fmu.doStep(k * 1e-3, 1e-3)
    kept = plant.fmu.getFMUstate()
    data = plant.fmu.serializeFMUstate(kept)
    plant.fmu.doStep(0.02, 1e-3)
    there = plant.take("position", names)
    other.fmu.setFMUstate(other.fmu.deSerializeFMUstate(data))
    other.fmu.doStep(0.02, 1e-3)
    assert (other.take("position", names) == there).all()
    assert np.abs(there).min() > 1e-4
    plant.fmu.freeFMUstate(kept)
    plant.fmu.reset()
    assert not plant.take("position", names).any()
    plant.end(), other.end()


def test_a_step_that_cannot_be_says_why_and_changes_nothing(delta):
    names, said = rp.load("irb360").motors.names, []
    plant = Plant(delta, said)
    plant.begin()
    plant.fmu.doStep(0.0, 1e-3)
    before = plant.take("position", names)
    for torque, why in ((np.nan, "is not finite"), (1e9, "loops do not close")):
        plant.put("torque", names, np.full(4, torque))
        with pytest.raises(fmpy.fmi1.FMICallException):
            plant.fmu.doStep(1e-3, 1e-3)
        assert why in said[-1]
        assert (plant.take("position", names) == before).all()
    with pytest.raises(fmpy.fmi1.FMICallException):
        plant.put("position", names, before)
    assert "only torques can be set" in said[-1]
    plant.put("torque", names, np.zeros(4))
    plant.fmu.doStep(1e-3, 1e-3)  # and goes on
    plant.end()


def test_a_start_out_of_reach_is_refused(delta):
    said: list[str] = []
    plant = Plant(delta, said)
    plant.put("position", ("phi1",), np.array([9.0]))
    with pytest.raises(fmpy.fmi1.FMICallException):
        plant.begin()
    assert "loops do not close" in said[-1]
    plant.end()


PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/>
<child link="arm"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="99" velocity="9"/></joint></robot>"""


def hanging(*efforts: dict[str, object]) -> Robot:
    spec = RobotFile.model_validate({"urdf": "p.urdf", "efforts": [{"of": "j"} | effort for effort in efforts]})
    return build("pendulum", spec, PENDULUM, Path("p.urdf"))


def test_friction_without_a_form_in_c_is_refused(tmp_path):
    with pytest.raises(RobodynError, match="friction 'load' of 'j' has no form in C"):
        write_fmu(hanging({"model": "load", "initial": 0.2}), tmp_path / "a.fmu")
    assert not (tmp_path / "a.fmu").exists()


def test_friction_holds_a_pendulum_and_lets_go(tmp_path):
    """By statics: Coulomb's 3 N m hold 2 kg at 0.5 m up to sin(c) = 3 / 9.81, to the last bit, and with 1 N m of the motor up to 4 / 9.81."""
    write_fmu(hanging({"model": "coulomb", "initial": 3.0, "width": 1e-5}), tmp_path / "p.fmu")
    for torque, angle, holds in ((0.0, 0.30, True), (0.0, 0.32, False), (1.0, 0.41, True), (1.0, 0.43, False)):
        plant = Plant(tmp_path / "p.fmu")
        plant.put("position", ("j",), np.array([angle]))
        plant.begin()
        plant.put("torque", ("j",), np.array([torque]))
        for k in range(100):
            plant.fmu.doStep(k * 1e-2, 1e-2)
        there = plant.take("position", ("j",))[0]
        assert (there == angle) == holds
        assert holds or there < angle - 0.001
        plant.end()


@pytest.mark.parametrize(
    "efforts",
    [
        [{"model": "maxwell_slip", "stops": [0.02, 0.1], "initial": [1.0, 2.0]}, {"model": "viscous", "initial": 0.1}],
        [
            {"model": "directional", "initial": [2.0, 1.0, 0.3, 0.1], "width": 1e-5},
            {"model": "spring", "initial": 20.0, "rest": 0.2},
        ],
        [
            {"model": "stribeck", "initial": [0.5, 0.5, 0.1], "speed": 0.2, "width": 1e-5},
            {"model": "armature", "initial": 0.3},
        ],
        [
            {"model": "position", "initial": [0.5, 2.0], "places": [-0.5, 0.5], "width": 1e-5},
            {"model": "coulomb", "initial": 0.1},
        ],
    ],
    ids=lambda efforts: efforts[0]["model"],
)
def test_pendulums_with_friction_swing_as_simulate_says(efforts, tmp_path):
    robot, n = hanging(*efforts), 600
    write_fmu(robot, tmp_path / "p.fmu")
    plant = Plant(tmp_path / "p.fmu")
    t = np.arange(n + 1) * 1e-3
    push = 3 * np.sin(2 * np.pi * 2 * (t[:-1] + 5e-4)) * (t[:-1] < 0.4)  # then it swings out
    plant.put("position", ("j",), np.array([0.8]))
    plant.begin()
    found = [0.8]
    for k in range(n):
        plant.put("torque", ("j",), push[k : k + 1])
        plant.fmu.doStep(k * 1e-3, 1e-3)
        found.append(plant.take("position", ("j",))[0])
    plant.end()
    expected = roll_out(robot, lambda time, *_: push[[int(time / 1e-3)]], np.array([0.8]), np.zeros(1), t)
    assert "sticks" in expected.scheme
    np.testing.assert_allclose(found, expected.c[:, 0], rtol=0, atol=1e-9)


def test_a_pendulum_swings_with_the_period_of_its_integral(tmp_path):
    """From 1 rad at rest: T = 4 sqrt((I + m l^2) / (m g l)) K(sin(1/2)), no friction; it is back there to Runge-Kutta's error."""
    write_fmu(hanging(), tmp_path / "pendulum.fmu")
    plant, period = Plant(tmp_path / "pendulum.fmu"), 4 * np.sqrt(0.6 / (2 * 9.81 * 0.5)) * ellipk(np.sin(0.5) ** 2)
    plant.put("position", ("j",), np.array([1.0]))
    plant.begin()
    plant.fmu.doStep(0.0, period / 2)
    np.testing.assert_allclose(plant.take("position", ("j",)), -1.0, atol=1e-9)
    plant.fmu.doStep(period / 2, period / 2)
    np.testing.assert_allclose(plant.take("position", ("j",)), 1.0, atol=1e-9)
    plant.end()


def test_what_an_fmu_cannot_be_is_said(tmp_path, robodyn, monkeypatch):
    with pytest.raises(RobodynError, match="a spring is so stiff against its masses"):
        write_fmu(hanging({"model": "spring", "initial": 1e10}), tmp_path / "a.fmu")
    run = robodyn("export", "dualv", "--to", "fmu", "--functions", "gravity", "--out", tmp_path / "a.fmu")
    assert (run.returncode, run.stderr[:35]) == (1, "robodyn: --functions concerns c and")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RobodynError, match="an FMU needs a C compiler, and there is no cc"):
        write_fmu(rp.load("dualv"), tmp_path / "a.fmu")
    assert not (tmp_path / "a.fmu").exists()


def test_the_source_is_strict_c(delta, tmp_path):
    with zipfile.ZipFile(delta) as held:
        held.extractall(tmp_path)
    strict = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "irb360_fmi2.c"]
    done = subprocess.run(strict, cwd=tmp_path / "sources", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:500]
