"""An identification from logs in memory, its settings given as arguments."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.dynamics.compile_kernels import compiling_for_logs
from robodyn_pin.errors import BadFile, BadLog
from robodyn_pin.files import of_schema
from robodyn_pin.log_to_robot.counted_once import Samples, check_counted_once
from robodyn_pin.log_to_robot.held_out import Selected, clear, in_motion, split_last, within_torques
from robodyn_pin.log_to_robot.result import Result
from robodyn_pin.log_to_robot.run import as_asked, estimate
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.breaks import unbroken
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.made_by_hand import known_log
from robodyn_pin.logs.uniform import check_rates, uniform
from robodyn_pin.logs.units import LogKeys
from robodyn_pin.robot.robot import Robot

READ = set(LogKeys.model_fields) - {"delay"}  # of a run file: how logs are read


def identify(
    robot: Robot, log: Log | Sequence[Log], held_out: Log | Sequence[Log] | None = None, **settings: Any
) -> Result:
    """Identify a robot from logs in memory.

    Args:
        log: one or several, of one sampling rate; `loaded` ones carry the payload.
        held_out: logs that judge the result and are not fitted; default: the last 30 % of each log.
        settings: the keys of a run file, with values as its YAML has them: `choose={"friction": ["coulomb+viscous", "+quadratic"]}`,
            `rows={"every": 5}`; without any, rates are found by `differentiation: auto` and torques are fitted as measured.

    Raises:
        BadFile: a setting that a run file would not take either; one that says how logs are read.
        BadLog, ShapeMismatch, UnknownName, ClosureFailed: no log, or what is wrong in one, in one sentence.
        SolverFailed: no trustworthy parameters.
    """
    fit, judges = _several(log), [] if held_out is None else _several(held_out)
    if wrong := sorted({"robot", "fit", "output", *READ} & set(settings)):
        raise BadFile(
            f"rp.identify takes no {wrong[0]!r}: its robot and its logs are in memory; give it to rp.load, rp.read_log, "
            "rp.Log.from_frame or result.write"
        )
    # What reads the next log through the result puts its torques as late as these.
    asked = {"robot": robot.name, "fit": _specs(fit), "delay": float(np.mean([log.delay for log in fit])), **settings}
    run = of_schema(asked if held_out is None else asked | {"held_out": _specs(judges)}, RunFile, "rp.identify")
    with compiling_for_logs():
        robot, run = as_asked(robot, run, Path())
        if "delay" in settings:
            fit, judges = ([replace(log, delay=run.known_delay) for log in logs] for logs in (fit, judges))
        chosen, rest = ([all_samples(robot, log) for log in logs] for logs in (fit, judges))
    check_rates((s.log.name, s.log.rate) for s in chosen)
    check_counted_once(*([Samples(s.log.content, s.log.name) for s in of] for of in (chosen, rest)))
    if held_out is None:
        chosen, rest = split_last(chosen, run.rows.cut)
    else:
        rest = [clear(s, run.rows.cut) for s in rest]
    return estimate(robot, run, chosen, rest)


def _several(logs: Log | Sequence[Log]) -> list[Log]:
    if not isinstance(logs, (list, tuple)):
        return [a_log(logs)]
    if not logs:
        raise BadLog("rp.identify found an empty list; give it one log or more")
    return [a_log(log) for log in logs]


def a_log(given: object) -> Log:
    """What is given, if it is a log in memory."""
    if not isinstance(given, Log):
        raise BadLog(
            f"expected a log of rp.read_log or rp.Log.from_frame and found {type(given).__name__}; settings of rp.identify are "
            "given by name: rp.identify(robot, log, rows={'every': 5})"
        )
    return given


def _specs(logs: Sequence[Log]) -> list[dict[str, Any]]:
    return [{"file": log.name, "loaded": log.loaded} for log in logs]


def all_samples(robot: Robot, log: Log) -> Selected:
    """All samples of a log, on a uniform clock, torques put beside their motion."""
    even = uniform(unbroken(known_log(log, robot), robot))
    return in_motion(within_torques(Selected(even, 0, even.size), log.delay))
