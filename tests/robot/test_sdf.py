"""SDF with loops: torques against MuJoCo, where the same mechanism is built from the world's numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mechanisms import MECHANISMS, five_bar, sdf, worst_torque_error

from robodyn_pin.dynamics.equations import inverse_dynamics
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import load


def read(folder: Path, text: str, name: str):
    """The robot of an SDF whose first joints have motors."""
    (folder / "robot.sdf").write_text(text)
    motors = MECHANISMS[name].motors
    (folder / "robot.yaml").write_text(f"urdf: robot.sdf\nmotors: [{', '.join(motors)}]\n")
    return load(folder / "robot.yaml")


@pytest.mark.parametrize("name", MECHANISMS)
def test_torques_of_loops_in_sdf_are_those_of_mujoco(tmp_path: Path, name: str):
    robot = read(tmp_path, sdf(MECHANISMS[name]), name)
    assert [c.name for c in robot.loops.closures] == [j.name for j in MECHANISMS[name].cut]
    assert worst_torque_error(robot, MECHANISMS[name]) < 1e-8


def test_a_joint_that_is_passed_backwards_keeps_the_sign_of_its_position(tmp_path: Path):
    m = five_bar()
    turned = [replace(j, parent=j.child, child=j.parent, axis=-j.axis) if j.name == "p1" else j for j in m.tree]
    # In SDF p1 stands from rod to crank; from the base it is passed from crank to rod, as in MuJoCo.
    robot = read(tmp_path, sdf(replace(m, tree=turned)), "five_bar")
    assert worst_torque_error(robot, m) < 1e-8


def test_gravity_and_the_pose_of_the_model_count(tmp_path: Path):
    text = sdf(MECHANISMS["five_bar"])
    still = read(tmp_path, text, "five_bar")
    turned = text.replace('<model name="loops">', '<model name="loops"><pose>1 2 3 0 0 1.5707963267948966</pose>')
    moved = read(tmp_path, f'<sdf version="1.9"><world name="w"><gravity>0 0 -4</gravity>{turned[turned.index("<model") : -6]}</world></sdf>', "five_bar")  # fmt: skip
    from robodyn_pin.dynamics.equations import inverse_dynamics

    at, zero = np.array([[0.1, -0.1]]), np.zeros((1, 2))
    # Turned about the vertical, gravity is the same in the robot; torques at rest go with its size.
    assert inverse_dynamics(moved, at, zero, zero) == pytest.approx(
        4 / 9.81 * inverse_dynamics(still, at, zero, zero), rel=1e-9
    )


REFUSED = {
    "not XML": (lambda t: t[:-5], "is not XML"),
    "two models": (lambda t: t.replace("</sdf>", t[t.index("<model") : -6] + "</sdf>"), "expected one model"),
    "no such link": (lambda t: t.replace("<child>cd</child>", "<child>zz</child>", 1), "'zz'"),
    "a screw": (lambda t: t.replace('name="p1" type="revolute"', 'name="p1" type="screw"'), "is a screw"),
    "an axis of zeros": (
        lambda t: t[: t.rindex("<xyz>")] + "<xyz>0 0 0</xyz>" + t[t.rindex("</xyz>") + 6 :],
        "length zero",
    ),
    "no number": (lambda t: t.replace("<mass>", "<mass>x", 1), "expected 1 number"),
    "a circle": (
        lambda t: t.replace('<link name="ab"><pose>', '<link name="ab"><pose relative_to="bc">').replace(
            '<link name="bc"><pose>', '<link name="bc"><pose relative_to="ab">'
        ),
        "in a circle",
    ),
    "gravity in another unit": (
        lambda t: (
            f'<sdf version="1.9"><world name="w"><gravity>0 0 -981</gravity>{t[t.index("<model") : -6]}</world></sdf>'
        ),
        r"gravity of 981 m/s\^2: expected the acceleration",
    ),
    "URDF": (lambda t: '<robot name="x"><link name="a"/></robot>', "nothing moves"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_bad_sdf_is_refused_with_a_sentence(tmp_path: Path, what: str):
    change, words = REFUSED[what]
    with pytest.raises(RobodynError, match=words):
        read(tmp_path, change(sdf(MECHANISMS["five_bar"])), "five_bar")


def test_a_spring_pulls_its_joint_to_where_it_rests(tmp_path: Path):
    """Statics: the motor of the joint gives stiffness times what it is away from the spring's rest more than without."""
    m = MECHANISMS["five_bar"]
    spring = (
        "<dynamics><spring_stiffness>3</spring_stiffness><spring_reference>0.4</spring_reference></dynamics></axis>"
    )
    plain, sprung = read(tmp_path, sdf(m), "five_bar"), read(tmp_path, sdf(m).replace("</axis>", spring, 1), "five_bar")
    c = 0.3 * np.random.default_rng(0).uniform(-1, 1, (5, 2))
    asked = [inverse_dynamics(robot, c, 0 * c, 0 * c) for robot in (plain, sprung)]
    assert plain.motors.names[0] == m.tree[0].name
    np.testing.assert_allclose(asked[1] - asked[0], np.stack([3 * (c[:, 0] - 0.4), 0 * c[:, 0]], axis=1), atol=1e-9)


def test_a_link_named_world_is_the_base(tmp_path: Path):
    m = MECHANISMS["five_bar"]
    text = sdf(m).replace('<link name="ab">', '<link name="world"/><link name="ab">', 1)
    assert worst_torque_error(read(tmp_path, text, "five_bar"), m) < 1e-8
