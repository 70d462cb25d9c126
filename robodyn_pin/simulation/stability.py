"""Whether a controller in a sampled loop is stable: small motions about home, torques held and delayed."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.controller_file import LONGEST_DELAY, ControllerFile
from robodyn_pin.simulation.controllers import Controller, Feedback, at_home, filtered_rate
from robodyn_pin.simulation.schemes import spring_stiffness

STABLE = 1 + 1e-9  # largest growth a sample


@dataclass(frozen=True)
class Plant:
    """The robot about home: M c'' + D c' + K c = B'tau."""

    M: np.ndarray  # (d, d)
    K: np.ndarray  # (d, d) of springs
    D: np.ndarray  # (d, d) of dampers beside springs
    B: np.ndarray  # (n, d)

    def held(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """What c, c' become after h [s]: factors of c, c' (2d, 2d) and of torques that are held meanwhile (2d, n)."""
        n, d = self.B.shape
        A = np.zeros((2 * d + n, 2 * d + n))
        A[:d, d : 2 * d] = np.eye(d)
        A[d : 2 * d] = np.linalg.solve(self.M, np.hstack([-self.K, -self.D, self.B.T]))
        moved = expm(h * A)
        return moved[: 2 * d, : 2 * d], moved[: 2 * d, 2 * d :]


def plant(robot: Robot) -> Plant:
    """The robot about home, its springs and the dampers on the same axes included; raises as `at_home`."""
    M, B = at_home(robot)
    state = robot.at_rest((robot.coordinates.S @ robot.home + robot.coordinates.offset)[None])
    springs = [e for e in robot.efforts if e.spec.model == "spring"]
    sprung = {row.tobytes() for e in springs for row in e.rows}
    D = np.zeros_like(M)
    for effort in robot.efforts:
        if effort.spec.model == "viscous" and all(row.tobytes() in sprung for row in effort.rows):
            rates = effort.rows @ state.T[0]
            D += effort.initial[0] * rates.T @ rates
    return Plant(M, spring_stiffness(robot, state)[0], D, B)


def spectral_radius(plant: Plant, gains: Feedback, spec: ControllerFile, delay: int) -> float:
    """Growth of the errors from one sample to the next for small motions about home, torques held and delayed.

    Returns:
        Largest absolute eigenvalue; above 1 the loop is unstable. Friction is left out: it only damps.
    """
    return float(np.abs(np.linalg.eigvals(loop(plant, gains, spec, delay))).max())


def loop(plant: Plant, gains: Feedback, spec: ControllerFile, delay: int) -> np.ndarray:
    """What becomes of c, c', rate and last value of the motors' errors, and torques on their way, from one sample to the next."""
    B, (n, d), h = plant.B, plant.B.shape, 1 / spec.rate
    # Each possible state as a column: c, c', rate and last value of e, torques on their way.
    x = np.eye(2 * d + 2 * n + delay * n)
    c, cd, rate, last = x[:d], x[d : 2 * d], x[2 * d : 2 * d + n], x[2 * d + n : 2 * (d + n)]
    e = -B @ c
    rate = filtered_rate(rate, e - last, h, spec.derivative_filter)
    waiting = [*x[2 * (d + n) :].reshape(delay, n, x.shape[1]), gains.P @ e + gains.D @ rate]
    own, driven = plant.held(h)
    moved = own @ np.concatenate([c, cd]) + driven @ waiting[0]  # internal torques, projected or not, drop out here
    return np.concatenate([moved, rate, e, *waiting[1:]])


@dataclass(frozen=True)
class Stability:
    """Of the loop about home, friction left out."""

    radius: float  # growth of small errors a sample; above 1 unstable
    longest_delay: int | None  # samples that still leave it stable, None: not even without delay

    @property
    def stable(self) -> bool:
        return self.radius <= STABLE

    def sentence(self, spec: ControllerFile) -> str:
        """What there is to say of it."""
        if self.longest_delay is None:
            best = f"unstable at {spec.rate:g} Hz even without delay"
        else:
            best = f"stable at {spec.rate:g} Hz up to a delay of {self.longest_delay} sample{'s' * (self.longest_delay != 1)}"
        return (
            f"about home the loop is {best}; errors grow {self.radius:.4g} times a sample with a delay of {spec.delay}"
        )


def stability(robot: Robot, controller: Controller) -> Stability:
    """Whether small errors of the robot under the controller die out."""
    spec, gains, about = controller.spec, controller.feedback, plant(robot)

    def lost(delay: int) -> bool:
        return spectral_radius(about, gains, spec, delay) > STABLE

    if about.K.any():  # on springs some delays help, and more do not
        first = next((n for n in range(LONGEST_DELAY + 1) if lost(n)), LONGEST_DELAY + 1)
    else:  # the first delay that is unstable: more delay never helps a loop like this
        first = bisect_left(range(LONGEST_DELAY + 1), True, key=lost)
    return Stability(spectral_radius(about, gains, spec, spec.delay), first - 1 if first else None)
