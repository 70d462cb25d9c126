"""Which scheme of integration a robot needs: Runge-Kutta where everything is smooth enough, else one in which friction sticks."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from robodyn_pin.dynamics.equations import coordinate_efforts, state_mass_matrix
from robodyn_pin.errors import RobodynError
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.simulation.sticking import Sticking, sticking

STIFFEST = 2.0  # Friction's decay rate times one step: Runge-Kutta of order 4 is unstable above 2.78, the middle of a step above 2
SLOW = 1e-5  # [rad/s or m/s], well inside every width of Coulomb friction
RESOLVED = (
    0.5  # [rad] of its own oscillation that a spring is let go in a step of order 4; half as much in one of order 2
)
MOST_STEPS = 200  # of integration between two samples


Function = Callable[[float, np.ndarray, np.ndarray], np.ndarray]  # t, c (d,), c' (d,) -> torques or accelerations
Push = Callable[[float, State, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Scheme:
    """How to go from one sample to the next."""

    steps: int
    sticking: Sticking | None  # None: Runge-Kutta
    why: str

    def step(
        self, t: float, c: np.ndarray, cd: np.ndarray, h: float, accelerate: Function, push: Push, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """c, c' (d,) after h [s] from t.

        Args:
            accelerate: of all forces, for Runge-Kutta. push: driving efforts (d,) alone, at a time, a state and c' (d,) there.
            near: joint positions (nv,) where closing begins.

        Raises:
            ClosureFailed: out of reach on the way.
        """
        part = h / self.steps
        for k in range(self.steps):
            if self.sticking is None:
                c, cd = runge_kutta(accelerate, t + k * part, c, cd, part)
                continue
            c, cd, _ = self.sticking.step(c, cd, part, partial(push, t + (k + 0.5) * part), near)
        return c, cd


def scheme_of(robot: Robot, states: State, step: float) -> Scheme:
    """The scheme for steps [s] near some closed states.

    Raises:
        RobodynError: friction in balls and pins that is so steep that the robot is not simulated.
    """
    rate, swings = decay(robot, states), oscillation(robot, states) * step / RESOLVED
    if 2 * swings > MOST_STEPS:
        raise RobodynError(
            f"robot {robot.name!r}: a spring is so stiff against its masses that it swings {swings * RESOLVED / step / (2 * np.pi):.4g} "
            f"times a second, for which a sample would take {2 * swings:.3g} steps of integration, at most {MOST_STEPS} are done; sample "
            "faster, or leave the spring out"
        )
    if rate * step <= STIFFEST * max(1.0, swings):
        return Scheme(max(1, int(np.ceil(swings))), None, "Runge-Kutta of order 4: no friction is steep within a step")
    apart = sticking(robot)
    left = decay(apart.rest, states) * step / STIFFEST
    if left > MOST_STEPS:
        raise RobodynError(
            f"robot {robot.name!r}: friction in its balls and pins is so steep near standstill against its inertia that a sample would "
            f"take {left:.3g} steps of integration, at most {MOST_STEPS} are done; give it a wider change of sign ('width')"
        )
    steps = max(1, int(np.ceil(left)), int(np.ceil(2 * swings)))
    why = (
        "friction that sticks, implicit, of order 2 between its changes: its change of sign, "
        f"{rate * step / STIFFEST:.3g} times too steep for Runge-Kutta, is taken as a jump"
    )
    return Scheme(steps, apart, why)


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


def runge_kutta(
    accelerate: Function, t: float, c: np.ndarray, cd: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """c, c' (d,) after one step h [s] of order 4 from t."""
    middle, a1 = t + h / 2, accelerate(t, c, cd)
    v2 = cd + h / 2 * a1
    a2 = accelerate(middle, c + h / 2 * cd, v2)
    v3 = cd + h / 2 * a2
    a3 = accelerate(middle, c + h / 2 * v2, v3)
    v4 = cd + h * a3
    a4 = accelerate(t + h, c + h * v3, v4)
    return c + h / 6 * (cd + 2 * v2 + 2 * v3 + v4), cd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
