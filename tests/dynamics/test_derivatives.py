"""Derivatives through closed loops: against differences, by hand, and what they must be together."""

from pathlib import Path

import numpy as np
import pytest
from test_kinds import DIRECTIONS, mechanism

import robodyn_pin as rp
from robodyn_pin.closures.bends import bends
from robodyn_pin.closures.kernel_choice import forced
from robodyn_pin.dynamics.derivatives import Derivatives
from robodyn_pin.dynamics.equations import motor_map
from robodyn_pin.dynamics.regressor import columns, known_efforts
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.friction_models import EffortSpec, basis
from robodyn_pin.robot.friction_slopes import motion_slopes
from robodyn_pin.robot.robot import Robot, build
from robodyn_pin.robot.robot_file import RobotFile

PATHS = ("kernel", "pinocchio")


def bars(kind: str) -> Robot:
    """A four-bar in a plane: its coupler a rod without mass, or its fourth pin in the tree and the last link welded to the base."""
    parts, parent = ['<robot name="bars"><link name="base"/>'], "base"
    chain = [("a", "base", "0 0 0"), ("b", "a", "0.3 0 0"), ("c", "b", "0.5 0 0"), ("d", "c", "0.4 0 0")]
    pairs = [("a", "base", "0 0 0"), ("c", "base", "0.6 0 0")] if kind == "rod" else chain
    for name, parent, at in pairs:
        parts.append(
            f'<link name="{name}"><inertial><origin xyz="0.1 0.05 0"/><mass value="1.5"/><inertia ixx="0.1" iyy="0.1" izz="0.12" ixy="0" '
            f'ixz="0" iyz="0"/></inertial></link><joint name="j_{name}" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{at}"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>'
        )
    if kind == "rod":
        closure = {"between": ["a", "c"], "at": [[0.3, 0, 0], [0.4, 0, 0]], "length": 0.5}
        home = {"j_a": 1.2, "j_c": 1.4}
    else:
        closure, home = (
            {"between": ["base", "d"], "at": [[0.6, 0, 0], [0, 0, 0]]},
            {"j_a": 1.2, "j_b": -0.9, "j_c": -1.6, "j_d": 1.3},
        )
    spec = {"urdf": "p.urdf", "motors": ["j_a"], "home": home, "closures": [{"name": "shut", "kind": kind} | closure]}
    return build("bars", RobotFile.model_validate(spec), "".join([*parts, "</robot>"]), Path("p.urdf"))


def states(robot: Robot, n: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scattered states near home."""
    rng, d = np.random.default_rng(seed), len(robot.coordinates.names)
    far = 0.02 * np.abs(robot.coordinates.S).max(axis=1)
    c = robot.coordinates.S @ robot.home + robot.coordinates.offset + far * rng.uniform(-1, 1, (n, d))
    return c, rng.normal(size=(n, d)), rng.normal(size=(n, d))


def of(found: Derivatives) -> list[np.ndarray]:
    return [found.by_c, found.by_cd, found.by_cdd]


def agree(found: list[np.ndarray], expected: list[np.ndarray], relative: float) -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x.reshape(y.shape) - y).max() <= relative * max(np.abs(y).max(), 1e-3)


def differences(f, motion, step=1e-5):  # of fourth order
    found = []
    for i, x in enumerate(motion):
        columns = []
        for e in step * np.eye(x.shape[1]):
            at = [f(*(y + s * e if k == i else y for k, y in enumerate(motion))) for s in (-2, -1, 1, 2)]
            columns.append((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step))
        found.append(np.stack(columns, axis=-1))
    return found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400", "scara", "hexapod"])
def test_the_regressor_changes_with_the_motion(name, path):
    robot = rp.load(name)
    motion = states(robot, 2)
    with forced(path):
        found = rp.regressor_derivatives(robot, *motion)
    agree(of(found), differences(lambda *x: rp.regressor(robot, *x), motion), 1e-7)
    with pytest.raises(RobodynError, match="does not depend on the parameters"):
        _ = found.by_parameters


@pytest.mark.parametrize("name", ["irb360", "dualv", "irb2400"])
def test_accelerations_answer_what_the_torques_ask(name):
    """With tau = f(c, c', c'', p) of a robot with as many motors as coordinates dtau = 0 says what c'' does."""
    robot = rp.load(name)
    c, cd, cdd = states(robot)
    tau = rp.inverse_dynamics(robot, c, cd, cdd)
    asked, found = (
        rp.inverse_dynamics_derivatives(robot, c, cd, cdd),
        rp.forward_dynamics_derivatives(robot, c, cd, tau),
    )
    np.testing.assert_allclose(found.value, cdd, atol=1e-8)
    slopes = differences(lambda *x: rp.forward_dynamics(robot, *x), (c, cd, tau), 1e-4)
    agree([found.by_c, found.by_cd, found.by_tau], slopes, 1e-6)
    if len(robot.motors.names) == len(robot.coordinates.names):
        for ours, theirs in (
            (found.by_c, asked.by_c),
            (found.by_cd, asked.by_cd),
            (found.by_parameters, asked.by_parameters),
        ):
            np.testing.assert_allclose(asked.by_cdd @ ours, -theirs, atol=1e-7 * np.abs(theirs).max())


def test_parameters_times_their_derivatives_are_what_the_robot_file_does_not_know():
    robot = rp.load("h4")
    motion = states(robot)
    found, forces = rp.inverse_dynamics_derivatives(robot, *motion), rp.strut_force_derivatives(robot, *motion)
    pi = columns(robot).values
    state = robot.close(*motion)
    B = motor_map(robot, state)
    known = np.linalg.solve(B.transpose(0, 2, 1), known_efforts(robot, state)[..., None])[..., 0]
    np.testing.assert_allclose(found.by_parameters @ pi + known, found.value, atol=1e-8)
    assert np.abs(known).max() < 1e-12  # so that the struts can be compared, too
    np.testing.assert_allclose(forces.by_parameters @ pi, forces.value, atol=1e-8 * np.abs(forces.value).max())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", [*DIRECTIONS, "rod", "frame"])
def test_every_kind_of_closure_bends_as_its_positions_say(kind, path):
    robot = bars(kind) if kind in ("rod", "frame") else mechanism(kind, cut=True)
    S, offset = robot.coordinates.S, robot.coordinates.offset
    c = (S @ robot.home + offset)[None] + 0.01
    motion = c, 0.3 + 0 * c, -0.2 + 0 * c
    state = robot.close(*motion)
    with forced(path):
        found = bends(robot.loops, S, state.q, state.v, state.a, state.T)
    for part, expected in ((found.T, "T"), (found.v, "v"), (found.a, "a")):
        slope = differences(lambda x, name=expected: getattr(robot.close(x, *motion[1:]), name), motion[:1], 1e-4)[0]
        np.testing.assert_allclose(part, slope, atol=1e-7 * max(1.0, np.abs(slope).max()))


SPECS = [
    {"model": "viscous"}, {"model": "coulomb", "width": 0.1}, {"model": "stribeck", "speed": 0.5, "width": 0.1},
    {"model": "saturating", "speed": 0.5}, {"model": "quadratic"}, {"model": "cbrt"}, {"model": "directional"},
    {"model": "position", "places": [-0.4, 0.1, 0.35]}, {"model": "position", "places": [-0.4, 0.1, 0.35], "each_way": True},
    {"model": "position", "places": [-0.4, 0.1, 0.35], "degree": 3}, {"model": "position", "waves": [1.0, 7.0], "each_way": True},
    {"model": "cogging", "waves": [3.0, 7.0]}, {"model": "offset"}, {"model": "armature"}, {"model": "spring", "rest": 0.1},
    {"model": "lever_spring", "radii": [0.3, 0.2], "free_length": 0.1, "angle": 1.0, "turn": -1}, {"model": "polynomial", "degree": 3},
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s["model"])
def test_every_effort_changes_along_its_axis(spec):
    spec = EffortSpec.model_validate({"of": "j"} | spec)
    x, xd, xdd = np.random.default_rng(1).uniform(-0.9, 0.9, (3, 40))
    found, h = motion_slopes(spec, x, xd, xdd), 1e-6
    for i in range(3):
        after, before = (basis(spec, *(y + s * h * (k == i) for k, y in enumerate((x, xd, xdd)))) for s in (1, -1))
        np.testing.assert_allclose(found[i], (after - before) / (2 * h), rtol=1e-6, atol=1e-7)


PENDULUM = """<robot name="pendulum"><link name="base"/><link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/>
<child link="arm"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="99" velocity="9"/></joint></robot>"""


def pendulum(**effort: object) -> Robot:
    spec = RobotFile.model_validate({"urdf": "p.urdf", "efforts": [{"of": "j"} | effort]})
    return build("pendulum", spec, PENDULUM, Path("p.urdf"))


def test_friction_that_grows_with_the_load_changes_with_it():
    robot = pendulum(model="load", initial=0.2, width=0.1)
    motion = np.array([[0.4], [-0.7]]), np.array([[0.3], [-0.2]]), np.array([[0.5], [0.1]])
    agree(
        of(rp.inverse_dynamics_derivatives(robot, *motion)),
        differences(lambda *x: rp.inverse_dynamics(robot, *x), motion),
        1e-8,
    )
    agree(of(rp.regressor_derivatives(robot, *motion)), differences(lambda *x: rp.regressor(robot, *x), motion), 1e-8)


def test_a_pendulum_by_hand():
    """tau = (I + m l^2) c'' + m g l sin(c): 0.6 kg m^2, and 9.81 N m."""
    robot = pendulum(model="viscous", initial=0.3)
    found = rp.inverse_dynamics_derivatives(robot, *np.array([[[0.5]], [[0.2]], [[0.1]]]))
    assert np.ravel(of(found)) == pytest.approx([2 * 9.81 * 0.5 * np.cos(0.5), 0.3, 0.6], rel=1e-12)


def test_what_has_no_derivatives_is_said():
    memory = pendulum(model="maxwell_slip", stops=[0.1], initial=[1.0])
    with pytest.raises(RobodynError, match="motion before"):
        rp.inverse_dynamics_derivatives(memory, *np.zeros((3, 1, 1)))
    with pytest.raises(RobodynError, match="has no struts; name them"):
        rp.strut_force_derivatives(rp.load("irb2400"), *np.zeros((3, 1, 6)))
