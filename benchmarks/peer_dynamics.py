"""Regressors beside figaroh, torques and steps beside MuJoCo, accelerations beside Pinocchio's constraintDynamics."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pinocchio as pin
from peer import Peer, States, apart, states

import robodyn_pin as rp
from robodyn_pin.robot.mjcf_out import mjcf_of

LIGHT = 1e-9  # [kg], and a thousandth of it in kg m^2: what Pinocchio's solver needs in links without mass
STEP, FALL = 1e-3, 100  # [s] of a step, and steps
GIVEN = "all joints are given: it closes no loop"


@dataclass(frozen=True)
class Wrapped:
    """What figaroh asks of a robot."""

    model: pin.Model
    data: pin.Data


def regressors(samples: int) -> Iterator[Peer]:
    """Inertial columns; only ours are projected through the loops."""
    if not find_spec("figaroh"):
        return
    from figaroh.tools.regressor import RegressorBuilder

    for at in states(samples):
        model = at.robot.model
        builder = RegressorBuilder(Wrapped(model, model.createData()))

        def theirs(b: RegressorBuilder = builder, s: States = at) -> np.ndarray:
            return b.build_basic_regressor(s.state.q, s.state.v, s.state.a, {"act_idxv": []})

        def compare(mine: np.ndarray, rows: np.ndarray, s: States = at) -> float:
            return apart(mine, s.projected(rows.reshape(s.robot.model.nv, len(mine), -1).transpose(1, 0, 2)))

        yield Peer(at.what, "figaroh", at.differs, at.regressor, theirs, samples, 1e-10, compare)


def dynamics(samples: int) -> Iterator[Peer]:
    """Torques sample by sample, and a step of a simulation."""
    for at in states(samples):
        if find_spec("mujoco"):
            yield from beside_mujoco(at)
        yield beside_constraint_dynamics(at)


def beside_mujoco(at: States) -> Iterator[Peer]:
    import mujoco

    robot, state, samples = at.robot, at.state, len(at.state.q)
    model = mujoco.MjModel.from_xml_string(mjcf_of(robot)[0])
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.eq_solref[:] = 2 * STEP, 1.0  # loops as stiff as MuJoCo takes them at this step
    data, joints = mujoco.MjData(model), [model.joint(k).name for k in range(model.njnt)]
    order = [robot.model.joints[robot.model.getJointId(name)].idx_v for name in joints]
    q, v, a = (np.ascontiguousarray(x[:, order]) for x in (state.q, state.v, state.a))
    loop, efforts = rp.prepared(robot), np.zeros((samples, robot.model.nv))

    def torques() -> np.ndarray:
        return np.array([loop.inverse_dynamics(*x) for x in zip(*at.motion, strict=True)])

    def inverse() -> np.ndarray:
        for k in range(samples):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[k], v[k], a[k]
            mujoco.mj_inverse(model, data)
            efforts[k, order] = data.qfrc_inverse
        return efforts

    def in_coordinates(mine: np.ndarray, theirs: np.ndarray) -> float:
        return apart(*(np.einsum("ij,ijk->ik", x, state.T) for x in (mine @ robot.motors.S, theirs)))

    what = f"{robot.name}: inverse dynamics, one sample a call"
    yield Peer(what, "MuJoCo, mj_inverse", GIVEN, torques, inverse, samples, 1e-6, in_coordinates)

    begin, t = robot.coordinates.S @ robot.home + robot.coordinates.offset, STEP * np.arange(FALL + 1)

    held = torques()[0]

    def rolled() -> np.ndarray:
        return (rp.roll_out(robot, lambda *_: held, begin, 0 * begin, t).q[-1] - robot.home)[order]

    def steps() -> np.ndarray:
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = robot.home[order], 0.0, 0.0
        data.qfrc_applied[:] = (held @ robot.motors.S)[order]
        for _ in range(FALL):
            mujoco.mj_step(model, data)
        return data.qpos - robot.home[order]

    # From rest, Euler's path is off by the share h/t of it.
    differs = "first order; its loops are springs and drift"
    yield Peer(
        f"{robot.name}: from rest with held torques, a step of 1 ms",
        "MuJoCo, mj_step",
        differs,
        rolled,
        steps,
        FALL,
        2 / FALL,
    )


def beside_constraint_dynamics(at: States) -> Peer:
    """Accelerations from torques, all samples in one call of ours."""
    robot, state, S = at.robot, at.state, at.robot.coordinates.S
    c, cd, cdd = at.motion
    torques = rp.inverse_dynamics(robot, c, cd, cdd)
    model, efforts = pin.Model(robot.model), torques @ robot.motors.S
    for k in range(1, model.njoints):
        if model.inertias[k].mass < LIGHT:
            model.inertias[k] = pin.Inertia(LIGHT, np.zeros(3), 1e-3 * LIGHT * np.eye(3))
    data, closed, known = model.createData(), pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for closure in robot.loops.closures:
        a, b = (model.frames[model.getFrameId(frame)] for frame in (closure.frame_a, closure.frame_b))
        for along in (0.0, 1.0)[: 1 + (closure.kind == "revolute")]:  # a hinge is two points of its axis
            point = pin.SE3(np.eye(3), np.array([along, 0, 0]))
            places = a.placement * closure.placement_a * point, b.placement * closure.placement_b * point
            joints = a.parentJoint, places[0], b.parentJoint, places[1]
            closed.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *joints, pin.LOCAL))
            known.append(closed[len(closed) - 1].createData())
    pin.initConstraintDynamics(model, data, closed, known)
    settings = pin.ProximalSettings(1e-12, 1e-10, 20)

    def ours() -> np.ndarray:
        return rp.forward_dynamics(robot, c, cd, torques)

    def theirs() -> np.ndarray:
        each = zip(state.q, state.v, efforts, strict=True)
        return np.array([pin.constraintDynamics(model, data, *x, closed, known, settings) for x in each]) @ S.T

    what = f"{robot.name}: forward dynamics, a sample of many"
    return Peer(what, "pin.constraintDynamics", GIVEN, ours, theirs, len(c), 1e-6)
