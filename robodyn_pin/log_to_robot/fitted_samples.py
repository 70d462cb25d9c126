"""Logs of which one sample of several is looked at: loops close for these alone, their motion is worked out from all."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.differentiation import Preparation, rates_of
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot


def fitted_samples(robot: Robot, run: RunFile, logs: Sequence[AnyLog]) -> tuple[RunFile, Sequence[AnyLog]]:
    """A run and logs in which the samples that this run fits are all there are, and are scored; both as they are where a filter or
    friction needs the others.

    Raises:
        BadLog: as `rates_of`.
    """
    needed = run.rows.filter or run.score.filter or any(e.memory or e.spec.warmth for e in robot.efforts)
    if run.rows.every == 1 or needed:
        return run, logs
    rows = run.rows.model_copy(update={"every": 1, "cut": -(-run.rows.cut // run.rows.every)})
    found = [_few(log, run.preparation, run.rows.every) for log in logs]
    return run.model_copy(update={"rows": rows, "preparation": Preparation(rates="measured")}), found


def _few(log: AnyLog, preparation: Preparation, every: int) -> Log:
    part = log.section(0, log.size)
    q, dq, ddq = (x[::every] for x in rates_of(log, preparation).motion(part))
    line = partial(_line, part.line, part.begin, every)
    # A part of a log that stays in its file does not know what is known of all of it.
    part = replace(part, line=line, loaded=log.loaded, quality=log.quality, further={}, after=None)
    return replace(part, t=part.t[::every], q=q, dq=dq, ddq=ddq, tau=part.efforts[::every])


def _line(line: Callable[[int], int], begin: int, every: int, row: int) -> int:
    return line(begin + every * (row - begin))
