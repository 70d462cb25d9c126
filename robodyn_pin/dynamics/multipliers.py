"""Forces in the loops: multipliers of every closure, reactions in every joint, tension in every strut.

J'lam = (what the tree asks) - S'tau: a multiplier is the force (moment) on the closure's second member, along the axes
of its first member's frame. That frame is turned where a kind has a direction: x is the free axis, or the normal of `planar`,
z the normal of `planar_point`; the moment of a `universal` joint is about the normal of its cross.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.kinds import Closure, held_by
from robodyn_pin.closures.named_frames import frame_id
from robodyn_pin.dynamics.equations import Wrench, along, motor_torques, tree_efforts, tree_load
from robodyn_pin.dynamics.loop_forces import closure_forces, multipliers
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.dynamics.struts import StrutLoads, strut_loads
from robodyn_pin.robot.robot import Robot, State


@dataclass(frozen=True)
class ConstraintForces:
    """Forces of N samples."""

    multipliers: dict[str, np.ndarray]  # closure -> (N, rows) [N, N m]
    struts: dict[str, np.ndarray]  # strut -> (N,) axial force at its closed end [N], tension positive
    tau: np.ndarray  # (N, n_motors) [N m or N]


@dataclass(frozen=True)
class Loads:
    """What N samples of a motion ask of motors, closures and struts, each worked out, and refused, when it is first read."""

    robot: Robot
    state: State
    wrench: Wrench | None = None
    internal: np.ndarray | None = None  # and `label`: as in `motor_torques`
    label: Callable[[int], str] = lambda i: f"sample {i}"

    @cached_property
    def _asked(self) -> np.ndarray:
        """Of the tree's joints (N, nv)."""
        efforts = tree_efforts(self.robot, self.state)
        return efforts if self.wrench is None else efforts - tree_load(self.robot, self.state, self.wrench)

    @cached_property
    def tau(self) -> np.ndarray:
        """Motor torques (N, n_motors) [N m or N]."""
        efforts = along(self.state.T, self._asked)
        return motor_torques(self.robot, self.state, efforts, self.internal, self.label)

    @cached_property
    def multipliers(self) -> dict[str, np.ndarray]:
        """By closure (N, rows) [N, N m]."""
        rest = self._asked - self.tau @ self.robot.motors.S
        return closure_forces(self.robot, multipliers(self.robot, self.state, rest))

    @cached_property
    def struts(self) -> StrutLoads:
        """Along and across the struts, at both ends [N]."""
        return strut_loads(self.robot, self.state, self.multipliers)


def constraint_forces(
    robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, wrench: Wrench | None = None,
    internal: np.ndarray | None = None,
) -> ConstraintForces:  # fmt: skip
    """Multipliers, strut forces and motor torques of a motion of the coordinates (N, d).

    `wrench` loads the robot; `internal` (N, n_motors) is the torque that moves nothing of over-actuated robots. Where
    closures are redundant, the multipliers of least norm.
    """
    found = Loads(robot, robot.close(c, cd, cdd), wrench, internal)
    struts = dict(zip(robot.file.struts, found.struts.lower.T, strict=True)) if robot.file.struts else {}
    return ConstraintForces(found.multipliers, struts, found.tau)


def reactions(
    robot: Robot, state: State, named: dict[str, np.ndarray], wrench: Wrench | None = None
) -> dict[str, np.ndarray]:
    """What every tree joint carries: force and moment (N, 6) on its body at the joint, along the body's axes [N, N m].

    Args:
        named: multipliers (N, rows) by closure. wrench: that loads the robot.

    The component along the joint's axis is what motor, friction and armature provide together.
    """
    model, data = robot.model, robot.model.createData()
    carried = np.empty((len(state.q), model.njoints, 6))
    framed = {closure.name: closure for closure in robot.loops.closures if isinstance(closure, Closure)}
    state = with_loads(robot, state)
    rubbing = [pair for effort in robot.efforts for pair in effort.moments(state.q, state.v, state.loads).items()]
    for i, (q, v, a) in enumerate(zip(state.q, state.v, state.a, strict=True)):
        outside = pin.StdVec_Force([pin.Force.Zero() for _ in range(model.njoints)])
        pin.framesForwardKinematics(model, data, q)
        for name, closure in framed.items():
            _apply(model, data, closure, named[name][i], outside)
        for name, moment in rubbing:
            _rub(model, data, framed[name], moment[i], outside)
        if wrench is not None:
            frame = model.frames[frame_id(model, wrench.frame)]
            turned = pin.SE3(data.oMf[frame_id(model, wrench.frame)].rotation, np.zeros(3)).actInv(
                pin.Force(np.broadcast_to(wrench.values, (len(state.q), 6))[i])
            )
            outside[frame.parentJoint] += frame.placement.act(turned)
        pin.rnea(model, data, q, v, a, outside)
        for j in range(1, model.njoints):
            carried[i, j] = data.f[j].vector
    return {model.names[j]: carried[:, j] for j in range(1, model.njoints)}


def _apply(model: pin.Model, data: pin.Data, closure: Closure, lam: np.ndarray, outside: pin.StdVec_Force) -> None:
    """Add a closure's force to both of its bodies, in their joint frames."""
    a, b = (model.frames[frame_id(model, name)] for name in (closure.frame_a, closure.frame_b))
    in_a, in_b = a.placement * closure.placement_a, b.placement * closure.placement_b
    a_to_b = (data.oMi[a.parentJoint] * in_a).actInv(data.oMi[b.parentJoint] * in_b)
    force = pin.Force(held_by(closure.kind, a_to_b, lam))  # on b, along a's axes, at b's point
    at_a = pin.SE3(np.eye(3), a_to_b.translation).act(force)
    outside[b.parentJoint] += in_b.act(pin.SE3(a_to_b.rotation, np.zeros(3)).actInv(force))
    outside[a.parentJoint] -= in_a.act(at_a)


def _rub(model: pin.Model, data: pin.Data, closure: Closure, moment: np.ndarray, outside: pin.StdVec_Force) -> None:
    """Add the friction of a closure: `moment` (3,), along the world's axes, turns body a and holds body b back."""
    for frame, sign in ((closure.frame_a, 1.0), (closure.frame_b, -1.0)):
        joint = model.frames[frame_id(model, frame)].parentJoint
        outside[joint] += pin.Force(np.zeros(3), sign * data.oMi[joint].rotation.T @ moment)
