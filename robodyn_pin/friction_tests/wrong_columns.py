"""Mistakes of a log that friction itself shows: it never pushes the way that its motor moves, and it is in the torque of that motor."""

from collections.abc import Sequence

import numpy as np

from robodyn_pin.friction_tests.strokes import unit_of
from robodyn_pin.robot.limits import torque_limits
from robodyn_pin.robot.robot import Robot

SURELY = 3.0  # standard errors
FURTHER = 3.0  # times that another motor's torque tells more of a direction than the own
BEYOND = 3.0  # times the limit of its torque no motor gives
FEWEST = 3  # stretches in each direction

Stretch = tuple[float, np.ndarray]  # signed speed of a motor that moves alone, mean torques of all motors (n,)


def wrong_columns(robot: Robot, motor: str, stretches: Sequence[Stretch]) -> tuple[str, ...]:
    """Sentences on the columns of a motor, from its stretches at constant speed, the others standing still; none if they may be right."""
    unit, k = unit_of(robot, motor).effort, robot.motors.names.index(motor)
    most, limit = max((abs(tau[k]) for _, tau in stretches), default=0.0), torque_limits(robot)[k]
    if most > BEYOND * limit:
        return (
            f"tau_{motor} is {most:.3g} {unit} at constant speed, and the limit of {motor} is {limit:.4g}: it looks like another unit",
        )
    ways = [np.array([tau for speed, tau in stretches if sign * speed > 0]) for sign in (1, -1)]
    if min(map(len, ways)) < FEWEST:
        return ()
    half = (ways[0].mean(axis=0) - ways[1].mean(axis=0)) / 2
    error = np.sqrt(sum(way.var(axis=0, ddof=1) / len(way) for way in ways)) / 2
    if half[k] < -SURELY * error[k]:
        return (
            f"friction would push {motor} the way it moves, by {-half[k]:.3g} {unit}: the sign of tau_{motor}, or of q_{motor}, is wrong",
        )
    names = robot.motors.names
    same = [unit_of(robot, name).effort == unit for name in names]
    j = int(np.argmax(np.where(same, np.abs(half), 0.0)))
    if abs(half[j]) <= max(FURTHER * abs(half[k]), SURELY * error[j]):
        return ()
    return (
        f"the torque that changes with the direction in which {motor} moves is tau_{names[j]}, by {2 * abs(half[j]):.3g} {unit}, and "
        f"not tau_{motor}, by {2 * abs(half[k]):.3g} {unit}: these columns look swapped",
    )
