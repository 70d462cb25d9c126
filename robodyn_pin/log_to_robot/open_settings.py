"""The settings that a run file leaves open, chosen inside the fit data, gravity's direction among them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robodyn_pin.errors import BadLog, SolverFailed
from robodyn_pin.log_to_robot.cross_validation import choose, with_settled_loads
from robodyn_pin.log_to_robot.fit_data import Fitted, fold_logs
from robodyn_pin.log_to_robot.lean import leaning
from robodyn_pin.log_to_robot.leaning_gravity import LeaningGravity
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot

Progress = Callable[[str], None]


def choose_all(robot: Robot, run: RunFile, logs: Sequence[AnyLog], progress: Progress) -> Fitted:
    """The fit data with the settings that the run file leaves open, gravity's direction among them; raises as its parts.

    Where the direction is to be fitted, it is found with the friction and the filters that the files name, the other settings are chosen with
    it, and it is found again with these. Where it is to be chosen, it comes last, on top of all other settings, as a richer friction does.
    """
    if run.gravity not in ("fit", "choose"):
        return choose(robot, run, logs, progress)
    if run.gravity == "choose":
        return _choose_gravity(choose(robot, run, logs, progress), robot, logs, progress)
    named = run.choose.model_copy(update={"friction": [], "cutoff": [], "coulomb_width": [], "prior_weight": []})
    first = choose(robot, run.model_copy(update={"choose": named}), logs, progress)
    lean = LeaningGravity(first, robot.file.gravity, logs, progress).lean
    fitted = choose(leaning(robot, lean.gravity), run, logs, progress)
    return _with_gravity(fitted, LeaningGravity(fitted, robot.file.gravity, logs, progress), logs, progress)


def _choose_gravity(fitted: Fitted, robot: Robot, logs: Sequence[AnyLog], progress: Progress) -> Fitted:
    """The fit data with gravity's direction as the robot file says or from the logs, whichever is worth it, and why."""
    try:
        gravity = LeaningGravity(fitted, robot.file.gravity, logs, progress)
        progress("gravity: is the lean worth it")
        choice = gravity.chosen()
        why, taken = str(choice), choice.taken
    except (BadLog, SolverFailed) as unseen:
        why, taken = f"gravity stays as the robot file says: {unseen}", False
    if taken:
        fitted = _with_gravity(fitted, gravity, logs, progress)
    return replace(fitted, settings=replace(fitted.settings, gravity=why))


def _with_gravity(fitted: Fitted, gravity: LeaningGravity, logs: Sequence[AnyLog], progress: Progress) -> Fitted:
    """The fit data with the direction found; what else was chosen stays."""
    settings, widen, shaped = fitted.settings, gravity.widen, fitted.widen
    robot = leaning(settings.robot, gravity.lean.gravity)
    turned = fold_logs(robot, settings.run, logs, np.ones(len(robot.efforts)))
    turned, unsettled = with_settled_loads(turned, logs, progress)
    noticed = (*settings.noticed, *unsettled)
    settings = replace(settings, robot=turned.settings.robot, lean=gravity.lean, noticed=noticed)
    return replace(turned, settings=settings, widen=lambda estimate: widen(shaped(estimate)))
