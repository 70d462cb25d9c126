"""Torques of motors in films: the arrows that they carry, in Chromium."""

import numpy as np
import pinocchio as pin
import pytest
from canvas import LAPTOP, at, differs, pixels, wait_for_animation, world_matrix

from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.reading import read_log
from robodyn_pin.logs.writing import write_log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.robot.robot import Robot, load
from robodyn_pin.simulation.simulated_log import Noise, simulate
from robodyn_pin.viz.film import film_of
from robodyn_pin.viz.film_loads import motor_film_loads


def test_motors_carry_arrows_of_their_torques(look, tmp_path):
    arm = load("irb2400")
    sin = {"m1": [0.8], "m2": [0.3, 0.1], "m3": [0.1, 0.2], "m4": [0.5], "m5": [0.4], "m6": [1.0]}
    motion = FourierMotion(rate=250, duration=5, period=5, centre=dict.fromkeys(sin, 0.2), sin=sin)
    write_log(tmp_path / "arm.parquet", simulate(arm, motion, Noise(np.zeros(6))), arm, "SIMULATED")
    log = read_log(tmp_path / "arm.parquet", arm)
    film_of(arm, tmp_path / "arm.parquet", None).write_html(tmp_path / "arm.html")
    page = look((tmp_path / "arm.html").as_uri(), offline=True, size=LAPTOP)
    wait_for_animation(page)
    tau, row = predict(arm, log, Preparation()), 400
    before = at(
        page, float(log.t[row] - motor_film_loads(arm, log, Preparation(), None).t[0])
    )  # the edges are not shown
    for k, name in enumerate(arm.motors.names):
        share = tau[row, k] / arm.file.limits[name].torque
        path = f"['meshcat', 'world', 'loads', '{name}', 'motor', 'turn'"
        drawn, corners, sign = page.evaluate(
            f"""() => {{
                const shaft = viewer.scene_tree.find({path}, 'body', '<object>']).object.geometry;
                return [shaft.drawRange.count, shaft.index.count, viewer.scene_tree.find({path}]).object.scale.y];
            }}"""
        )
        assert drawn / corners == pytest.approx(abs(share), abs=0.02)
        assert np.sign(sign) == np.sign(share) or abs(share) < 0.02
        # The arrow lies across the axis of the motor's joint, through it.
        z = world_matrix(page, "loads", name, "motor")[:3, 2]
        joint = {"m3": "crank_joint"}.get(name, "j" + name[1])
        axis = world_axis(arm, log.q[row], joint)
        assert abs(z @ axis) == pytest.approx(1, abs=1e-3)
    page.evaluate("() => { viewer.scene_tree.find(['meshcat', 'world', 'loads']).object.visible = false; }")
    assert differs(before, pixels(page)).sum() > 300
    assert not page.problems


def test_more_motors_than_degrees_of_freedom_have_their_arrows(tmp_path):
    robot = load("dualv")
    motion = FourierMotion(
        rate=100,
        duration=2,
        period=2,
        centre={"x": 0, "y": 0, "phi": 0},
        sin={"x": [0.08], "y": [0, 0.05], "phi": [0.2]},
    )
    write_log(tmp_path / "dualv.parquet", simulate(robot, motion, Noise(np.zeros(4))), robot, "SIMULATED")
    overlay = film_of(robot, tmp_path / "dualv.parquet", None).overlay
    assert all(f'"name": "{name}", "unit": "N m", "limit": 127.0' in overlay for name in robot.motors.names)


def world_axis(arm: Robot, motors: np.ndarray, joint: str) -> np.ndarray:
    """Direction of a revolute joint's axis by central differences: what its own turning leaves where it is."""
    still = np.zeros((1, len(motors)))
    q = arm.close(motors[None], still, still).q[0]
    data, number, step = arm.model.createData(), arm.model.getJointId(joint), 1e-3
    turned = []
    for sign in (-1, 1):
        pin.forwardKinematics(arm.model, data, q + sign * step * np.eye(arm.model.nv)[number - 1])
        turned.append(data.oMi[number].rotation.copy())
    w = pin.log3(turned[1] @ turned[0].T)
    return w / np.linalg.norm(w)
