"""Friction that grows with the force along a strut or a bearing: a truss and a turntable by hand, the reactions of loops, both paths."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from test_equations import truss
from test_load_friction import refused_by_everyone, with_efforts

import robodyn_pin as rp
from robodyn_pin.closures import kernel_choice
from robodyn_pin.dynamics.derivatives import asked_of
from robodyn_pin.dynamics.equations import forward_dynamics
from robodyn_pin.dynamics.multipliers import Loads, reactions
from robodyn_pin.dynamics.regressor import columns, regressor, state_regressor
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.errors import BadFile, RobodynError, UnknownName
from robodyn_pin.robot.payload import carrying
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.simulation.sticking import sticking

G, WIDTH = 9.81, 0.05
PROP = 5.0 * G * 0.6 / (0.4 * 0.3 / 0.5)  # N: moments of the boom about its hinge, F 0.4 m sin a = m g 0.6 m
TURNTABLE = """<robot name="turntable"><link name="base"/>
  <link name="table"><inertial><origin xyz="0.1 0 0"/><mass value="3"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="turn" type="revolute"><origin rpy="{0} 0 0"/><parent link="base"/><child link="table"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
  <link name="arm"><inertial><origin xyz="0.4 0 0"/><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="swing" type="revolute"><origin xyz="0.5 0 0.2"/><parent link="table"/><child link="arm"/><axis xyz="0 -1 0"/>
    <limit lower="-9" upper="9" effort="9" velocity="9"/></joint></robot>"""


def axial(of: object, *, initial: float = 0.03, **by: object) -> dict:
    return {"of": of, "model": "load", "initial": initial, "width": WIDTH, **by}


def bodies_only(robot: Robot) -> Robot:
    return replace(robot, efforts=())


def motions(robot: Robot, n: int = 40, size: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, d = np.random.default_rng(0), len(robot.coordinates.names)
    home = robot.coordinates.S @ robot.home + robot.coordinates.offset
    return home + size * rng.normal(size=(n, d)), 0.1 * rng.normal(size=(n, d)), 3 * rng.normal(size=(n, d))


@pytest.mark.parametrize("n", [1, 40])  # anchors and batches
def test_a_hinge_and_a_pin_rub_by_the_force_in_the_prop_as_hand_statics_say(n):
    """The prop is as long as 0.24 m per rad of the boom, and turns by 0.64 rad per rad: power gives the force that friction takes."""
    rest, slow = np.zeros((n, 1)), np.full((n, 1), 1e-4)
    per_length = 1 / 0.24
    for of, per_turn in (("hinge", 1.0), ("pin", 1 - 0.64)):
        robot = with_efforts(truss(), axial(of, strut="prop"))
        moment = 0.03 * PROP * np.tanh(slow[:, 0] * per_length * per_turn / WIDTH)
        expected = PROP + moment * per_length * per_turn
        np.testing.assert_allclose(rp.inverse_dynamics(robot, rest, slow, rest)[:, 0], expected, rtol=1e-6)
        np.testing.assert_allclose(rp.inverse_dynamics(robot, rest, -slow, rest)[:, 0], 2 * PROP - expected, rtol=1e-6)


@pytest.mark.parametrize("lean", [0.0, 0.3])
@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_a_turntable_rubs_by_what_stands_on_its_bearing(lean, path, tmp_path):
    """Of 3 and 2 kg the weight along the axis, and what lifts and swings the arm's centre, 0.4 m out at angle s above the table."""
    (tmp_path / "r.urdf").write_text(TURNTABLE.format(lean))
    (tmp_path / "r.yaml").write_text("urdf: r.urdf\n")
    robot = with_efforts(rp.load(tmp_path / "r.yaml"), axial("turn", bearing="turn"))
    c, cd, cdd = motions(robot, size=1.0)
    cd[:, 1] *= 20
    s, sd, sdd = c[:, 1], cd[:, 1], cdd[:, 1]
    thrust = 5 * G * np.cos(lean) + 2 * 0.4 * (np.cos(s) * sdd - np.sin(s) * sd**2)
    smooth = rp.inverse_dynamics(bodies_only(robot), c, cd, cdd)
    rubbing = 0.03 * np.abs(thrust) * np.tanh(cd[:, 0] / WIDTH)
    with kernel_choice.forced(path):
        found = rp.inverse_dynamics(robot, c, cd, cdd)
    np.testing.assert_allclose(found, smooth + rubbing[:, None] * [1, 0], atol=1e-10)
    one = rp.prepared(robot).inverse_dynamics(c[0], cd[0], cdd[0])
    np.testing.assert_allclose(one, found[0], atol=1e-10)


@pytest.mark.parametrize("name", ["irb360", "delta3", "delta3 x y z", "hexapod", "h4", "irb2400", "fivebar"])
@pytest.mark.parametrize("path", ["kernel", "pinocchio"])
def test_struts_and_bearings_of_loops_carry_what_reactions_say(name, path):
    """Reactions go the other way: Pinocchio's recursion with each closure's force as a wrench from outside, sample by sample."""
    name, *coordinates = name.split()
    smooth = bodies_only(rp.load(name))
    turning = [j for j, slides in zip(list(smooth.model.names)[1:], smooth.loops.sliding, strict=True) if not slides]
    struts = list(smooth.file.struts)
    efforts = [axial(turning, bearing=turning)] + ([axial([turning[0]] * 1, strut=s, name=s) for s in struts[:2]])
    robot = with_efforts(smooth, *efforts)
    if coordinates:
        robot, smooth = (r.with_coordinates(coordinates) for r in (robot, smooth))
    state = robot.close(*motions(robot, size=0.02 if coordinates else 0.05))
    with kernel_choice.forced(path):
        loads = with_loads(robot, state).loads
    assert loads is not None
    found = Loads(smooth, state)
    carried = reactions(smooth, state, found.multipliers)
    scale = max(np.abs(x[:, :3]).max() for x in carried.values())
    for k, joint in enumerate(turning):
        axis = smooth.model.joints[smooth.model.getJointId(joint)].createData().S[3:].ravel()
        expected = np.abs(carried[joint][:, :3] @ axis)
        np.testing.assert_allclose(loads[robot.efforts[0].load_key][:, k], expected, atol=1e-7 * scale)
    for effort, strut in zip(robot.efforts[1:], range(2), strict=False):
        np.testing.assert_allclose(
            loads[effort.load_key][:, 0], np.abs(found.struts.lower[:, strut]), rtol=1e-7, atol=1e-7 * scale
        )


BALLS = axial(["ball_1a", "ball_2b", "phi1"], strut=["strut_1a", "strut_2b", "strut_1b"], name="balls", initial=0.01)
BOTH = (BALLS, axial("phi2", bearing="phi2", initial=0.05), axial("phi2", initial=0.1))


def test_regressor_forward_and_inverse_dynamics_are_one_equation():
    robot = with_efforts(rp.load("irb360"), *BOTH)
    c, cd, cdd = motions(robot, size=0.05)
    torques = rp.inverse_dynamics(robot, c, cd, cdd)
    smooth = rp.inverse_dynamics(with_efforts(rp.load("irb360")), c, cd, cdd)
    assert np.abs(torques - smooth).max() > 0.1  # N m
    rows = regressor(robot, c, cd, cdd) @ columns(robot).values
    np.testing.assert_allclose(rows, torques, rtol=1e-9, atol=1e-8 * np.abs(torques).max())
    np.testing.assert_allclose(forward_dynamics(robot, c, cd, torques), cdd, atol=1e-7)


def test_reactions_hold_the_friction_in_the_balls():
    """What a passive joint provides along its axis is nothing, though the balls beside it rub."""
    robot = with_efforts(rp.load("irb360"), axial("ball_1a", strut="strut_1a", initial=0.05))
    state = robot.close(*motions(robot, size=0.05))
    carried = reactions(robot, state, Loads(robot, state).multipliers)
    driven = robot.motors.S.any(axis=0)
    for j in np.flatnonzero(~driven):
        joint = robot.model.names[int(j) + 1]
        axis = robot.model.joints[int(j) + 1].createData().S.ravel()
        np.testing.assert_allclose(carried[joint] @ axis, 0, atol=1e-6)


def test_a_payload_is_borne_where_the_log_carries_it():
    robot = carrying(with_efforts(truss(), axial("hinge", strut="prop")), "box", "tip")
    bodies = columns(robot).values[: 10 * len(robot.body_groups)]
    bodies[robot.payload_columns] = [7 / G, *np.zeros(9)]
    robot = replace(robot, borne=tuple(bodies))
    state = robot.close(np.zeros((1, 1)), np.full((1, 1), 1e-3), np.zeros((1, 1)))
    empty, full = (state_regressor(robot, state, loaded)[0, 0, -1] for loaded in (False, True))
    assert full / empty == pytest.approx((PROP + 7 / 0.24) / PROP, rel=1e-6)  # 7 N a metre out


def test_friction_sticks_by_the_force_in_the_prop():
    """A boom that is pushed by a little less, and a little more, than its hinge's friction holds."""
    robot = with_efforts(truss(), axial("hinge", strut="prop"))
    holds = 0.03 * PROP / 0.24
    apart, rest = sticking(robot), np.zeros(1)
    for factor, sticks in ((0.9, True), (1.2, False)):
        push = np.array([PROP + factor * holds]) @ robot.motors.S
        c, cd = rest, rest
        for _ in range(20):
            drive = partial(along_coordinates, push)
            c, cd, stuck, _ = apart.step(c, cd, 1e-3, drive, robot.home, np.zeros(0))
        assert bool(stuck.all()) == sticks
        assert (abs(cd[0]) < 1e-9) == sticks


def along_coordinates(push: np.ndarray, state: State, _: np.ndarray) -> np.ndarray:
    """Efforts of the tree's joints (nv,) along the coordinates."""
    return push @ state.T[0]


def test_what_the_bodies_do_not_determine_is_refused():
    irb360, dualv = rp.load("irb360"), rp.load("dualv")
    with pytest.raises(
        BadFile, match=r"force along bearing '.*', which the bodies alone do not determine, as it has 4 motors for 3"
    ):
        with_efforts(dualv, axial(dualv.motors.names[0], bearing=dualv.model.names[1]))
    with pytest.raises(UnknownName, match="strut"):
        with_efforts(irb360, axial("phi1", strut="strut_9"))
    with pytest.raises(UnknownName, match="joint"):
        with_efforts(irb360, axial("phi1", bearing="phi9"))
    with pytest.raises(BadFile, match="the bearing 'slide', which slides"):
        with_efforts(truss(), axial("hinge", bearing="slide"))
    with pytest.raises(BadFile, match="names 1 under 'strut'; expected one, or one for each of the 2"):
        with_efforts(irb360, axial(["phi1", "phi2"], strut=["strut_1a"]))
    with pytest.raises(BadFile, match="'strut' goes with the model 'load'"):
        with_efforts(irb360, {"of": "phi1", "model": "coulomb", "strut": "strut_1a"})
    with pytest.raises(BadFile, match="and 'bearing' are two loads"):
        with_efforts(irb360, axial("phi1", strut="strut_1a", bearing="phi1"))
    with pytest.raises(BadFile, match="load with the 'strut' or 'bearing' whose force"):
        with_efforts(irb360, axial("ball_1a"))
    with pytest.raises(UnknownName, match="closure at the strut end"):
        with_efforts(irb360_with_a_strut_in_the_air(irb360), axial("phi1", strut="loose"))


def irb360_with_a_strut_in_the_air(robot: Robot) -> Robot:
    struts = robot.file.struts | {"loose": ("strut_1a_elbow", "strut_1a_elbow")}
    return replace(robot, file=robot.file.model_copy(update={"struts": struts}))


def test_derivatives_refuse_it_in_a_sentence():
    robot = with_efforts(rp.load("irb360"), axial("phi1", strut="strut_1a"))
    with pytest.raises(
        RobodynError, match="'phi1' grows with the force along strut 'strut_1a', of which there are no derivatives"
    ):
        asked_of(robot, robot.close(*motions(robot, size=0.05)))


def test_plan_track_and_excite_refuse_it_in_a_sentence(tmp_path: Path):
    robot = with_efforts(rp.load("irb360"), axial("phi1", strut="strut_1a"))
    refused_by_everyone(
        robot,
        "friction 'load' of 'phi1' grows with the force along strut 'strut_1a', which {} does not follow",
        tmp_path,
    )
