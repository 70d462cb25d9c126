"""Constant torques in a log that no body makes: a sensor or a drive whose zero is off, or friction unlike in both directions."""

from collections.abc import Callable

import numpy as np

from robodyn_pin.log_to_robot.explained import Explained
from robodyn_pin.log_to_robot.usual_guesses import Guess
from robodyn_pin.robot.robot import Robot
from robodyn_pin.robot.units import motor_units

SEEN = 0.05  # share of a motor's constant torque that parameters must leave, else gravity and friction pass for it
WORTH = np.log(1.2)  # by which the product over the coordinates of their errors must fall for one more motor


def constant_offsets(robot: Robot, plain: Explained) -> list[Guess]:
    """The constant torques that leave least, of as few motors as do, as one guess; none where none is worth it."""
    tau, names, units = plain.tau, robot.motors.names, motor_units(robot)
    offered = [_least_offset(plain, left_of) for left_of in (plain.fits.free, plain.fits.own)]
    tried = [plain.tried(tau - offset) for offset in offered]
    offset = offered[int(np.argmin([x.free[-1].sum() + x.own[-1].sum() for x in tried]))]
    motors = np.flatnonzero(offset).tolist()
    if not motors:
        return []
    each = (
        f"tau_{names[k]} looks too {'large' if offset[k] > 0 else 'small'} by {abs(offset[k]):.3g} {units[names[k]]} all the time"
        for k in motors
    )
    said = (
        f"{', '.join(each)} (is the sensor's or the drive's zero off, or friction unlike in both directions? "
        f"'efforts: [{{of: {names[motors[0]]}, model: offset}}]' in the robot file finds it)"
    )
    return [Guess(said, tuple(motors), np.eye(len(names)), np.eye(len(names)), offset=offset)]


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
    chosen, sizes, least = list[int](), np.zeros(0), 0.0
    while open_ := [k for k in np.flatnonzero(seen).tolist() if k not in chosen]:
        tried = [_with_least(left / unit, made[[*chosen, k]]) for k in open_]
        best = int(np.argmin([error for _, error in tried]))
        if tried[best][1] > least - WORTH:
            break
        chosen, (sizes, least) = [*chosen, open_[best]], tried[best]
    return sizes @ steps[chosen]


def _with_least(left: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, float]:
    """Sizes (k,) of the columns `made` (k, M, d) that leave least of `left` (M, d), and the logarithm of the product of the errors."""
    sizes = np.linalg.lstsq(made.reshape(len(made), -1).T, left.ravel(), rcond=None)[0]
    rest = left - np.tensordot(sizes, made, 1)
    return sizes, float(np.log(np.maximum(np.mean(rest**2, axis=0), np.finfo(float).tiny)).sum() / 2)
