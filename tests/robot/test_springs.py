"""Springs against the slope of their energy, along joints, motors with an offset, and in one go with alike ones."""

import numpy as np
import pytest

import robodyn_pin as rp
from robodyn_pin.robot.friction_models import EffortSpec, basis
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

TURNS = np.linspace(-1.0, 1.0, 9)


def one(spec: EffortSpec, x: np.ndarray) -> np.ndarray:
    return basis(spec, x, 0 * x, 0 * x)[:, 0]


def test_a_spring_pulls_back_to_its_rest():
    spec = EffortSpec(of="j", model="spring", rest=0.4)
    np.testing.assert_allclose(one(spec, TURNS), TURNS - 0.4, rtol=1e-14)


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_a_lever_spring_pulls_as_its_energy_falls(turn):
    """Between (0.1, 0) and a point 0.25 m out, 0.3 rad and the turn further, distances of points, no law of cosines."""
    spec = EffortSpec(of="j", model="lever_spring", radii=(0.1, 0.25), angle=0.3, turn=turn, free_length=0.12)

    def energy(x: np.ndarray) -> np.ndarray:
        at = 0.3 + turn * x
        length = np.linalg.norm(np.stack([0.25 * np.cos(at) - 0.1, 0.25 * np.sin(at)]), axis=0)
        return (length - 0.12) ** 2 / 2

    slope = (energy(TURNS + 1e-5) - energy(TURNS - 1e-5)) / 2e-5
    np.testing.assert_allclose(one(spec, TURNS), slope, atol=1e-9)


BAR = """<robot name="bar"><link name="base"/><link name="bar"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="0" velocity="1"/></joint></robot>"""


def bar(tmp_path, *efforts: dict) -> Robot:
    """A bar on an upright hinge behind a gear of 2, whose encoder shows 0.5 rad more."""
    motor = {"name": "motor", "of": {"hinge": 2.0}, "offset": 0.5}
    file = RobotFile.model_validate({"urdf": "bar.urdf", "motors": [motor], "efforts": list(efforts)})
    return build("bar", file, BAR, tmp_path / "bar.urdf")


def torque(robot: Robot, hinge: float, rate: float = 0.0) -> float:
    """Of the motor, at a hinge angle and rate."""
    return float(rp.inverse_dynamics(robot, [[2 * hinge + 0.5]], [[2 * rate]], [[0.0]])[0, 0])


def test_a_spring_on_a_motor_counts_from_the_motors_own_zero(tmp_path):
    robot = bar(tmp_path, {"of": "motor", "model": "spring", "rest": 0.1, "initial": 3.0})
    state = robot.close([[2 * 0.2 + 0.5]], [[0.0]], [[0.0]])
    column = robot.efforts[0].columns(state.q, state.v, state.a)[0, :, 0]
    np.testing.assert_allclose(column, [2 * (0.9 - 0.1)], rtol=1e-12)  # on the hinge, by the gear
    assert torque(robot, 0.2) == pytest.approx(3.0 * (0.9 - 0.1))


def test_frictions_of_two_widths_on_one_joint_keep_their_own(tmp_path):
    efforts = [{"of": "hinge", "model": "coulomb", "width": w, "initial": f} for w, f in ((0.01, 1.0), (0.5, 4.0))]
    expected = (np.tanh(0.2 / 0.01) + 4 * np.tanh(0.2 / 0.5)) / 2
    assert torque(bar(tmp_path, *efforts), 0.0, 0.2) == pytest.approx(expected)
