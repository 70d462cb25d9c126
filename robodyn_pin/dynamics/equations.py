"""Dynamics on the loops, in the independent coordinates: M c'' + C c' + gravity + other efforts = B'tau + T'J'wrench.

All of it is the tree's dynamics projected by T: M = T'MT, C = T'(C T + M dT/dt), so that dM/dt - 2 C is skew.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from robodyn_pin.closures.projection import project
from robodyn_pin.dynamics.rigid_loads import body_efforts, with_loads
from robodyn_pin.errors import ShapeMismatch, SolverFailed, Underactuated
from robodyn_pin.robot.kinematics import tree_jacobians
from robodyn_pin.robot.masses import check_known
from robodyn_pin.robot.robot import Robot, State

SETTLED, ROUNDS = (
    1e-12,
    100,
)  # accelerations under friction that grows with the load: change relative to the largest, turns
NEGLIGIBLE = 1e-6  # of the largest effort: what may be missing of it by round-off


@dataclass(frozen=True)
class Wrench:
    """A load on the robot at a frame: force and moment at the frame's origin, along the world's axes."""

    frame: str
    values: np.ndarray  # (6,) or (N, 6) force [N], moment [N m]


def inverse_dynamics(
    robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, wrench: Wrench | None = None,
    internal: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Motor torques (N, n_motors) [N m or N] for a motion of the coordinates (N, d), parameters of the robot's files.

    With more motors than degrees of freedom: the torques of least norm, plus the part of `internal` (N, n_motors) that
    moves nothing (the null space of B').

    Raises:
        Underactuated: no motor torques make this motion.
    """
    state = robot.close(c, cd, cdd)
    efforts = coordinate_efforts(robot, state) - wrench_efforts(robot, state, wrench)
    return motor_torques(robot, state, efforts, internal)


def tree_efforts(robot: Robot, state: State) -> np.ndarray:
    """What bodies and all other efforts ask of the tree's joints (N, nv), as if there were no loops.

    Raises:
        BadFile: as `check_known`.
    """
    check_known(robot)
    total = body_efforts(robot, state)
    state = with_loads(robot, state, asked=total)
    on_axes, in_closures = robot.effort_stacks
    for stack in on_axes:
        total += stack.tree(state.q, state.v, state.a)
    for effort in in_closures:
        total += effort.columns(state.q, state.v, state.a, state.stops, state.loads, state.warmth) @ effort.initial
    return total


def coordinate_efforts(robot: Robot, state: State) -> np.ndarray:
    """B'tau (N, d): what the motors must provide along the coordinates, without external loads."""
    return along(state.T, tree_efforts(robot, state))


def along(rates: np.ndarray, efforts: np.ndarray) -> np.ndarray:
    """Efforts (N, d) along coordinates whose rates move axes by `rates` (N, k, d), of efforts (N, k) on these: same power."""
    return np.einsum("nij,ni->nj", rates, efforts)


def motor_map(robot: Robot, state: State) -> np.ndarray:
    """B = S T of the motors (N, n_motors, d): motor rates per coordinate rate."""
    S, T = robot.motors.S, state.T
    return (T.transpose(0, 2, 1).reshape(-1, T.shape[1]) @ S.T).reshape(len(T), T.shape[2], len(S)).transpose(0, 2, 1)


def motor_torques(
    robot: Robot, state: State, efforts: np.ndarray, internal: np.ndarray | None = None,
    label: Callable[[int], str] = lambda i: f"sample {i}",
) -> np.ndarray:  # fmt: skip
    """Motor torques (N, n_motors) of least norm with B'tau = efforts (N, d), plus the null-space part of `internal`.

    Args:
        label: what to call sample i in an error.

    Raises:
        Underactuated: no torques do that; says what is missing most, and of which coordinate.
    """
    B = motor_map(robot, state)
    if B.shape[1] == B.shape[2]:
        try:
            if not robot.loops.size and len(B):  # one B for all samples
                return np.linalg.solve(B[0].T, efforts.T).T
            return np.linalg.solve(B.transpose(0, 2, 1), efforts[..., None])[..., 0]
        except np.linalg.LinAlgError:
            pass  # a dead point of the motors: what they cannot do there is said below
    tau, missing = _nearest(B, efforts)
    sizes = np.abs(missing).max(axis=1, initial=0.0)
    if (sizes > NEGLIGIBLE * max(1e-3, np.abs(efforts).max(initial=0.0))).any():
        raise _underactuated(robot, missing, int(sizes.argmax()), label)
    return tau if internal is None else tau + internal_torques(robot, state, internal)


def _nearest(B: np.ndarray, efforts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Torques (N, n_motors) that come nearest to efforts (N, d), and what is missing (N, d)."""
    tau = (np.linalg.pinv(B.transpose(0, 2, 1)) @ efforts[..., None])[..., 0]
    return tau, efforts - along(B, tau)


def _underactuated(robot: Robot, missing: np.ndarray, i: int, label: Callable[[int], str]) -> Underactuated:
    k, axes = int(np.abs(missing[i]).argmax()), robot.coordinates
    unit = "N" if robot.slides(axes.S)[k] else "N m"
    motors, d = ", ".join(robot.motors.names) or "none", len(axes.names)
    has = "1 degree" if d == 1 else f"{d} degrees"
    return Underactuated(
        f"robot {robot.name!r} needs {abs(missing[i, k]):.4g} {unit} along {axes.names[k]!r} at {label(i)} that no motor gives "
        f"(motors: {motors}; {has} of freedom): ask for a motion that the motors can make, name what drives "
        f"{axes.names[k]!r} under 'motors', or take rp.nearest_torques",
        i,
        missing[i],
    )


@dataclass(frozen=True)
class NearestTorques:
    """The motor torques that come nearest to a motion, and what no motor gives."""

    torques: np.ndarray  # (N, n_motors) [N m or N]
    missing: np.ndarray  # (N, d) along the coordinates [N m or N], zero where the motors suffice


def nearest_torques(
    robot: Robot, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray, wrench: Wrench | None = None
) -> NearestTorques:
    """As `inverse_dynamics`, of a robot with fewer motors than degrees of freedom: what is missing is returned, too."""
    state = robot.close(c, cd, cdd)
    return NearestTorques(
        *_nearest(motor_map(robot, state), coordinate_efforts(robot, state) - wrench_efforts(robot, state, wrench))
    )


def internal_torques(robot: Robot, state: State, tau: np.ndarray) -> np.ndarray:
    """The part of motor torques tau (N, n_motors) that moves nothing: their projection onto the null space of B'.

    Zero but for round-off where there are as many motors as degrees of freedom.

    Source: Briot et al. (DualV), equation 50.
    """
    B = motor_map(robot, state)
    return tau - (B @ (np.linalg.pinv(B) @ tau[..., None]))[..., 0]


def wrench_efforts(robot: Robot, state: State, wrench: Wrench | None) -> np.ndarray:
    """Efforts of a wrench along the coordinates (N, d)."""
    return along(state.T, tree_load(robot, state, wrench))


def tree_load(robot: Robot, state: State, wrench: Wrench | None) -> np.ndarray:
    """Efforts of a wrench in the tree's joints (N, nv).

    Raises:
        UnknownName: no such frame. ShapeMismatch: not (6,) or (N, 6).
    """
    if wrench is None:
        return np.zeros_like(state.q)
    if wrench.values.shape not in ((6,), (len(state.q), 6)):
        raise ShapeMismatch(
            f"wrench has shape {wrench.values.shape}, expected (6,) or ({len(state.q)}, 6): force, moment"
        )
    values = np.broadcast_to(wrench.values, (len(state.q), 6))
    return along(tree_jacobians(robot, state.q, wrench.frame), values)


def mass_matrix(robot: Robot, c: np.ndarray) -> np.ndarray:
    """M (N, d, d) of the coordinates c (N, d), armature included."""
    return state_mass_matrix(robot, robot.at_rest(c))


def state_mass_matrix(robot: Robot, state: State) -> np.ndarray:
    """As `mass_matrix`, at closed states."""
    return np.matmul(state.T.transpose(0, 2, 1), _tree_mass(robot, state.q) @ state.T)


def gravity(robot: Robot, c: np.ndarray) -> np.ndarray:
    """What holding the bodies against gravity takes along the coordinates (N, d)."""
    check_known(robot)
    state = robot.at_rest(c)
    model, data = robot.model, robot.model.createData()
    tree = np.array([pin.computeGeneralizedGravity(model, data, q) for q in state.q]).reshape(state.q.shape)
    return along(state.T, tree)


def coriolis(robot: Robot, c: np.ndarray, cd: np.ndarray) -> np.ndarray:
    """C (N, d, d) with C c' the centrifugal and Coriolis efforts, and dM/dt - 2 C skew."""
    state = robot.close(c, cd, np.zeros_like(c))
    model, data = robot.model, robot.model.createData()
    tree = np.array([pin.computeCoriolisMatrix(model, data, q, v) for q, v in zip(state.q, state.v, strict=True)])
    inner = tree.reshape(len(c), model.nv, model.nv) @ state.T + _tree_mass(robot, state.q) @ _rate_of_T(
        robot, state, cd
    )
    return np.matmul(state.T.transpose(0, 2, 1), inner)


def forward_dynamics(
    robot: Robot, c: np.ndarray, cd: np.ndarray, tau: np.ndarray, wrench: Wrench | None = None,
    start: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Accelerations c'' (N, d) under motor torques tau (N, n_motors); `start` (nv,) as in `Robot.close`."""
    return accelerations(robot, robot.close(c, cd, np.zeros_like(c), start), tau, wrench)


def accelerations(robot: Robot, state: State, tau: np.ndarray, wrench: Wrench | None = None) -> np.ndarray:
    """As `forward_dynamics`, at states (N) that were closed with zero c''.

    Raises:
        SolverFailed: friction that grows with the load, which grows with the acceleration, faster than that.
    """
    given = driving(robot, state, tau, wrench)
    M = state_mass_matrix(robot, state)
    cdd = np.linalg.solve(M, (given - coordinate_efforts(robot, state))[..., None])[..., 0]
    if not any(effort.bears for effort in robot.efforts):
        return cdd
    for _ in range(ROUNDS):
        missing = given - coordinate_efforts(robot, state.accelerated(cdd))
        step = np.linalg.solve(M, missing[..., None])[..., 0]
        cdd = cdd + step
        if (np.abs(step) <= SETTLED * (1e-3 + np.abs(cdd).max(axis=1, keepdims=True))).all():
            return cdd
    raise SolverFailed(
        f"robot {robot.name!r}: friction that grows with the load does not let its accelerations settle in {ROUNDS} rounds; such a "
        "gear holds itself, lower the coefficients of 'load'",
        "rounds",
    )


def driving(robot: Robot, state: State, tau: np.ndarray, wrench: Wrench | None = None) -> np.ndarray:
    """Efforts along the coordinates (N, d) of motor torques tau (N, n_motors) and a wrench."""
    efforts = along(motor_map(robot, state), tau)
    return efforts if wrench is None else efforts + wrench_efforts(robot, state, wrench)


def energy(robot: Robot, c: np.ndarray, cd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic (with armature) and potential energy of the bodies (N,), (N,) [J]."""
    return state_energy(robot, robot.close(c, cd, np.zeros_like(c)))


def state_energy(robot: Robot, state: State) -> tuple[np.ndarray, np.ndarray]:
    """As `energy`, at closed states."""
    model, data = robot.model, robot.model.createData()
    kinetic = 0.5 * np.einsum("ni,nij,nj->n", state.v, _tree_mass(robot, state.q), state.v)
    potential = np.array([pin.computePotentialEnergy(model, data, q) for q in state.q])
    return kinetic, potential


def _tree_mass(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Mass matrices of the tree (N, nv, nv) with the armature efforts of the robot file."""
    check_known(robot)
    model, data = robot.model, robot.model.createData()
    M = np.empty((len(q), model.nv, model.nv))
    for i, sample in enumerate(q):
        M[i] = pin.crba(model, data, sample)
    for effort in robot.efforts:
        if effort.spec.model == "armature":
            M += effort.initial[0] * effort.rows.T @ effort.rows
    return M


def _rate_of_T(robot: Robot, state: State, cd: np.ndarray) -> np.ndarray:
    """dT/dt (N, nv, d). The drift g is quadratic in the rates, g(v) = dT/dt(v) c'; its polar form gives the columns."""
    S, rate = robot.coordinates.S, np.empty_like(state.T)
    for j in range(cd.shape[1]):
        unit = np.zeros_like(cd)
        unit[:, j] = 1.0
        plus, minus = (project(robot.loops, S, state.q, cd + sign * unit)[0].g for sign in (1, -1))
        rate[:, :, j] = (plus - minus) / 4
    return rate
