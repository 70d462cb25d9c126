"""The energy balance of controlled motions against closed forms and the laws that friction must obey."""

from pathlib import Path

import numpy as np
import pytest

from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import load
from robodyn_pin.simulation.balance import Balance, balance
from robodyn_pin.simulation.closed_loop import Tracking, prepare, track_motion
from robodyn_pin.simulation.controller_file import ControllerFile

MASS, COULOMB, SPRING = 2.0, 3.0, 40.0  # [kg], [N], [N/m]
URDF = f"""<robot name="slider"><link name="base"/>
  <link name="body"><inertial><mass value="{MASS}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="x" type="prismatic"><parent link="base"/><child link="body"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="1000" velocity="100"/></joint></robot>"""


def slide(folder: Path, push: float, amplitude: float) -> tuple[Tracking, Balance]:
    (folder / "slider.urdf").write_text(URDF)
    (folder / "slider.yaml").write_text(
        f"urdf: slider.urdf\nmotors: [x]\nefforts:\n  - {{of: x, model: coulomb, initial: {COULOMB}, width: 1.0e-6}}\n"
        f"  - {{of: x, model: spring, initial: {SPRING}}}\n"
    )
    robot = load(folder / "slider.yaml")
    motion = FourierMotion(rate=500, duration=1.0, period=0.5, centre={"x": 0.0}, sin={"x": [amplitude]})
    spec = ControllerFile.model_validate(
        {"law": "pd", "rate": 1000, "bandwidth": 10, "damping": 0.7, "torque_limits": {"x": 60}, "disturbance": {"torque": {"x": push}}}
    )  # fmt: skip
    robot, controller = prepare(robot, robot, motion, spec)
    found = track_motion(robot, controller)
    return found, balance(found)


def test_works_of_a_mass_with_friction_on_a_spring_in_the_field_of_gravity(tmp_path):
    """Friction takes its strength times the way, the spring k x^2 / 2, and what is left is m v^2 / 2 + m g x."""
    found, spent = slide(tmp_path, 5.0, 0.1)
    x, v = found.joints[:, 0], found.rates[:, 0]
    most = COULOMB * np.abs(np.diff(x))
    slides = v[:-1] * v[1:] > 0  # else it stops or turns round within the step, and friction is less for a part of it
    assert spent.axes == ("x",)
    assert "sticks" in found.scheme
    lost = np.diff(spent.friction)
    assert lost[slides] == pytest.approx(most[slides], rel=1e-9, abs=1e-12)
    assert (lost[~slides] <= most[~slides] + 1e-12).all()
    assert (lost < 0.9 * most).any()
    assert spent.other == pytest.approx(SPRING / 2 * (x**2 - x[0] ** 2), abs=1e-12)
    energy = MASS / 2 * v**2 + MASS * 9.81 * x
    assert np.diff(spent.energy) == pytest.approx(np.diff(energy), abs=1e-9)
    assert spent.disturbance == pytest.approx(5.0 * (x - x[0]), abs=1e-12)
    assert (lost[slides] > 0).all()
    assert lost.min() > -2e-5 * spent.friction[-1]  # given back where it turns within a step
    assert np.abs(spent.missing).max() < 1e-10 * spent.friction[-1]
    assert (found.tau == np.clip(found.commanded, -60, 60)).all()


def test_what_friction_holds_stands_still_and_no_work_is_done(tmp_path):
    found, spent = slide(tmp_path, MASS * 9.81 - COULOMB / 2, 0.0)  # gravity, all but what friction bears
    assert spent.stuck.all()
    assert (found.joints == found.joints[0]).all()
    for work in (spent.motors, spent.disturbance, spent.friction, spent.other, spent.missing):
        assert (work == 0).all()


def test_what_is_open_on_a_robot_with_loops_falls_with_the_square_of_the_step():
    """Turns and stops are in it: friction is what the steps took, not a law at rates that change within them."""
    robot, still = load("irb360"), []
    for rate in (500, 1000):
        motion = FourierMotion(rate=500, duration=0.5, period=0.5, centre=dict.fromkeys(robot.coordinates.names, 0.3),
                               sin={name: [0.15] for name in robot.coordinates.names})  # fmt: skip
        spec = ControllerFile(law="feedforward", rate=rate, bandwidth=10, damping=1)
        found = track_motion(*prepare(robot, robot, motion, spec))
        spent = balance(found)
        assert "sticks" in found.scheme
        assert (np.diff(spent.stuck.astype(int), axis=0) != 0).any()
        assert np.diff(spent.friction).min() > -2e-5 * spent.friction[-1]
        still.append(np.abs(spent.missing).max() / np.abs(np.diff(spent.motors)).sum())
    assert still[1] < 5e-6
    assert still[1] < 0.35 * still[0]
