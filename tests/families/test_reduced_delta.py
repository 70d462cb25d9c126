"""The reduced model of strut forces: hand statics, the explicit 21 x 21 system, momentum, and the full multipliers.

The 21 x 21 system is written here from equations (12) to (32) of Gnad et al., body by body, with positions and
accelerations from Pinocchio's forward kinematics; it shares no line with the package.
"""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from delta_motion import arm_motion

import robodyn_pin as rp
from robodyn_pin.dynamics.multipliers import reactions
from robodyn_pin.dynamics.struts import strut_loads
from robodyn_pin.errors import ClosureFailed, RobodynError
from robodyn_pin.families.delta import delta_parts
from robodyn_pin.families.reduced_delta import reduced_forces, reduced_model, tree_forces
from robodyn_pin.robot.robot import Robot, build

G = 9.81
LIGHT = 1e-12  # [kg] of bodies that are to weigh nothing


def motion(n: int = 40, turning: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of the IRB 360 in the middle of its workspace, moving fast."""
    rng = np.random.default_rng(5)
    c = np.concatenate([rng.uniform(-0.1, 0.6, (n, 3)), rng.uniform(-3, 3, (n, 1))], axis=1)
    cd, cdd = rng.normal(size=(n, 4)) * [3, 3, 3, 20], rng.normal(size=(n, 4)) * [60, 60, 60, 300]
    if not turning:
        c[:, 3] = cd[:, 3] = cdd[:, 3] = 0
    return c, cd, cdd


def with_masses(robot: Robot, masses: dict[str, float]) -> Robot:
    """The robot with other link masses, inertias about the centre in proportion."""
    root = ET.fromstring(robot.urdf_xml)
    for link in root.findall("link"):
        if link.get("name") in masses:
            mass = link.find("inertial/mass")
            factor = masses[link.get("name")] / float(mass.get("value"))
            mass.set("value", repr(masses[link.get("name")]))
            inertia = link.find("inertial/inertia")
            for key in inertia.attrib:
                inertia.set(key, repr(float(inertia.get(key)) * factor))
    return build(robot.name, robot.file, ET.tostring(root, encoding="unicode"), robot.urdf_path)


def explicit(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    """One sample of G' lambda = W - M V' - C M V, 21 equations; the bar's lower part is lumped at the platform's centre."""
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, q, v, a)
    pin.updateFramePlacements(model, data)
    gravity = np.array([0, 0, -G])
    body = {
        name: model.frames[model.getFrameId(name)].parentJoint for name in ("platform", "end_effector", "bar_lower")
    }

    def acceleration(joint: int, point: np.ndarray) -> np.ndarray:
        """Of a point (world axes, from the joint) of a body."""
        R = data.oMi[joint].rotation
        w, dw = R @ data.v[joint].angular, R @ data.a[joint].angular
        v0, a0 = R @ data.v[joint].linear, R @ data.a[joint].linear
        return a0 + np.cross(w, v0) + np.cross(dw, point) + np.cross(w, np.cross(w, point))

    A, right = np.zeros((21, 21)), np.zeros(21)
    E, P, S, M = slice(0, 6), slice(6, 12), slice(12, 18), slice(18, 21)
    # End-effector, about its centre of mass, along its axes: force of the platform (3), moment (2), torque of the bar.
    joint, I = body["end_effector"], model.inertias[body["end_effector"]]
    R = data.oMi[joint].rotation
    c = R @ I.lever
    w, dw = data.v[joint].angular, data.a[joint].angular
    needed = np.concatenate([
        I.mass * R.T @ (acceleration(joint, c) - gravity), I.inertia @ dw + np.cross(w, I.inertia @ w),
    ])  # fmt: skip
    A[E, 0:3] = np.vstack([np.eye(3), pin.skew(-I.lever)])
    A[E, 3:6] = np.vstack([np.zeros((3, 3)), np.eye(3)])
    right[E] = needed
    # Platform, about its centre of mass, along the world's axes.
    jp, Ip = body["platform"], model.inertias[body["platform"]]
    cp = data.oMi[jp].translation + data.oMi[jp].rotation @ Ip.lever
    mass = Ip.mass + model.inertias[body["bar_lower"]].mass
    right[P][:3] = mass * (acceleration(jp, cp - data.oMi[jp].translation) - gravity)
    r5 = data.oMi[joint].translation - cp
    A[P, 0:3] = -np.vstack([R, pin.skew(r5) @ R])
    A[P, 3:5] = -np.vstack([np.zeros((3, 2)), R[:, :2]])
    arms = list(dict.fromkeys(model.parents[model.parents[robot_joint(model, s)]] for s in robot.file.struts))
    for k, strut in enumerate(robot.file.struts):
        low = data.oMf[model.getFrameId(strut + "_end")].translation
        js = robot_joint(model, strut)
        high = data.oMi[js].translation
        e = (low - high) / np.linalg.norm(low - high)
        A[P, 6 + k] = -np.concatenate([e, np.cross(low - cp, e)])
        # Strut, along its length: pulled down below by lambda_P, up above by lambda_S.
        Is = model.inertias[js]
        inertia = Is.mass * (acceleration(js, data.oMi[js].rotation @ Is.lever) - gravity)
        A[12 + k, 6 + k], A[12 + k, 12 + k], right[12 + k] = 1.0, -1.0, e @ inertia
        # Arm, about its axis: pulled by lambda_S at the elbow.
        arm = arms.index(model.parents[model.parents[js]])
        axis = data.oMi[arms[arm]].rotation @ [0, 1, 0]
        A[18 + arm, 12 + k] = axis @ np.cross(high - data.oMi[arms[arm]].translation, e)
    for k, ja in enumerate(arms):
        I = model.inertias[ja]
        A[18 + k, 18 + k] = 1.0
        about = I.matrix()[4, 4] + 0.188  # the rotor, as in the robot file
        weight = data.oMi[ja].rotation @ [0, 1, 0] @ np.cross(data.oMi[ja].rotation @ I.lever, I.mass * gravity)
        right[18 + k] = about * a[ja - 1] - weight
    lam = np.linalg.solve(A, right)
    return {
        "end_effector": lam[:5],
        "bar": lam[5],
        "lower": lam[6:12],
        "upper": lam[12:18],
        "arms": lam[M],
        "S": lam[S],
    }


def robot_joint(model: pin.Model, link: str) -> int:
    return model.frames[model.getFrameId(link)].parentJoint


def test_block_elimination_solves_the_explicit_system():
    robot = with_masses(rp.load("irb360"), {"end_effector": 3.0})
    root = ET.fromstring(robot.urdf_xml)  # a tool off the axis, so that nothing vanishes
    root.find("link[@name='end_effector']/inertial/origin").set("xyz", "0.04 -0.03 -0.05")
    tool = root.find("link[@name='end_effector']/inertial/inertia")
    for key, value in {"ixx": 0.03, "iyy": 0.04, "izz": 0.02, "ixy": 0.004, "ixz": -0.006, "iyz": 0.003}.items():
        tool.set(key, str(value))
    for k in (1, 2, 3):  # arms whose centres lie beside the planes in which they turn
        root.find(f"link[@name='arm_{k}']/inertial/origin").set("xyz", "0.176 0.05 0.006")
    robot = build("irb360", robot.file, ET.tostring(root, encoding="unicode"), robot.urdf_path)
    state = robot.close(*motion())
    found = tree_forces(reduced_model(robot, bar="platform"), state.q, state.v, state.a)
    for i in range(len(state.q)):
        expected = explicit(robot, state.q[i], state.v[i], state.a[i])
        size = max(np.abs(x).max() for x in expected.values())
        for name in ("end_effector", "bar", "lower", "upper", "arms"):
            np.testing.assert_allclose(getattr(found, name)[i], expected[name], atol=1e-10 * size, err_msg=name)


def test_without_mass_in_struts_and_bar_the_full_multipliers_are_the_same():
    """And without torque through the bar: what is left out of the reduced model is not there."""
    robot = rp.load("irb360")
    light = dict.fromkeys([*robot.file.struts, "bar_upper", "bar_lower", "shaft"], LIGHT)
    robot = with_masses(robot, light)
    robot = replace(robot, efforts=tuple(e for e in robot.efforts if e.name not in ("psi", "ext")))
    c, cd, cdd = motion(turning=False)
    state = robot.close(c, cd, cdd)
    full = rp.constraint_forces(robot, c, cd, cdd)
    reduced = reduced_model(robot)
    found = tree_forces(reduced, state.q, state.v, state.a)
    wanted = np.stack([full.struts[name] for name in robot.file.struts], axis=1)
    assert np.abs(wanted).max() > 20
    np.testing.assert_allclose(found.lower, wanted, atol=1e-8)
    np.testing.assert_allclose(found.upper, wanted, atol=1e-8)
    rubbing = [e for e in robot.efforts if e.spec.model in ("coulomb", "viscous")]
    friction = sum(e.columns(state.q, state.v, state.a) @ e.initial for e in rubbing)[:, reduced.delta.arm_columns]
    np.testing.assert_allclose(found.arms, full.tau[:, :3] - friction, atol=1e-8)


@pytest.mark.parametrize("load", [0.0, 5.0])
def test_hand_statics_with_level_arms(load):
    """At rest each strut carries a sixth of what hangs below, over the cosine; its own weight adds above, along it."""
    robot = with_masses(rp.load("irb360"), {"end_effector": max(load, LIGHT), "bar_lower": LIGHT})
    rest = np.zeros((1, 4))
    state = robot.close(rest, rest, rest)
    found = tree_forces(reduced_model(robot), state.q, state.v, state.a)
    cosine = np.sqrt(1 - ((0.200 + 0.500 - 0.048) / 1.106) ** 2)  # of the struts against the vertical
    lower = (1.2 + load) * G / (6 * cosine)
    np.testing.assert_allclose(found.lower, lower, rtol=1e-9)
    np.testing.assert_allclose(found.upper, lower + 0.179 * G * cosine, rtol=1e-9)
    # An arm holds its first moment and two struts, half a metre out.
    holding = -(0.176 * G + 2 * (lower + 0.179 * G * cosine) * cosine * 0.500)
    np.testing.assert_allclose(found.arms, holding, rtol=1e-9)


def strut_wrench(robot: Robot, q: np.ndarray, tension: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force on the platform of struts under tension (6,), and moment about its origin, along the world's axes."""
    model, data = robot.model, robot.model.createData()
    pin.framesForwardKinematics(model, data, q)
    low, high = (
        np.array([data.oMf[model.getFrameId(strut + end)].translation for strut in robot.file.struts])
        for end in ("_end", "_elbow")
    )
    force = tension[:, None] * (high - low) / np.linalg.norm(high - low, axis=1)[:, None]
    origin = data.oMf[model.getFrameId("platform")].translation
    return force.sum(axis=0), np.cross(low - origin, force).sum(axis=0)


def test_forces_on_platform_and_end_effector_are_their_rate_of_momentum():
    robot = rp.load("irb360")
    c, cd, cdd = motion()
    state = robot.close(c, cd, cdd)
    model, data = robot.model, robot.model.createData()
    found = tree_forces(reduced_model(robot), state.q, state.v, state.a)
    bodies = [
        (robot_joint(model, name), model.inertias[robot_joint(model, name)]) for name in ("platform", "end_effector")
    ]
    bar = model.inertias[robot_joint(model, "bar_lower")].mass
    for i, (q, v, a) in enumerate(zip(state.q, state.v, state.a, strict=True)):
        pin.forwardKinematics(model, data, q, v, a)
        rate = np.zeros(3)
        for joint, body in bodies:
            at = pin.SE3(np.eye(3), body.lever)
            local = at.actInv(data.a[joint]).linear + np.cross(data.v[joint].angular, at.actInv(data.v[joint]).linear)
            rate += body.mass * (data.oMi[joint].rotation @ local + [0, 0, G])
        joint = bodies[0][0]  # the lower part of the bar hangs on the platform, which only translates
        rate += bar * (
            data.oMi[joint].rotation @ (data.a[joint].linear + np.cross(data.v[joint].angular, data.v[joint].linear))
            + [0, 0, G]
        )
        total = strut_wrench(robot, q, found.lower[i])[0]
        np.testing.assert_allclose(total, rate, atol=1e-9 * np.linalg.norm(rate))


@pytest.mark.parametrize("name", ["irb360", "delta3"])
def test_closed_form_motion_is_that_of_the_closed_loops(name):
    robot = rp.load(name)
    n = len(robot.coordinates.names)
    c, cd, cdd = (x[:, :n] for x in motion())
    reduced = reduced_model(robot)
    state, moved = robot.close(c, cd, cdd), arm_motion(reduced.delta, c[:, :3], cd[:, :3], cdd[:, :3])
    data = robot.model.createData()
    for i, (q, v, a) in enumerate(zip(state.q, state.v, state.a, strict=True)):
        pin.forwardKinematics(robot.model, data, q, v, a)
        joint = reduced.delta.platform_joint
        local = data.a[joint].linear + np.cross(data.v[joint].angular, data.v[joint].linear)
        np.testing.assert_allclose(moved.x[i], data.oMi[joint].translation, atol=1e-12)
        np.testing.assert_allclose(moved.xdd[i], data.oMi[joint].rotation @ local, rtol=1e-9, atol=1e-9)
    angle = [x[:, 3] if n > 3 else np.zeros(len(x)) for x in (c, cd, cdd)]
    by_arms, by_tree = reduced_forces(reduced, moved, *angle), tree_forces(reduced, state.q, state.v, state.a)
    np.testing.assert_allclose(by_arms.upper, by_tree.upper, rtol=1e-8, atol=1e-8)


def test_where_the_bar_hangs_changes_the_moment_of_the_struts_not_their_force():
    """Lifted from the platform's centre to its joint, 58 mm higher, its weight takes another lever to be held."""
    robot = rp.load("irb360")
    c, cd, cdd = motion()
    state = robot.close(c, cd, cdd)
    at_joint, at_centre = (
        tree_forces(reduced_model(robot, bar), state.q, state.v, state.a) for bar in ("U2", "platform")
    )
    model, data = robot.model, robot.model.createData()
    bar, platform = model.inertias[robot_joint(model, "bar_lower")].mass, robot_joint(model, "platform")
    for i, (q, v, a) in enumerate(zip(state.q, state.v, state.a, strict=True)):
        pin.forwardKinematics(model, data, q, v, a)
        lifted = data.oMi[platform].rotation @ pin.getClassicalAcceleration(model, data, platform, pin.LOCAL).linear
        (force, moment), (same, without) = (strut_wrench(robot, q, x.lower[i]) for x in (at_joint, at_centre))
        np.testing.assert_allclose(force, same, atol=1e-9 * np.linalg.norm(force))
        expected = np.cross([0, 0, 0.058], bar * (lifted + np.array([0, 0, G])))
        np.testing.assert_allclose(moment - without, expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(at_joint.end_effector, at_centre.end_effector, atol=1e-12)


@pytest.mark.parametrize("name", ["dualv", "irb2400", "irb360_arms"])
def test_other_robots_are_refused_in_one_sentence(name):
    with pytest.raises(
        RobodynError, match=f"robot '{name}' is no Delta, the reduced model does not fit it: its file names no struts"
    ):
        delta_parts(rp.load(name))


def test_arms_too_far_apart_are_named_with_their_sample():
    delta = replace(delta_parts(rp.load("irb360")), length=np.full(6, 0.6))
    phi = np.array([[1.5, 1.5, 1.5], [0.0, 0.0, 0.0]])
    with pytest.raises(ClosureFailed, match="sample 1: the arms stand too far apart"):
        arm_motion(delta, phi, np.zeros((2, 3)), np.zeros((2, 3)))


def test_a_body_without_inertia_is_named():
    robot = rp.load("irb360")
    root = ET.fromstring(robot.urdf_xml)
    link = root.find("link[@name='strut_2a']")
    link.remove(link.find("inertial"))
    file = robot.file.model_copy(update={"identical": []})
    with pytest.raises(RobodynError, match="the reduced model needs the inertia of the body on joint 'strut_2a_z'"):
        reduced_model(build("irb360", file, ET.tostring(root, encoding="unicode"), robot.urdf_path))


def test_strut_loads_at_both_ends_are_the_reactions_of_the_tree():
    """Recursive Newton-Euler with the closures' forces on the bodies gives the same at the elbows."""
    robot = rp.load("irb360")
    c, cd, cdd = motion()
    state, forces = robot.close(c, cd, cdd), rp.constraint_forces(robot, c, cd, cdd)
    loads, carried = strut_loads(robot, state, forces.multipliers), reactions(robot, state, forces.multipliers)
    for k, strut in enumerate(robot.file.struts):
        force = carried[f"{strut}_z"][:, :3]  # on the strut at its elbow, along its own axes: x along the strut
        np.testing.assert_allclose(loads.lower[:, k], forces.struts[strut], atol=1e-10)
        np.testing.assert_allclose(loads.upper[:, k], -force[:, 0], atol=1e-9)
        np.testing.assert_allclose(loads.upper_across[:, k], np.linalg.norm(force[:, 1:], axis=1), atol=1e-9)
    assert loads.upper_across.max() > 0.1


def test_struts_that_form_no_parallelogram_are_refused():
    robot = rp.load("irb360")
    root = ET.fromstring(robot.urdf_xml)
    root.find("joint[@name='strut_2b_end_fixed']/origin").set("xyz", "1.104 0 0")  # tilts the platform
    uneven = build("irb360", robot.file, ET.tostring(root, encoding="unicode"), robot.urdf_path)
    with pytest.raises(RobodynError, match="struts strut_1a and strut_1b form no parallelogram"):
        reduced_model(uneven)


def test_a_point_of_the_bar_that_does_not_exist_is_refused():
    with pytest.raises(RobodynError, match="no point of the bar 'U3' in the reduced model; did you mean 'U2'"):
        rp.reduced_model(rp.load("irb360"), "U3")
