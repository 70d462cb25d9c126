"""Springs between motors and joints: two masses in closed form, resonances of the IRB 6660 from its own M and K; simulated."""

import sys
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl
import pytest

from robodyn_pin.commands.cli import main
from robodyn_pin.dynamics.equations import state_mass_matrix
from robodyn_pin.elastic.drives_file import read_drives
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.elastic_drives import Drives, twists, with_springs
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile
from robodyn_pin.simulation.forward import roll_out
from robodyn_pin.simulation.schemes import spring_stiffness
from robodyn_pin.simulation.stability import loop, plant

JOINT, ROTOR, SPRING = 0.3, 0.1, 4000.0  # [kg m^2], [kg m^2], [N m/rad]
ARM = f"""<robot name="link"><link name="base"/>
  <link name="arm"><inertial><mass value="2"/><inertia ixx="{JOINT}" ixy="0" ixz="0" iyy="{JOINT}" iyz="0" izz="{JOINT}"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1000" velocity="100"/></joint></robot>"""
STILL = FourierMotion(rate=500, duration=0.2, period=1, centre={"j": 0.2})


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("drives")
    (folder / "link.urdf").write_text(ARM)
    (folder / "rubbing.yaml").write_text(
        f"urdf: link.urdf\nefforts: [{{of: j, model: armature, initial: {ROTOR}}}, {{of: j, model: viscous, initial: 2.0}}]\n"
    )
    return folder


@pytest.fixture(scope="module")
def arm(desk) -> Robot:
    return load(desk / "link.urdf")


def one(damping: float = 0.0) -> Drives:
    return Drives(np.array([SPRING]), np.array([damping]), np.array([ROTOR]))


def run(robot: Robot, drives: Drives | None, motion: FourierMotion = STILL, **settings: object) -> Tracking:
    return track_motion(*prepare(robot, robot, motion, ControllerFile.model_validate(settings)), drives=drives)


def test_two_masses_swing_against_each_other_with_the_frequency_of_the_textbook(arm):
    """Without torque: twist ~ cos(w t), w^2 = k (1 / I + 1 / J); the centre of both stays where it is."""
    w = np.sqrt(SPRING * (1 / JOINT + 1 / ROTOR))
    t = np.arange(0, 0.2, 0.0005)
    found = roll_out(with_springs(arm, one()), lambda *_: np.zeros(1), np.array([0.01, 0.0]), np.zeros(2), t)
    twist = found.c[:, 1] - found.c[:, 0]
    assert twist == pytest.approx(-0.01 * np.cos(w * t), abs=1e-5)
    assert JOINT * found.c[:, 0] + ROTOR * found.c[:, 1] == pytest.approx(JOINT * 0.01, abs=1e-12)


def test_friction_and_rotor_of_the_file_are_on_the_rotors_side(desk):
    """A spring as stiff as a shaft turns with both masses and the friction of the motor: I w' = tau - 2 w."""
    robot = load(desk / "rubbing.yaml")
    drives = read_drives(_written(desk, "stiffness: {j: 1.0e5}\ndamping: 0.1\n"), robot)
    assert drives.rotors == pytest.approx([ROTOR])  # `armature` of the robot file
    assert drives.damping == pytest.approx([2 * 0.1 * np.sqrt(1e5 * ROTOR)])
    t = np.arange(0, 0.3, 0.0005)
    moved = with_springs(robot, drives)
    found = roll_out(moved, lambda *_: np.array([1.0]), np.zeros(2), np.zeros(2), t)
    w = 0.5 * (1 - np.exp(-2 * t / (JOINT + ROTOR)))
    assert found.cd[:, 0] == pytest.approx(w, abs=2e-3)
    # Held, the joint feels nothing of the motor's friction: M of the rotor is its own alone.
    state = moved.at_rest(np.zeros((1, 2)))
    assert state_mass_matrix(moved, state)[0] == pytest.approx(np.diag([JOINT, ROTOR]))


def test_the_motor_is_where_it_should_be_and_the_joint_hangs_by_its_weight_over_the_stiffness():
    """IRB 6660 at rest: K twist = -gravity of the rigid robot along each motor, so far the tool hangs; encoders see nothing of it."""
    robot = load("irb6660")
    motion = FourierMotion(
        rate=500, duration=0.01, period=1, centre={"m1": 0, "m2": 0.3, "m3": 0.1, "m4": 0, "m5": 0.5, "m6": 0}
    )
    drives = Drives(np.array([2e6, 3e6, 2.5e6, 8e5, 6e5, 4e5]), np.full(6, 500.0), np.array([60.0, 60, 40, 8, 6, 3]))
    found = run(robot, drives, motion, law="feedforward", rate=2000, bandwidth=4, damping=0.7, torque_limits=False)
    nv = robot.model.nv
    assert found.error[0] == pytest.approx(0, abs=1e-12)
    joints = found.joints[0, :nv]

    def height(c: np.ndarray) -> float:
        return float(pin.computePotentialEnergy(robot.model, robot.model.createData(), robot.at_rest(c[None]).q[0]))

    c, h = robot.motors.S @ joints, 1e-5
    weight = np.array([(height(c + h * u) - height(c - h * u)) / (2 * h) for u in np.eye(6)])
    assert twists(robot, found.joints)[0] == pytest.approx(weight / drives.stiffness, abs=1e-9)
    assert np.abs(weight / drives.stiffness).max() > 1e-4


@pytest.mark.parametrize("delay", [0, 3])
def test_errors_grow_as_the_eigenvalues_of_rotor_and_joint_say(arm, delay):
    """A = of x, x' of both masses by hand; torques are held, so exp(A h), here by its series."""
    w, z, h = 2 * np.pi * 8, 0.7, 1 / 1000
    spec = {"law": "pd", "rate": 1000, "bandwidth": 8, "damping": z, "torque_limits": False, "delay": delay}
    drives = one(damping=1.0)
    found = run(arm, drives, **spec, disturbance={"torque": {"j": 0.01}})
    A = np.zeros((5, 5))  # joint, rotor, their rates, torque
    A[0, 2] = A[1, 3] = 1
    A[2, :4] = np.array([-SPRING, SPRING, -1, 1]) / JOINT
    A[3] = np.array([SPRING, -SPRING, 1, -1, 1]) / ROTOR
    power, term = np.eye(5), np.eye(5)
    for k in range(1, 25):
        term = term @ A * h / k
        power = power + term
    p, d = JOINT * w**2, 2 * z * w * JOINT
    x = np.eye(5 + delay)  # joint, rotor, rates, last error, torques on their way
    error = -x[1]
    waiting = [*x[5:], p * error + d * (error - x[4]) / h]
    held = np.vstack([power[:4, :4] @ x[:4] + np.outer(power[:4, 4], waiting[0]), error, *waiting[1:]])
    radius = np.abs(np.linalg.eigvals(held)).max()
    assert found.stability.radius == pytest.approx(radius, rel=1e-9)


def test_resonances_of_the_loop_are_those_that_a_pulse_shows_in_the_simulation(arm):
    """Times between crossings of the decaying swing after a push, against the eigenvalue of the held loop."""
    spec = ControllerFile.model_validate(
        {
            "law": "pd",
            "rate": 2000,
            "bandwidth": 1,
            "damping": 0.7,
            "torque_limits": False,
            "disturbance": {"torque": {"j": 0.01}},
        }
    )
    motion = STILL.model_copy(update={"duration": 0.4})
    robot, controller = prepare(arm, arm, motion, spec)
    found = track_motion(robot, controller, drives=one(damping=0.2))
    values = np.linalg.eigvals(loop(plant(with_springs(arm, one(damping=0.2))), controller.feedback, spec, 0))
    poles = np.log(values[np.abs(values) > 1e-9].astype(complex)) * spec.rate
    swing = poles[np.argmax(poles.imag)]
    rate = found.rates[:, 1] - found.rates[:, 0]
    # Linear prediction: samples of a linear loop follow a recurrence whose roots are its poles, the slow mode among them.
    order = len(values)
    rows = np.lib.stride_tricks.sliding_window_view(rate, order + 1)
    recurrence = np.linalg.lstsq(rows[:, :order], rows[:, order], rcond=None)[0]
    roots = np.log(np.roots(np.r_[1, -recurrence[::-1]]).astype(complex)) * spec.rate
    found_pole = roots[np.abs(roots - swing).argmin()]
    assert found_pole.imag == pytest.approx(swing.imag, rel=1e-4)
    assert found_pole.real == pytest.approx(swing.real, rel=1e-2)
    assert swing.imag == pytest.approx(np.sqrt(SPRING * (1 / JOINT + 1 / ROTOR)), rel=0.05)


def test_stiffness_along_the_coordinates_of_a_robot_with_a_parallelogram_by_differences():
    """K = d^2 (sum k twist^2 / 2) / dc dc', at home."""
    robot = load("irb6660")
    drives = Drives(np.array([2e6, 3e6, 2.5e6, 8e5, 6e5, 4e5]), np.zeros(6), np.ones(6))
    moved = with_springs(robot, drives)
    c, h = moved.coordinates.S @ moved.home + moved.coordinates.offset, 1e-4
    K = spring_stiffness(moved, moved.at_rest(c[None]))[0]

    def stored(x: np.ndarray) -> float:
        return float(drives.stiffness @ twists(robot, moved.at_rest(x[None]).q)[0] ** 2 / 2)

    rng = np.random.default_rng(1)
    for u in rng.normal(size=(4, 12)):
        assert (stored(c + h * u) + stored(c - h * u) - 2 * stored(c)) / h**2 == pytest.approx(u @ K @ u, rel=1e-5)


def _written(folder: Path, text: str) -> Path:
    (folder / "drives.yaml").write_text(text)
    return folder / "drives.yaml"


@pytest.mark.parametrize(
    ("drives", "said"),
    [
        ("stiffness: {j: 0}\nrotors: {j: 1}\n", "key 'stiffness.j'"),
        ("stiffness: {}\nrotors: {j: 1}\n", "gives no value for j; every motor of robot 'link' needs a spring"),
        ("stiffness: {j: 100}\n", "gives no value for j; every motor of robot 'link' needs a rotor inertia"),
        ("stiffness: {k: 100}\nrotors: {j: 1}\n", "no motor 'k'"),
        ("stiffness: {j: 1.0e15}\nrotors: {j: 0.1}\n", "a spring is so stiff against its masses"),
        ("stiffness: nowhere.yaml\nrotors: {j: 1}\n", "nowhere.yaml"),
        ("stiffness: .\nrotors: {j: 1}\n", "result.json"),
    ],
)  # fmt: skip
def test_drives_that_cannot_be_are_told_in_one_sentence(monkeypatch, capsys, desk, tmp_path, drives, said):
    (tmp_path / "controller.yaml").write_text("law: pd\nrate: 1000\nbandwidth: 5\ndamping: 0.7\n")
    (tmp_path / "motion.yaml").write_text("rate: 500\nduration: 0.1\nperiod: 1\ncentre: {j: 0.2}\n")
    done = _simulate(monkeypatch, desk, tmp_path, _written(tmp_path, drives))
    told = capsys.readouterr().err
    assert done == 1
    assert said in told
    assert len(told.strip().splitlines()) == 1
    assert not list(tmp_path.glob("log*"))


def test_the_command_writes_where_motors_and_joints_are(monkeypatch, capsys, desk, tmp_path):
    (tmp_path / "controller.yaml").write_text("law: pd\nrate: 1000\nbandwidth: 5\ndamping: 0.7\n")
    (tmp_path / "motion.yaml").write_text("rate: 500\nduration: 0.1\nperiod: 0.2\ncentre: {j: 0.2}\nsin: {j: [0.1]}\n")
    drives = _written(tmp_path, f"stiffness: {{j: {SPRING}}}\ndamping: 0.02\nrotors: {{j: {ROTOR}}}\n")
    assert _simulate(monkeypatch, desk, tmp_path, drives) == 0
    assert "drives yield by up to j" in capsys.readouterr().out
    table = pl.read_csv(tmp_path / "log_tracking.csv", comment_prefix="#")
    motor, joint = table["motor_j"].to_numpy(), table["joint_j"].to_numpy()
    assert motor == pytest.approx((table["reference_j"] - table["error_j"]).to_numpy(), abs=1e-12)
    # The spring is what moves the joint: its torque over the inertia is the joint's acceleration, by differences.
    a = np.diff(joint, 2) / 0.002**2
    torque = SPRING * (motor - joint)[1:-1]
    assert np.corrcoef(a, torque)[0, 1] > 0.9
    spent = table["work_missing [J]"].abs().max()
    assert spent < 1e-3 * table["work_motors [J]"].abs().max()


def _simulate(monkeypatch, desk: Path, folder: Path, drives: Path) -> int:
    words = [
        "simulate",
        desk / "link.urdf",
        "--motion",
        folder / "motion.yaml",
        "--controller",
        folder / "controller.yaml",
    ]
    monkeypatch.setattr(sys, "argv", ["robodyn", *map(str, [*words, "--drives", drives, "--out", folder / "log.csv"])])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
