"""The reduced strut model for any number of arms of two struts and any platform that these hold: Delta, H4, Par4.

Struts carry along their length only, and their lateral inertia is left out, as in the model of Gnad et al. for the Delta. So the
platform, a tree of its own with as many joints as there are struts, gives the struts' forces, and these the motors' torques.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Closure
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.errors import RobodynError
from robodyn_pin.families.reduced_delta import Lump, ReducedForces, reduced_model, tree_forces
from robodyn_pin.robot.robot import Robot

THREE = 3  # arms of a Delta


@dataclass(frozen=True)
class ArmModel:
    """Which joints play which part; bodies by the joint that carries them."""

    model: pin.Model
    bare: pin.Model  # the same with struts that weigh nothing
    arms: tuple[int, ...]  # joints (n,)
    arm_of: np.ndarray  # (2 n,) index of each strut's arm
    platform: np.ndarray  # (2 n,) columns of q of the platform's joints
    near: tuple[int, ...]  # frames (2 n,) at the arm
    far: tuple[int, ...]  # frames (2 n,) at the platform
    balls: tuple[int, ...]  # frames (2 n,) of the platform, where the struts end
    mass: np.ndarray  # (2 n,) [kg]
    share: np.ndarray  # (2 n,) how far down the strut its centre lies, in parts of its length
    rotor: np.ndarray  # (n,) armature at the arms [kg m^2]


@dataclass(frozen=True)
class ArmForces:
    """Forces of N samples; tension positive."""

    lower: np.ndarray  # (N, 2 n) of the struts at the platform [N]
    upper: np.ndarray  # (N, 2 n) at the arms [N]
    arms: np.ndarray  # (N, n) torques of the motors [N m]; without friction


StrutModel = Callable[[np.ndarray, np.ndarray, np.ndarray], ReducedForces | ArmForces]  # q, v, a (N, nv), closed


def strut_model(robot: Robot, bar: Lump = "U2") -> StrutModel:
    """Return what makes of a closed motion q, v, a (N, nv) the struts' forces `lower` and `upper` (N, k).

    A robot with three arms is a Delta, whose bar and end-effector `reduced_model` knows; others are `arm_model`s.

    Raises:
        RobodynError: as these two.
    """
    if is_delta(robot):
        return partial(tree_forces, reduced_model(robot, bar))
    return partial(arm_forces, arm_model(robot))


def is_delta(robot: Robot) -> bool:
    """Return whether the struts hang on three arms, or fewer."""
    ends = [frame_id(robot.model, near) for near, _ in robot.file.struts.values()]
    return len({_arm_of(robot.model, robot.model.frames[frame].parentJoint) for frame in ends}) <= THREE


def arm_model(robot: Robot) -> ArmModel:
    """Find arms, struts and platform.

    Raises:
        RobodynError: struts do not hang two by two below arms on the base, do not end in point closures on the platform, or
            are not as many as the joints by which the platform moves.
    """
    refused = f"robot {robot.name!r} has no platform that struts alone hold, the reduced model does not fit it: "
    model = robot.model
    near, far = (tuple(frame_id(model, ends[k]) for ends in robot.file.struts.values()) for k in (0, 1))
    struts = [int(model.frames[frame].parentJoint) for frame in far]
    arms_of = [_arm_of(model, joint) for joint in struts]
    order = tuple(dict.fromkeys(arms_of))
    if any(arms_of.count(arm) != 2 or model.parents[arm] != 0 for arm in order):
        raise RobodynError(refused + "below each arm on the base two struts are expected, each on two joints")
    balls = tuple(_ball(robot, name, refused) for _, name in robot.file.struts.values())
    if len(robot.loops.closures) != len(struts):
        raise RobodynError(refused + f"it has {len(robot.loops.closures)} closures for {len(struts)} struts")
    limbs = {*order, *struts, *(model.parents[joint] for joint in struts)}
    platform = np.array([joint - 1 for joint in range(1, model.njoints) if joint not in limbs])
    if len(platform) != len(struts):
        raise RobodynError(
            refused
            + f"its platform moves by {len(platform)} joints and hangs on {len(struts)} struts, which must be as many"
        )
    bare, mass, share = model.copy(), [], []
    for joint, frame in zip(struts, far, strict=True):
        body, end = model.inertias[joint], model.frames[frame].placement.translation
        bare.inertias[joint] = pin.Inertia.Zero()
        mass.append(body.mass)
        share.append(body.lever @ end / (end @ end))
    unit = np.eye(model.nv)[[arm - 1 for arm in order]]
    rotors = [e for e in robot.efforts if e.spec.model == "armature"]
    rotor = sum((((unit @ e.rows.T) ** 2).sum(axis=1) * e.initial[0] for e in rotors), np.zeros(len(order)))
    arm_of = np.array([order.index(arm) for arm in arms_of])
    return ArmModel(model, bare, order, arm_of, platform, near, far, balls, np.array(mass), np.array(share), rotor)


def _arm_of(model: pin.Model, strut: int) -> int:
    return int(model.parents[model.parents[strut]])


def _ball(robot: Robot, end: str, refused: str) -> int:
    """Return the frame of the platform that a point closure puts onto the end of a strut."""
    for closure in robot.loops.closures:
        if isinstance(closure, Closure) and closure.kind == "point" and end in (closure.frame_a, closure.frame_b):
            return int(frame_id(robot.model, closure.frame_b if end == closure.frame_a else closure.frame_a))
    raise RobodynError(refused + f"no closure of kind point holds {end!r}")


def arm_forces(parts: ArmModel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> ArmForces:
    """Return the forces of a closed motion of all joints q, v, a (N, nv)."""
    data, world = parts.bare.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    columns = np.array(parts.arms) - 1
    lower, upper = np.empty((2, len(q), len(parts.mass)))
    torques = np.empty((len(q), len(columns)))
    for i in range(len(q)):
        efforts = pin.rnea(parts.bare, data, q[i], v[i], a[i])
        pin.computeJointJacobians(parts.bare, data, q[i])
        pin.forwardKinematics(parts.bare, data, q[i], v[i], a[i])
        pin.updateFramePlacements(parts.bare, data)
        top, end = (np.array([data.oMf[f].translation for f in frames]) for frames in (parts.near, parts.far))
        along = (end - top) / np.linalg.norm(end - top, axis=1, keepdims=True)
        pull = [
            pin.getFrameJacobian(parts.bare, data, f, world)[:3].T @ u for f, u in zip(parts.balls, along, strict=True)
        ]
        lower[i] = np.linalg.solve(-np.array(pull).T[parts.platform], efforts[parts.platform])
        rates = [
            np.array([pin.getFrameClassicalAcceleration(parts.bare, data, f, world).linear for f in frames])
            for frames in (parts.near, parts.far)
        ]
        centre = rates[0] + parts.share[:, None] * (rates[1] - rates[0]) - parts.bare.gravity.linear
        upper[i] = lower[i] - parts.mass * np.vecdot(along, centre)
        torques[i] = efforts[columns] + parts.rotor * a[i, columns]
        for k, (frame, u) in enumerate(zip(parts.near, along, strict=True)):
            arm = parts.arm_of[k]
            lever = pin.getFrameJacobian(parts.bare, data, frame, world)[:3, columns[arm]]
            torques[i, arm] -= upper[i, k] * (lever @ u)
    return ArmForces(lower, upper, torques)
