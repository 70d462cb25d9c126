"""Positions in a log that count from elsewhere than the robot file's: an encoder whose zero is off, another convention."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robodyn_pin.log_to_robot.explained import Explained, closed_with
from robodyn_pin.log_to_robot.few_causes import best_sizes, fewest_causes
from robodyn_pin.log_to_robot.overconstraint import FAR as FAR_FROM_LOOPS
from robodyn_pin.log_to_robot.picked_samples import Picked, PickedRows, largest_rms
from robodyn_pin.log_to_robot.usual_guesses import Guess, off_all_the_time
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.robot import Robot

STEP = 0.01  # [rad] of the joint that it turns, or share of the travel of a motor that slides, for slopes
FAR = 1.0  # [rad], or share: zeros that are off by more are beyond what slopes tell
CLOSER = 5  # steps of Gauss and Newton
SMALL = 0.05  # share of the largest zero below which another one may have taken some of its part
FELT = 0.1  # share of what is left that a zero so far off must make, else no torque tells of it
CONVENTIONS = (np.pi / 2, -np.pi / 2, np.pi)  # [rad] between zeros of drawings and of controllers


def encoder_zeros(robot: Robot, samples: Picked, plain: Explained, keys: LogKeys) -> list[Guess]:
    """The zeros of encoders that leave least, of as few motors as do, as one guess; none where none is worth it."""
    unit = np.where(robot.slides(robot.motors.S), np.ptp(samples.q, axis=0), _turns(robot))
    shifted = [_shifted(robot, samples, step, plain) for step in STEP * np.diag(unit)]
    found = []
    for files in (False, True):
        left, size = _left(plain, files)
        made = np.array([np.zeros_like(left) if s is None else _left(s, files)[0] - left for s in shifted]) / size
        felt = np.linalg.norm(made, axis=(1, 2)) * FAR / STEP > FELT * np.sqrt(left.size)
        zeros = STEP * unit * fewest_causes(left / size, made, np.flatnonzero(felt).tolist())
        if not zeros.any() or contradicted(plain.fits.rows, zeros):
            continue
        if (closer := _closer(robot, samples, zeros, STEP * unit, files, plain)) is not None:
            found.append(closer)
    within = [(zeros, errors) for zeros, errors in found if (np.abs(zeros) <= FAR * unit).all()]
    if not within:
        return []
    zeros, _ = min(within, key=lambda one: one[1])
    size = np.abs(zeros) / np.where(unit > 0, unit, 1.0)
    zeros = np.where(size > SMALL * size.max(), zeros, 0.0)
    return [replace(_guess(robot, zeros, keys), fitted=True)]


def conventions(robot: Robot, keys: LogKeys) -> Iterator[Guess]:
    """Zeros of motors that turn, a quarter or half a turn away."""
    for k in np.flatnonzero(~robot.slides(robot.motors.S)):
        for angle in CONVENTIONS:
            yield _guess(robot, angle * np.diag(_turns(robot))[k], keys)


def _turns(robot: Robot) -> np.ndarray:
    """Of each motor (n,) with the joint that it turns most, by its gear."""
    return np.asarray(np.abs(robot.motors.S).max(axis=1))


def _guess(robot: Robot, zeros: np.ndarray, keys: LogKeys) -> Guess:
    said, remedy = off_all_the_time(robot, keys, "position", zeros)
    one = np.eye(len(zeros))
    text = f"{said} (is the encoder's zero off? {remedy} takes that off)"
    return Guess(text, tuple(np.flatnonzero(zeros).tolist()), one, one, zeros=zeros)


def contradicted(rows: PickedRows, zeros: np.ndarray) -> bool:
    """Whether encoders, of which there are more than degrees of freedom, would agree less with the loops, to first order, than they do."""
    followed = (rows.B @ np.linalg.pinv(rows.B)) @ zeros  # by the states on the loops that are nearest
    return largest_rms(rows.off + zeros - followed) > max(rows.miss, FAR_FROM_LOOPS)


def _closer(
    robot: Robot, samples: Picked, zeros: np.ndarray, steps: np.ndarray, files: bool, plain: Explained
) -> tuple[np.ndarray, float] | None:
    """Zeros of the same motors after some steps of Gauss and Newton, and their errors; None where the loops do not close."""
    motors = np.flatnonzero(zeros)
    here = _shifted(robot, samples, -zeros, plain)
    for _ in range(CLOSER):
        if here is None:
            return None
        beside = [_shifted(robot, samples, step - zeros, here) for step in np.diag(steps)[motors]]
        if None in beside:
            return None
        left, size = _left(here, files)
        made = np.array([_left(s, files)[0] - left for s in beside if s is not None]) / size
        by = best_sizes(left / size, made)
        zeros = zeros.copy()
        zeros[motors] += steps[motors] * by
        here = _shifted(robot, samples, -zeros, here)
        if np.abs(by).max() < 1:
            break
    return None if here is None else (zeros, float((here.asis.free + here.asis.own)[-1].sum()))


def _shifted(robot: Robot, samples: Picked, by: np.ndarray, near: Explained) -> Explained | None:
    """The samples explained with other zeros, the loops closed from where they are `near`."""
    return closed_with(robot, replace(samples, q=samples.q + by), near.fits.rows.q)


def _left(explained: Explained, files: bool) -> tuple[np.ndarray, np.ndarray]:
    """What any bodies, or those of the robot's files, leave (M, d) of the torques, and its rms (d,)."""
    left = explained.left[files]
    return left, np.maximum(np.sqrt(np.mean(left**2, axis=0)), np.finfo(float).tiny)
