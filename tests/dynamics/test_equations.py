"""Dynamics on the loops: invariants, differences, and hand statics."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import robodyn_pin as rp
from robodyn_pin.dynamics.multipliers import reactions
from robodyn_pin.robot.robot import build
from robodyn_pin.robot.robot_file import RobotFile
from robodyn_pin.urdf import catalogue

ROBOTS = [name for name in catalogue() if name != "irb2400_printed"]  # no body of its can have a positive mass matrix


def loaded(name: str) -> rp.Robot:
    return rp.load(name)


def without_friction(robot: rp.Robot) -> rp.Robot:
    return replace(robot, efforts=tuple(e for e in robot.efforts if e.spec.model == "armature"))


def states(robot: rp.Robot, n: int, seed: int = 0, size: float = 0.1):
    rng = np.random.default_rng(seed)
    d = len(robot.coordinates.names)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    return home + size * rng.uniform(-1, 1, (n, d)), rng.normal(size=(n, d)), rng.normal(size=(n, d))


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_dynamics_undo_inverse_dynamics_under_a_load(name):
    robot = loaded(name)
    c, cd, cdd = states(robot, 20)
    load = rp.Wrench(robot.bodies[-1], np.array([5.0, -3.0, 8.0, 0.4, -0.2, 0.3]))
    tau = rp.inverse_dynamics(robot, c, cd, cdd, load)
    again = rp.forward_dynamics(robot, c, cd, tau, load)
    np.testing.assert_allclose(again, cdd, rtol=1e-9, atol=1e-9 * np.abs(cdd).max())
    unloaded = rp.forward_dynamics(robot, c, cd, tau)
    assert np.abs(unloaded - cdd).max() > 1e-3  # the load matters


@pytest.mark.parametrize("name", ROBOTS)
def test_terms_add_up_to_inverse_dynamics(name):
    robot = without_friction(loaded(name))
    c, cd, cdd = states(robot, 10)
    parts = np.einsum("nij,nj->ni", rp.mass_matrix(robot, c), cdd)
    parts += np.einsum("nij,nj->ni", rp.coriolis(robot, c, cd), cd) + rp.gravity(robot, c)
    B = robot.motors.S @ robot.close(c, cd, cdd).T
    tau = rp.inverse_dynamics(robot, c, cd, cdd)
    np.testing.assert_allclose(np.einsum("nij,ni->nj", B, tau), parts, rtol=1e-9, atol=1e-9 * np.abs(parts).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_rate_of_mass_matrix_less_twice_coriolis_is_skew(name):
    """dM/dt by central differences along the motion, so skewness is not built in."""
    robot = loaded(name)
    c, cd, _ = states(robot, 10)
    h = 3e-4  # seven-point differences: truncation and round-off both below 1e-10 of what is differenced
    steps = {1: 45, 2: -9, 3: 1}
    rate = sum(
        w * (rp.mass_matrix(robot, c + k * h * cd) - rp.mass_matrix(robot, c - k * h * cd)) for k, w in steps.items()
    )
    rate = rate / (60 * h)
    C = rp.coriolis(robot, c, cd)
    N = rate - 2 * C
    assert np.abs(N + N.transpose(0, 2, 1)).max() <= 1e-9 * max(
        np.abs(rate).max() + np.abs(C).max(), 1e-3 * np.abs(rp.mass_matrix(robot, c)).max()
    )


@pytest.mark.parametrize("name", ["irb360", "dualv"])
def test_power_balance_over_a_simulated_second_without_friction(name):
    """Energy gained is work of the motors: tau along the motor angles."""
    robot = without_friction(loaded(name))
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    n = len(robot.motors.names)
    holding = rp.inverse_dynamics(robot, home[None], 0 * home[None], 0 * home[None])[0]
    swing = holding + 0.02 * (np.abs(holding).max() + 1) * np.cos(np.arange(n))

    def tau(t):
        return holding + (swing - holding) * np.sin(2 * np.pi * 2 * t)

    t = np.linspace(0, 1, 101)
    path = rp.roll_out(robot, lambda time, c, cd: tau(time), home, np.zeros_like(home), t)
    c, cd = path.c, path.cd
    assert np.abs(robot.loops.evaluate(path.q).phi).max() <= 1e-12
    state = robot.close(c, cd, np.zeros_like(c))
    power = np.einsum("ni,ni->n", np.array([tau(s) for s in t]), state.v @ robot.motors.S.T)
    work = np.sum((power[:-2:2] + 4 * power[1:-1:2] + power[2::2]) / 3) * (t[1] - t[0])  # Simpson
    kinetic, potential = rp.energy(robot, c, cd)
    gained = kinetic[-1] + potential[-1] - kinetic[0] - potential[0]
    assert np.abs(c - home).max() > 1e-3
    assert abs(gained - work) <= 1e-6 * max(kinetic.max(), np.abs(power).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_multipliers_balance_every_joint_of_the_tree(name):
    """Along each joint's axis the reaction is motor torque less friction and armature: nothing is left over."""
    robot = loaded(name)
    c, cd, cdd = states(robot, 5)
    load = rp.Wrench(robot.bodies[-1], np.array([5.0, -3.0, 8.0, 0.4, -0.2, 0.3]))
    forces = rp.constraint_forces(robot, c, cd, cdd, load)
    state = robot.close(c, cd, cdd)
    carried = reactions(robot, state, forces.multipliers, load)
    along = forces.tau @ robot.motors.S
    for effort in robot.efforts:
        along = along - effort.columns(state.q, state.v, state.a) @ effort.initial
    for closure in robot.loops.closures:
        if closure.kind == "coupling":  # it holds joints, not bodies
            for joint, factor in closure.joints.items():
                along[:, robot.model.joints[robot.model.getJointId(joint)].idx_v] += (
                    factor * forces.multipliers[closure.name][:, 0]
                )
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, state.q[0])
    scale = max(np.abs(along).max(), 1.0)
    for j in range(1, robot.model.njoints):
        joint = robot.model.joints[j]
        axis = joint.createData()
        joint.calc(axis, state.q[0], state.v[0])
        value = carried[robot.model.names[j]] @ np.asarray(axis.S).reshape(6)
        np.testing.assert_allclose(value, along[:, joint.idx_v], atol=1e-9 * scale)


@pytest.mark.parametrize("name", ROBOTS)
def test_what_the_base_gives_is_the_rate_of_momentum_of_all_bodies(name):
    """Forces and moments about the base's origin: closures cancel only where both bodies get them at the same point."""
    robot = loaded(name)
    c, cd, cdd = states(robot, 3)
    held = robot.model.frames[robot.model.nframes - 1].name  # a frame that need not lie in its joint
    load = rp.Wrench(held, np.array([5.0, -3.0, 8.0, 0.4, -0.2, 0.3]))
    state = robot.close(c, cd, cdd)
    carried = reactions(robot, state, rp.constraint_forces(robot, c, cd, cdd, load).multipliers, load)
    model, data = robot.model, robot.model.createData()
    for i, (q, v, a) in enumerate(zip(state.q, state.v, state.a, strict=True)):
        pin.computeCentroidalMomentumTimeVariation(model, data, q, v, a)
        pin.framesForwardKinematics(model, data, q)
        weight = data.mass[0] * model.gravity.linear
        asked = pin.Force(data.dhg.linear - weight, data.dhg.angular + np.cross(data.com[0], data.dhg.linear - weight))
        at = data.oMf[model.getFrameId(held)].translation
        asked -= pin.Force(load.values[:3], load.values[3:] + np.cross(at, load.values[:3]))
        given = pin.Force.Zero()
        for j in range(1, model.njoints):
            if model.parents[j] == 0:
                given += data.oMi[j].act(pin.Force(carried[model.names[j]][i]))
        np.testing.assert_allclose(given.vector, asked.vector, atol=1e-8 * np.abs(asked.vector).max())


def test_internal_torque_moves_nothing_but_is_there():
    robot = loaded("dualv")
    c, cd, cdd = states(robot, 5, size=0.05)
    least = rp.inverse_dynamics(robot, c, cd, cdd)
    more = rp.inverse_dynamics(robot, c, cd, cdd, internal=np.tile([6.0, 0, 0, 0], (5, 1)))
    assert np.linalg.norm(more - least, axis=1).min() > 0.1
    assert (np.linalg.norm(more, axis=1) >= np.linalg.norm(least, axis=1) - 1e-12).any()
    np.testing.assert_allclose(rp.forward_dynamics(robot, c, cd, more), cdd, rtol=1e-9, atol=1e-8)


TRUSS = """<robot name="truss"><link name="base"/><link name="foot_base"/>
  <joint name="foot_mount" type="fixed"><parent link="base"/><child link="foot_base"/><origin xyz="0 0 -0.3"/></joint>
  <link name="boom"><inertial><origin xyz="0.6 0 0"/><mass value="5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.4" iyz="0" izz="0.4"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="0" velocity="1"/></joint>
  <link name="tip"/><joint name="tip_mount" type="fixed"><parent link="boom"/><child link="tip"/><origin xyz="1 0 0"/></joint>
  <link name="strut"/><joint name="foot" type="revolute"><parent link="foot_base"/><child link="strut"/>
    <origin rpy="0 -0.6435011087932844 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="0" velocity="1"/></joint>
  <link name="head"/><joint name="slide" type="prismatic"><parent link="strut"/><child link="head"/>
    <origin xyz="0.5 0 0"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="0" velocity="1"/></joint>
</robot>"""


def truss() -> rp.Robot:
    """A level boom on a hinge, held 0.4 m out by a strut from 0.3 m below: a 3-4-5 triangle."""
    file = RobotFile.model_validate(
        {
            "urdf": "truss.urdf", "motors": ["slide"], "struts": {"prop": ["strut", "head"]},
            "closures": [{"name": "pin", "kind": "planar_point", "between": ["head", "boom"],
                          "at": [[0, 0, 0], [0.4, 0, 0]], "normal": [0, 1, 0]}],
        }
    )  # fmt: skip
    return build("truss", file, TRUSS, Path("truss.urdf"))


def test_prop_carries_the_boom_as_hand_statics_say():
    robot, rest = truss(), np.zeros((1, 1))
    # Moments about the hinge: F 0.4 m sin a = m g 0.6 m, sin a = 0.3 / 0.5. The prop pushes, so the slide pushes too.
    expected = 5.0 * 9.81 * 0.6 / (0.4 * 0.3 / 0.5)
    assert rp.inverse_dynamics(robot, rest, rest, rest)[0, 0] == pytest.approx(expected, rel=1e-9)
    # 7 N down at the tip, 1 m out, adds 7 / (0.4 sin a).
    loaded_tip = rp.Wrench("tip", np.array([0, 0, -7.0, 0, 0, 0]))
    forces = rp.constraint_forces(robot, rest, rest, rest, loaded_tip)
    assert forces.tau[0, 0] == pytest.approx(expected + 7 / (0.4 * 0.6), rel=1e-9)
    assert np.linalg.norm(forces.multipliers["pin"]) == pytest.approx(forces.tau[0, 0], rel=1e-9)
    # The hinge carries what the prop's horizontal part and the remaining weight ask: F cos a backwards.
    state = robot.close(rest, rest, rest)
    hinge = reactions(robot, state, forces.multipliers, loaded_tip)["hinge"][0]
    F = forces.tau[0, 0]
    np.testing.assert_allclose(hinge[:3], [-F * 0.8, 0, 5 * 9.81 + 7 - F * 0.6], rtol=1e-9, atol=1e-9)
