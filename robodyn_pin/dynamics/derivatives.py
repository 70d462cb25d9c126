"""Derivatives of the dynamics on the loops by the coordinates, their rates and accelerations, and by the parameters.

With E(c, c', c'') = T'(what the tree is asked) everything follows from how the tree is asked and how T bends:

    dE = T' d(asked) + dT' asked,    B'dtau = dE - dB'tau,    M dc'' = B'dtau + dB'tau - dE
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from robodyn_pin.closures.bends import Bends, bends
from robodyn_pin.dynamics.body_slopes import body_effort_slopes, body_regressor_slopes
from robodyn_pin.dynamics.effort_slopes import Moved, column_slopes, projected_slopes, stack_slopes
from robodyn_pin.dynamics.equations import (
    along,
    forward_dynamics,
    motor_map,
    motor_torques,
    state_mass_matrix,
    tree_efforts,
)
from robodyn_pin.dynamics.regressor import state_regressor
from robodyn_pin.dynamics.rigid_loads import body_efforts, with_loads
from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.simple_bodies import in_other_frame
from robodyn_pin.robot.bearing_axes import bearer
from robodyn_pin.robot.robot import Robot, State


@dataclass(frozen=True)
class Derivatives:
    """A quantity (N, ...) of N samples and how it changes with a motion of the d coordinates."""

    value: np.ndarray  # (N, ...)
    by_c: np.ndarray  # (N, ..., d)
    by_cd: np.ndarray  # (N, ..., d)
    by_cdd: np.ndarray  # (N, ..., d)
    _by_parameters: Callable[[], np.ndarray] | None = field(default=None, repr=False)

    @cached_property
    def by_parameters(self) -> np.ndarray:
        """(N, ..., p), columns as `columns(robot)` labels them; worked out when it is first read.

        Raises:
            RobodynError: of a regressor, which does not depend on them.
        """
        if self._by_parameters is None:
            raise RobodynError("a regressor does not depend on the parameters; its derivatives by them are zero")
        return self._by_parameters()


@dataclass(frozen=True)
class AccelerationDerivatives:
    """Accelerations c'' (N, d) under motor torques, and how they change."""

    value: np.ndarray  # (N, d)
    by_c: np.ndarray  # (N, d, d)
    by_cd: np.ndarray  # (N, d, d)
    by_tau: np.ndarray  # (N, d, n_motors)
    _by_parameters: Callable[[], np.ndarray] = field(repr=False)

    @cached_property
    def by_parameters(self) -> np.ndarray:
        """(N, d, p), columns as `columns(robot)` labels them; worked out when it is first read."""
        return self._by_parameters()


@dataclass(frozen=True)
class AskedSlopes:
    """What N samples ask of the tree's joints, and of the coordinates, with derivatives by c, c', c''."""

    moved: Moved
    tree: np.ndarray  # (N, nv)
    tree_slopes: np.ndarray  # (3, N, nv, d)

    @property
    def efforts(self) -> np.ndarray:
        """E (N, d)."""
        return along(self.moved.state.T, self.tree)

    @cached_property
    def slopes(self) -> np.ndarray:
        """Of E, (3, N, d, d)."""
        found = self.moved.state.T.transpose(0, 2, 1) @ self.tree_slopes
        found[0] += bent(self.moved.bends, self.tree)
        return found


def bent(found: Bends, efforts: np.ndarray) -> np.ndarray:
    """dT' efforts (N, j, k) of efforts (N, nv)."""
    n, nv, d, _ = found.T.shape
    return (efforts[:, None] @ found.T.reshape(n, nv, d * d)).reshape(n, d, d)


def asked_of(robot: Robot, state: State) -> AskedSlopes:
    """What a closed motion asks, and how that changes.

    Raises:
        RobodynError: friction with memory, which the motion now does not say.
    """
    tree = tree_efforts(robot, state)
    found = bends(robot.loops, robot.coordinates.S, state.q, state.v, state.a, state.T)
    slopes = body_effort_slopes(robot, state, found)
    moved = _with_load_slopes(robot, state, found, slopes)
    on_axes, others = robot.effort_stacks
    for stack in on_axes:
        slopes += stack_slopes(stack, moved)
    for effort in others:
        slopes += np.einsum("xnjkd,k->xnjd", column_slopes(robot, effort, moved), effort.initial)
    return AskedSlopes(moved, tree, slopes)


def _with_load_slopes(robot: Robot, state: State, found: Bends, bodies: np.ndarray) -> Moved:
    """The motion with the loads of friction that grows with them, whose slopes come from those of the bodies (3, N, nv, d)."""
    bearing = [effort for effort in robot.efforts if effort.bears]
    if not bearing:
        return Moved(state, found)
    if held := [effort for effort in bearing if effort.carriers]:
        raise RobodynError(
            f"friction 'load' of {held[0].name!r} grows with {held[0].grows_with}, of which there are no derivatives; give robot "
            f"{robot.name!r} 'coulomb' friction there instead"
        )
    if robot.borne is not None:
        raise RobodynError(
            f"robot {robot.name!r} bears loads of an estimate that its files do not say; write the identified robot and load it again"
        )
    rigid, motors, loads = AskedSlopes(Moved(state, found), body_efforts(robot, state), bodies), robot.motors, {}
    state = with_loads(robot, state, asked=rigid.tree)
    tau, tau_slopes = torque_slopes(robot, rigid) if len(motors.S) == len(robot.coordinates.S) else (rigid.tree, bodies)
    for effort in bearing:
        parts = []
        for row in effort.rows:
            said = bearer(row, motors, len(robot.coordinates.S), robot.loops)
            assert said is not None  # checked when the robot was built
            value, slope = (tau, tau_slopes) if said.motor else (rigid.tree, bodies)
            parts.append(np.sign(value[:, said.number] / said.gear)[:, None] * slope[:, :, said.number] / said.gear)
        loads[effort.load_key] = np.stack(parts, axis=2)
    return Moved(state, found, loads)


def torque_slopes(robot: Robot, asked: AskedSlopes) -> tuple[np.ndarray, np.ndarray]:
    """Motor torques (N, n_motors) and their derivatives (3, N, n_motors, d); of least norm where there are more than needed."""
    state = asked.moved.state
    tau = motor_torques(robot, state, asked.efforts)
    B, slopes = motor_map(robot, state), asked.slopes.copy()
    dB = np.einsum("mi,nijk->nmjk", robot.motors.S, asked.moved.bends.T)
    slopes[0] -= np.einsum("nmjk,nm->njk", dB, tau)
    if B.shape[1] == B.shape[2]:
        return tau, np.linalg.solve(B.transpose(0, 2, 1), slopes)
    inverse = np.linalg.pinv(B)  # tau = B z, of least norm: what changes beside B'dtau lies in the image of B
    found = inverse.transpose(0, 2, 1) @ slopes
    z = (inverse @ tau[..., None])[..., 0]
    beside = np.einsum("nmjk,nj->nmk", dB, z)
    found[0] += beside - B @ (inverse @ beside)
    return tau, found


def _per_parameter(robot: Robot, state: State) -> np.ndarray:
    """Motor torques per parameter (N, n_motors, p)."""
    return np.linalg.pinv(motor_map(robot, state).transpose(0, 2, 1)) @ state_regressor(robot, state)


def inverse_dynamics_derivatives(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Derivatives:
    """Motor torques (N, n_motors) of a motion (N, d) and their derivatives by c, c', c'' and the parameters.

    With more motors than degrees of freedom those of the torques of least norm.

    Raises:
        Underactuated, ClosureFailed: as `inverse_dynamics`. RobodynError: friction with memory.

    Source: Carpentier & Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018, for the tree.
    """
    asked = asked_of(robot, robot.close(c, cd, cdd))
    tau, (by_c, by_cd, by_cdd) = torque_slopes(robot, asked)
    return Derivatives(tau, by_c, by_cd, by_cdd, lambda: _per_parameter(robot, asked.moved.state))


def forward_dynamics_derivatives(
    robot: Robot, c: np.ndarray, cd: np.ndarray, tau: np.ndarray
) -> AccelerationDerivatives:
    """Accelerations c'' (N, d) under motor torques tau (N, n_motors), and their derivatives by c, c', tau and the parameters.

    Raises:
        ClosureFailed, SolverFailed: as `forward_dynamics`. RobodynError: friction with memory.
    """
    cdd = forward_dynamics(robot, c, cd, tau)
    asked = asked_of(robot, robot.close(c, cd, cdd))
    state, (by_c, by_cd, M) = asked.moved.state, asked.slopes
    # Where no friction grows with the load, M is the mass matrix itself, whose own way keeps the digits of light wrists.
    if not any(effort.bears for effort in robot.efforts):
        M = state_mass_matrix(robot, state)
    by_c = by_c - bent(asked.moved.bends, np.asarray(tau, float) @ robot.motors.S)
    B = motor_map(robot, state).transpose(0, 2, 1)
    return AccelerationDerivatives(
        cdd, -np.linalg.solve(M, by_c), -np.linalg.solve(M, by_cd), np.linalg.solve(M, B),
        lambda: -np.linalg.solve(M, state_regressor(robot, state)),
    )  # fmt: skip


def regressor_derivatives(robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> Derivatives:
    """The projected regressor W (N, d, p) of a motion (N, d) and its derivatives (N, d, p, d) by c, c', c''.

    Raises:
        ClosureFailed: as `regressor`. RobodynError: friction with memory.
    """
    W, slopes = regressor_slopes(robot, moved_by(robot, robot.close(c, cd, cdd)))
    return Derivatives(W, *slopes)


def regressor_slopes(robot: Robot, moved: Moved) -> tuple[np.ndarray, np.ndarray]:
    """The projected regressor (N, d, p) of a closed motion, and its derivatives (3, N, d, p, d) by c, c', c''."""
    W, begin = state_regressor(robot, moved.state), 10 * len(robot.body_groups)
    slopes = body_regressor_slopes(robot, moved.state, moved.bends, W.shape[2])
    if robot.payload:  # its parameters count in its link's frame, as in `state_regressor`
        turn, own = in_other_frame(robot.payload.placement.homogeneous), robot.payload_columns
        slopes[:, :, :, own] = np.einsum("xnjpk,pr->xnjrk", slopes[:, :, :, own], turn)
    for effort in robot.efforts:
        if not effort.spec.known:
            slopes[:, :, :, begin : begin + len(effort.labels)] = projected_slopes(robot, effort, moved)
            begin += len(effort.labels)
    return W, slopes


def moved_by(robot: Robot, state: State) -> Moved:
    """A closed motion with what its changes need before efforts are looked at."""
    found = bends(robot.loops, robot.coordinates.S, state.q, state.v, state.a, state.T)
    if not any(effort.bears for effort in robot.efforts):
        return Moved(state, found)
    return _with_load_slopes(robot, state, found, body_effort_slopes(robot, state, found))
