"""Exported C code, compiled strictly: against the package along motions, and where the loops do not close."""

import ctypes
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import casadi
import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.elastic.drives_file import read_drives
from robodyn_pin.errors import ClosureFailed, RobodynError, ShapeMismatch, UnknownName
from robodyn_pin.exporting.c_files import identifier, write_c
from robodyn_pin.exporting.c_templates import Real
from robodyn_pin.families.reduced_arms import strut_model
from robodyn_pin.robot.elastic_drives import with_springs
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.payload import LoadSpec, loaded
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

# The extra 'test' brings CasADi; a compiler is the machine's own.
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
PROBE = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/>
<child link="arm"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="99" velocity="9"/></joint></robot>"""


def compiled(*options: str, folder: Path, sources: list[str]) -> Path:
    out = folder / "out.so"
    command = ["gcc", *STRICT, *options, "-o", out, *(folder / s for s in sources), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return out


class Code:
    """Exported functions, called from Python."""

    def __init__(self, robot: Robot, folder: Path, functions: list[str], real: Real = "double"):
        write_c(robot, functions, folder, real)
        self.name, self.number = identifier(robot.name), ctypes.c_double if real == "double" else ctypes.c_float
        self.library = ctypes.CDLL(str(compiled("-O1", "-shared", "-fPIC", folder=folder, sources=[f"{self.name}.c"])))
        self.state = (self.number * robot.model.nv)()
        self.home()

    def home(self) -> None:
        getattr(self.library, f"{self.name}_home")(self.state)

    def __call__(self, function: str, size: int, *inputs: np.ndarray) -> tuple[int, np.ndarray, float]:
        given = [(self.number * len(x))(*x) for x in inputs]
        out, left = (self.number * size)(), self.number()
        flag = getattr(self.library, f"{self.name}_{function}")(self.state, *given, out, ctypes.byref(left))
        return flag, np.array(out), left.value

    def along(self, function: str, size: int, *inputs: np.ndarray) -> np.ndarray:
        found = []
        for sample in zip(*inputs, strict=True):
            flag, out, left = self(function, size, *sample)
            assert flag == 0
            assert left < (1e-10 if self.number is ctypes.c_double else 1e-5)
            found.append(out)
        return np.array(found)


def motion(robot: Robot, samples: int, seed: int = 0, far: float = 0.05) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A smooth motion from home at 1 kHz, as controllers call."""
    rng, d = np.random.default_rng(seed), len(robot.coordinates.names)
    t = np.arange(samples)[:, None, None] / 1000
    w = 2 * np.pi * rng.uniform(0.2, 1.5, (4, d))
    size = rng.uniform(-1, 1, (4, d)) * far * np.abs(robot.coordinates.S).max(axis=1)
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset + (size * (1 - np.cos(w * t))).sum(1)
    return c, (size * w * np.sin(w * t)).sum(1), (size * w**2 * np.cos(w * t)).sum(1)


@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400", "irb360_arms"])
def test_code_agrees_with_the_package_along_a_motion(name, tmp_path):
    robot = rp.load(name)
    code, (c, cd, cdd) = Code(robot, tmp_path, ["inverse_dynamics"]), motion(robot, 2000)
    found = code.along("inverse_dynamics", len(robot.motors.names), c, cd, cdd)
    expected = rp.inverse_dynamics(robot, c, cd, cdd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["dualv", "irb2400"])
def test_gravity_and_mass_matrix_agree(name, tmp_path):
    robot = rp.load(name)
    code, (c, *_) = Code(robot, tmp_path, ["gravity", "mass_matrix"]), motion(robot, 200)
    d = c.shape[1]
    expected = rp.gravity(robot, c)
    np.testing.assert_allclose(code.along("gravity", d, c), expected, atol=1e-11 * max(1.0, np.abs(expected).max()))
    code.home()
    expected = rp.mass_matrix(robot, c)
    found = code.along("mass_matrix", d * d, c).reshape(-1, d, d)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "function", "frames"),
    [
        ("delta3", "strut_forces", ""),
        ("irb2400", "forward_kinematics", "B 1 2 3 4 5 6 7 tool0 T"),
        ("delta3", "forward_kinematics", "platform"),  # which names no frames
    ],
)
def test_struts_and_frames_agree(name, function, frames, tmp_path):
    robot = rp.load(name)
    code, (c, cd, cdd) = Code(robot, tmp_path, [function]), motion(robot, 200)
    if function == "strut_forces":
        loads = Loads(robot, robot.close(c, cd, cdd)).struts
        expected, inputs = np.hstack([loads.lower, loads.upper]), (c, cd, cdd)
    else:
        poses = rp.forward_kinematics(robot, c, *frames.split()).reshape(len(c), -1, 4, 4)
        expected, inputs = poses[:, :, :3].reshape(len(c), -1), (c,)
    found = code.along(function, expected.shape[1], *inputs)
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["delta3", "irb360", "h4"])
def test_reduced_strut_forces_are_those_of_the_family(name, tmp_path):
    """For a Delta the closed form of reduced_delta.py, with and without end-effector; for four arms Pinocchio's of reduced_arms.py."""
    robot = rp.load(name)
    code, (c, cd, cdd) = Code(robot, tmp_path, ["reduced_forces"]), motion(robot, 200, far=0.02)
    state = robot.close(c, cd, cdd)
    forces = strut_model(robot, "U2")(state.q, state.v, state.a)
    expected = np.hstack([forces.lower, forces.upper])
    found = code.along("reduced_forces", expected.shape[1], c, cd, cdd)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_compiled_functions_are_called_from_python(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    robot = rp.load("dualv")
    fast, (c, cd, cdd) = rp.compiled(robot, ["inverse_dynamics", "mass_matrix"]), motion(robot, 50)
    found = np.array([fast.inverse_dynamics(*sample) for sample in zip(c, cd, cdd, strict=True)])
    np.testing.assert_allclose(found, rp.inverse_dynamics(robot, c, cd, cdd), atol=1e-9)
    np.testing.assert_allclose(fast.mass_matrix(c[-1]), rp.mass_matrix(robot, c[-1:])[0], atol=1e-11)
    with pytest.raises(ClosureFailed, match="out of reach"):
        fast.inverse_dynamics(c[-1] + 50, cd[0], cdd[0])
    with pytest.raises(ShapeMismatch, match=r"inverse_dynamics takes c \(3,\), cd \(3,\), cdd \(3,\); found \(2,\)"):
        fast.inverse_dynamics(c[0, :2])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RobodynError, match="needs a C compiler"):
        rp.compiled(robot)


def test_casadi_differentiates_through_the_loops(tmp_path, robodyn):
    """The gradient of the motors' torques by the coordinates, against differences of the package."""
    run = robodyn("export", "dualv", "--to", "casadi", "--functions", "inverse_dynamics", "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    function = casadi.Function.load(str(tmp_path / "dualv_inverse_dynamics.casadi"))
    robot = rp.load("dualv")
    c, cd, cdd = (x[30] for x in motion(robot, 31))
    start = robot.at_rest(c[None]).q[0]
    inputs = dict(zip(function.name_in(), (start, c, cd, cdd), strict=True))
    by_c = np.array(function.factory("by_c", function.name_in(), ["jac:tau:c"]).call(inputs)["jac_tau_c"])
    step = 1e-6 * np.eye(3)
    ahead, behind = (
        rp.inverse_dynamics(robot, c + sign * step, np.tile(cd, (3, 1)), np.tile(cdd, (3, 1))) for sign in (1, -1)
    )
    np.testing.assert_allclose(by_c, ((ahead - behind) / 2e-6).T, atol=1e-5)


def test_single_precision_agrees_as_far_as_it_goes(tmp_path):
    robot = rp.load("irb2400")
    code, (c, cd, cdd) = Code(robot, tmp_path, ["inverse_dynamics"], "float"), motion(robot, 500)
    expected = rp.inverse_dynamics(robot, c, cd, cdd)
    found = code.along("inverse_dynamics", 6, c, cd, cdd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_single_precision_closes_loops_to_the_rounding_of_their_joints(tmp_path):
    """Towards a pose where joints turn 14 times as fast as motors: rounding of what is open there would move joints by 3e-6 rad."""
    robot = rp.load("h4")
    code, home = Code(robot, tmp_path, ["gravity"], "float"), robot.coordinates.S @ robot.home
    c = home + np.linspace(0, 1, 60)[:, None] * (np.array([0.032, -0.055, 0.133, 0.107]) - home)
    found = []
    for sample in c:
        assert code("gravity", 4, sample)[0] == 0
        found.append(list(code.state))
    expected = robot.at_rest(c)
    assert np.linalg.norm(expected.T[-1], 2) > 13
    np.testing.assert_allclose(found, expected.q, rtol=0, atol=3e-7)


def test_reduced_strut_forces_in_single_precision(tmp_path):
    """Struts of a parallelogram are 45 mm apart: moments and forces together are a system of condition 47."""
    robot = rp.load("delta3")
    code, (c, cd, cdd) = Code(robot, tmp_path, ["reduced_forces"], "float"), motion(robot, 200)
    state = robot.close(c, cd, cdd)
    forces = strut_model(robot, "U2")(state.q, state.v, state.a)
    expected = np.hstack([forces.lower, forces.upper])
    found = code.along("reduced_forces", expected.shape[1], c, cd, cdd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_the_test_program_passes_under_the_sanitizers_and_nothing_is_allocated(tmp_path, robodyn):
    run = robodyn("export", "dualv", "--to", "c", "--out", tmp_path, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["operations"]["inverse_dynamics"] > 1000
    options = "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
    program = compiled(*options, folder=tmp_path, sources=["dualv.c", "test_dualv.c"])
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all functions agree\n"), done.stderr
    library = compiled("-O1", "-c", folder=tmp_path, sources=["dualv.c"])
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    assert not any(name in symbols for name in ("alloc", "printf", "free"))


def test_the_header_says_whose_parameters_these_are(tmp_path):
    """A payload changes no file of the robot, and yet its numbers."""
    robot = rp.load("irb2400")
    heavier = loaded(robot, LoadSpec.model_validate({"link": "link6", "mass": 0.001, "radius": 0.01}))
    write_c(heavier, ["gravity"], tmp_path)
    (said,) = re.findall("SHA-256 of the robot's numbers ([0-9a-f]{64});", (tmp_path / "irb2400.h").read_text())
    assert said == numbers_hash(heavier) != numbers_hash(robot)
    assert numbers_hash(robot) == numbers_hash(rp.load("irb2400"))


def test_a_payload_and_gravity_that_leans_go_along(tmp_path):
    robot = loaded(
        rp.load("irb2400"),
        LoadSpec.model_validate({"link": "link6", "mass": 4.0, "radius": 0.05, "at": [0.1, 0, 0.05]}),
    )
    plain, motion_ = rp.inverse_dynamics(robot, *motion(robot, 50)), motion(robot, 50)
    robot.model.gravity.linear = np.array([1.0, -2.0, -9.5])
    expected = rp.inverse_dynamics(robot, *motion_)
    assert np.abs(expected - plain).max() > 1
    found = Code(robot, tmp_path, ["inverse_dynamics"]).along("inverse_dynamics", 6, *motion_)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400"])
def test_forward_dynamics_fall_as_the_package_says(name, tmp_path):
    robot = rp.load(name)
    code, (c, cd, cdd) = Code(robot, tmp_path, ["forward_dynamics"]), motion(robot, 200)
    tau = 0.9 * rp.inverse_dynamics(robot, c, cd, cdd)
    expected = rp.forward_dynamics(robot, c, cd, tau)
    found = code.along("forward_dynamics", c.shape[1], c, cd, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_springs_in_drives_fall_with_the_robot_and_have_no_inverse(tmp_path):
    """A robot with drives that yield has rotors as coordinates and motors: it can be let go, and no motor torques make any motion of it."""
    rigid = rp.load("irb6660")
    robot = with_springs(rigid, read_drives(Path(__file__).parents[2] / "examples/irb6660_drives.yaml", rigid))
    code, (c, cd, _) = Code(robot, tmp_path, ["forward_dynamics"]), motion(robot, 200)
    tau = np.random.default_rng(0).normal(size=(200, 6)) * 1000
    expected = rp.forward_dynamics(robot, c, cd, tau)
    found = code.along("forward_dynamics", 12, c, cd, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    with pytest.raises(RobodynError, match="has 6 motors for 12 degrees of freedom"):
        rp.compiled(robot)


@pytest.mark.parametrize("file", ["irb6660_drives", "delta3_adaptive_controller"])
def test_what_is_no_part_of_a_robot_is_not_exported(file, tmp_path, robodyn):
    run = robodyn("export", Path(__file__).parents[2] / f"examples/{file}.yaml", "--to", "c", "--out", tmp_path / "c")
    assert run.returncode == 1
    assert "has the keys of another kind of file" in run.stderr
    assert not (tmp_path / "c").exists()


def test_a_name_cannot_end_a_comment(tmp_path):
    urdf = PROBE.replace('"j"', '"a*/b"')
    robot = build("pen dulum*/", RobotFile.model_validate({"urdf": "p.urdf"}), urdf, Path("p.urdf"))
    c = np.array([[0.3]])
    found = Code(robot, tmp_path, ["gravity"]).along("gravity", 1, c)
    np.testing.assert_allclose(found, rp.gravity(robot, c), atol=1e-12)


def test_the_test_program_sees_a_wrong_number(tmp_path):
    write_c(rp.load("irb2400"), ["gravity"], tmp_path)
    source = tmp_path / "irb2400.c"
    text = source.read_text()
    last = text.rindex("g[1] = ")
    source.write_text(text[:last] + "g[1] = C(0.001) + " + text[last + len("g[1] = ") :])
    program = compiled("-O1", folder=tmp_path, sources=["irb2400.c", "test_irb2400.c"])
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "gravity, sample 0" in done.stdout


def test_out_of_reach_is_flagged_and_the_state_stays(tmp_path):
    robot = rp.load("dualv")
    code, (c, cd, cdd) = Code(robot, tmp_path, ["inverse_dynamics"]), motion(robot, 2)
    d, motors = c.shape[1], len(robot.motors.names)
    before = list(code.state)
    for wrong in (c[0] + 50.0, np.full(d, np.nan), np.full(d, np.inf)):
        flag, tau, _ = code("inverse_dynamics", motors, wrong, cd[0], cdd[0])
        assert flag > 0
        assert not tau.any()
        assert list(code.state) == before
    flag, tau, _ = code("inverse_dynamics", motors, c[0], np.full(d, np.nan), cdd[0])
    assert flag == 2
    assert not tau.any()
    flag, tau, left = code("inverse_dynamics", motors, c[1], cd[1], cdd[1])  # and goes on
    assert (flag, left < 1e-10) == (0, True)
    np.testing.assert_allclose(tau, rp.inverse_dynamics(robot, c[1:], cd[1:], cdd[1:])[0], atol=1e-9)


def test_a_trajectory_out_of_reach_and_back_is_flagged_without_a_number_that_is_none(tmp_path):
    """At 1 kHz past stretched legs, which is singular: flags from there on, and torques of the package again on the way back.

    By hand: two legs of 0.28 + 0.28 m reach 0.56 m from motors that are 0.41 cos(15.52 degrees) m left of the platform's home.
    """
    robot = rp.load("dualv")
    code, t = Code(robot, tmp_path, ["inverse_dynamics"]), np.arange(2000) / 1000
    c = np.stack([0.3 * (1 - np.cos(np.pi * t)), 0 * t, 0 * t], axis=1)  # to 0.6 m and back
    cd = np.stack([0.3 * np.pi * np.sin(np.pi * t), 0 * t, 0 * t], axis=1)
    flags, found = [], []
    for sample in zip(c, cd, 0 * c, strict=True):
        flag, tau, _ = code("inverse_dynamics", 4, *sample)
        flags.append(flag), found.append(tau)
    fine, torques = np.array(flags) == 0, np.array(found)
    assert np.isfinite(torques).all()
    assert not torques[~fine].any()
    first = int(np.argmin(fine))
    assert 0 < 0.56 - 0.41 * np.cos(np.radians(15.52)) - c[first, 0] < 0.005
    assert not fine[first:1000].any()
    ends = np.r_[0:300, 1700:2000]
    assert fine[ends].all()
    np.testing.assert_allclose(torques[ends], rp.inverse_dynamics(robot, c[ends], cd[ends], 0 * c[ends]), atol=1e-8)


def test_a_slide_that_drives_its_crank_is_flagged_at_the_dead_centre(tmp_path):
    robot = rp.load("slider_crank").with_coordinates(["slide"])
    code, flags = Code(robot, tmp_path, ["inverse_dynamics"]), []
    for c in 0.5 * np.arange(400) / -1000:  # at 1 kHz, away from one dead centre and past the other
        flag, tau, _ = code("inverse_dynamics", 1, np.array([c]), np.array([-0.5]), np.zeros(1))
        assert np.isfinite(tau).all()
        flags.append(flag)
    assert 0 in flags
    assert all(flags[250:])  # more than twice the crank of 0.05 m away


@pytest.mark.parametrize("real", ["double", "float"])
def test_a_parallelogram_that_folds_is_flagged(real, tmp_path):
    """Its sides are at right angles at home, and on each other a quarter turn away: there both it and its mirror image close."""
    robot = rp.load("irb2400")
    code, home = Code(robot, tmp_path, ["gravity"], real), robot.coordinates.S @ robot.home + robot.coordinates.offset
    _, begin, _ = code("gravity", 6, home)
    turned, flags = 1.5 * (1 - np.cos(np.pi * np.arange(2001) / 1000)), []  # 3 rad and back at 1 kHz
    for angle in turned:
        flag, g, _ = code("gravity", 6, home - angle * np.eye(6)[1])
        assert np.isfinite(g).all()
        assert not (flag and g.any())
        flags.append(flag)
    singular = np.array(flags) == 2
    assert singular.any()
    np.testing.assert_allclose(turned[singular], np.pi / 2, atol=0.015)
    assert not np.array(flags)[turned < 1.5].any()
    np.testing.assert_allclose(g, begin, atol=1e-4 * np.abs(begin).max())


EFFORTS = {
    "viscous": {"initial": 0.3}, "coulomb": {"initial": 0.5, "width": 0.1}, "load": {"initial": 0.2, "width": 0.1},
    "quadratic": {"initial": 0.2}, "cbrt": {"initial": 0.4},
    "stribeck": {"initial": [0.5, 0.3, 0.2], "speed": 0.5, "width": 0.05},
    "saturating": {"initial": [0.5, 0.3], "speed": 0.5, "width": 0.05}, "directional": {"initial": [0.5, 0.4, 0.3, 0.2]},
    "position": {"initial": [0.2, 0.5, 0.3, 0.1, 0.4, 0.6], "places": [-0.4, 0.1, 0.3], "each_way": True},
    "position in splines": {"initial": [0.2, 0.5, 0.3, 0.1, 0.4, 0.6], "places": [-0.4, 0.1, 0.15, 0.3], "degree": 3},
    "position in waves": {"initial": [0.5, 0.1, -0.2, 0.7, 0.1, 0.3], "waves": [3.0], "each_way": True},
    "cogging": {"initial": [0.1, 0.2], "waves": [7.0]}, "offset": {"initial": 0.7}, "armature": {"initial": 0.05},
    "spring": {"initial": 12.0, "rest": 0.1}, "polynomial": {"coefficients": [0.1, 0.2, 0.3], "known": True},
    "lever_spring": {"initial": 40.0, "radii": [0.3, 0.2], "free_length": 0.1, "angle": 1.0},
}  # fmt: skip


@pytest.mark.parametrize("model", EFFORTS)
def test_every_effort_has_its_form(model, tmp_path):
    spec = {"urdf": "p.urdf", "efforts": [{"of": "j", "model": model.partition(" ")[0]} | EFFORTS[model]]}
    robot = build("pendulum", RobotFile.model_validate(spec), PROBE, Path("p.urdf"))
    code, rng = Code(robot, tmp_path, ["inverse_dynamics"]), np.random.default_rng(0)
    c, cd, cdd = 0.8 * rng.uniform(-1, 1, (300, 1)), rng.normal(size=(300, 1)), rng.normal(size=(300, 1))
    expected = rp.inverse_dynamics(robot, c, cd, cdd)
    np.testing.assert_allclose(code.along("inverse_dynamics", 1, c, cd, cdd), expected, atol=1e-11)


def test_friction_grows_with_the_load_of_motors_in_loops_and_falls_nowhere(tmp_path):
    robot = rp.load("fivebar")
    spec = robot.file.model_copy(
        update={"efforts": [EffortSpec.model_validate({"of": "all motors", "model": "load", "initial": 0.15})]}
    )
    robot = build("fivebar", spec, robot.urdf_path.read_text(), robot.urdf_path)
    code, (c, cd, cdd) = Code(robot, tmp_path, ["inverse_dynamics"]), motion(robot, 300)
    expected = rp.inverse_dynamics(robot, c, cd, cdd)
    found = code.along("inverse_dynamics", 2, c, cd, cdd)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    without = rp.inverse_dynamics(replace(robot, efforts=()), c, cd, cdd)
    assert np.abs(expected - without).max() > 0.05 * np.abs(expected).max()
    with pytest.raises(
        RobodynError, match=r"friction 'load' of .* has no form in C yet where accelerations are sought"
    ):
        write_c(robot, ["forward_dynamics"], tmp_path / "c")


def test_what_a_robot_has_not_is_said(tmp_path, robodyn):
    """One robot has no loops and so no struts, one names no frames and nothing in it is called an end; options of other formats are refused."""
    for name, function, said in (
        ("irb2400", "strut_forces", "has no struts in loops"),
        ("fivebar", "forward_kinematics", "names none, nor is a link called flange"),
    ):
        with pytest.raises(RobodynError, match=said):
            write_c(rp.load(name), [function], tmp_path / "c")
    for words in (("--to", "mjcf", "--functions", "gravity"), ("--to", "casadi", "--real", "float")):
        run = robodyn("export", "irb2400", *words, "--out", tmp_path / "c")
        assert run.returncode == 1
        assert run.stderr.startswith("robodyn: --functions concerns c and casadi, --real c")
    assert not (tmp_path / "c").exists()


def test_what_has_no_form_is_said(tmp_path, robodyn, monkeypatch):
    spec = {"urdf": "p.urdf", "efforts": [{"of": "j", "model": "maxwell_slip", "stops": [0.1], "initial": [1.0]}]}
    robot = build("pendulum", RobotFile.model_validate(spec), PROBE, Path("p.urdf"))
    with pytest.raises(RobodynError, match=r"friction 'maxwell_slip' of 'j' has no form in C yet"):
        write_c(robot, ["inverse_dynamics"], tmp_path / "c")
    with pytest.raises(UnknownName, match=r"no function 'power'.*inverse_dynamics, gravity, mass_matrix"):
        write_c(rp.load("irb2400"), ["power"], tmp_path / "c")
    assert not (tmp_path / "c").exists()
    run = robodyn("export", "irb2400", "--to", "c", "--out", tmp_path / "c", "--functions", "power")
    assert run.returncode == 1
    assert run.stderr.startswith("robodyn: no function 'power'")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake on this machine")
def test_cmake_builds_and_tests_the_folder(tmp_path, robodyn):
    run = robodyn("export", "fivebar", "--to", "c", "--functions", "gravity,mass_matrix", "--out", tmp_path / "c")
    assert run.returncode == 0, run.stderr
    for words in (("cmake", "-S", "c", "-B", "build"), ("cmake", "--build", "build"), ("ctest", "--test-dir", "build")):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed" in done.stdout
