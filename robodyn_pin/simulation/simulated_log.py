"""Simulated logs (a motion, encoders and torque noise as a real log has them) and forward simulation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from robodyn_pin.dynamics.loads import check_motion, loads
from robodyn_pin.dynamics.memory import stops_along
from robodyn_pin.errors import RobodynError
from robodyn_pin.logs.log import Log
from robodyn_pin.motions.fourier import FourierMotion
from robodyn_pin.motions.motion_file import Motion, course
from robodyn_pin.robot.limits import limits_of
from robodyn_pin.robot.robot import Robot
from robodyn_pin.simulation.internal_torques import smooth_torque


@dataclass(frozen=True)
class Noise:
    """What measuring does to a log."""

    torque: np.ndarray  # (n_motors,) standard deviation of white noise [N m or N]
    encoder_bits: int | None = None  # steps of one turn of the motor, before the gear; None: exact angles
    seed: int = 0
    internal: float = 0.0  # rms [N m] of an unknown torque that moves nothing, for each motor to spare
    bias: np.ndarray | None = None  # (n_motors,) constant error of the torques [N m or N]

    def of(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Errors of torques (rows, n_motors)."""
        white = rng.normal(size=(rows, len(self.torque))) * self.torque
        return white if self.bias is None else white + self.bias


def simulate(
    robot: Robot,
    motion: Motion,
    noise: Noise,
    progress: Callable[[float], None] = lambda share: None,
    ignore_limits: bool = False,
) -> Log:
    """A log of the robot with the parameters of its files; called simulated.

    Raises:
        BeyondLimits: the motion leaves a limit of a joint, motor or strut; names axis and time.
        ClosureFailed: the motion leaves the workspace.
        UnknownName, WrongMobility: the motion's coordinates are not there, or do not determine the robot.
        RobodynError: as many noise figures as motors are expected; internal torque without a motor too many.
    """
    check_noise(robot, noise)
    if noise.internal and len(robot.motors.names) == len(robot.coordinates.names):
        raise RobodynError(
            f"robot {robot.name!r} has as many motors as degrees of freedom: it can have no internal torque; leave it out"
        )
    if isinstance(motion, FourierMotion) and motion.coordinates is not None:
        robot = robot.with_coordinates(motion.coordinates)
    names = robot.coordinates.names
    t, c, cd, cdd = course(motion, names)
    rng = np.random.default_rng(noise.seed)
    errors = noise.of(len(t), rng)
    internal = smooth_torque(t, len(noise.torque), noise.internal, rng) if noise.internal else np.zeros_like(errors)
    q, tau = [], []
    limits = limits_of(robot, {}, 0.0)
    for part, state in stops_along(robot, robot.close_parts(c, cd, cdd, lambda i: f"t = {t[i]:.4g} s")):
        found = loads(robot, state, {"torque", *limits.kinds}, internal[part], partial(_time, t[part]))
        if not ignore_limits:
            check_motion(robot, limits, state, found, partial(leaving, "simulated motion", t[part]))
        q.append(state.q @ robot.motors.S.T + robot.motors.offset)
        tau.append(found["torque"])
        progress(min(1.0, part.stop / len(t)))
    torque = np.concatenate(tau) + errors
    return Log("simulated", t, encoded(robot, np.concatenate(q), noise.encoder_bits), torque, simulated=True)


def leaving(what: str, t: np.ndarray, i: int) -> str:
    """How to begin the message that a motion leaves a limit at sample i of times t (N,)."""
    return f"the {what} leaves a limit at t = {t[i]:.4g} s (--ignore-limits goes on)"


def _time(t: np.ndarray, i: int) -> str:
    return f"t = {t[i]:.4g} s"


def check_noise(robot: Robot, noise: Noise) -> None:
    """Raise RobodynError unless there is one noise figure, and one bias, a motor."""
    motors = robot.motors.names
    for what, given in (("noise", noise.torque), ("bias", noise.bias)):
        if given is not None and given.shape != (len(motors),):
            raise RobodynError(f"{given.size} torque {what} figures for {len(motors)} motors ({', '.join(motors)})")


def steps_of_encoders(robot: Robot, bits: int | None) -> np.ndarray:
    """Smallest steps (n,) of the motors' positions that encoders on the motor side of the gears read; zeros where they are exact."""
    gear = np.array([robot.file.gear.get(m, 1.0) for m in robot.motors.names])
    return np.zeros(len(gear)) if bits is None else 2 * np.pi / 2**bits / np.abs(gear)


def encoded(robot: Robot, q: np.ndarray, bits: int | None) -> np.ndarray:
    """Motor positions (N, n) as encoders on the motor side of the gears read them."""
    return rounded(q, steps_of_encoders(robot, bits))


def rounded(q: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Positions (..., n) at the nearest multiple of their steps (n,); zero: as they are."""
    return np.where(steps > 0, np.round(q / np.where(steps > 0, steps, 1.0)) * steps, q)
