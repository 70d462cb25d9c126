"""Logs that are faster than any robot: their times or positions are in another unit, or an angle is wrapped."""

import numpy as np

from robodyn_pin.errors import BadLog
from robodyn_pin.logs.breaks import unbroken, wrapped
from robodyn_pin.logs.jumps import jump_at_start
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.units import Units
from robodyn_pin.robot.limits import speed_limits
from robodyn_pin.robot.robot import Robot

FASTEST = 1e7  # [Hz] no robot is sampled as fast
TOO_FAST = 3.0  # times the speed limit: no robot does that, a wrong unit does


def check_rate(name: str, steps: int, duration: float) -> None:
    """Raise BadLog where so many steps in a time [s] are more than any robot makes: the times are in another unit."""
    if duration * FASTEST < steps:
        raise BadLog(
            f"{name}: {steps} steps of its clock take {duration:.3g} s, expected less than {FASTEST:g} a second; declare the unit of "
            "its times, 'units: {time: ms}'"
        )


def check_speed(log: Log, robot: Robot, units: Units) -> None:
    """A jump at the begin aside, which is left out later: degrees that were declared radians, or millimetres metres, show as speeds that no motor reaches.

    Raises:
        BadLog: it is too fast for its robot. BrokenLog: as `unbroken`, if so.
    """
    span = max(1, round(0.02 * log.rate))  # over 20 ms, so that encoder steps do not count as speed
    log = log.section(jump_at_start(log.q, log.rate), log.size)
    if log.size <= span:
        return
    speed = np.abs(log.q[span:] - log.q[:-span]) / (log.t[span:] - log.t[:-span])[:, None]
    slides = robot.slides(robot.motors.S)
    for k, limit in enumerate(speed_limits(robot)):
        worst = int(speed[:, k].argmax())
        if speed[worst, k] > TOO_FAST * limit:
            if not slides[k] and (row := wrapped(log.q[worst : worst + span + 1, k])) is not None:
                raise BadLog(
                    f"{log.name}: column q of motor {robot.motors.names[k]!r} jumps by a whole turn in row "
                    f"{log.line(log.begin + worst + row)}: its angle is wrapped; expected one without jumps, as numpy.unwrap makes it"
                )
            unbroken(log, robot)  # else two recordings in one file pass for another unit
            kind, unit, usual = ("length", units.length, "mm") if slides[k] else ("angle", units.angle, "deg")
            raise BadLog(
                f"{log.name}: column q of motor {robot.motors.names[k]!r} moves at {speed[worst, k]:.4g} per second near row "
                f"{log.line(log.begin + worst)}, its limit is {limit:.4g}; are its {kind}s in another unit than {unit!r}? "
                f"Declare 'units: {{{kind}: {usual}}}' in the run file, or a factor of this motor under 'scale: {{position: ...}}'"
            )
