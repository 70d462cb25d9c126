"""What a robot survives is one answer: joints, motors and struts, of the robot file and the URDF, whoever asks."""

from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.check import check
from robodyn_pin.dynamics.loads import check_positions, limited
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.dynamics.repair import random_motion
from robodyn_pin.errors import BadLog, BeyondLimits, ClosureFailed, RobodynError
from robodyn_pin.excitation.model import ExcitationModel
from robodyn_pin.friction_tests.free_motor import measure
from robodyn_pin.friction_tests.friction_file import FrictionFile
from robodyn_pin.identification.excitation import ExcitingSeries, highest
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.too_fast import check_speed
from robodyn_pin.logs.units import Units
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.planning.limits import planning_limits
from robodyn_pin.robot.limits import limits_of, speed_limits, strut_limits, torque_limits
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import Limit, MotorSpec, RobotFile
from robodyn_pin.simulation.simulated_log import Noise, simulate

ARM = """<robot name="arm"><link name="base"/><link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="4" effort="20"/></joint></robot>"""


def arm(motor: str | MotorSpec = "j1", **limits: Limit) -> Robot:
    file = RobotFile(urdf="arm.urdf", motors=[motor], limits=limits)
    return build("arm", file, ARM, rp.load("irb360").urdf_path)


def swing(amplitude: float, period: float = 4.0, centre: float = 0.0, name: str = "j1") -> FourierMotion:
    return FourierMotion(rate=200, duration=period, period=period, centre={name: centre}, sin={name: [amplitude]})


def ranges(robot: Robot) -> dict[tuple[str, str], list[float]]:
    found = limits_of(robot, {}, 0.0)
    return dict(zip(found.labels, found.ranges.tolist(), strict=True))


def test_a_geared_motor_that_is_named_like_its_joint_has_no_limits_of_the_joint():
    robot = arm(MotorSpec(name="j1", of={"j1": -30}))
    assert ranges(robot) == {
        ("position", "joint j1"): [-3, 3], ("velocity", "joint j1"): [-4, 4], ("torque", "joint j1"): [-20, 20],
    }  # fmt: skip
    # On the motor's side 30 times as fast, with a thirtieth of the torque.
    assert speed_limits(robot) == pytest.approx([120])
    assert torque_limits(robot) == pytest.approx([20 / 30])
    own = arm(MotorSpec(name="j1", of={"j1": -30}), j1=Limit(velocity=60, torque=0.5))
    assert ranges(own)["velocity", "j1"] == [-60, 60]
    assert ranges(own)["velocity", "joint j1"] == [-4, 4]
    assert speed_limits(own) == pytest.approx([60])
    assert torque_limits(own) == pytest.approx([0.5])


@pytest.mark.parametrize("said", ['velocity="4" effort="20"', 'lower="0" upper="0" velocity="4" effort="20"'])
def test_a_urdf_that_gives_a_joint_no_range_does_not_hold_it_at_zero(said):
    text = ARM.replace('lower="-3" upper="3" velocity="4" effort="20"', said)
    robot = build("arm", RobotFile(urdf="arm.urdf", motors=["j1"]), text, rp.load("irb360").urdf_path)
    assert ranges(robot) == {("velocity", "j1"): [-4, 4], ("torque", "j1"): [-20, 20]}
    assert simulate(robot, swing(0.5), Noise(np.zeros(1))).size == 800


@pytest.mark.parametrize(("speed", "kept"), [(3.9, True), (4.1, False)])
def test_a_geared_motor_moves_within_the_joints_limits_not_within_thirtieths_of_them(speed, kept):
    robot = arm(MotorSpec(name="j1", of={"j1": -30}))
    turned = -30 * speed / (2 * np.pi / 4)  # amplitude of the motor, in four seconds, for that speed of the joint
    motion = swing(turned)
    if kept:
        assert np.abs(simulate(robot, motion, Noise(np.zeros(1))).tau).max() < 20 / 30
    else:
        with pytest.raises(
            BeyondLimits, match=r"t = 0 s .*the velocity of 'joint j1' is 4.1 rad/s, outside its limits -4 to 4"
        ):
            simulate(robot, motion, Noise(np.zeros(1)))


@pytest.mark.parametrize(
    ("motion", "sentence"),
    [
        (swing(12, 40), r"t = 1\.6\d s .*the position of 'j1' is 3\.0\d+ rad, outside its limits -3 to 3 rad"),
        (swing(1, 1), r"t = 0 s .*the velocity of 'j1' is 6\.28\d* rad/s, outside its limits -4 to 4 rad/s"),
        # m g l = 5.9 N m, and I w^2 a with I = 0.2 kg m^2
        (FourierMotion(rate=1000, duration=0.1, period=0.1, centre={"j1": 0}, sin={"j1": [0.05]}),
         r"the torque of 'j1' is -?2\d\.?\d* N m, outside its limits -20 to 20 N m"),
    ],
)  # fmt: skip
def test_a_simulated_motion_that_leaves_a_limit_of_the_urdf_is_refused_with_joint_time_and_limit(motion, sentence):
    with pytest.raises(BeyondLimits, match=sentence):
        simulate(arm(), motion, Noise(np.zeros(1)))
    log = simulate(arm(), motion, Noise(np.zeros(1)), ignore_limits=True)
    assert log.size == round(motion.duration * motion.rate)


def test_the_command_line_refuses_the_same_and_goes_on_where_it_is_asked_to(robodyn, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "far.yaml").write_text("rate: 100\nduration: 4\nperiod: 40\ncentre: {j1: 0}\nsin: {j1: [12]}\n")
    (tmp_path / "pd.yaml").write_text("law: pd\nrate: 1000\nbandwidth: 20\ndamping: 0.7\n")
    line = ("simulate", tmp_path / "arm.urdf", "--motion", tmp_path / "far.yaml", "--out", tmp_path / "log.csv")
    for more in ((), ("--controller", tmp_path / "pd.yaml")):
        refused = robodyn(*line, *more)
        assert refused.returncode == 1
        assert "the position of 'j1' is 3.0" in refused.stderr
        assert "outside its limits -3 to 3 rad" in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert not (tmp_path / "log.csv").exists()
    assert robodyn(*line, "--ignore-limits").returncode == 0


def test_limits_of_the_robot_file_count_before_those_of_the_urdf_and_those_of_a_run_before_both():
    robot = arm(j1=Limit(velocity=2.5))
    assert ranges(robot)["velocity", "j1"] == [-2.5, 2.5]
    assert ranges(robot)["torque", "j1"] == [-20, 20]
    given = limits_of(robot, {"j1": Limit(velocity=3, torque=7)}, 0.1)
    assert dict(zip(given.labels, given.ranges[:, 1].tolist(), strict=True)) == pytest.approx(
        {("position", "j1"): 2.7, ("velocity", "j1"): 2.7, ("torque", "j1"): 6.3}
    )


@pytest.mark.parametrize("wide", ["1e9", "1e16", "1e6"])
def test_joints_without_limits_in_a_urdf_have_none(wide):
    huge = ARM.replace('velocity="4" effort="20"', 'velocity="1e9" effort="0"').replace(
        'lower="-3" upper="3"', f'lower="-{wide}" upper="{wide}"'
    )
    robot = build("arm", RobotFile(urdf="arm.urdf"), huge, rp.load("irb360").urdf_path)
    assert ranges(robot) == {}
    assert np.isinf(torque_limits(robot)).all()
    assert np.isinf(speed_limits(robot)).all()
    simulate(robot, swing(12, 1), Noise(np.zeros(1)))
    random_motion(robot, np.random.default_rng(0))


@pytest.mark.parametrize(("motor", "turns"), [("j1", 6), (MotorSpec(name="m", of={"j1": -1.01}), 6.06)])
def test_a_motor_whose_joint_the_urdf_stops_does_not_turn_freely(motor, turns):
    run = FrictionFile(robot="arm", motor="j1" if motor == "j1" else "m", logs=[LogSpec(file="none.csv")])
    with pytest.raises(RobodynError, match=f"cannot turn freely: its limits are {turns:g} rad apart"):
        measure(run, Path(), arm(motor))


def test_two_motors_on_one_joint_share_its_limit_of_torque():
    """The wrist of an arm: what the joint carries is what both motors make together."""
    robot = rp.load("irb2400")
    found = limits_of(robot, {}, 0.0)
    (torque,) = (b for b in found.bounds if b.kind == "torque")
    rows = dict(zip(torque.names, torque.S, strict=True))
    tau = np.random.default_rng(0).normal(size=6)
    for name in set(rows) & set(robot.model.names):
        j = robot.model.joints[robot.model.getJointId(name)].idx_v
        assert rows[name] @ tau == pytest.approx((robot.motors.S.T @ tau)[j])


def moving(robot: Robot, seed: int) -> tuple[ExcitingSeries, np.ndarray]:
    series, rng = ExcitingSeries(1.0, 5), np.random.default_rng(seed)
    return series, series.draw(rng, np.full(4, 0.3), np.array([0.3, 0.3, 0.3, 3.0]))


def test_exciting_motions_keep_the_struts_limit_at_both_ends():
    """The elbow's end carries the strut's own weight and momentum on top: up to a tenth more than the platform's."""
    robot = rp.load("irb360")
    limits = limits_of(robot, {}, 0.0)
    model = ExcitationModel(robot, robot, limits, np.ones(4), check(robot).base.columns)
    at_the_elbow = 0
    for seed in range(12):
        series, X = moving(robot, seed)
        t = np.arange(200) / 200
        for share in np.linspace(0.2, 3.0, 15):
            Y = np.concatenate([X[:1], share * X[1:]])
            motion = series.basis(t) @ Y
            try:
                within = highest(model.at(*motion).loads) <= 1
            except ClosureFailed:
                break
            state = robot.close(*motion)
            found = Loads(robot, state).struts
            ends = np.abs(found.lower).max(), np.abs(found.upper).max()
            at_the_elbow += ends[0] <= 120 < ends[1]
            if within:
                assert max(ends) <= 120
    assert at_the_elbow  # such motions were among them


def test_excitation_planning_and_simulation_have_the_same_limits_of_struts():
    robot = rp.load("irb360")
    plan = planning_limits(robot, {})
    (a,), (b,) = ([b for b in x.bounds if b.kind == "force"] for x in (limits_of(robot, {}, 0.0), plan))
    assert a.names == b.names
    assert len(a.names) == 2 * len(robot.file.struts) == 12
    np.testing.assert_array_equal(a.S, b.S)
    assert set(strut_limits(robot).values()) == {120.0}
    state = robot.close(np.full((3, 4), 0.2), np.ones((3, 4)), np.ones((3, 4)))
    loads = Loads(robot, state).struts
    quantities = limited(robot, limits_of(robot, {}, 0.0), state)
    forces = quantities[:, [k for k, (kind, _) in enumerate(limits_of(robot, {}, 0.0).labels) if kind == "force"]]
    np.testing.assert_allclose(forces, np.hstack([loads.lower, loads.upper]), rtol=1e-9, atol=1e-9)


def test_logs_are_measured_by_the_same_limits():
    robot = arm(MotorSpec(name="m", of={"j1": 10}))
    with pytest.raises(BeyondLimits, match=r"row 2: the position of 'j1' is 3\.2 rad, outside its limits -3 to 3 rad"):
        check_positions(robot, np.array([[0.0], [2.9], [3.2]]), lambda i: f"row {i}")
    t = np.arange(100) / 100
    check_speed(Log("fast", t, 100 * t[:, None], None), robot, Units())
    with pytest.raises(BadLog, match="its limit is 40"):
        check_speed(Log("too_fast", t, 200 * t[:, None], None), robot, Units())


def test_predict_tells_the_limits_that_a_log_exceeds_and_where(robodyn, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    t = np.arange(800) / 200
    q = 2.5 * np.sin(2 * np.pi * t / 4)  # times 1.3: 3.25 rad at 1 s, 5.1 rad/s at 2 s
    rows = "\n".join(f"{a:.3f},{b:.9f}" for a, b in zip(t, 1.3 * q + 0.001, strict=True))  # farther up than down
    (tmp_path / "log.csv").write_text(f"t,q_j1\n{rows}\n")
    done = robodyn("predict", tmp_path / "arm.urdf", tmp_path / "log.csv", "--out", tmp_path / "tau.csv")
    assert done.returncode == 0
    assert "(t = 1 s): the position of 'j1' is 3.251 rad, outside its limits -3 to 3 rad" in done.stdout
    assert "(t = 2 s): the velocity of 'j1' is -5.1" in done.stdout
    assert "torque" not in done.stdout.split("beyond the robot's limits", 1)[1].splitlines()[0]


def test_forces_in_joints_are_refused_where_the_robot_cannot_be(robodyn, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    rows = "\n".join(f"{0.005 * k:.3f},{3.2 * np.sin(0.01 * k):.9f}" for k in range(400))
    (tmp_path / "log.csv").write_text(f"t,q_j1\n{rows}\n")
    done = robodyn("joints", tmp_path / "arm.urdf", tmp_path / "log.csv", "--out", tmp_path / "f.csv")
    assert done.returncode == 1
    assert "the position of 'j1' is 3.00" in done.stderr
    assert not (tmp_path / "f.csv").exists()


def test_identification_tells_that_a_log_leaves_the_limits_of_the_robot():
    robot = build(
        "arm", RobotFile(urdf="arm.urdf"), ARM.replace('upper="3"', 'upper="1.5"'), rp.load("irb360").urdf_path
    )
    motion = FourierMotion(rate=200, duration=20, period=4, centre={"j1": 0.3}, sin={"j1": [0.9, 0.5, 0.3]})
    log = simulate(robot, motion, Noise(np.full(1, 0.01)), ignore_limits=True)
    reached = np.abs(log.q[: int(0.7 * log.size)]).max()
    (caution,) = (text for text in rp.identify(robot, log).verdict.cautions if "outside its limits" in text)
    assert f"the position of 'j1' is {reached:.3f}"[:-1] in caution
    assert "outside its limits -3 to 1.5 rad" in caution


def test_a_range_that_is_open_at_one_end_is_kept_at_the_other():
    one_sided = ARM.replace('lower="-3"', 'lower="-1e9"')
    robot = build("arm", RobotFile(urdf="arm.urdf"), one_sided, rp.load("irb360").urdf_path)
    check_positions(robot, np.array([[-50.0], [2.9999]]), str)
    with pytest.raises(BeyondLimits, match=r"the position of 'j1' is 3\.001 rad"):
        check_positions(robot, np.array([[3.001]]), str)


def test_a_motor_is_a_joint_with_a_scale_and_a_sign():
    """q_m = -30 q_1 + 0.2: its position and torque follow by hand; nothing but the robot file knows the motor."""
    geared = arm(MotorSpec.model_validate({"name": "m", "of": "j1", "scale": -30, "offset": 0.2}))
    direct = arm("j1")
    at, still = np.array([[0.4]]), np.zeros((1, 1))
    by_joint = rp.inverse_dynamics(direct, at, still, still)
    by_motor = rp.inverse_dynamics(geared, -30 * at + 0.2, still, still)
    np.testing.assert_allclose(by_motor, by_joint / -30, rtol=1e-12)
    with pytest.raises(ValueError, match="motor 'm': scale is 0"):
        MotorSpec.model_validate({"name": "m", "of": "j1", "scale": 0})
