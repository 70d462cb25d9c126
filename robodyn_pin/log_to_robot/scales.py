"""Scales of single torques, or of gears, with which a log is explained best: another unit, a gear that is wrong."""

from collections.abc import Callable, Collection, Iterator

import numpy as np

from robodyn_pin.log_to_robot.explained import Explained, closed_with, undone
from robodyn_pin.log_to_robot.picked_samples import Picked
from robodyn_pin.log_to_robot.usual_guesses import Guess
from robodyn_pin.robot.robot import Robot

FARTHER = 1.5  # a scale nearer to one than this may come from bodies that the robot's files have wrong
GEARS = np.geomspace(0.25, 4, 7)  # scales that are tried first
GEAR_OFF = 1.2  # a scale of a gear nearer to one than this may come from the bodies, too
GEAR_EVERY = 3  # one of so many samples suffices to find gears
OUT_OF_REACH = 1e3  # error of a gear with which the loops do not close


def torque_scales(robot: Robot, samples: Picked, plain: Explained) -> Iterator[Guess]:
    """For each motor the scale of its torque that leaves least, named by what makes such a scale."""
    from scipy.optimize import minimize_scalar

    names = robot.motors.names
    for k, m in enumerate(names):

        def scaled(log: float, k: int = k) -> np.ndarray:
            scale = np.eye(len(names))
            scale[k, k] = np.exp(log)
            return scale

        def left(log: float) -> float:
            tried = plain.tried(samples.tau @ scaled(log).T)
            return float(tried.free[-1].sum() + tried.own[-1].sum())

        best = minimize_scalar(left, bounds=np.log([1e-4, 1e4]), method="bounded", options={"xatol": 0.02}).x
        if abs(best) > np.log(FARTHER):
            gear = robot.file.gear.get(m)
            yield Guess(f"tau_{m} looks {_times(np.exp(best), gear)}", (k,), np.eye(len(names)), scaled(best))


def common_scale(robot: Robot, plain: Explained) -> Iterator[Guess]:
    """The scale of all torques together that leaves least; only the bodies of the robot's files can tell."""
    from scipy.optimize import minimize_scalar

    one = np.eye(len(robot.motors.names))

    def left(log: float) -> float:
        return float(plain.tried(plain.tau * np.exp(log)).own[-1].sum())

    best = np.exp(minimize_scalar(left, bounds=np.log([1e-2, 1e2]), method="bounded", options={"xatol": 0.02}).x)
    if abs(np.log(best)) > np.log(FARTHER):
        yield Guess(f"all torques look {_times(best, None)}", (), one, one * best)


def gear_scales(robot: Robot, samples: Picked, badly: Collection[int]) -> Iterator[Guess]:
    """For each motor that is explained badly the scale of its gear, which its position is divided by and its torque multiplied, that leaves least."""
    from scipy.optimize import minimize_scalar

    few = samples.every(GEAR_EVERY)
    for k, m in enumerate(robot.motors.names):
        if k not in badly and len(robot.coordinates.names) == len(robot.motors.names):
            continue

        def guess(log: float, k: int = k, m: str = m) -> Guess:
            position, torque = np.eye(len(robot.motors.names)), np.eye(len(robot.motors.names))
            position[k, k], torque[k, k] = np.exp(-log), np.exp(log)
            said = f"the gear of motor {m} in the robot file looks wrong: {np.exp(log):.3g} times that gear fits"
            return Guess(said, (k,), position, torque, gear=True)

        def left(log: float, guess: Callable[[float], Guess] = guess) -> float:
            closed = closed_with(robot, undone(few, guess(log)))
            return OUT_OF_REACH if closed is None else float((closed.asis.free + closed.asis.own)[-1].sum())

        grid = np.log(GEARS)
        start = int(np.argmin([left(x) for x in grid]))
        ends = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
        best = minimize_scalar(left, bounds=ends, method="bounded", options={"xatol": 0.02}).x
        if abs(best) > np.log(GEAR_OFF):
            yield guess(best)


def _times(scale: float, gear: float | None) -> str:
    size = f"{1 / scale:.3g} times too large" if scale < 1 else f"{scale:.3g} times too small"
    if gear and abs(np.log(scale / gear)) < np.log(FARTHER):
        return f"{size}, about the gear ratio {gear:g}: is it the torque before the gear?"
    return f"{size}: is it in another unit, or the gear wrong?"
