"""Evidence of one log after the other, and the parameters from the evidence alone: no log is read again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_pin.dynamics.base_parameters import shown_base
from robodyn_pin.errors import BadFile, BadLog, RobodynError
from robodyn_pin.files import of_schema
from robodyn_pin.identification.feasible import FeasibleEstimate
from robodyn_pin.identification.least_squares import BaseEstimate, ordinary
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.validation import Errors, errors, pooled
from robodyn_pin.log_to_robot.evidence import Evidence, evidence_of, made_with
from robodyn_pin.log_to_robot.fit_data import of_evidence
from robodyn_pin.log_to_robot.from_memory import a_log, all_samples
from robodyn_pin.log_to_robot.held_out import windows
from robodyn_pin.log_to_robot.payload import check_sign
from robodyn_pin.log_to_robot.pull_of_prior import fit_with_prior
from robodyn_pin.log_to_robot.run import as_asked
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.shapes_by_rates import with_widths
from robodyn_pin.log_to_robot.unlike_logs import UnlikeLogs, unlike_logs
from robodyn_pin.logs.log import Log
from robodyn_pin.robot.friction_models import WIDTH
from robodyn_pin.robot.payload import carrying
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import one_thread

OF_ALL_LOGS = ("delay", "gains", "robust", "coulomb_width")  # what is found or decided by all logs together


@dataclass(frozen=True)
class Estimated:
    """Parameters from evidence alone."""

    layout: Layout  # labels of the parameters
    wls: BaseEstimate  # base parameters by weighted least squares
    feasible: FeasibleEstimate  # parameters (p,) of bodies that can exist
    fit: Errors  # of the feasible fit on the rows as scored
    simulated: bool  # one of the logs says so
    unlike: UnlikeLogs  # logs that the parameters of most logs explain far worse than the others; numbers of the evidence's leaves


def fold(robot: Robot, run: RunFile | Mapping[str, Any], log: Log) -> Evidence:
    """Return what a log says of the robot's parameters: all of its samples, as the run's settings say.

    Args:
        run: a run file, or the keys of one that decide how rows are made: `preparation`, `rows`, `score`, `payload`, `noise`.

    Raises:
        BadFile: a setting that all logs together decide: a delay, gains, a lean of gravity, robust weights, choices.
        BadLog, ClosureFailed: what is wrong in the log, in one sentence.
    """
    robot, settings = ready_to_fold(robot, run)
    if a_log(log).loaded and not robot.payload:
        raise BadLog(f"{log.name} is loaded, but no payload is named; give 'payload: {{link: LINK}}'")
    found = evidence_of(robot, settings, windows([all_samples(robot, log)]))
    return replace(found, made_with=made_with(robot, settings))


def from_evidence(robot: Robot, run: RunFile | Mapping[str, Any], evidence: Evidence) -> Estimated:
    """Return the parameters that the evidence's logs show together, with bodies that can exist.

    Args:
        run: the one that the logs were folded with; its `bounds`, `prior` and `symmetry` may be others.

    Raises:
        RobodynError: made with another robot, other settings or another version. SolverFailed: no trustworthy parameters.
        BadLog: a payload, and logs of one kind only.
    """
    robot, settings = ready_to_fold(robot, run)
    if made_with(robot, settings) != evidence.made_with:
        raise RobodynError(
            f"the evidence on {evidence.robot!r} was made with another robot, other settings or another version of the package; "
            "fold the logs again"
        )
    return by_evidence(robot, settings, evidence)


@one_thread()
def by_evidence(robot: Robot, settings: RunFile, evidence: Evidence) -> Estimated:
    """The same, of a robot and settings that are ready to fold, as the evidence was made with."""
    kinds = {leaf.loaded for leaf in evidence.leaves}
    if robot.payload and len(kinds) == 1:
        raise BadLog(
            f"all logs of the evidence are {'loaded' if kinds.pop() else 'unloaded'}, so that the payload cannot be told from the "
            f"body of {robot.payload.link!r}; merge evidence of both kinds"
        )
    fitted, groups = of_evidence(robot, settings, evidence), pooled(evidence.rows)
    layout = fitted.settings.layout
    base = ordinary(groups, shown_base(robot, groups, layout.order)).base
    wls = fitted.weigh(groups, base, fitted.independent)
    _, feasible, _ = fit_with_prior(fitted, groups, wls)
    if robot.payload:
        check_sign(robot.payload, robot.payload_columns.start, wls)
    fit = errors(pooled(evidence.scored), feasible.values)
    unlike = unlike_logs([pooled(leaf.scored) for leaf in evidence.leaves], wls, fitted.independent)
    return Estimated(layout, wls, feasible, fit, evidence.simulated, unlike)


def ready_to_fold(robot: Robot, run: RunFile | Mapping[str, Any], folder: Path = Path()) -> tuple[Robot, RunFile]:
    """Robot and settings that leave nothing to be found from all logs; paths start from `folder`; raises as `fold`."""
    if not isinstance(run, RunFile):
        asked = {"robot": robot.name, "fit": [{"file": "in memory"}], **run}
        if "payload" in run:  # evidence of loaded logs and of others is merged
            asked["fit"] = [{"file": "in memory"}, {"file": "in memory", "loaded": True}]
        run = of_schema(asked, RunFile, "rp.fold")
    found = [key for key in OF_ALL_LOGS if getattr(run, key) not in (None, 0.0)]
    found += ["gravity"] if run.gravity in ("fit", "choose") else []
    found += ["choose"] if run.choose.model_fields_set - {"folds", "use"} else []
    robot, run = as_asked(robot, run, folder)
    if run.payload:
        robot = carrying(robot, run.payload.name, run.payload.link)
    open_shapes = [f"fit: [{shape}] of {e.name}" for e in robot.efforts for shape in e.spec.fit]
    if found or open_shapes:
        raise BadFile(
            f"{(found + open_shapes)[0]!r} is decided by all logs together, so that a log cannot be folded alone; give the value "
            "that an identification found"
        )
    return with_widths(robot, np.full(len(robot.efforts), WIDTH)), run
