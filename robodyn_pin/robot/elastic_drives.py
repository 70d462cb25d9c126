"""A robot whose drives yield: between each motor's rotor and the robot a spring and a damper, two masses an axis.

The rotors are joints of their own, which stand beside the tree and are the robot's motors; what a motor turned, the loops carry on:

    I x'' + friction = tau - k (x - S q) - d (x' - S v),     M c'' + bias = B'(k (x - S q) + d (x' - S v)).

So it is a robot like any other, with fewer motors than degrees of freedom.
"""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.loops import Loops
from robodyn_pin.errors import BadFile
from robodyn_pin.robot.axes import Axes
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import LOAD, RUBBING, EffortSpec
from robodyn_pin.robot.robot import Robot

OF_ROTORS = (
    *RUBBING,
    "armature",
    "cogging",
    "offset",
)  # efforts on a motor's axis that are on the rotor's side of its spring


@dataclass(frozen=True)
class Drives:
    """Springs, dampers and rotors of n motors, on the motors' side of the file's units: behind the gears."""

    stiffness: np.ndarray  # (n,) [N m/rad or N/m], positive
    damping: np.ndarray  # (n,) [N m s/rad or N s/m]
    rotors: np.ndarray  # (n,) inertias [kg m^2 or kg], positive


def with_springs(robot: Robot, drives: Drives) -> Robot:
    """Return the robot with its rotors as further joints, coordinates and motors; its joints keep their places, coordinates come first.

    Friction, cogging and rotor inertia on a motor's axis go to its rotor; springs of the robot's file and all else stay with the joints.

    Raises:
        BadFile: friction that grows with the load on a motor.
    """
    if bearing := [e.name for e in robot.efforts if e.spec.model == LOAD]:
        raise BadFile(
            f"robot {robot.name!r} has friction that grows with the load on {', '.join(bearing)}, which springs in its drives do not "
            "know; give it 'coulomb' friction there"
        )
    model, names = robot.model.copy(), tuple(rotor_name(motor) for motor in robot.motors.names)
    for name, slides in zip(names, robot.slides(robot.motors.S), strict=True):
        joint = model.addJoint(0, pin.JointModelPZ() if slides else pin.JointModelRZ(), pin.SE3.Identity(), name)
        model.addJointFrame(joint, 0)
        model.addBodyFrame(name, joint, pin.SE3.Identity(), 0)
    loops = Loops(model, robot.loops.closures)
    n, nv = len(names), robot.model.nv
    rotors, S = np.hstack([np.zeros((n, nv)), np.eye(n)]), _wider(robot.motors.S, n)
    kept = [_carried(e, robot, rotors, loops) for e in robot.efforts if not _is_rotor(e, robot)]
    added = []
    for i, name in enumerate(names):
        twist = (rotors - S)[i]
        for kind, value, row in (
            ("armature", drives.rotors[i], rotors[i]), ("spring", drives.stiffness[i], twist), ("viscous", drives.damping[i], twist)
        ):  # fmt: skip
            spec = EffortSpec.model_validate({"of": name, "model": kind, "initial": float(value), "known": True})
            added.append(Effort(spec, f"{kind} of {name}", row[None], np.zeros(1), (), loops))
    own = robot.coordinates
    coordinates = Axes((*own.names, *names), np.vstack([_wider(own.S, n), rotors]), np.r_[own.offset, np.zeros(n)])
    return replace(
        robot,
        model=model,
        loops=loops,
        motors=Axes(robot.motors.names, rotors, robot.motors.offset),
        coordinates=coordinates,
        efforts=(*kept, *added),
        home=np.r_[robot.home, robot.motors.S @ robot.home],
    )


def joint_side(robot: Robot) -> Robot:
    """Return the rigid robot without what springs put on the rotors' side: what its motors' springs have to carry."""
    return replace(robot, efforts=tuple(e for e in robot.efforts if not (_on_motors(e, robot).all() and len(e.rows))))


def rotor_inertias(robot: Robot) -> np.ndarray:
    """Return the rotor inertias (n,) that the robot's file gives its motors as `armature`, zero where it gives none."""
    found = np.zeros(len(robot.motors.names))
    for effort in robot.efforts:
        if _is_rotor(effort, robot):
            for row in effort.rows:
                found[_number(row, robot)] += effort.initial[0]
    return found


def rotor_name(motor: str) -> str:
    """Return what the joint of a motor's rotor is called."""
    return f"{motor} rotor"


def _carried(effort: Effort, robot: Robot, rotors: np.ndarray, loops: Loops) -> Effort:
    rows = _wider(effort.rows, len(rotors))
    for k in np.flatnonzero(_on_motors(effort, robot)):
        rows[k] = rotors[_number(effort.rows[k], robot)]
    return replace(effort, rows=rows, loops=loops)


def _on_motors(effort: Effort, robot: Robot) -> np.ndarray:
    """Which rows (r,) of an effort belong to rotors."""
    if effort.spec.model not in OF_ROTORS:
        return np.zeros(len(effort.rows), bool)
    return np.array([(row == robot.motors.S).all(axis=1).any() for row in effort.rows], bool)


def _is_rotor(effort: Effort, robot: Robot) -> bool:
    return effort.spec.model == "armature" and bool(_on_motors(effort, robot).all())


def _number(row: np.ndarray, robot: Robot) -> int:
    return int((row == robot.motors.S).all(axis=1).argmax())


def _wider(rows: np.ndarray, more: int) -> np.ndarray:
    return np.hstack([rows, np.zeros((len(rows), more))])


def twists(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return how far the springs are twisted (N, n) [rad or m] at joint positions q (N, nv + n) of a robot from `with_springs`; robot: the rigid one."""
    nv = robot.model.nv
    return np.asarray(q[:, nv:] - q[:, :nv] @ robot.motors.S.T)
