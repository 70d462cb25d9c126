"""Which scheme of integration a robot needs: Runge-Kutta where everything is smooth enough, else one in which friction sticks."""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.equations import Wrench, coordinate_efforts, state_mass_matrix
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.simulation.sticking import Sticking, sticking

STIFFEST = 2.0  # Friction's decay rate times one step: Runge-Kutta of order 4 is unstable above 2.78, the middle of a step above 2
SLOW = 1e-5  # [rad/s or m/s], well inside every width of Coulomb friction
RESOLVED = (
    0.5  # [rad] of its own oscillation that a spring is let go in a step of order 4; half as much in one of order 2
)
MOST_STEPS = 200  # of integration between two samples


@dataclass(frozen=True)
class Scheme:
    """How to go from one sample to the next."""

    robot: Robot
    steps: int
    sticking: Sticking | None  # None: Runge-Kutta
    why: str
    wrench: Wrench | None = None  # that acts all the time


def scheme_of(robot: Robot, states: State, step: float, wrench: Wrench | None = None) -> Scheme:
    """The scheme for steps [s] near some closed states.

    Raises:
        RobodynError: friction in balls and pins, or a spring that Runge-Kutta must follow, so steep that the robot is not simulated.
    """
    swings = oscillation(robot, states) * step / RESOLVED
    remembers = any(effort.memory for effort in robot.efforts)
    rate = 0.0 if remembers else decay(robot, states)
    if not remembers and rate * step <= STIFFEST * (1.0 if 2 * swings > MOST_STEPS else max(1.0, swings)):
        if 2 * swings > MOST_STEPS:
            raise RobodynError(
                f"robot {robot.name!r}: a spring is so stiff against its masses that it swings {swings * RESOLVED / step / (2 * np.pi):.4g} "
                f"times a second, for which a sample would take {2 * swings:.3g} steps of integration, at most {MOST_STEPS} are done; sample "
                "faster, or leave the spring out"
            )
        steps = max(1, int(np.ceil(swings)))
        return Scheme(robot, steps, None, "Runge-Kutta of order 4: no friction is steep within a step", wrench)
    apart = sticking(robot)
    left = decay(apart.rest, states) * step / STIFFEST
    if left > MOST_STEPS:
        raise RobodynError(
            f"robot {robot.name!r}: friction in its balls and pins is so steep near standstill against its inertia that a sample would "
            f"take {left:.3g} steps of integration, at most {MOST_STEPS} are done; give it a wider change of sign ('width')"
        )
    steps = max(
        1, int(np.ceil(left)), min(int(np.ceil(2 * swings)), MOST_STEPS)
    )  # springs are implicit: bounded, however stiff
    cause = (
        "some of it remembers the motion before"
        if remembers
        else f"its change of sign, {rate * step / STIFFEST:.3g} times too steep for Runge-Kutta, is taken as a jump"
    )
    return Scheme(
        robot, steps, apart, f"friction that sticks, implicit, of order 2 between its changes: {cause}", wrench
    )


def decay(robot: Robot, states: State) -> float:
    """Fastest rate [1/s] at which friction ends a slow motion near closed states."""
    S, offset, d = robot.coordinates.S, robot.coordinates.offset, len(robot.coordinates.names)
    c = np.repeat(states.q @ S.T + offset, d, axis=0)
    q, cd = np.repeat(states.q, d, axis=0), np.tile(SLOW * np.eye(d), (len(states.q), 1))
    there, back = (robot.state(q, sign * cd, 0 * c) for sign in (1, -1))
    change = (coordinate_efforts(robot, there) - coordinate_efforts(robot, back)).reshape(-1, d, d) / (2 * SLOW)
    M = state_mass_matrix(robot, there)[::d]
    return float(np.abs(np.linalg.eigvals(np.linalg.solve(M, change.transpose(0, 2, 1)))).max(initial=0.0))


def oscillation(robot: Robot, states: State) -> float:
    """Fastest angular frequency [1/s] of the robot on its springs near closed states; 0 without springs."""
    K, M = spring_stiffness(robot, states), state_mass_matrix(robot, states)
    return float(np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(M, K))).max(initial=0.0)))


def spring_stiffness(robot: Robot, states: State) -> np.ndarray:
    """Stiffness along the coordinates (N, d, d) of linear springs at closed states."""
    d = len(robot.coordinates.names)
    K = np.zeros((len(states.q), d, d))
    for effort in robot.efforts:
        if effort.spec.model == "spring":
            along = effort.rows @ states.T
            K += effort.initial[0] * along.transpose(0, 2, 1) @ along
    return K
