"""The reduced Lagrange-multiplier model of a Delta: strut forces from parameters that an identification can find.

Equations (12) to (32) of Gnad et al.: the 21 x 21 system of end-effector (5 + drive), platform (6), six struts (along
their length only) and three arms, solved block by block: the motion is known, so each block gives its multipliers from
those before it. Left out are the struts' lateral inertia and the bar, but for the weight of its lower part.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Closure
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import RobodynError, UnknownName
from robodyn_pin.families.delta import Delta, DeltaMotion, delta_parts, tree_motion, turning
from robodyn_pin.robot.robot import Robot

Lump = Literal["U2", "platform"]


@dataclass(frozen=True)
class EndEffector:
    """A body that turns on the platform about its own z axis."""

    column: int  # of its angle in q
    at: np.ndarray  # (3,) joint from the platform origin, along the world's axes [m]
    lever: np.ndarray  # (3, 3) force (3,) at the joint -> moment about the platform origin, from the right
    turn: np.ndarray  # (3, 9) its axes (3, 3) at an angle: [1, cos, sin] @ turn
    wrench: np.ndarray  # (5, 6) about the joint, along its axes, of: acceleration less gravity (3), psi'', psi'^2


@dataclass(frozen=True)
class ReducedModel:
    """What the reduced model knows of a Delta."""

    delta: Delta
    gravity: np.ndarray  # (3,)
    lifting: np.ndarray  # (3, 6) wrench about the platform origin per acceleration: platform and the bar's lower part
    tool: EndEffector | None
    strut_mass: np.ndarray  # (6,) [kg]
    share: np.ndarray  # (6, 1) how far down the strut its centre lies, in parts of its length
    levers: np.ndarray  # (6, 6, 3) wrench about the platform origin of a unit force, for each strut
    arm_inertia: np.ndarray  # (3,) about the axis, with what turns along [kg m^2]
    arm_weight: np.ndarray  # (2, 6) gravity on the arms, half by strut: factor of cos, of sin, in the work [N m]


@dataclass(frozen=True)
class ReducedForces:
    """Multipliers of N samples [N, N m]."""

    end_effector: np.ndarray  # (N, 5) lambda_E: force, then moment across the axis, of the platform on the end-effector
    bar: np.ndarray  # (N,) lambda_TB: torque of the bar on the end-effector
    lower: np.ndarray  # (N, 6) lambda_P: strut at the platform, tension positive
    upper: np.ndarray  # (N, 6) lambda_S: strut at the arm, tension positive
    arms: np.ndarray  # (N, 3) lambda_A as motor torques, minus the paper's; without friction


def reduced_model(robot: Robot, bar: Lump = "U2") -> ReducedModel:
    """Return the reduced model of a Delta-like robot with the parameters of its files.

    Args:
        bar: where the weight of the bar's lower part acts: at its joint on the end-effector, or, as printed, at the
            platform's centre of mass.

    Raises:
        UnknownName: no such point of the bar. RobodynError: the robot is no Delta, or a body that the model needs has no inertia; names it.
    """
    if bar not in get_args(Lump):
        raise UnknownName("point of the bar", str(bar), "the reduced model", get_args(Lump))
    delta, model = delta_parts(robot), robot.model
    for joint in (*delta.strut_joints, *delta.arm_joints, delta.platform_joint):
        if model.inertias[joint].mass <= 0:
            raise RobodynError(
                f"robot {robot.name!r}: the reduced model needs the inertia of the body on joint {model.names[joint]!r}; "
                "give its link an <inertial>"
            )
    platform, data = model.inertias[delta.platform_joint], model.createData()
    pin.forwardKinematics(model, data, np.zeros(model.nv))
    centre = data.oMi[delta.platform_joint].rotation @ platform.lever
    tool = _end_effector(robot, data, delta)
    hung, at = (0.0, centre) if tool is None else _hung(robot, data, delta, tool)
    moment = platform.mass * centre + hung * (centre if bar == "platform" else at)
    lifting = np.vstack([(platform.mass + hung) * np.eye(3), pin.skew(moment)]).T
    struts = [model.inertias[j] for j in delta.strut_joints]
    ends = [model.frames[frame_id(model, end)].placement.translation for _, end in robot.file.struts.values()]
    share = np.array([[s.lever @ e / (e @ e)] for s, e in zip(struts, ends, strict=True)])
    levers = np.array([np.vstack([np.eye(3), pin.skew(r)]) for r in delta.ball])
    masses, arms = np.array([s.mass for s in struts]), (_arm_inertia(robot, delta), _arm_weight(model, delta))
    return ReducedModel(delta, model.gravity.linear.copy(), lifting, tool, masses, share, levers, *arms)


def reduced_forces(
    reduced: ReducedModel, motion: DeltaMotion, psi: np.ndarray, psid: np.ndarray, psidd: np.ndarray
) -> ReducedForces:
    """Return the multipliers of a motion; psi (N,) is the end-effector's angle on the platform, zeros where there is none.

    Block elimination of (31): end-effector, platform, struts, arms.
    """
    delta, g = reduced.delta, reduced.gravity
    lifted = motion.xdd - g
    wrench = lifted @ reduced.lifting
    if reduced.tool is None:
        carried = np.zeros((len(lifted), 6))
    else:
        carried, on_platform = _carried(reduced.tool, lifted, psi, psid, psidd)
        wrench += on_platform
    phi, phid, phidd = (x.take(delta.arm_of, axis=1) for x in (motion.phi, motion.phid, motion.phidd))
    cos, sin = np.cos(phi), np.sin(phi)
    radius, tangent = delta.elbow.at(cos, sin)
    along = (motion.x[:, None] + delta.hanging - radius) / delta.length[:, None]
    unit = (reduced.levers @ along[..., None])[..., 0]  # wrench of one newton along each strut
    lower = np.linalg.solve(unit.transpose(0, 2, 1), -wrench[..., None])[..., 0]
    above = tangent * phidd[..., None] - radius * (phid * phid)[..., None] - g
    centre = above + reduced.share * (lifted[:, None] - above)
    upper = lower - reduced.strut_mass * np.vecdot(along, centre)
    pulled = upper * np.vecdot(along, tangent) + reduced.arm_weight[1] * cos - reduced.arm_weight[0] * sin
    arms = reduced.arm_inertia * motion.phidd - pulled @ delta.pairs
    return ReducedForces(carried[:, :5], carried[:, 5], lower, upper, arms)


def tree_forces(reduced: ReducedModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> ReducedForces:
    """Return what `reduced_forces` returns, for a closed motion of all joints q, v, a (N, nv)."""
    psi = (np.zeros(len(q)),) * 3 if reduced.tool is None else tuple(x[:, reduced.tool.column] for x in (q, v, a))
    return reduced_forces(reduced, tree_motion(reduced.delta, q, v, a), *psi)


def _carried(
    tool: EndEffector, lifted: np.ndarray, psi: np.ndarray, psid: np.ndarray, psidd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the wrench (N, 6) on the end-effector about its joint, along its axes, and what of it the platform gives, about its origin."""
    circle, moved = np.ones((len(lifted), 3)), np.empty((len(lifted), 5))
    np.cos(psi, out=circle[:, 1])
    np.sin(psi, out=circle[:, 2])
    turn = (circle @ tool.turn).reshape(-1, 3, 3)
    moved[:, :3] = (lifted[:, None] @ turn)[:, 0]
    moved[:, 3], moved[:, 4] = psidd, psid * psid
    own = moved @ tool.wrench
    given = own.reshape(-1, 2, 3) @ turn.transpose(0, 2, 1)
    given[:, 1] -= own[:, 5:] * turn[:, :, 2]  # the torque about the axis comes from the bar
    given[:, 1] += given[:, 0] @ tool.lever
    return own, given.reshape(-1, 6)


def _axis(model: pin.Model, joint: int) -> np.ndarray:
    """Return the axis (3,) of a revolute joint in its own frame."""
    data = model.joints[joint].createData()
    model.joints[joint].calc(data, np.zeros(model.nq))
    return np.asarray(data.S).reshape(6)[3:]


def _end_effector(robot: Robot, data: pin.Data, delta: Delta) -> EndEffector | None:
    model, z = robot.model, np.array([0.0, 0.0, 1.0])
    above = [j for j in range(1, model.njoints) if model.parents[j] == delta.platform_joint]
    if not above:
        return None
    if len(above) > 1 or not np.allclose(_axis(model, above[0]), z):
        raise RobodynError(
            f"robot {robot.name!r}: on a Delta's platform one end-effector is expected, turning about its z axis"
        )
    body, placed = model.inertias[above[0]], data.oMi[above[0]]
    first, spin = body.mass * pin.skew(body.lever), pin.Inertia(body).matrix()[3:, 5]
    wrench = np.zeros((5, 6))
    wrench[:3, :3], wrench[:3, 3:] = body.mass * np.eye(3), first.T
    wrench[3, :3], wrench[3, 3:] = -first @ z, spin
    wrench[4, :3], wrench[4, 3:] = np.cross(z, -first @ z), np.cross(z, spin)
    along, axis = np.outer(z, z), placed.rotation
    turn = (axis @ np.array([along, np.eye(3) - along, pin.skew(z)])).reshape(3, 9)
    at = placed.translation - data.oMi[delta.platform_joint].translation
    return EndEffector(above[0] - 1, at, pin.skew(at).T, turn, wrench)


def _hung(robot: Robot, data: pin.Data, delta: Delta, tool: EndEffector) -> tuple[float, np.ndarray]:
    """Return the mass of the body that a closure hangs on the end-effector, and where it hangs, from the platform origin."""
    model = robot.model
    for closure in robot.loops.closures:
        if isinstance(closure, Closure):
            ends = [model.frames[frame_id(model, name)] for name in (closure.frame_a, closure.frame_b)]
            joints = [f.parentJoint for f in ends]
            if tool.column + 1 in joints:
                own, other = joints.index(tool.column + 1), 1 - joints.index(tool.column + 1)
                bar = joints[other]
                while bar and model.inertias[bar].mass == 0:
                    bar = model.parents[bar]
                at = data.oMi[joints[own]].act(ends[own].placement.translation)
                return model.inertias[bar].mass, at - data.oMi[delta.platform_joint].translation
    return 0.0, np.zeros(3)


def _arm_inertia(robot: Robot, delta: Delta) -> np.ndarray:
    """Return the inertia (3,) about the arms' axes, with the rotors'."""
    model, total = robot.model, []
    for joint in delta.arm_joints:
        axis, body = _axis(model, joint), model.inertias[joint]
        about = (
            axis
            @ (body.inertia + body.mass * (body.lever @ body.lever * np.eye(3) - np.outer(body.lever, body.lever)))
            @ axis
        )
        total.append(about)
    rotors = [e for e in robot.efforts if e.spec.model == "armature"]
    unit = np.eye(model.nv)[delta.arm_columns]
    return np.array(total) + sum(((unit @ e.rows.T) ** 2).sum(axis=1) * e.initial[0] for e in rotors)


def _arm_weight(model: pin.Model, delta: Delta) -> np.ndarray:
    centres = turning(model, delta.arm_joints, delta.arm_joints, [model.inertias[j].lever for j in delta.arm_joints])
    mass = np.array([model.inertias[j].mass for j in delta.arm_joints])
    weight = mass * (np.array([centres.cosine, centres.sine]) @ model.gravity.linear)
    return weight[:, delta.arm_of] / 2
