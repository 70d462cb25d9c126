"""The online estimator inside the adaptive law: what it has learned of the robot's parameters acts along the desired motion.

Torques are those of passivity-based control with the model of the files, and Y(c_d, c_d', c_d'') (p - p_0) on top, with the parameters p
that the tracker estimates from motors' positions and torques, p_0 those of the files. The regressor is that of the desired motion, so
noise does not come back through it, and friction that is learned does not chatter.

Source: Slotine & Li 1987; Sadegh & Horowitz 1990 for the desired motion in the regressor; Abed Azad et al. (3-dof Delta) for the estimator.
"""

from collections import deque

import numpy as np

from robodyn_pin.errors import BadFile
from robodyn_pin.online.causal_rates import CausalRates
from robodyn_pin.online.log_setup import causal_rates
from robodyn_pin.online.stream import Stream
from robodyn_pin.online.track_file import TrackFile
from robodyn_pin.online.tracked import Tracked, tracked
from robodyn_pin.online.tracker import Tracker
from robodyn_pin.robot.robot import Robot


class Learner:
    """Hears what motors do, sample by sample of the control loop.

    Args:
        known: the tracked parameters of the model that the controller knows.
        every: samples of the loop between two of the estimator. rate: of the loop [Hz].
    """

    def __init__(self, known: Tracked, settings: TrackFile, rate: float, every: int):
        self._robot, self._every, self._rate = known.robot, every, rate
        noise = noise_of(known.robot, settings)
        self.tracker = Tracker(known, noise, rate / every, settings)
        rates: CausalRates = causal_rates(known.robot, rate / every, settings)
        self._stream, self._held = Stream(self.tracker, rates), deque[np.ndarray](maxlen=2)

    @property
    def change(self) -> np.ndarray:
        """Of the tracked parameters since the start (r,)."""
        return self.tracker.estimator.values - self.tracker.start

    def hear(self, k: int, q: np.ndarray, tau: np.ndarray) -> None:
        """Take motor positions (n,) at sample k and the torques (n,) that are held from there on."""
        if self._held and k % self._every == 0:  # at that moment: between the torques before and after
            together = (self._held[-1] + tau) / 2
            for _ in self._stream.push(np.array([k / self._rate]), q[None], together[None]):
                pass
        self._held.append(tau)


def noise_of(robot: Robot, settings: TrackFile) -> np.ndarray:
    """Standard deviation (n,) of a torque sample, as the settings give it.

    Raises:
        BadFile: they give none, or not for all motors.
    """
    given = settings.noise
    if given is None:
        raise BadFile(
            "law 'adaptive' hears no log before it begins: its estimator's settings must give 'noise' [N m or N] of a torque sample"
        )
    by_motor = given if isinstance(given, dict) else dict.fromkeys(robot.motors.names, given)
    if missing := [m for m in robot.motors.names if m not in by_motor]:
        raise BadFile(f"the estimator's settings give no 'noise' for motor {', '.join(missing)}")
    return np.array([by_motor[m] for m in robot.motors.names])


def desired_rows(known: Tracked, c: np.ndarray, cd: np.ndarray, cdd: np.ndarray) -> np.ndarray:
    """Rows (N, d, r) of the tracked parameters along a desired motion (N, d)."""
    return np.concatenate([known.rows(state)[0] for _, state in known.robot.close_parts(c, cd, cdd, str)])


def tracked_of(model: Robot, settings: TrackFile) -> Tracked:
    """The parameters that the adaptive law follows.

    Raises:
        RobodynError: the robot's estimator cannot run, says why.
    """
    noise_of(model, settings)
    return tracked(model, settings)
