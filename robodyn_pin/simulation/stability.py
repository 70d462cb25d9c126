"""Whether a controller in a sampled loop is stable: small motions about home, torques held and delayed."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.controllers import (
    LONGEST_DELAY,
    Controller,
    ControllerFile,
    Feedback,
    at_home,
    filtered_rate,
)

STABLE = 1 + 1e-9  # largest growth a sample


def spectral_radius(M: np.ndarray, B: np.ndarray, gains: Feedback, spec: ControllerFile, delay: int) -> float:
    """Growth of the errors from one sample to the next for small motions about home, torques held and delayed.

    Args:
        M, B: of the robot, as `at_home`.

    Returns:
        Largest absolute eigenvalue; above 1 the loop is unstable. Friction is left out: it only damps.
    """
    (n, d), h = B.shape, 1 / spec.rate
    # Each possible state as a column: c, c', rate and last value of e, torques on their way.
    x = np.eye(2 * d + 2 * n + delay * n)
    c, cd, rate, last = x[:d], x[d : 2 * d], x[2 * d : 2 * d + n], x[2 * d + n : 2 * (d + n)]
    e = -B @ c
    rate = filtered_rate(rate, e - last, h, spec.derivative_filter)
    waiting = [*x[2 * (d + n) :].reshape(delay, n, x.shape[1]), gains.P @ e + gains.D @ rate]
    cdd = np.linalg.solve(M, B.T @ waiting[0])  # internal torques, projected or not, drop out here
    after = np.concatenate([c + h * cd + h**2 / 2 * cdd, cd + h * cdd, rate, e, *waiting[1:]])
    return float(np.abs(np.linalg.eigvals(after)).max())


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
    spec, gains, (M, B) = controller.spec, controller.feedback, at_home(robot)
    # The first delay that is unstable: more delay never helps a loop like this.
    first = bisect_left(range(LONGEST_DELAY + 1), True, key=lambda n: spectral_radius(M, B, gains, spec, n) > STABLE)
    return Stability(spectral_radius(M, B, gains, spec, spec.delay), first - 1 if first else None)
