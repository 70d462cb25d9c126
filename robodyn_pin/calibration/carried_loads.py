"""What motors, struts and closures carry at measured poses under their loads: of the drawn robot, and of the calibrated one with intervals.

Intervals come from robots that are drawn from the distribution of the errors: each is built, settles under its loads, and is asked by the
same statics as any robot.
"""

from dataclasses import dataclass

import numpy as np

from robodyn_pin.calibration.calibrated import calibrated_texts
from robodyn_pin.calibration.calibration import Calibration
from robodyn_pin.calibration.erring_robot import ErringRobot
from robodyn_pin.calibration.loads_at_rest import loads_at_rest
from robodyn_pin.closures.kinds import KINDS, Closure
from robodyn_pin.robot.robot import Robot

DRAWS = 60


@dataclass(frozen=True)
class CarriedLoads:
    """k quantities at N poses."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    poses: tuple[int, ...]  # numbers in the file
    drawn: np.ndarray  # (N, k) rigid, as drawn
    calibrated: np.ndarray  # (N, k)
    deviations: np.ndarray  # (N, k) standard deviation of `calibrated`


def carried_loads(found: Calibration, draws: int = DRAWS, seed: int = 0) -> CarriedLoads | None:
    """What the poses that were held out ask of motors, struts or closures; None of a robot whose drives are rigid.

    Raises:
        ClosureFailed, RobodynError: as `ErringRobot.settled`.
    """
    robot, seen = found.robot, found.held_out
    if robot.drives is None or seen.wrench is None:
        return None
    q = robot.nominal(seen.c, seen.label)
    own = np.array([error.group not in ("base", "tool") for error in robot.errors])
    inner = robot.with_errors([x for x, kept in zip(robot.errors, own, strict=True) if kept])
    drawn, names, units = _of(robot.robot, inner, seen.c, seen.wrench)
    mean = _of_errors(inner, found.fit.e[own], seen.c, q, seen.wrench)
    L = np.linalg.cholesky(found.fit.covariance[np.ix_(own, own)])
    rng = np.random.default_rng(seed)
    others = [
        _of_errors(inner, found.fit.e[own] + L @ rng.normal(size=len(L)), seen.c, q, seen.wrench) for _ in range(draws)
    ]
    spread = np.sqrt(((np.array(others) - mean) ** 2).mean(axis=0))
    return CarriedLoads(names, units, seen.rows, drawn, mean, spread)


def _of_errors(robot: ErringRobot, e: np.ndarray, c: np.ndarray, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """What a robot with errors e carries where it settles (N, k)."""
    rest, _ = robot.settled(e, c, q, wrench, slopes=False)
    true, _ = robot.coordinates(e, c)
    gear = robot.coordinates(e, c + 1)[0] - true  # read coordinates count before the gear
    built = calibrated_texts(robot, e, True)[2].with_coordinates(robot.robot.coordinates.names)
    return _of(built, robot, c + (rest.x - true) / gear, wrench)[0]


def _of(
    robot: Robot, erring: ErringRobot, c: np.ndarray, wrench: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """What a robot carries at rest at coordinates c (N, d), names and units of it."""
    drives = erring.drives
    assert drives is not None
    load = loads_at_rest(robot, drives, c, wrench)
    slides = robot.slides(robot.motors.S)
    columns, names = [load.tau], list(robot.motors.names)
    units = ["N" if sliding else "N m" for sliding in slides]
    if robot.file.struts:
        columns.append(load.struts.lower)
        names += list(robot.file.struts)
        units += ["N"] * len(robot.file.struts)
    else:
        for closure in robot.loops.closures:
            if isinstance(closure, Closure) and (moves := KINDS[closure.kind].moves):
                columns.append(np.linalg.norm(load.multipliers[closure.name][:, :moves], axis=1)[:, None])
                names.append(closure.name)
                units.append("N")
    return np.concatenate(columns, axis=1), tuple(names), tuple(units)
