"""Shapes of friction in parts of the rates at which the fit logs move its axes: Coulomb widths, speeds of Stribeck peaks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import rates_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.efforts import Effort
from robodyn_pin.robot.friction_models import SHAPES
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each

WITH_WIDTH = tuple(model for model, shapes in SHAPES.items() if "width" in shapes)
MEASURED = 30_000  # largest number of samples of a log from which the rms rates are computed
USUAL_WIDTH = 0.1  # Coulomb width over each rate's rms that often fits measured joints best
WIDTHS = (0.013, 0.02, 0.03, 0.045, 0.065, 0.095, 0.14, 0.2, 0.3)  # that are tried for each axis, likewise
FINER = ((0.76, 0.87, 1.0, 1.15, 1.32), (0.9, 0.95, 1.0, 1.05, 1.1))  # then around the likeliest
FINEST = (0.97, 0.985, 1.0, 1.015, 1.03)  # at last, beside the models that were chosen: 5 % off cost 2 % of error
USUAL_SPEED = 0.4  # speed of a Stribeck peak, likewise
PEAKS = (
    0.5,
    1.0,
    2.0,
)  # speeds that are tried, over the usual one; a peak as narrow as the usual width only mends the width


def rms_rates(robot: Robot, run: RunFile, logs: Sequence[AnyLog]) -> np.ndarray:
    """Root mean square of each effort's rate over the fit logs (efforts,) [rad/s or m/s]; of long logs, over pieces."""
    squares, counts = zip(*each(partial(_squared_rates, robot, run), logs), strict=True)
    return np.sqrt(sum(squares) / sum(counts))


def _squared_rates(robot: Robot, run: RunFile, log: AnyLog) -> tuple[np.ndarray, int]:
    """Sums of squares (efforts,) of a log's rates, and how many there are."""
    squares, count = np.zeros(len(robot.efforts)), 0
    moved = rates_of(log, run.preparation)
    size = min(log.size, max(MEASURED // 10, moved.reach))
    begins = [0] if log.size <= MEASURED else np.linspace(0, log.size - size, 10).astype(int)
    for begin in begins:
        part = log.section(begin, begin + size if len(begins) > 1 else log.size)
        state = close_motors(robot, *moved.motion(part), part.row)
        for k, effort in enumerate(robot.efforts):
            squares[k] += np.sum(np.mean(effort.rates(state.q, state.v) ** 2, axis=1))
        count += len(state.v)
    return squares, count


def with_widths(robot: Robot, widths: np.ndarray) -> Robot:
    """The robot with Coulomb widths (efforts,) for the terms that have none in its file."""
    efforts = tuple(
        replace(e, spec=e.spec.model_copy(update={"width": float(max(width, 1e-6))}))
        if e.spec.model in WITH_WIDTH and e.spec.width is None
        else e
        for e, width in zip(robot.efforts, widths, strict=True)
    )
    return replace(robot, efforts=efforts)


def with_speeds(robot: Robot, run: RunFile, logs: Sequence[AnyLog]) -> Robot:
    """The robot with the usual speed for every Stribeck peak that has none; raises as `rms_rates`."""
    if not any(map(_lacks_speed, robot.efforts)):
        return robot
    speeds = (USUAL_SPEED * rms_rates(robot, run, logs)).tolist()
    return replace(
        robot,
        efforts=tuple(
            _at_speed(e, max(speed, 1e-6)) if _lacks_speed(e) else e
            for e, speed in zip(robot.efforts, speeds, strict=True)
        ),
    )


def with_peaks(robot: Robot) -> Robot:
    """The robot with a Stribeck peak at each of the speeds that are tried, in place of one whose speed is sought."""
    peaks = [
        [_at_speed(e, part * (e.spec.speed or 0.0)) for part in PEAKS] if sought(e) else [e] for e in robot.efforts
    ]
    return replace(robot, efforts=tuple(e for each in peaks for e in each))


def sought(effort: Effort) -> bool:
    """Whether the logs shall give the speed of an offered Stribeck peak."""
    return effort.spec.model == "stribeck" and "speed" in effort.spec.fit and not effort.closures


def _lacks_speed(effort: Effort) -> bool:
    return effort.spec.model == "stribeck" and effort.spec.speed is None


def _at_speed(effort: Effort, speed: float) -> Effort:
    return replace(effort, spec=effort.spec.model_copy(update={"speed": float(f"{speed:.4g}")}))
