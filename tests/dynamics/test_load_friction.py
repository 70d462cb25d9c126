"""Friction that grows with the load: a pendulum and a coupled arm by hand, motors of a parallelogram, both paths, and who refuses it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.equations import forward_dynamics
from robodyn_pin.dynamics.regressor import columns, regressor, state_regressor
from robodyn_pin.errors import BadFile, SolverFailed
from robodyn_pin.excitation.excitation_file import ExcitationFile
from robodyn_pin.excitation.search import excite
from robodyn_pin.forces.motor_torques import predict
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.log import Log
from robodyn_pin.online.tracked import tracked
from robodyn_pin.planning.path_dynamics import robot_dynamics
from robodyn_pin.robot.friction_models import EffortSpec
from robodyn_pin.robot.payload import carrying
from robodyn_pin.robot.robot import Robot, build

G, WIDTH = 9.81, 0.05
LINK = (
    '<link name="{0}"><inertial><origin xyz="0 0 {1}"/><mass value="{2}"/><inertia ixx="{3}" ixy="0" ixz="0" iyy="{3}" iyz="0" izz="0.01"/>'
    "</inertial></link>"
)
JOINT = '<joint name="{0}" type="revolute"><origin xyz="0 0 {3}"/><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>'
PENDULUM = '<robot name="r"><link name="base"/>' + LINK.format("a", -0.5, 2.0, 0.1) + JOINT.format("j1", "base", "a", 0)
ARM = PENDULUM + LINK.format("b", -0.4, 1.0, 0.05) + JOINT.format("j2", "a", "b", -1.0) + "</robot>"
PENDULUM += "</robot>"


def robot_of(folder: Path, urdf: str, *lines: str, **other: str) -> Robot:
    (folder / "r.urdf").write_text(urdf)
    text = "urdf: r.urdf\n" + "".join(f"{key}: {value}\n" for key, value in other.items())
    (folder / "r.yaml").write_text(text + "efforts:\n" + "".join(f"  - {{{line}}}\n" for line in lines))
    return rp.load(folder / "r.yaml")


def load_on(of: str, initial: float) -> str:
    return f"of: {of}, model: load, initial: {initial}, width: {WIDTH}"


def motions(d: int, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), 0.1 * rng.normal(size=(n, d)), 3 * rng.normal(size=(n, d))


def with_efforts(robot: Robot, *efforts: dict) -> Robot:
    specs = [EffortSpec.model_validate(effort) for effort in efforts]
    return build(robot.name, robot.file.model_copy(update={"efforts": specs}), robot.urdf_xml, robot.urdf_path)


@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_a_pendulum_rubs_as_the_formula_says(tmp_path, path):
    robot = robot_of(
        tmp_path, PENDULUM, "of: j1, model: viscous, initial: 0.3",
        f"of: j1, model: coulomb, initial: 0.5, width: {WIDTH}", load_on("j1", 0.15),
    )  # fmt: skip
    c, cd, cdd = motions(1)
    bodies = (0.1 + 2 * 0.5**2) * cdd + 2 * G * 0.5 * np.sin(c)
    expected = bodies + 0.3 * cd + (0.5 + 0.15 * np.abs(bodies)) * np.tanh(cd / WIDTH)
    with kernel_choice.forced(path):
        np.testing.assert_allclose(rp.inverse_dynamics(robot, c, cd, cdd), expected, atol=1e-12)
    np.testing.assert_allclose(rp.prepared(robot).inverse_dynamics(c[0], cd[0], cdd[0]), expected[0], atol=1e-12)


def joints_of_the_arm(c: np.ndarray) -> np.ndarray:
    """Statics of two hanging links: moments about joint 1 and joint 2 at angles c (N, 2)."""
    outer = 1.0 * G * 0.4 * np.sin(c.sum(axis=1))
    return np.column_stack([2 * G * 0.5 * np.sin(c[:, 0]) + 1.0 * G * 1.0 * np.sin(c[:, 0]) + outer, outer])


def test_a_motor_bears_what_its_gear_transmits_and_a_joint_what_the_chain_asks(tmp_path):
    """m1 = 2 j1 and m2 = j1 + j2, so j1 = 2 m1 + m2 and j2 = m2 as efforts: m1 bears half of what j1 has beyond j2."""
    motors = "[{name: m1, of: {j1: 2}}, {name: m2, of: {j1: 1, j2: 1}}]"
    c, cd, _ = motions(2)
    joints = joints_of_the_arm(c)
    slow, zero = 1e-3 * cd, 0 * cd  # so slow that no body but its weight counts
    for of, asked, row in [
        ("m1", (joints[:, 0] - joints[:, 1]) / 2, np.array([2.0, 0])),
        ("m2", joints[:, 1], np.array([1.0, 1])),
        ("j2", joints[:, 1], np.array([0.0, 1])),
        ("{j1: 1, j2: 1}", joints[:, 1], np.array([1.0, 1])),
        ("j1", joints[:, 0] - joints[:, 1], np.array([1.0, 0])),  # on the joints' side of motor 1's gear
    ]:
        robot = robot_of(tmp_path, ARM, load_on(of, 0.2), motors=motors, coordinates="[j1, j2]")
        tau = rp.inverse_dynamics(robot, c, slow, zero)
        on_joints = tau @ robot.motors.S
        expected = joints + (0.2 * np.abs(asked) * np.tanh(slow @ row / WIDTH))[:, None] * row
        np.testing.assert_allclose(on_joints, expected, atol=1e-4)


def parallelogram(*efforts: dict) -> Robot:
    return with_efforts(rp.load("irb2400"), *efforts)


def moving(robot: Robot, n: int = 700) -> Log:
    t = np.arange(n) / 200
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    waves = 0.2 * np.sin(np.outer(t, np.arange(1.0, 7.0)) + np.arange(6)) + 0.05 * np.sin(9 * t)[:, None]
    return Log("log", t, home + waves, None)


PLAIN = Preparation(differentiation="filter")
ON_LOOP = ({"of": "m2", "model": "load", "initial": 0.1, "width": WIDTH}, {"of": ["m3", "m5"], "name": "both", "model": "load", "initial": 0.3, "width": WIDTH})  # fmt: skip


def test_motors_of_a_parallelogram_bear_the_torque_that_the_bodies_ask_of_them():
    """Coordinates are the motors: each one's own friction is what is added to its torque, and the others have none."""
    smooth, robot = parallelogram(), parallelogram(*ON_LOOP)
    c, cd, cdd = motions(6)
    c = 0.2 * c + smooth.home @ smooth.coordinates.S.T
    bodies = rp.inverse_dynamics(smooth, c, cd, cdd)
    expected = bodies + np.array([0, 0.1, 0.3, 0, 0.3, 0]) * np.abs(bodies) * np.tanh(cd / WIDTH)
    for path in ("kernel", "pinocchio"):
        with kernel_choice.forced(path):
            found = rp.inverse_dynamics(robot, c, cd, cdd)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8 * np.abs(expected).max())


def test_blocks_and_both_paths_see_the_same_loads_along_a_log():
    robot = parallelogram(*ON_LOOP)
    log = moving(robot)

    def seen(size: int) -> np.ndarray:
        return np.concatenate(
            [
                np.concatenate(list(part.state.loads.values()), axis=1)[part.keep]
                for part in along_log(robot, log, PLAIN, size)
            ]
        )

    whole = seen(10_000)
    assert whole.min() >= 0
    assert whole.max() > 100  # N m of the shoulder
    np.testing.assert_allclose(seen(150), whole, atol=1e-9 * whole.max())
    with kernel_choice.forced("pinocchio"):
        np.testing.assert_allclose(seen(10_000), whole, rtol=1e-12, atol=1e-11 * whole.max())
    with kernel_choice.forced("pinocchio"):
        slow = predict(robot, log, PLAIN)
    np.testing.assert_allclose(predict(robot, log, PLAIN), slow, rtol=1e-12, atol=1e-11 * np.abs(slow).max())


def test_regressor_and_inverse_dynamics_are_one_equation():
    robot = parallelogram(*ON_LOOP)
    c, cd, cdd = motions(6)
    c = 0.2 * c + robot.home @ robot.coordinates.S.T
    torques = rp.inverse_dynamics(robot, c, cd, cdd)
    rows = regressor(robot, c, cd, cdd) @ columns(robot).values
    np.testing.assert_allclose(rows, torques, rtol=1e-9, atol=1e-8 * np.abs(torques).max())


def test_forward_dynamics_undo_inverse_dynamics(tmp_path):
    robot = robot_of(tmp_path, ARM, load_on("j1", 0.3), load_on("j2", 0.4))
    c, cd, cdd = motions(2)
    tau = rp.inverse_dynamics(robot, c, cd, cdd)
    np.testing.assert_allclose(forward_dynamics(robot, c, cd, tau), cdd, atol=1e-8)


def test_a_gear_that_holds_itself_is_refused(tmp_path):
    robot = robot_of(tmp_path, PENDULUM, load_on("j1", 3.0))
    with pytest.raises(SolverFailed, match="such a gear holds itself"):
        forward_dynamics(robot, np.zeros((1, 1)), np.ones((1, 1)), np.full((1, 1), 5.0))


def test_a_payload_is_borne_where_the_log_carries_it(tmp_path):
    """2.5 kg m^2 and 1.5 kg at 0.8 m, as the estimate before says: what the files say of the pendulum does not count."""
    robot = carrying(robot_of(tmp_path, PENDULUM, load_on("j1", 0.2)), "box", "a")
    point = np.array([1.5, 0, 0, -1.5 * 0.8, 1.5 * 0.64, 0, 1.5 * 0.64, 0, 0, 0])
    arm = np.array([4.0, 0, 0, -4.0 * 0.5, 2.5, 0, 2.5, 0, 0, 0.1])
    robot = replace(robot, borne=(*arm, *point))
    c, cd, cdd = motions(1)
    state = robot.close(c, cd, cdd)
    empty = 2.5 * cdd + 4 * G * 0.5 * np.sin(c)
    full = empty + 1.5 * 0.64 * cdd + 1.5 * G * 0.8 * np.sin(c)
    for path in ("kernel", "pinocchio"):
        for loaded, asked in ((True, full), (False, empty)):
            with kernel_choice.forced(path):
                column = state_regressor(robot, state, loaded)[:, :, -1]
            np.testing.assert_allclose(column, np.abs(asked) * np.tanh(cd / WIDTH), atol=1e-11)


def test_axes_that_nothing_drives_are_refused(tmp_path):
    elbow = rp.load("irb2400").model.names[3]
    with pytest.raises(BadFile, match=r"effort 'load' on '.*': the bodies ask no effort along it.*m1, m2"):
        parallelogram({"of": elbow, "model": "load", "width": WIDTH})
    dualv = rp.load("dualv")
    with pytest.raises(BadFile, match="4 motors for 3 degrees of freedom share the load"):
        with_efforts(dualv, {"of": dualv.motors.names[0], "model": "load", "width": WIDTH})
    with pytest.raises(BadFile, match="neither a motor nor a driven joint"):
        robot_of(tmp_path, ARM, load_on("j2", 0.1), motors="[j1]", coordinates="[j1, j2]")
    with pytest.raises(BadFile, match="drive itself"):
        robot_of(tmp_path, PENDULUM, load_on("j1", -0.1))


def test_plan_track_and_excite_refuse_it_in_a_sentence(tmp_path):
    robot = robot_of(tmp_path, ARM, load_on("j1", 0.1))
    refused_by_everyone(
        robot, "friction 'load' of 'j1' grows with what the bodies ask of its axis, which {} does not follow", tmp_path
    )


def refused_by_everyone(robot: Robot, sentence: str, folder: Path) -> None:
    """Who does not follow such friction says so."""
    with pytest.raises(BadFile, match=sentence.format("plan")):
        robot_dynamics(robot, ["torque"], False)
    with pytest.raises(BadFile, match=sentence.format("track")):
        tracked(robot)
    (folder / "r.urdf").write_text(robot.urdf_xml)
    (folder / "r.yaml").write_text(
        yaml.safe_dump(robot.file.model_dump(mode="json", exclude_defaults=True) | {"urdf": "r.urdf"})
    )
    run = ExcitationFile.model_validate({"robot": "r.yaml", "period": 5, "harmonics": 3, "rate": 100})
    with pytest.raises(BadFile, match=sentence.format("excite")):
        excite(run, folder)
