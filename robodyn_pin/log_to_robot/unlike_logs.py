"""Fit logs that contradict the others, as one with a mistake does, and what mistake it is.

The parameters of all logs give way to such a log, so that none may stand out. Those with the least sum of the logs' rms errors, not of
their squares, follow the majority: least absolute deviations, with one deviation a log, by reweighting.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodyn_pin.errors import RobodynError
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate, weighted_least_squares
from robodyn_pin.identification.strange_logs import FEWEST, WELL, strange, times_worse
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.likely_mistakes import likely_mistakes
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.export import identified_robot

ROUNDS, SETTLED = 30, 0.01
LEAST = 1e-3  # of the median error, below which a log weighs no more
HARM = (
    1.5  # times as large as without them the error of the other logs may be for unlike ones, else the result is refused
)
ENOUGH = 3  # independent rows for each parameter, from which two logs are compared
TOLD = 3  # logs whose mistake is looked for


@dataclass(frozen=True)
class UnlikeLogs:
    """Which fit logs are explained far worse than the others by the parameters on which most agree."""

    logs: tuple[int, ...]  # their numbers; both of two that contradict each other; none where all agree
    worse: tuple[float, ...]  # how many times worse each is explained
    harm: float  # error of the others by the parameters of all logs, over that by their own


def unlike_logs(by_log: Sequence[Sequence[Factor]], wls: BaseEstimate, share: float) -> UnlikeLogs:
    """Compare the logs of a fit.

    Args:
        by_log: of each log, its rows along each coordinate. wls: of all logs together. share: of the rows that carry noise of their own.
    """
    rows = [[g.of(wls.base.columns) for g in factors] for factors in by_log]
    size = np.array([[g.energy / max(g.rows, 1) for g in factors] for factors in rows])  # (logs, d)
    every, tiny = np.ones(len(rows)), np.finfo(float).tiny
    if len(rows) == 2 and min(share * sum(g.rows for g in one) for one in rows) > ENOUGH * wls.base.size:
        harm = max(
            _harm([one], size[[k]], wls.values, _least([one], every[:1], wls.sigma)) for k, one in enumerate(rows)
        )
        return UnlikeLogs((0, 1), (harm, harm), harm) if harm > HARM else UnlikeLogs((), (), 1.0)
    if len(rows) < FEWEST:
        return UnlikeLogs((), (), 1.0)
    weights, x = every, wls.values
    for _ in range(ROUNDS):
        before = weights
        each = _rmse(rows, x)
        sigma = np.maximum(np.median(each, axis=0), tiny)
        far = np.sqrt(np.mean((each / sigma) ** 2, axis=1))
        weights = 1 / np.sqrt(np.maximum(far, LEAST * np.median(far)))
        x = _least(rows, weights, sigma)
        if np.allclose(weights / weights.max(), before / before.max(), rtol=SETTLED):
            break
    each = _rmse(rows, x)
    sigma = np.maximum(np.median(each, axis=0), tiny)
    percent = 100 * each / np.sqrt(np.maximum(size, tiny))
    usual = np.maximum(np.median(percent, axis=0), tiny)
    far = [np.sqrt(np.mean((x / by) ** 2, axis=1)) for x, by in ((each, sigma), (percent, usual))]
    worse = times_worse([np.column_stack([far[0], far[1] * usual.mean()])])
    logs = strange(worse)[0].tolist()
    if not logs:
        return UnlikeLogs((), (), 1.0)
    rest = [k for k in range(len(rows)) if k not in logs]
    others = [rows[k] for k in rest]
    harm = _harm(others, size[rest], wls.values, _least(others, every[rest], sigma))
    return UnlikeLogs(tuple(logs), tuple(worse[0][logs].tolist()), harm)


def _least(rows: Sequence[Sequence[Factor]], weights: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Weighted least squares (r,) over logs with weights (logs,) and coordinates with noise (d,)."""
    A = np.concatenate(
        [w / s * g.R for factors, w in zip(rows, weights, strict=True) for g, s in zip(factors, sigma, strict=True)]
    )
    R = np.asarray(np.linalg.qr(A, mode="r"))
    scale = np.maximum(np.linalg.norm(R[:, :-1], axis=0), np.finfo(float).tiny)
    return np.asarray(np.linalg.lstsq(R[:, :-1] / scale, R[:, -1], rcond=None)[0] / scale)


def _rmse(rows: Sequence[Sequence[Factor]], x: np.ndarray) -> np.ndarray:
    """Errors (logs, d) of parameters x (r,)."""
    return np.sqrt([[g.residual(x) / max(g.rows, 1) for g in factors] for factors in rows])


def _harm(rows: Sequence[Sequence[Factor]], size: np.ndarray, x: np.ndarray, own: np.ndarray) -> float:
    """The error of logs by parameters x over that by their own, mean over the coordinates; errors below `WELL` count as that."""
    least = WELL / 100 * np.sqrt(size.mean(axis=0))
    by_x, by_own = (np.sqrt((_rmse(rows, p) ** 2).mean(axis=0)) for p in (x, own))
    return float(np.mean(np.maximum(by_x, least) / np.maximum(by_own, np.maximum(least, np.finfo(float).tiny))))


def mistakes_of(fitted: Fitted, logs: Sequence[AnyLog], unlike: UnlikeLogs) -> dict[int, str]:
    """What mistakes the first of the unlike logs look like having, each alone: for a robot with the parameters of the other logs."""
    settings, found = fitted.settings, dict[int, str]()
    robot = settings.robot
    others = [factors for k, factors in enumerate(fitted.scored_by_log) if k not in unlike.logs]
    try:
        if others:
            groups = pooled(others)
            bounds, prior = bounds_of(settings.run, robot), prior_of(settings.run, robot)
            sigma = weighted_least_squares(groups).sigma
            values = fit_feasible(groups, sigma, settings.layout, bounds, prior).values
            known = identified_robot(robot, settings.layout, values, bounds.eigenvalue, False)
            robot = replace(known, name=robot.name, urdf_path=robot.urdf_path)
    except RobodynError:
        pass  # the bodies of the robot's files will do
    for k in unlike.logs[:TOLD]:
        if told := likely_mistakes(robot, [logs[k]], settings.run, suspicious=True, known=bool(others)):
            found[k] = "; or ".join(m.said for m in told)
    return found


def what_is_unlike(unlike: UnlikeLogs, names: Sequence[str], mistakes: dict[int, str]) -> tuple[str, list[str]]:
    """A reason against the result, empty where there is none, and cautions; `names`: of the logs' stretches."""
    perhaps = "is it of another robot, with another load, or has something broken?"
    if len(names) == 2 and unlike.logs:
        causes = "; ".join(f"{names[k]}: {text}" for k, text in mistakes.items()) or perhaps
        return (
            f"{names[0]} and {names[1]} contradict each other: together the error of one is {unlike.harm:.2g} times as large as "
            f"alone; {causes}"
        ), []
    said = [
        f"{names[k]}: the parameters explain its torques {worse:.2g} times worse than those of the other logs; leave it out"
        f"{' or put it right' if k in mistakes else ''}, and see what changes: {mistakes.get(k, perhaps)}"
        for k, worse in zip(unlike.logs, unlike.worse, strict=True)
    ]
    if unlike.harm <= HARM:
        return "", said
    return (
        f"fit logs contradict the others, whose error is {unlike.harm:.2g} times as large for them: {'; '.join(said)}",
        [],
    )
