"""Logs that contradict the others, as one with a mistake does, and what mistake it is.

The parameters of all logs give way to such a log, so that none may stand out; those on which most agree do not.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate, weighted_least_squares
from robodyn_pin.identification.majority import TINY, by_majority, errors_of_logs, least_squares_of_logs, usual
from robodyn_pin.identification.strange_logs import FEWEST, WELL, strange, times_worse
from robodyn_pin.identification.validation import errors, pooled
from robodyn_pin.log_to_robot.fit_data import Fitted, Settings
from robodyn_pin.log_to_robot.likely_mistakes import mistakes_of_log
from robodyn_pin.log_to_robot.log_records import LogRecord
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.verdict import MOST_WORSE, ratio_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.export import identified_robot
from robodyn_pin.robot.robot import Robot

HARM = 1.5  # times as large as without unlike logs the error of the others may be, if a mistake is found in these,
UNEXPLAINED = 2.0  # and if none is, from which a result is refused
ENOUGH = 3  # independent rows for each parameter, from which two logs are compared
TOLD = 3  # logs whose mistake is looked for


@dataclass(frozen=True)
class UnlikeLogs:
    """Which fit logs are explained far worse than the others by the parameters on which most agree."""

    logs: tuple[int, ...]  # their numbers; both of two that contradict each other; none where all agree
    worse: tuple[float, ...]  # how many times worse each is explained
    harm: float  # error of the others by the parameters of all logs, over that by their own


NONE = UnlikeLogs((), (), 1.0)


def unlike_logs(by_log: Sequence[Sequence[Factor]], wls: BaseEstimate, share: float) -> UnlikeLogs:
    """Compare the logs of a fit.

    Args:
        by_log: of each log, its rows along each coordinate. wls: of all logs together. share: of the rows that carry noise of their own.
    """
    rows = [[g.of(wls.base.columns) for g in factors] for factors in by_log]
    size = np.sqrt([[g.energy / max(g.rows, 1) for g in factors] for factors in rows])  # (logs, d)
    every = np.ones(len(rows))
    if len(rows) == 2 and min(share * sum(g.rows for g in one) for one in rows) > ENOUGH * wls.base.size:
        alone = [least_squares_of_logs([one], every[:1], wls.sigma) for one in rows]
        harm = max(_harm(rows[k : k + 1], size[k : k + 1], wls.values, x) for k, x in enumerate(alone))
        return UnlikeLogs((0, 1), (harm, harm), harm) if harm > HARM else NONE
    if len(rows) < FEWEST:
        return NONE
    each = errors_of_logs(rows, by_majority(rows, wls.values))
    (newton, sigma), (percent, part) = ((x, usual(x)) for x in (each, 100 * each / np.maximum(size, TINY)))
    far = [np.sqrt(np.mean((x / by) ** 2, axis=1)) for x, by in ((newton, sigma), (percent, part))]
    worse = times_worse([np.column_stack([far[0], far[1] * part.mean()])])
    logs = strange(worse)[0].tolist()
    if not logs:
        return NONE
    rest = [k for k in range(len(rows)) if k not in logs]
    others = [rows[k] for k in rest]
    harm = _harm(others, size[rest], wls.values, least_squares_of_logs(others, every[rest], sigma))
    return UnlikeLogs(tuple(logs), tuple(worse[0][logs].tolist()), harm)


def _harm(rows: Sequence[Sequence[Factor]], size: np.ndarray, x: np.ndarray, own: np.ndarray) -> float:
    """The error of logs by parameters x over that by their own, mean over the coordinates; errors below `WELL` count as that."""
    least = np.maximum(WELL / 100 * np.sqrt(np.mean(size**2, axis=0)), TINY)
    by_x, by_own = (np.maximum(np.sqrt(np.mean(errors_of_logs(rows, p) ** 2, axis=0)), least) for p in (x, own))
    return float(np.mean(by_x / by_own))


def mistakes_of(fitted: Fitted, logs: Sequence[AnyLog], unlike: UnlikeLogs) -> dict[int, str]:
    """What mistakes the first of the unlike logs look like having, each alone: for a robot with the parameters of the other logs."""
    settings, found = fitted.settings, dict[int, str]()
    robot = settings.robot
    others = [factors for k, factors in enumerate(fitted.scored_by_log) if k not in unlike.logs]
    if unlike.logs and others:
        with suppress(RobodynError):  # else the bodies of the robot's files will do
            robot = _with_parameters(settings, _fitted_to(settings, pooled(others)))
    for k in unlike.logs[:TOLD]:
        if told := mistakes_of_log(robot, logs[k], settings.run, known=robot is not settings.robot):
            found[k] = "; or ".join(m.said for m in told)
    return found


def mistakes_of_held_out(
    fitted: Fitted, values: np.ndarray, logs: Sequence[AnyLog], seen: Sequence[Sequence[Factor]], names: Sequence[str]
) -> dict[int, str]:
    """What mistakes the first held-out logs look like having that contradict the fit data, each with its name.

    Args:
        values: (p,) parameters of the fit. seen: of each log, its rows along each coordinate. names: of the logs' stretches.
    """
    settings, rows, found = fitted.settings, pooled(fitted.scored), dict[int, str]()
    robot, noise = _with_parameters(settings, values), errors(rows, values).rmse
    for k in [k for k, held_out in enumerate(seen) if _contradict(rows, held_out, values, noise)][:TOLD]:
        if told := mistakes_of_log(robot, logs[k], settings.run, known=True):
            found[k] = f"{names[k]}: {'; or '.join(m.said for m in told)}"
    return found


def _contradict(fit: Sequence[Factor], held_out: Sequence[Factor], values: np.ndarray, noise: np.ndarray) -> bool:
    """Whether neither parameters `values` (p,) of the fit nor any others explain both about down to the noise (d,)."""
    if ratio_of(errors(held_out, values).rmse, noise) <= MOST_WORSE:
        return False
    both = [fit, held_out]
    together = least_squares_of_logs(both, np.ones(2), noise)  # where the fit shows too little, these explain both
    return max(ratio_of(each, noise) for each in errors_of_logs(both, together)) > MOST_WORSE


def _fitted_to(settings: Settings, groups: Sequence[Factor]) -> np.ndarray:
    """Parameters (p,) of bodies that can exist, fitted to rows along each coordinate; raises as the fit."""
    bounds, prior = bounds_of(settings.run, settings.robot), prior_of(settings.run, settings.robot)
    return fit_feasible(groups, weighted_least_squares(groups).sigma, settings.layout, bounds, prior).values


def _with_parameters(settings: Settings, values: np.ndarray) -> Robot:
    """The robot with parameters (p,), under the name and the folder of its files."""
    robot, bounds = settings.robot, bounds_of(settings.run, settings.robot)
    found = identified_robot(robot, settings.layout, values, bounds.eigenvalue, False)
    return replace(found, name=robot.name, urdf_path=robot.urdf_path)


def what_is_unlike(unlike: UnlikeLogs, names: Sequence[str], mistakes: dict[int, str]) -> tuple[str, list[str]]:
    """A reason against the result, empty where there is none, and cautions; `names`: of the logs' stretches."""
    if not unlike.logs:
        return "", []
    if len(names) == 2:
        causes = "; ".join(f"{names[k]}: {text}" for k, text in mistakes.items())
        said = [
            f"{names[0]} and {names[1]} contradict each other: together the error of one is {unlike.harm:.2g} times as large as "
            f"alone; {causes or 'is one of another robot, with another load, or of motions for which the model lacks something?'}"
        ]
    else:
        said = [
            _worse(names[k], worse, mistakes.get(k, "")) for k, worse in zip(unlike.logs, unlike.worse, strict=True)
        ]
    if unlike.harm <= (HARM if mistakes else UNEXPLAINED):
        return "", said
    if len(names) == 2:
        return said[0], []
    return (
        f"fit logs contradict the others, whose error is {unlike.harm:.2g} times as large for them: {'; '.join(said)}",
        [],
    )


def unlike_held_out(records: Sequence[LogRecord], told: Collection[int]) -> list[str]:
    """Sentences about held-out logs that are explained far worse than the others; `told`: numbers of records of which that is said already."""
    files = {(r.name, r.sha256) for k, r in enumerate(records) if k in told}
    used = [r for r in records if r.use == "held out"]
    worse = times_worse([np.array([(r.errors.rmse_all, r.errors.percent_all) for r in used])])
    return [
        _worse(used[k].stretch, worse[0][k]) for k in strange(worse)[0] if (used[k].name, used[k].sha256) not in files
    ]


def _worse(name: str, times: float, mistake: str = "") -> str:
    """What is said of a log that is explained so many times worse than the others."""
    cause = mistake or "is it of another robot, with another load, or has something broken?"
    return (
        f"{name}: the parameters explain its torques {times:.2g} times worse than those of the other logs; leave it out"
        f"{' or put it right' if mistake else ''}, and see what changes: {cause}"
    )
