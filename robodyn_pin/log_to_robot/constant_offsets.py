"""Constant torques in a log that no body makes: a sensor or a drive whose zero is off, or friction unlike in both directions."""

from collections.abc import Callable

import numpy as np

from robodyn_pin.log_to_robot.explained import Explained
from robodyn_pin.log_to_robot.few_causes import fewest_causes
from robodyn_pin.log_to_robot.usual_guesses import Guess, off_all_the_time
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.robot import Robot

SEEN = 0.05  # share of a motor's constant torque that parameters must leave, else gravity and friction pass for it


def constant_offsets(robot: Robot, plain: Explained, keys: LogKeys) -> list[Guess]:
    """The constant torques that leave least, of as few motors as do, as one guess; none where none is worth it."""
    offered = [_least_offset(plain, left_of) for left_of in (plain.fits.free, plain.fits.own)]
    tried = [plain.without(offset) for offset in offered]
    offset = offered[int(np.argmin([x.free[-1].sum() + x.own[-1].sum() for x in tried]))]
    motors, one = np.flatnonzero(offset).tolist(), np.eye(len(offset))
    if not motors:
        return []
    said, remedy = off_all_the_time(robot, keys, "torque", offset)
    text = (
        f"{said} (is the sensor's or the drive's zero off, or friction unlike in both directions? "
        f"'efforts: [{{of: {robot.motors.names[motors[0]]}, model: offset}}]' in the robot file finds it, {remedy} takes it off)"
    )
    return [Guess(text, tuple(motors), one, one, offset=offset)]


def _least_offset(plain: Explained, left_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The constant torques (n,) that leave least, zero of motors for which that is not worth it.

    Args:
        left_of: what any bodies, or those of the robot's files, leave (M, d) of torques (M, n): linear but for the coordinates' weights.
    """
    tau, left = plain.tau, left_of(plain.tau)
    steps = np.diag(np.sqrt(np.mean(tau**2, axis=0)))
    unit = np.maximum(np.sqrt(np.mean(left**2, axis=0)), np.finfo(float).tiny)
    made = np.array([left - left_of(tau - step) for step in steps]) / unit  # (n, M, d) of what is left, by a step
    whole = np.array([plain.fits.rows.measured(np.broadcast_to(step, tau.shape)) for step in steps]) / unit
    seen = np.linalg.norm(made, axis=(1, 2)) > SEEN * np.linalg.norm(whole, axis=(1, 2))
    return np.asarray(fewest_causes(left / unit, made, np.flatnonzero(seen).tolist()) @ steps)
