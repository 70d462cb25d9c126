"""What no motor can give is refused, with the joint and how much is missing, or returned on request."""

from pathlib import Path

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.errors import Underactuated
from robodyn_pin.log_to_robot.from_memory import identify
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import MotorSpec, RobotFile

M, m, l, J, g = 3.0, 0.9, 0.8, 0.05, 9.81  # cart, pole, its centre from the hinge, inertia about the centre
URDF = f"""<robot name="cartpole"><link name="rail"/>
<link name="car"><inertial><mass value="{M}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="cart" type="prismatic"><parent link="rail"/><child link="car"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" effort="50" velocity="9"/></joint>
<link name="pole"><inertial><origin xyz="0 0 -{l}"/><mass value="{m}"/>
<inertia ixx="1" iyy="{J}" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="car"/><child link="pole"/><axis xyz="0 -1 0"/></joint></robot>"""
FILE = {"urdf": "cartpole.urdf", "motors": ["cart"], "coordinates": ["cart", "hinge"]}


def cartpole(**file: object) -> rp.Robot:
    return build("cartpole", RobotFile.model_validate(FILE | file), URDF, Path("cartpole.urdf"))


def by_hand(angle: float, rate: float, cart: float, pole: float) -> tuple[float, float]:
    """Force on the cart and torque in the hinge for accelerations cart and pole; the pole hangs at zero."""
    force = (M + m) * cart + m * l * (pole * np.cos(angle) - rate**2 * np.sin(angle))
    torque = m * l * cart * np.cos(angle) + (J + m * l**2) * pole + m * g * l * np.sin(angle)
    return force, torque


ANGLE, RATE, CART, POLE = 0.7, 1.3, 2.0, -1.0
C, CD, CDD = np.array([[0.1, ANGLE]]), np.array([[0.2, RATE]]), np.array([[CART, POLE]])


def test_a_torque_that_no_motor_gives_is_refused_with_joint_and_amount():
    _, torque = by_hand(ANGLE, RATE, CART, POLE)
    with pytest.raises(Underactuated) as caught:
        rp.inverse_dynamics(cartpole(), C, CD, CDD)
    for part in (f"{abs(torque):.4g} N m along 'hinge'", "motors: cart", "2 degrees of freedom"):
        assert part in str(caught.value)
    assert caught.value.missing == pytest.approx((0, torque), abs=1e-9)


def test_on_request_the_nearest_torques_come_with_what_is_missing():
    force, torque = by_hand(ANGLE, RATE, CART, POLE)
    found = rp.nearest_torques(cartpole(), C, CD, CDD)
    assert found.torques == pytest.approx(np.array([[force]]), abs=1e-9)
    assert found.missing == pytest.approx(np.array([[0, torque]]), abs=1e-9)
    assert np.abs(rp.nearest_torques(rp.load("dualv"), *np.zeros((3, 1, 3))).missing).max() <= 1e-9


def test_a_motion_that_the_motor_makes_is_not_refused():
    """The pole's acceleration chosen by hand such that its hinge needs no torque."""
    pole = -(m * l * CART * np.cos(ANGLE) + m * g * l * np.sin(ANGLE)) / (J + m * l**2)
    force, torque = by_hand(ANGLE, RATE, CART, pole)
    assert torque == pytest.approx(0, abs=1e-12)
    assert rp.inverse_dynamics(cartpole(), C, CD, np.array([[CART, pole]])) == pytest.approx(force, abs=1e-9)


def test_a_passive_joint_with_a_column_of_zero_torque_is_a_motor_like_any_other():
    tau = rp.inverse_dynamics(cartpole(motors=["cart", "hinge"]), C, CD, CDD)
    assert tau[0] == pytest.approx(by_hand(ANGLE, RATE, CART, POLE), abs=1e-9)


def swung(rate: float, duration: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, positions and forces of a cart that is pushed, its pole swinging freely: equations by hand, RK4."""

    def push(time: float, x: np.ndarray) -> float:
        return 5 * np.sin(3 * time) + 4 * np.sin(7 * time) - 6 * x[0] - 2 * x[2]

    def slope(time: float, x: np.ndarray) -> np.ndarray:
        _, angle, _, turning = x
        A = np.array([[M + m, m * l * np.cos(angle)], [m * l * np.cos(angle), J + m * l**2]])
        b = [push(time, x) + m * l * turning**2 * np.sin(angle), -m * g * l * np.sin(angle)]
        return np.concatenate([x[2:], np.linalg.solve(A, b)])

    t, h = np.arange(0, duration, 1 / rate), 1 / rate
    x, states = np.array([0, 0.5, 0, 0]), []
    for time in t:
        states.append(x)
        k1 = slope(time, x)
        k2 = slope(time + h / 2, x + h / 2 * k1)
        k3 = slope(time + h / 2, x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(time + h, x + h * k3))
    return t, np.array(states)[:, :2], np.array([push(time, x) for time, x in zip(t, states, strict=True)])


def test_a_log_with_a_torque_of_zero_is_identified_and_the_joint_named():
    """What the README advises for logs of such robots: a good model is accepted, and no mistake is told."""
    rng, (t, q, force) = np.random.default_rng(0), swung(500, 8)
    tau = np.stack([force + 0.05 * rng.normal(size=len(t)), 0 * t], axis=1)
    log = Log("pushed", t, q + 1e-5 * rng.normal(size=q.shape), tau)
    result = identify(cartpole(motors=["cart", "hinge"]), log)
    assert result.verdict.accepted, result.verdict.reasons
    assert any("torque of hinge is always zero" in caution for caution in result.verdict.cautions)
    assert not any("looks" in said or "look " in said for said in result.verdict.cautions)


def test_a_dead_point_of_the_motors_is_no_traceback():
    file = RobotFile.model_validate(FILE)  # files refuse such a motor; a motor can also come to such a pose
    motors = [
        MotorSpec(name="cart", of={"cart": 1}),
        MotorSpec.model_construct(name="lame", of={"hinge": 0.0}, offset=0.0),
    ]
    lame = build("cartpole", file.model_copy(update={"motors": motors}), URDF, Path("cartpole.urdf"))
    with pytest.raises(Underactuated, match="along 'hinge'"):
        rp.inverse_dynamics(lame, C, CD, CDD)


def test_constraint_forces_are_refused_as_well():
    with pytest.raises(Underactuated, match="along 'hinge'"):
        rp.constraint_forces(cartpole(), C, CD, CDD)


def test_commands_refuse_in_one_sentence(tmp_path, robodyn):
    (tmp_path / "cartpole.urdf").write_text(URDF)
    path = tmp_path / "cartpole.yaml"
    path.write_text("urdf: cartpole.urdf\nmotors: [cart]\ncoordinates: [cart, hinge]\n")
    t = np.arange(0, 3, 0.01)
    log = np.column_stack([t, 0.1 * np.sin(t), 0 * t])
    np.savetxt(tmp_path / "log.csv", log, delimiter=",", header="t,q_cart,tau_cart", comments="")
    (tmp_path / "run.yaml").write_text("robot: cartpole.yaml\nfit: [{file: log.csv}]\n")
    for command in (
        ("identify", tmp_path / "run.yaml", "--out", tmp_path / "result"),
        ("predict", path, tmp_path / "log.csv", "--out", tmp_path / "p.csv"),
        ("joints", path, tmp_path / "log.csv", "--out", tmp_path / "f.csv"),
        ("show", path, "--motion", tmp_path / "log.csv", "--export", tmp_path / "s.html"),
    ):
        outcome = robodyn(*command)
        assert outcome.returncode == 1, outcome.stderr
        assert "name what else is measured (hinge) under 'motors'" in " ".join(outcome.stderr.split())
        assert "Traceback" not in outcome.stderr
    outcome = robodyn("check", path)
    assert outcome.returncode == 0
    assert "1 motor for 2 degrees of freedom" in " ".join(outcome.stdout.split())


def test_simulated_motions_are_refused_with_the_time(tmp_path, robodyn):
    """The cart goes back and forth while the pole is to stay where it is."""
    (tmp_path / "cartpole.urdf").write_text(URDF)
    path = tmp_path / "cartpole.yaml"
    path.write_text("urdf: cartpole.urdf\nmotors: [cart]\ncoordinates: [cart, hinge]\n")
    (tmp_path / "motion.yaml").write_text(
        "rate: 100\nduration: 2\nperiod: 2\ncentre: {cart: 0, hinge: 0}\nsin: {cart: [0.1]}\n"
    )
    outcome = robodyn("simulate", path, "--motion", tmp_path / "motion.yaml", "--out", tmp_path / "log.csv")
    assert outcome.returncode == 1
    said = " ".join(outcome.stderr.split())
    # m l x'' at its greatest, a quarter of the way: 0.9 * 0.8 * 0.1 pi^2.
    assert f"{m * l * 0.1 * np.pi**2:.4g} N m along 'hinge' at t = " in said
    assert not (tmp_path / "log.csv").exists()
