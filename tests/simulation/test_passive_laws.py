"""Augmented PD and passivity-based control: skew matrix, closed forms of one joint, a function that falls; simulated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.closures import kernel_choice
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.equations import mass_matrix
from robodyn_pin.errors import BadFile
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.believed import Knowledge
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile, DisturbanceSpec
from robodyn_pin.simulation.model_torques import parts
from robodyn_pin.simulation.stability import stability

compiled = pytest.mark.skipif(not kernel_choice.installed(), reason="needs the extra 'fast'")
INERTIA, MASS, ARM = 0.3, 2.0, 0.25  # [kg m^2] about the joint, [kg], [m] to the centre of mass
RUBS = 1.5  # [N m] Coulomb friction, its change of sign within 0.002 rad/s
PENDULUM = f"""<robot name="pendulum"><link name="base"/>
  <link name="arm"><inertial><origin xyz="{ARM} 0 0"/><mass value="{MASS}"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="{INERTIA - MASS * ARM**2}"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin rpy="1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1000" velocity="100"/></joint></robot>"""
ROBOT = f"urdf: pendulum.urdf\nefforts: [{{of: j, model: coulomb, initial: {RUBS}, width: 0.002}}]\n"
W, Z = 2 * np.pi * 4, 1.25
SWING = FourierMotion(rate=500, duration=0.5, period=1, centre={"j": 0.2}, sin={"j": [0.3]})


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pendulum")
    (folder / "pendulum.urdf").write_text(PENDULUM)
    (folder / "pendulum.yaml").write_text(ROBOT)
    return folder


@pytest.fixture(scope="module")
def rubbing(desk) -> Robot:
    return load(desk / "pendulum.yaml")


@pytest.fixture(scope="module")
def smooth(desk) -> Robot:
    return load(desk / "pendulum.urdf")


def run(
    robot: Robot, motion: FourierMotion = SWING, model: Robot | None = None, bits: int | None = None, **settings: object
) -> Tracking:
    return track_motion(*prepare(robot, model or robot, motion, ControllerFile.model_validate(settings)), bits)


@pytest.mark.parametrize("path", ["pinocchio", pytest.param("kernel", marks=compiled)])
@pytest.mark.parametrize("name", ["dualv", "irb360", "irb2400"])
def test_the_matrix_of_the_law_is_skew_against_the_change_of_mass(name, path):
    """z'(dM/dt - 2 C) y = -y'(dM/dt - 2 C) z, with dM/dt by central differences of the mass matrix."""
    robot, rng = load(name), np.random.default_rng(3)
    d = len(robot.coordinates.names)
    c = (robot.coordinates.S @ robot.home + robot.coordinates.offset)[None] + 0.05 * rng.normal(size=(1, d))
    cd, h, none = rng.normal(size=(1, d)), 1e-6, np.zeros((1, d))
    q, known = robot.close(c, cd, none).q[0], Knowledge(robot, parts(robot, None))
    with forced(path):
        still = known.skew(c[0], none[0], none[0], none[0], q)[0]
        C = np.stack([known.skew(c[0], cd[0], u, none[0], q)[0] - still for u in np.eye(d)], axis=1)
    rate = (mass_matrix(robot, c + h * cd) - mass_matrix(robot, c - h * cd))[0] / (2 * h)
    N = rate - 2 * C
    assert np.abs(N + N.T).max() < 1e-6 * np.abs(C).max()
    assert np.abs(N).max() > 1e-3 * np.abs(C).max()  # there is something to be skew


@pytest.mark.parametrize("law", ["augmented_pd", "passivity"])
def test_error_of_one_joint_dies_as_its_two_poles_say(smooth, law):
    """I e'' + 2 z w I e' + w^2 I e = -T: the answer to a torque that steps, in closed form, to first order in the sample time."""
    a, b = W * (Z - np.sqrt(Z**2 - 1)), W * (Z + np.sqrt(Z**2 - 1))

    def expected(t: np.ndarray) -> np.ndarray:
        return -(2 / INERTIA) / (a * b) * (1 + (a * np.exp(-b * t) - b * np.exp(-a * t)) / (b - a))

    off = {}
    for rate in (2000, 4000):
        found = run(smooth, law=law, rate=rate, bandwidth=4, damping=Z, disturbance={"torque": {"j": 2}})
        still = run(smooth, law=law, rate=rate, bandwidth=4, damping=Z)
        off[rate] = np.abs((found.error - still.error)[:, 0] - expected(found.t)).max()
    assert off[4000] < 0.01 * 2 / INERTIA / W**2
    assert off[2000] / off[4000] == pytest.approx(2, rel=0.1)


def test_gains_of_a_motor_are_the_law_as_slotine_and_li_write_it(smooth):
    """K = d and L = p / d: the same as bandwidth and damping where I, w and z give these."""
    fast, slow = W * (Z + np.sqrt(Z**2 - 1)), W * (Z - np.sqrt(Z**2 - 1))
    given = {"j": {"p": fast * slow * INERTIA, "d": fast * INERTIA}}
    push = {"disturbance": {"torque": {"j": 2}}}
    a = run(smooth, law="passivity", rate=1000, bandwidth=4, damping=Z, **push)
    b = run(smooth, law="passivity", rate=1000, gains=given, **push)
    assert a.error == pytest.approx(b.error, abs=1e-12)
    assert np.abs(a.error).max() > 1e-3


def test_the_function_of_slotine_and_li_falls_along_a_fast_motion_of_a_delta():
    """V = s'M s / 2: with the exact model dV/dt = -s'K s - s'(what pushes), however the robot moves meanwhile."""
    robot = replace(load("delta3"), efforts=())
    centre = dict.fromkeys(robot.coordinates.names, 0.3)
    motion = FourierMotion(rate=500, duration=0.06, period=0.3, centre=centre, sin={"phi1": [0.2], "phi2": [0, 0.1]})
    push = np.array([3.0, 0, 0])
    off = {}
    for rate in (2000, 4000):
        spec = ControllerFile(
            law="passivity", rate=rate, bandwidth=8, damping=1, torque_limits=False,
            disturbance=DisturbanceSpec(torque={"phi1": push[0]}),
        )  # fmt: skip
        robot, controller = prepare(robot, robot, motion, spec)
        away, ref, (K, L) = track_motion(robot, controller), controller.reference, controller.passive
        S, offset = robot.coordinates.S, robot.coordinates.offset
        c, cd = away.joints @ S.T + offset, away.rates @ S.T
        s = (ref.cd - cd) + (ref.c - c) @ L.T
        V = np.einsum("ni,nij,nj->n", s, mass_matrix(robot, c), s) / 2
        slope = -np.einsum("ni,ij,nj->n", s, K, s) - s @ push
        gained = np.r_[0, np.cumsum((slope[1:] + slope[:-1]) / 2 / rate)]
        off[rate] = np.abs(V - V[0] - gained).max() / np.ptp(V)
    assert off[4000] < 0.03
    assert off[2000] / off[4000] == pytest.approx(2, rel=0.15)  # first order in the sample time, nothing left at zero


@pytest.mark.parametrize("law", ["augmented_pd", "passivity"])
@pytest.mark.parametrize("name", ["dualv", "delta3"])
def test_with_the_exact_model_hardly_any_error_is_left(law, name):
    robot = load(name)
    centre = dict(
        zip(
            robot.coordinates.names, (robot.coordinates.S @ robot.home + robot.coordinates.offset).tolist(), strict=True
        )
    )
    size = 0.03 if name == "dualv" else 0.15
    motion = FourierMotion(
        rate=500,
        duration=0.1,
        period=0.5,
        centre=centre,
        cos={robot.coordinates.names[0]: [size]},
        sin={robot.coordinates.names[1]: [0, size]},
    )
    gains = {"rate": 2000, "bandwidth": 15, "damping": 1}
    left, without = (run(robot, motion, law=one, **gains).largest.max() for one in (law, "pd"))
    assert left < 0.05 * without


def test_friction_at_desired_rates_does_not_chatter_at_standstill(rubbing, smooth):
    """A model with more friction than the robot pushes it on wherever the encoder's steps say that it goes, and back again."""
    still = FourierMotion(rate=500, duration=2, period=1, centre={"j": 1.2})
    changes = {}
    for at in ("desired", "measured"):
        gains = {"rate": 1000, "bandwidth": 6, "damping": 1, "friction": at}
        found = run(smooth, still, rubbing, 20, law="passivity", disturbance={"torque": {"j": 0.05}}, **gains)
        torque = found.commanded[:, 0] - MASS * 9.81 * ARM * np.cos(1.2)  # gravity, which the law compensates
        changes[at] = int((np.diff(np.sign(torque[np.abs(torque) > 0.3 * RUBS])) != 0).sum())
    assert changes["desired"] == 0
    assert changes["measured"] > 8  # it never comes to rest


def test_friction_compensation_helps_and_its_width_makes_it_gentle(rubbing):
    gains = {"law": "augmented_pd", "rate": 2000, "bandwidth": 4, "damping": 1}
    none, sharp, wide = (run(rubbing, **gains, **more) for more in ({"friction": "none"}, {}, {"friction_width": 0.5}))
    assert sharp.rms < 0.1 * none.rms
    jump = {name: np.abs(np.diff(found.commanded[:, 0])).max() for name, found in (("sharp", sharp), ("wide", wide))}
    assert jump["wide"] < 0.2 * jump["sharp"]
    assert sharp.rms < wide.rms < none.rms


def test_eigenvalues_of_the_loop_know_the_model_inside_the_law(smooth):
    """For one joint K L = w^2 I and K + I L = 2 z w I: the loop about home is that of augmented PD."""
    pairs = [
        prepare(smooth, smooth, SWING, ControllerFile(law=law, rate=500, bandwidth=4, damping=Z, delay=3))
        for law in ("augmented_pd", "passivity")
    ]
    a, b = (stability(robot, controller) for robot, controller in pairs)
    assert a.radius == pytest.approx(b.radius, rel=1e-9)
    assert a.longest_delay == b.longest_delay


@pytest.mark.parametrize(
    ("controller", "said"),
    [
        ("law: passivity\nrate: 1000\n", "law 'passivity' needs gains: either 'bandwidth' [Hz] with 'damping', or 'gains'"),
        ("law: augmented_pd\nrate: 1000\ngains: {k: {p: 1, d: 1}}\n", "no gains for motor j"),
        ("law: passivity\nrate: 1000\nbandwidth: 5\ndamping: 0.7\n", "damping 0.7 is too low for: it must be 1 or more"),
        ("law: passivity\nrate: 1000\ngains: {j: {p: 1, d: 0}}\n", "needs a gain d above 0, but that of motor j is 0"),
        ("law: pd\nrate: 1000\nbandwidth: 5\ndamping: 1\nfriction: desired\n", "'pd' knows no model"),
        ("law: feedforward\nrate: 1000\nbandwidth: 5\ndamping: 1\nfriction: measured\n", "'friction' is desired or none"),
        ("law: passivity\nrate: 1000\nbandwidth: 50\ndamping: 1\ndelay: 30\ntorque_limits: false\n", "stable at 1000 Hz up to a delay of"),
    ],
)  # fmt: skip
def test_a_law_that_cannot_be_is_refused_in_one_sentence(robodyn_here, desk, tmp_path, controller, said):
    (tmp_path / "controller.yaml").write_text(controller)
    (tmp_path / "motion.yaml").write_text("rate: 500\nduration: 1\nperiod: 1\ncentre: {j: 0.2}\nsin: {j: [0.3]}\n")
    files = ("--motion", tmp_path / "motion.yaml", "--controller", tmp_path / "controller.yaml")
    done = robodyn_here("simulate", desk / "pendulum.yaml", *files, "--out", tmp_path / "log.csv")
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "log.csv").exists()


def test_gains_of_passivity_for_a_missing_motor_are_told(smooth):
    with pytest.raises(BadFile, match="no gains for motor j"):
        run(smooth, law="passivity", rate=1000, gains={"k": {"p": 1, "d": 1}})
