"""Settings chosen inside the fit data: for each, the candidate with the least cross-validated error wins."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.validation import cross_validated, pooled
from robodyn_pin.log_to_robot.fit_data import Choice, Fitted, all_rows, fold_logs, judged_rows
from robodyn_pin.log_to_robot.fitted_samples import fitted_samples
from robodyn_pin.log_to_robot.friction_choice import (
    FoldedFriction,
    FrictionChoice,
    choose_friction,
    with_finer_widths,
    with_first,
    with_likeliest_widths,
)
from robodyn_pin.log_to_robot.friction_shapes import with_fitted_shapes
from robodyn_pin.log_to_robot.load_borne import first_loads, settled_loads
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of, weighting
from robodyn_pin.log_to_robot.prior_weight import choose_weight, unseen_error
from robodyn_pin.log_to_robot.rates_by_torques import rates_by_torques
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.shapes_by_rates import (
    USUAL_WIDTH,
    WITH_WIDTH,
    rms_rates,
    with_peaks,
    with_speeds,
)
from robodyn_pin.log_to_robot.stops_used import with_places, with_used_stops
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.friction_models import WIDTH
from robodyn_pin.robot.offered_friction import offered
from robodyn_pin.robot.robot import Robot
from robodyn_pin.telling import Milestone

ALONE = 50  # samples, apart from each other, that tell whether a log's positions close
CLEARLY = 0.5  # of the error: to so much other rates must lower it to be called the cause


def choose(robot: Robot, run: RunFile, logs: Sequence[AnyLog], progress: Callable[[str], None]) -> Fitted:
    """Fold the fit logs with each candidate of `choose:`, one key after the other, and keep the best.

    Raises:
        BadLog: nothing left after the edges are cut.
    """
    choices: list[Choice] = []
    rubbing: tuple[FrictionChoice, ...] = ()
    robot, left = with_used_stops(with_places(offered(robot, run.choose.friction), logs), logs, run.choose.folds)
    robot = with_speeds(robot, run, logs)
    robot = first_loads(robot, lambda r: _feasible(fold_logs(r, run, logs, np.ones(len(r.efforts)))), progress)
    before, without_width = run, _without_width(robot)
    if run.choose.friction:  # rates that are good enough to tell friction, then those that go with it
        before, _ = _choose_rates(with_first(robot, run.choose.friction), run, logs, progress)
        robot, rubbing = _choose_friction(robot, before, logs, progress)
    run, compared = _choose_rates(robot, run, logs, progress)
    open_width = _without_width(robot)
    if sought := without_width - open_width:
        near, weigh = run.preparation == before.preparation, weighting(run, robot, logs[0].rate)
        robot = with_finer_widths(robot, sought, near, lambda r: all_rows(r, run, logs), weigh)
    rates = rms_rates(robot, run, logs) if open_width else np.ones(len(robot.efforts))

    def refold(candidate: RunFile) -> Fitted:
        return fold_logs(robot, candidate, logs, rates)

    best: Fitted | None = None
    for key, values, change in _candidates(run):
        found = []
        for done, value in enumerate(values):
            progress(Milestone(f"choosing {key}: {value:g}", key, done / len(values)))
            found.append(refold(change(run, value)))
        scores = [unseen_error(f, prior_of(f.settings.run, f.settings.robot)) for f in found]
        best = found[int(np.argmin(scores))]
        choices.append(Choice(key, tuple(values), tuple(scores), values[int(np.argmin(scores))]))
        run = best.settings.run
    progress("regressor of the fit logs")
    best = best or refold(run)
    noticed: tuple[str, ...] = ()
    if open_width and best.settings.run.coulomb_width is None:
        best, noticed = _wider(best, refold, progress)
        run = best.settings.run
    shaped = with_fitted_shapes(
        best.settings.robot, lambda r: all_rows(r, run, logs), best.weigh, best.independent, progress,
        may_stay=bool(run.choose.friction),
    )  # fmt: skip
    if shaped.shapes:
        best = replace(fold_logs(shaped.robot, run, logs, rates), widen=shaped.widen)
    if run.choose.prior_weight:
        best, choice = choose_weight(best, progress)
        choices.append(choice)
    best, unsettled = with_settled_loads(best, logs, progress)
    noticed = (*left, *noticed, *shaped.noticed, *unsettled)
    settings = replace(
        best.settings,
        choices=tuple(choices),
        friction=rubbing,
        shapes=shaped.shapes,
        noticed=noticed,
        compared=compared,
    )
    return replace(best, settings=settings)


def with_settled_loads(
    fitted: Fitted, logs: Sequence[AnyLog], progress: Callable[[str], None]
) -> tuple[Fitted, tuple[str, ...]]:
    """The fit data with the loads that the bodies ask of friction that grows with them, and cautions."""
    robot, run, rates = fitted.settings.robot, fitted.settings.run, np.ones(len(fitted.settings.robot.efforts))
    settled, unsettled = settled_loads(robot, lambda r: _feasible(fold_logs(r, run, logs, rates)), progress)
    if settled is robot:
        return fitted, unsettled
    return replace(fold_logs(settled, run, logs, rates), widen=fitted.widen), unsettled


def _choose_rates(
    robot: Robot, run: RunFile, logs: Sequence[AnyLog], progress: Callable[[str], None]
) -> tuple[RunFile, str]:
    """The run file with the rates that predict the torques of the fit logs best; raises as `choose`."""
    rates = np.ones(len(robot.efforts)) if run.coulomb_width is None else rms_rates(robot, run, logs)

    def error(candidate: RunFile, parts: Sequence[AnyLog]) -> float:
        candidate, parts = fitted_samples(robot, candidate, parts)
        return _least_squares_error(fold_logs(robot, candidate, parts, rates))

    return rates_by_torques(run, logs, error, progress, partial(_check_closing, robot))


def _check_closing(robot: Robot, logs: Sequence[AnyLog]) -> None:
    """Raise ClosureFailed where positions of the logs do not close as they are, whatever the rates."""
    for log in logs:
        index = np.unique(np.linspace(0, log.size - 1, ALONE).astype(int)).tolist()
        q = log.section(0, log.size).q[index]
        close_motors(robot, q, 0 * q, 0 * q, [log.row(i) for i in index].__getitem__)


def other_rates(robot: Robot, run: RunFile, logs: Sequence[AnyLog], progress: Callable[[str], None]) -> str:
    """A sentence on other rates that explain the torques of the fit logs clearly better; empty if none do."""
    chosen, _ = _choose_rates(robot, run.model_copy(update={"preparation": Preparation()}), logs, progress)
    if chosen.preparation == run.preparation:
        return ""
    rates = np.ones(len(robot.efforts))
    now, then = (_least_squares_error(fold_logs(robot, each, logs, rates)) for each in (run, chosen))
    if then > CLEARLY * now:
        return ""
    settings = ", ".join(
        f"{key}: {value}" for key, value in chosen.preparation.model_dump(mode="json", exclude_defaults=True).items()
    )
    return (
        f"the rates are the likely cause: with 'preparation: {{{settings}}}' the error inside the fit logs would be {then:.3g} instead "
        f"of {now:.3g} %"
    )


def _without_width(robot: Robot) -> set[str]:
    """Axes with friction that has no width yet."""
    return {e.name for e in robot.efforts if e.spec.model in WITH_WIDTH and e.spec.width is None}


def _choose_friction(
    robot: Robot, run: RunFile, logs: Sequence[AnyLog], progress: Callable[[str], None]
) -> tuple[Robot, tuple[FrictionChoice, ...]]:
    """Which friction each axis has, with the settings that the run file gives before others are chosen."""
    progress("choosing friction")
    if run.coulomb_width is None and not run.choose.coulomb_width:
        weigh = weighting(run, robot, logs[0].rate)
        robot = with_likeliest_widths(robot, lambda r: rms_rates(r, run, logs), lambda r: all_rows(r, run, logs), weigh)
    wide, robot = run if run.coulomb_width else _changed(run, coulomb_width=USUAL_WIDTH), with_peaks(robot)
    whole = fold_logs(robot, wide, logs, rms_rates(robot, run, logs), by_phase=True)
    folded = FoldedFriction(whole.settings.robot, run, whole.rows, judged_rows(whole), whole.weigh)
    found, choices = choose_friction(folded, run.choose.friction, progress)
    kept = {(e.name, e.spec.model, e.spec.speed) for e in found.efforts}
    taken = [e for e in robot.efforts if (e.name, e.spec.model, e.spec.speed) in kept]
    return replace(robot, efforts=tuple(taken)), choices


Change = Callable[[RunFile, float], RunFile]


def _candidates(run: RunFile) -> list[tuple[str, list[float], Change]]:
    def cutoff(run: RunFile, value: float) -> RunFile:
        kept = run.preparation.filter
        lowpass = {"order": kept.order if kept else 4, "cutoff": value}
        return _changed(run, preparation={**run.preparation.model_dump(), "filter": lowpass})

    def width(run: RunFile, value: float) -> RunFile:
        return _changed(run, coulomb_width=value)

    offered = [("cutoff", run.choose.cutoff, cutoff), ("coulomb_width", run.choose.coulomb_width, width)]
    return [(key, values, change) for key, values, change in offered if values]


def _changed(run: RunFile, **update: object) -> RunFile:
    return RunFile.model_validate({**run.model_dump(), **update})


def _wider(
    fitted: Fitted, refold: Callable[[RunFile], Fitted], progress: Callable[[str], None]
) -> tuple[Fitted, tuple[str, ...]]:
    """Fit Coulomb widths in proportion to the rms rates, and keep them if they lower the cross-validated error of least squares."""
    progress("Coulomb width")
    other = refold(_changed(fitted.settings.run, coulomb_width=USUAL_WIDTH))
    here, there = _least_squares_error(fitted), _least_squares_error(other)
    if there >= here:
        return fitted, ()
    return other, (
        f"Coulomb friction without 'width' in the robot file was fitted with {USUAL_WIDTH:g} of each rate's rms (cross-validated "
        f"error {there:.3g} %), not with the {WIDTH:g} rad/s (or m/s) that other commands take ({here:.3g} %); the identified "
        "robot file says the widths",
    )


def _least_squares_error(fitted: Fitted) -> float:
    """Cross-validated percentage error of weighted least squares."""

    def estimate(groups: list[Factor]) -> np.ndarray:
        return fitted.weigh(groups, None, 1.0).full(fitted.settings.layout.size)

    return cross_validated(fitted.rows, judged_rows(fitted), estimate, fitted.settings.run.score.measure)


def _feasible(fitted: Fitted) -> tuple[list[Factor], np.ndarray]:
    """The fitted rows by coordinate, and the parameters (p,) of the feasible fit."""
    groups, settings = pooled(fitted.rows), fitted.settings
    bounds, prior = bounds_of(settings.run, settings.robot), prior_of(settings.run, settings.robot)
    return groups, fit_feasible(groups, fitted.weigh(groups, None, 1.0).sigma, settings.layout, bounds, prior).values
