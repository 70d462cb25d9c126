"""Controlled robots against closed forms of their errors, energy, eigenvalues of the loop; all of it simulated."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import robodyn_pin as rp
from robodyn_pin.commands.cli import main
from robodyn_pin.errors import Diverged, UnknownName
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.elastic_drives import Drives
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile, Gains
from robodyn_pin.simulation.stability import stability

INERTIA = 0.3  # [kg m^2] of the link about its joint, which is vertical
LINK = f"""<robot name="link"><link name="base"/>
  <link name="arm"><inertial><mass value="2"/><inertia ixx="{INERTIA}" ixy="0" ixz="0" iyy="{INERTIA}" iyz="0" izz="{INERTIA}"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1000" velocity="100"/></joint></robot>"""
W, Z = 2 * np.pi * 20, 0.7  # bandwidth [rad/s] and damping
PD = {"bandwidth": 20, "damping": Z}
SWING = FourierMotion(
    rate=500, duration=0.1, period=0.2, centre={"x": 0, "y": 0, "phi": 0}, sin={"x": [0.03], "y": [0, 0.02]}, cos={"phi": [0.2]}
)  # fmt: skip


@pytest.fixture(scope="module")
def link(tmp_path_factory) -> Robot:
    file = tmp_path_factory.mktemp("link") / "link.urdf"
    file.write_text(LINK)
    return load(file)


@pytest.fixture(scope="module")
def dualv() -> Robot:
    return load("dualv")


def hold(duration: float) -> FourierMotion:
    return FourierMotion(rate=500, duration=duration, period=1, centre={"j": 0.2})


def run(robot: Robot, motion: FourierMotion, **settings: object) -> Tracking:
    return track_motion(*prepare(robot, robot, motion, ControllerFile.model_validate(settings)))


@pytest.mark.parametrize("cutoff", [None, 30.0])
def test_pd_answers_a_torque_step_as_the_linear_equation_does(link, cutoff):
    """I e'' = -(p e + d e'_f) - T with p = I w^2, d = 2 z w I: the sum of its modes, to first order in the sample time."""
    wf = None if cutoff is None else 2 * np.pi * cutoff
    # Laplace: e (s^2 + w^2 + 2 z w s / (1 + s / wf)) = -T / I / s
    above, below = (
        ([1], [1, 2 * Z * W, W**2]) if wf is None else ([1 / wf, 1], [1 / wf, 1, W**2 / wf + 2 * Z * W, W**2])
    )
    poles = np.roots(below)

    def expected(t: np.ndarray) -> np.ndarray:
        modes = [np.polyval(above, s) / (s * np.polyval(np.polyder(below), s)) * np.exp(s * t) for s in poles]
        return -(10 / INERTIA) * (above[-1] / below[-1] + sum(modes).real)

    off = {}
    for rate in (5000, 10_000):
        found = run(
            link, hold(0.06), law="pd", rate=rate, derivative_filter=cutoff, disturbance={"torque": {"j": 10}}, **PD
        )
        off[rate] = np.abs(found.error[:, 0] - expected(found.t)).max()
    assert off[10_000] < 0.02 * 10 / INERTIA / W**2  # torques that are held come half a sample late
    assert off[5000] / off[10_000] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("law", ["feedforward", "computed_torque"])
def test_the_exact_model_leaves_only_what_holding_torques_over_a_sample_leaves(dualv, law):
    short, gains = SWING.model_copy(update={"duration": 0.05}), {"bandwidth": 70, "damping": 0.7}
    errors = [run(dualv, short, law=law, rate=rate, **gains).largest for rate in (1000, 2000, 4000)]
    without = run(dualv, short, law="pd", rate=2000, **gains).largest
    assert (errors[1] < 0.03 * without).all()
    assert errors[1] / errors[2] == pytest.approx(errors[0] / errors[1], rel=0.15)
    assert (
        np.abs(2 * errors[2] - errors[1]) < 0.1 * errors[2]
    ).all()  # first order in the sample time, nothing left at zero


def test_work_of_motors_and_disturbance_is_the_gain_of_energy(dualv):
    """Torques are held while a motor turns from one sample to the next: their work is a sum, no integral."""
    smooth = replace(dualv, efforts=())
    found = run(
        smooth, SWING, law="pd", rate=4000, bandwidth=70, damping=0.7, derivative_filter=70, delay=0,
        torque_limits={"m1": 4}, disturbance={"percent": 30, "up_to": 100},
    )  # fmt: skip
    assert found.saturated[:, 0].any()
    work = np.cumsum(((found.tau + found.disturbance)[:-1] * np.diff(found.q, axis=0)).sum(axis=1))
    S = smooth.coordinates.S
    kinetic, _ = rp.energy(smooth, found.joints @ S.T, found.rates @ S.T)
    gained = kinetic[1:] - kinetic[0]
    assert np.abs(work - gained).max() < 1e-7 * np.ptp(gained)
    assert np.ptp(gained) > 0.05 * kinetic.max()


def test_internal_torque_is_taken_out_or_put_in_as_asked(dualv):
    """A torque that moves nothing does no work on any motion of the platform, here by differences of the motors."""
    settings = {"law": "pd", "rate": 4000, "bandwidth": 70, "damping": 0.7, "torque_limits": False}
    spec = ControllerFile.model_validate(settings)
    h, c = 1e-6, np.array([[np.sin(0.3) * 0.03, 0.01, 0.2]])
    held = FourierMotion(
        rate=500, duration=0.02, period=1, centre=dict(zip(("x", "y", "phi"), c[0].tolist(), strict=True))
    )

    def motors(x: np.ndarray) -> np.ndarray:
        return np.array(dualv.close(x, 0 * x, 0 * x).q @ dualv.motors.S.T)

    slopes = np.concatenate([(motors(c + h * u) - motors(c - h * u)) / (2 * h) for u in np.eye(3)])  # (3, 4)
    idle = np.linalg.svd(slopes)[2][-1]
    push = {"torque": {"m1": 8.0}}
    plain = run(dualv, held, **settings, disturbance=push)
    free = run(dualv, held, **settings, disturbance=push, projection=False)
    tense = run(dualv, held, **settings, disturbance=push, internal={"m1": 6.0})
    assert np.abs(plain.tau @ idle).max() < 1e-6 * np.abs(plain.tau).max()
    assert np.abs(free.tau @ idle).max() > 0.01 * np.abs(free.tau).max()
    assert (tense.tau - plain.tau) @ idle == pytest.approx(6 * idle[0], rel=1e-6)
    # Projected at the reference's pose, 0.3 mrad beside the robot's own: a trace of it moves.
    assert tense.error[-1] == pytest.approx(plain.error[-1], rel=2e-3)
    assert spec.projection


@pytest.mark.parametrize("delay", [0, 2, 3])
def test_errors_grow_from_sample_to_sample_as_the_eigenvalues_say(link, delay):
    settings = {"law": "pd", "rate": 1000, "derivative_filter": 40, "delay": delay, "torque_limits": False, **PD}
    spec = ControllerFile.model_validate(settings | {"disturbance": {"torque": {"j": 1e-3}}})
    robot, controller = prepare(link, link, hold(0.3), spec)
    verdict, found = stability(robot, controller), track_motion(robot, controller)
    steady = -1e-3 / (INERTIA * W**2)
    away = np.abs(found.error[:, 0] - steady)
    early, late = away[60:160].max(), away[160:260].max()
    assert (late / early) ** 0.01 == pytest.approx(verdict.radius, rel=5e-3)
    assert verdict.stable == (delay <= verdict.longest_delay) == (verdict.radius < 1)
    assert verdict.longest_delay == 2


def test_a_loop_that_runs_away_says_when_and_what_would_be_stable(link):
    settings = {"law": "pd", "rate": 1000, "delay": 12, "torque_limits": False, "disturbance": {"torque": {"j": 5}}}
    with pytest.raises(
        Diverged, match=r"diverged at t = 0\.\d+ s: motor j is more than 1 rad.*stable at 1000 Hz up to a delay of \d"
    ):
        run(link, hold(1.0), **settings, **PD)


def test_explicit_gains_equal_those_of_the_bandwidth(link):
    given = {"j": Gains(p=INERTIA * W**2, d=2 * Z * W * INERTIA)}
    a, b = (
        run(link, hold(0.02), law="pd", rate=1000, disturbance={"torque": {"j": 10}}, **gains)
        for gains in (PD, {"gains": given})
    )
    assert a.error == pytest.approx(b.error, rel=1e-9)


def test_the_irb360_follows_under_gravity_and_friction_steeper_than_a_sample():
    robot, names = load("irb360"), ("phi1", "phi2", "phi3", "psi")
    centre, swing = dict.fromkeys(names, 0.4), {m: [0.05 * (1 + k)] for k, m in enumerate(names)}
    motion = FourierMotion(rate=500, duration=0.04, period=0.2, centre=centre, sin=swing)
    worst = {}
    for law in ("pd", "computed_torque"):
        spec = ControllerFile(law=law, rate=2000, bandwidth=20, damping=0.7)
        pair = prepare(robot, robot, motion, spec)
        found = track_motion(*pair)
        assert found.stages[0].scheme.sticking is not None
        worst[law] = found.largest
    assert (worst["computed_torque"] < 0.05 * worst["pd"]).all()


MOTION = "rate: 500\nduration: 0.1\nperiod: 1\ncentre: {j: 0.2}\nsin: {j: [0.3]}\n"
CONTROLLER = "law: pd\nrate: 1000\nbandwidth: 20\ndamping: 0.7\n"


@pytest.fixture
def desk(tmp_path) -> Path:
    (tmp_path / "link.urdf").write_text(LINK)
    (tmp_path / "motion.yaml").write_text(MOTION)
    (tmp_path / "controller.yaml").write_text(CONTROLLER)
    (tmp_path / "out").mkdir()
    return tmp_path


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def simulate(monkeypatch, capsys, desk) -> Callable[..., Done]:
    """`robodyn simulate` as a user runs it, within this process."""

    def run(*more: object, robot: object = desk / "link.urdf") -> Done:
        words = ["simulate", robot, "--motion", desk / "motion.yaml", "--controller", desk / "controller.yaml"]
        monkeypatch.setattr(sys, "argv", ["robodyn", *map(str, [*words, "--out", desk / "out" / "log.csv", *more])])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


def test_the_command_writes_log_errors_summary_and_plot(simulate, desk):
    (desk / "controller.yaml").write_text(CONTROLLER + "torque_limits: {j: 0.5}\n")
    done = simulate("--encoder-bits", 16, "--json")
    assert done.code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary == json.loads((desk / "out/log_tracking.json").read_text())
    assert summary["simulated"]
    log = rp.read_log(desk / "out/log.csv", load(desk / "link.urdf"))
    assert log.simulated
    assert log.rate == pytest.approx(500)
    assert np.abs(log.q / (2 * np.pi / 2**16) - np.round(log.q / (2 * np.pi / 2**16))).max() < 1e-6
    table = pl.read_csv(desk / "out/log_tracking.csv", comment_prefix="#")
    t = table["t"].to_numpy()
    assert table["reference_j"].to_numpy() == pytest.approx(0.2 + 0.3 * np.sin(2 * np.pi * t), abs=1e-12)
    assert table["error_j"].to_numpy() + log.q[:, 0] == pytest.approx(table["reference_j"].to_numpy(), abs=1e-12)
    (motor,) = summary["motors"]
    assert motor["samples at the torque limit"] > 10
    assert np.abs(log.tau).max() == motor["largest torque [N m or N]"] == 0.5
    assert motor["largest error [rad or m]"] >= table["error_j"].abs().max() >= 0.9 * motor["largest error [rad or m]"]
    assert "SIMULATED" in (desk / "out/log_tracking.svg").read_text()
    printed = simulate("--encoder-bits", 16)
    assert (
        f"torque limits cut off the torque of j in {motor['samples at the torque limit']} of 100 samples"
        in printed.stdout
    )


@pytest.mark.parametrize(
    ("controller", "motion", "said"),
    [
        ("law: pd\nrate: 1000\n", "", "needs gains: either 'bandwidth' [Hz] with 'damping', or 'gains'"),
        ("law: pd\nrate: 1000\nbandwidth: 20\n", "", "'bandwidth' and 'damping' go together"),
        ("law: computed_torque\nrate: 1000\ngains: {j: {p: 1, d: 1}}\n", "", "its gains follow from the model"),
        ("law: pd\nrate: 1000\ngains: {k: {p: 1, d: 1}}\n", "", "no gains for motor j"),
        (CONTROLLER.replace("1000", "1100"), "", "runs at 1100 Hz, which is no whole multiple of the motion's 500 Hz"),
        (CONTROLLER + "derivative_filter: 500\n", "", "must be below half the rate of 1000 Hz"),
        (CONTROLLER + "torque_limits: {m: 3}\n", "", "no motor 'm' in torque_limits of the controller file"),
        (CONTROLLER + "internal: {j: 3}\n", "", "a motor for each degree of freedom"),
        (CONTROLLER + "model: irb360\n", "", "has motors phi1, phi2, phi3, psi"),
        (CONTROLLER + "model: nobody\n", "", "no robot 'nobody'"),
        (CONTROLLER + "delay: 30\ntorque_limits: false\n", MOTION.replace("0.1", "1.5"), "diverged at t = "),
        (CONTROLLER, MOTION.replace("duration: 0.1", "duration: 0.001"), "has 1 samples; expected 2 to"),
    ],
)  # fmt: skip
def test_what_cannot_be_controlled_is_said_in_one_sentence_and_nothing_is_written(
    simulate, desk, controller, motion, said
):
    (desk / "controller.yaml").write_text(controller)
    (desk / "motion.yaml").write_text(motion or MOTION)
    done = simulate()
    assert done.code == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert not list((desk / "out").iterdir())


def test_a_reference_out_of_reach_is_no_divergence(simulate, desk):
    (desk / "motion.yaml").write_text(
        "rate: 500\nduration: 1\nperiod: 2\ncentre: {x: 0, y: 0, phi: 0}\nsin: {x: [0.5]}\n"
    )
    done = simulate(robot="dualv")
    assert done.code == 1
    assert "of the reference" in done.stderr
    assert "out of reach" in done.stderr or "singular" in done.stderr


def test_an_unstable_loop_that_limits_hold_back_ends_with_a_negative_verdict(simulate, desk):
    (desk / "controller.yaml").write_text(CONTROLLER + "delay: 12\ntorque_limits: {j: 1}\n")
    done = simulate()
    assert done.code == 3
    assert "errors grow" in done.stdout


def test_friction_too_steep_for_the_inertia_of_a_wrist_sticks():
    arm = load("irb2400")  # without a tool its last axis has next to no inertia
    spec = ControllerFile(law="computed_torque", rate=1000, bandwidth=5, damping=0.7)
    motion = FourierMotion(rate=500, duration=0.05, period=1, centre=dict.fromkeys(arm.coordinates.names, 0.1))
    found = track_motion(*prepare(arm, arm, motion, spec))
    assert "sticks" in found.scheme
    assert found.largest.max() < 1e-9


def test_a_robot_at_rest_off_the_reference_is_caught_as_the_linear_equation_says(link):
    """e'' + 2 z w e' + w^2 e = 0 from e(0) = 0.1, e'(0) = 0, in closed form, to first order in the sample time."""
    found = run(link, hold(0.1), law="pd", rate=20_000, start={"j": 0.1}, **PD)
    fast = W * np.sqrt(1 - Z**2)
    expected = 0.1 * np.exp(-Z * W * found.t) * (np.cos(fast * found.t) + Z * W / fast * np.sin(fast * found.t))
    assert found.error[0, 0] == pytest.approx(0.1, abs=1e-15)
    assert np.abs(found.error[:, 0] - expected).max() < 1e-3  # 1 % of the start, a sample is 0.6 % of 1 / w
    with pytest.raises(UnknownName, match="'k'"):
        run(link, hold(0.1), law="pd", rate=500, start={"k": 0.1}, **PD)


def test_rotors_at_rest_stand_where_springs_hold_the_joints(dualv):
    drives = Drives(np.full(4, 2e4), np.full(4, 5.0), np.full(4, 0.01))
    spec = ControllerFile.model_validate({"law": "pd", "rate": 500, "start": {"x": 0.02}, **PD})
    robot, controller = prepare(dualv, dualv, SWING, spec)
    found = track_motion(robot, controller, drives=drives)
    begin = controller.reference.c[0].copy()
    begin[0] = 0.02
    q = robot.at_rest(begin[None]).q[0]
    np.testing.assert_allclose(found.q[0], robot.motors.S @ q + robot.motors.offset, atol=1e-12)
