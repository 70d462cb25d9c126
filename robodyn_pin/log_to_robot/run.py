"""An identification from run file to result: prepare, choose inside the fit data, estimate, score once on held-out data."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import call
from pathlib import Path
from typing import Any

from robodyn_pin.dynamics.base_parameters import shown_base
from robodyn_pin.dynamics.compile_kernels import compiling_for_logs
from robodyn_pin.errors import WrongMobility
from robodyn_pin.files import read_yaml, resolve
from robodyn_pin.identification.accuracy import Accuracy
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.identification.validation import errors, pooled
from robodyn_pin.log_to_robot.counted_once import check_counted_once, named_samples
from robodyn_pin.log_to_robot.cross_validation import other_rates
from robodyn_pin.log_to_robot.delay import Delay
from robodyn_pin.log_to_robot.diagnosis import diagnose
from robodyn_pin.log_to_robot.drive_gains import amplified, check_gains, fit_gains, with_gains
from robodyn_pin.log_to_robot.fitted_delay import in_time
from robodyn_pin.log_to_robot.found_logs import read_found
from robodyn_pin.log_to_robot.friction_choice import worth_it
from robodyn_pin.log_to_robot.further_estimates import Estimates, further_estimates
from robodyn_pin.log_to_robot.gain import DriveGain
from robodyn_pin.log_to_robot.held_out import (
    Selected,
    clear,
    in_motion,
    left_of,
    look_at,
    split_last,
    windows,
    within_torques,
)
from robodyn_pin.log_to_robot.lean import leaning
from robodyn_pin.log_to_robot.log_records import log_records, remarks_on_motors
from robodyn_pin.log_to_robot.noise_of_poses import noise_along, read_poses
from robodyn_pin.log_to_robot.not_closed import telling_why
from robodyn_pin.log_to_robot.not_shown import not_shown
from robodyn_pin.log_to_robot.open_settings import Progress, choose_all
from robodyn_pin.log_to_robot.outliers import outliers_seen, tempered, without_far
from robodyn_pin.log_to_robot.payload import check_sign
from robodyn_pin.log_to_robot.pieces import pieces_from
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.pull_of_prior import fit_with_prior
from robodyn_pin.log_to_robot.result import Check, Result
from robodyn_pin.log_to_robot.rows import STILL, add
from robodyn_pin.log_to_robot.run_file import ChooseSpec, PosesSpec, RunFile
from robodyn_pin.log_to_robot.second_pass import second_pass
from robodyn_pin.log_to_robot.standing_still import more_standstill
from robodyn_pin.log_to_robot.unlike_logs import (
    mistakes_of,
    mistakes_of_held_out,
    unlike_held_out,
    unlike_logs,
    what_is_unlike,
)
from robodyn_pin.log_to_robot.verdict import Coordinates, Remarks, Scored, judge
from robodyn_pin.logs.fourier_series import period_of
from robodyn_pin.logs.parts import open_rows
from robodyn_pin.logs.reading import LogSpec
from robodyn_pin.logs.table import content_hash
from robodyn_pin.logs.uniform import check_rates
from robodyn_pin.robot.payload import carrying
from robodyn_pin.robot.robot import Robot, load_named
from robodyn_pin.robot.units import coordinate_units
from robodyn_pin.telling import tell
from robodyn_pin.workers import each, one_thread

BAD = 30.0  # [%] held-out error from which other rates are tried


def read_run(path: str | Path) -> RunFile:
    """Read a run file.

    Raises:
        BadFile: not there, not YAML, or a key that is unknown, missing or of the wrong kind.
    """
    return read_yaml(path, RunFile)


def execute(run: RunFile, folder: Path, progress: Progress = tell, strict: bool = False) -> Result:
    """Run an identification; paths start from `folder`. Nothing is written.

    Args:
        strict: stop at a log that cannot be used, even if a pattern or a folder brought it.

    Raises:
        BadFile, BadLog, UnknownName: what is wrong in the files, in one sentence.
        SolverFailed: no trustworthy parameters.
    """
    progress("robot and logs")
    with compiling_for_logs():
        robot = load_named(run.robot, folder)
        robot, run = as_asked(robot, run, folder)
        read = partial(select, robot, run, folder)
        found, judges = read_found(read, run.fit, folder, strict, run.held_out or ())
    run = run.model_copy(update={"fit": found.specs, "held_out": judges.specs if judges else None})
    check_rates((s.log.name, s.log.rate) for s in found.logs)
    check_counted_once(named_samples(found), named_samples(judges) if judges else ())
    if judges is None:
        fit, held_out = split_last(found.logs, run.rows.cut)
    else:
        fit, held_out = found.logs, [clear(log, run.rows.cut) for log in judges.logs]
    return estimate(robot, run, fit, held_out, progress, [*found.left_out, *(judges.left_out if judges else ())])


def as_asked(robot: Robot, run: RunFile, folder: Path) -> tuple[Robot, RunFile]:
    """The robot with the coordinates, bodies and gravity that a run file asks for, and the run with the noise of its poses.

    Raises:
        UnknownName, WrongMobility: its coordinates do not determine the mechanism. BadFile, BadLog: its poses.
    """
    if run.coordinates is not None:
        robot = _projected(robot, run.coordinates)
    if run.separate is not None:
        robot = robot.separated(run.separate)
    if isinstance(run.gravity, tuple):
        robot = leaning(robot, run.gravity)
    if isinstance(run.noise, PosesSpec):
        noise = noise_along(robot, read_poses(robot, run, folder, run.noise))
        run = run.model_copy(update={"noise": noise})
    return robot, run


def _projected(robot: Robot, names: list[str]) -> Robot:
    """The robot with other coordinates.

    Raises:
        UnknownName: no such joint or motor. WrongMobility: they do not determine the mechanism.
    """
    motors, freedom = robot.motors.names, len(robot.coordinates.names)
    if set(names) < set(motors) and len(motors) == freedom:
        raise WrongMobility(
            f"robot {robot.name!r} has as many motors as degrees of freedom ({freedom}), so there is no torque to move to the "
            f"left side: coordinates {', '.join(names)} are too few; leave 'coordinates' out of the run file"
        )
    return robot.with_coordinates(names)


def select(robot: Robot, run: RunFile, folder: Path, spec: LogSpec) -> Selected:
    """A log of the run file, opened, and its samples that are named there."""
    path = resolve(folder, spec.file)
    log, begin, end = open_rows(run, path, robot, spec)
    selected = Selected(replace(log, loaded=spec.loaded), begin, end, content_hash(path))
    found = within_torques(selected, run.known_delay)
    return found if spec.rows else in_motion(found)


@one_thread()
def estimate(
    robot: Robot, run: RunFile, fit: list[Selected], held_out: list[Selected], progress: Progress = tell,
    unused: Sequence[str] = (),
) -> Result:  # fmt: skip
    """All estimators on the fit data; the held-out data are read once, at the end. `unused`: what is said of logs left out."""
    if run.payload:
        robot = carrying(robot, run.payload.name, run.payload.link)
    robust = ""
    delays: tuple[Delay, ...] = ()
    with telling_why(robot, windows(fit), run):
        if run.delay == "fit":
            run, fit, held_out, delays = in_time(run, fit, held_out, partial(choose_all, robot), progress)
        gains: tuple[DriveGain, ...] = ()
        if run.gains:
            check_gains(robot)
            progress("gains of the drives")
            gains = fit_gains(
                choose_all(robot, run.model_copy(update={"choose": ChooseSpec()}), windows(fit), progress), windows(fit)
            )
            run, fit, held_out = (
                with_gains(run, gains),
                *([amplified(s, gains) for s in each] for each in (fit, held_out)),
            )
        logs = windows(fit)
        fitted = choose_all(robot, run, logs, progress)
        if run.robust:
            logs, robust = tempered(fitted, logs, run.robust, progress)
            fitted = choose_all(robot, run, logs, progress)
    groups = pooled(fitted.rows)
    robot, run, layout = fitted.settings.robot, fitted.settings.run, fitted.settings.layout
    progress("least squares")
    ols = ordinary(groups, shown_base(robot, groups, layout.order))
    wls = fitted.widen(fitted.weigh(groups, ols.base, fitted.independent))
    if robot.payload:
        check_sign(robot.payload, robot.payload_columns.start, wls)
    far = ""
    if run.robust:
        held_out, far = without_far(fitted, wls.full(layout.size), held_out)
    periods = {id(log): period_of(log) for log in {id(s.log): s.log for s in [*fit, *held_out]}.values()}
    again = second_pass(robot, run, wls, logs, [periods[id(s.log)] for s in fit])
    pieces = pieces_from([x.pieces for x in again.logs], fitted.independent * sum(g.rows for g in groups), wls.values)
    progress("feasible fit")
    fitted, feasible, pulled = fit_with_prior(fitted, groups, wls)
    settings = replace(fitted.settings, delays=delays, gains=gains)
    run = settings.run
    bounds, prior = bounds_of(run, robot), prior_of(run, robot)
    progress("further estimates")
    further = further_estimates(fitted, logs, groups, wls, feasible, bounds, prior)
    progress("held-out check")
    vectors = {"OLS": ols.full(layout.size), "WLS": wls.full(layout.size), "feasible": feasible.values}
    vectors |= further.vectors(layout.size)
    seen = pooled(fitted.scored)
    looks = partial(look_at, fitted.settings, vectors, wls, errors(seen, vectors["WLS"]).rmse)
    jobs: list[Callable[[], Any]] = [partial(left_of, fitted.settings, held_out[0], feasible.values)]
    jobs += [partial(looks, s) for s in held_out]
    with telling_why(robot, windows(held_out), run):
        left, *looked = each(call, jobs)
    unseen, whole = (reduce(add, rows) for rows in ([x.scored for x in looked], [x.whole for x in looked]))
    scored = {
        name: Scored(
            fit=errors(seen, x), held_out=errors(pooled(unseen), x),
            moving=errors(unseen[1 - STILL], x), still=errors(unseen[STILL], x),
            whole=errors(pooled(whole), x),
        )
        for name, x in vectors.items()
    }  # fmt: skip
    progress("uncertainties")
    found = Estimates(ols, wls, pieces, feasible, further, bounds, prior)
    if not run.robust:
        far = outliers_seen(left)
    unlike = unlike_logs(fitted.scored_by_log, wls, fitted.independent)
    diagnosis = diagnose(fitted, logs, again, left, held_out[0].log, groups, found, unlike.logs)
    measure, labels = run.score.measure, wls.base.labels(layout.labels)
    bad = scored["feasible"].held_out.by(measure) > BAD
    rates = other_rates(robot, run, logs, progress) if bad and not settings.compared else ""
    by_log = [*fitted.scored_by_log, *(pooled(x.scored) for x in looked)]
    explained = [errors(rows, feasible.values) for rows in by_log]
    records = log_records(run, fit, logs, held_out, periods, settings.compared, explained)
    names = [record.stretch for record in records]
    mistaken = dict[int, str]()
    if not unlike.logs and not diagnosis.mistakes:  # else those would be found in good held-out logs
        unseen_rows, unseen_names = by_log[len(fit) :], names[len(fit) :]
        mistaken = mistakes_of_held_out(fitted, feasible.values, windows(held_out), unseen_rows, unseen_names)
    contradiction, cautions = what_is_unlike(unlike, names[: len(fit)], mistakes_of(fitted, logs, unlike))
    beside = (
        robust, far, further.missing, more_standstill(robot, pieces.still, unseen), not_shown(layout, wls, prior),
        pulled,
    )  # fmt: skip
    noticed = [
        *unused,
        *remarks_on_motors(records),
        *cautions,
        *unlike_held_out(records, [*unlike.logs, *(len(fit) + k for k in mistaken)]),
        *filter(None, beside),
        *settings.noticed,
        *(text for choice in settings.choices if (text := choice.remark)),
    ]
    otherwise = [x for x, s in zip(looked, held_out, strict=True) if s.log.loaded != held_out[0].log.loaded]
    looked_at = reduce(Accuracy.__add__, (x.accuracy for x in looked))
    still = {motor for record in records for motor in record.quality.still}
    coordinates = Coordinates(robot.coordinates.names, coordinate_units(robot), still)
    friction = worth_it(settings.friction)
    remarks = Remarks(noticed, rates, friction, settings.gravity, contradiction, tuple(mistaken.values()))
    verdict = judge(scored["feasible"], measure, wls, diagnosis, labels, coordinates, looked_at, remarks)
    return Result(
        settings,
        records,
        any(s.log.simulated for s in [*fit, *held_out]),
        found,
        Check(scored, looked_at, tuple(x.sample for x in [looked[0], *otherwise[:1]]), diagnosis, verdict),
    )
