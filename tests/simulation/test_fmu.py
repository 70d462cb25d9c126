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

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed (extra 'test')")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
GAINS = {"phi1": (900.0, 25.0), "phi2": (900.0, 25.0), "phi3": (900.0, 25.0), "psi": (20.0, 0.3)}


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
    motion = FourierMotion.model_validate(
        {"rate": rate, "duration": seconds, "period": 1.0, "centre": dict.fromkeys(names, 0.15),
         "cos": {n: [-0.15 + 0.01 * k, -0.01 * k] for k, n in enumerate(names)}}
    )  # fmt: skip
    gains = {n: {"p": p, "d": d} for n, (p, d) in GAINS.items()}
    spec = ControllerFile.model_validate({"law": "pd", "rate": rate, "gains": gains, "torque_limits": False})
    moved, controller = prepare(robot, robot, motion, spec)
    tracked = track_motion(moved, controller)
    plant, joints = Plant(file), list(robot.model.names)[1:]
    plant.put("position", names, tracked.reference[0])
    plant.begin()
    P, D = np.array([GAINS[n] for n in names]).T
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


def test_the_irb360_under_pd_moves_as_simulate_says(delta):
    """At 10 kHz both go by Runge-Kutta of order 4 with the same steps; the torques are this test's own."""
    found, expected, scheme = both_under_pd(rp.load("irb360"), delta, 0.3, 10_000)
    assert "Runge-Kutta" in scheme
    assert np.ptp(expected[:, 0]) > 0.05
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


@pytest.mark.parametrize(
    "effort", [{"model": "maxwell_slip", "stops": [0.1], "initial": [1.0]}, {"model": "load", "initial": 0.2}]
)
def test_friction_without_a_form_in_c_is_refused(effort, tmp_path):
    spec = RobotFile.model_validate({"urdf": "p.urdf", "efforts": [{"of": "j"} | effort]})
    with pytest.raises(RobodynError, match=f"friction '{effort['model']}' of 'j' has no form in C"):
        write_fmu(build("pendulum", spec, PENDULUM, Path("p.urdf")), tmp_path / "a.fmu")
    assert not (tmp_path / "a.fmu").exists()


def test_a_pendulum_swings_with_the_period_of_its_integral(tmp_path):
    """From 1 rad at rest: T = 4 sqrt((I + m l^2) / (m g l)) K(sin(1/2)), no friction; it is back there to Runge-Kutta's error."""
    robot = build("pendulum", RobotFile.model_validate({"urdf": "p.urdf"}), PENDULUM, Path("p.urdf"))
    write_fmu(robot, tmp_path / "pendulum.fmu")
    plant, period = Plant(tmp_path / "pendulum.fmu"), 4 * np.sqrt(0.6 / (2 * 9.81 * 0.5)) * ellipk(np.sin(0.5) ** 2)
    plant.put("position", ("j",), np.array([1.0]))
    plant.begin()
    plant.fmu.doStep(0.0, period / 2)
    np.testing.assert_allclose(plant.take("position", ("j",)), -1.0, atol=1e-9)
    plant.fmu.doStep(period / 2, period / 2)
    np.testing.assert_allclose(plant.take("position", ("j",)), 1.0, atol=1e-9)
    plant.end()


def test_what_an_fmu_cannot_be_is_said(tmp_path, robodyn, monkeypatch):
    with pytest.raises(RobodynError, match="friction ends a slow motion within"):
        write_fmu(rp.load("irb2400"), tmp_path / "a.fmu")
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
