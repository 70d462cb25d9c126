"""Gravity's direction from the logs: bases are never level.

Torques are linear in gravity and linear in the bodies, so that least squares leaves a smooth function of two lean angles. Six
points around the present direction give its gradient and curvature, and a Newton step; the curvature is the inverse covariance.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from robodyn_pin.errors import BadLog, SolverFailed
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.least_squares import BaseEstimate, known_noise, residual_squares
from robodyn_pin.log_to_robot.fit_data import Fitted, all_rows
from robodyn_pin.log_to_robot.friction_shapes import Widen
from robodyn_pin.log_to_robot.lean import Lean, leaning, leant
from robodyn_pin.logs.stored_log import AnyLog

START = 1e-3  # [rad] where the steps begin: without any lean, moments about an axis along gravity have no column
POINTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1))  # where the quadratic is taken
FAR, NEAR = 0.03, 1e-4  # [rad] from the middle to the points: at first, at least
SETTLED = 0.1  # standard deviations: a step after which another is useless
ROUNDS = 8
LONGEST = 0.3  # [rad] of one step
SEEN = 0.2  # [rad] standard deviation from which the log says nothing of the lean


def fit_gravity(
    fitted: Fitted, drawn: Sequence[float], logs: Sequence[AnyLog], progress: Callable[[str], None]
) -> tuple[Lean, Widen]:
    """The direction of gravity that leaves least of the fitted torques, by the settings of `fitted`, and what it adds to other covariances.

    Args:
        drawn: gravity (3,) as the robot file says.

    Raises:
        BadLog: the logs do not show it. SolverFailed: the steps do not settle.
    """
    settings = fitted.settings
    start, lean, far = np.array(drawn), np.full(2, START), FAR
    if not start.any():
        raise BadLog(
            "'gravity: fit' turns the robot file's gravity, and that is zero; name its usual size and direction there"
        )

    def rows(lean: np.ndarray) -> list[Factor]:
        return all_rows(leaning(settings.robot, leant(start, lean)), settings.run, logs)

    for _ in range(ROUNDS):
        progress(f"gravity: leans by {np.rad2deg(np.linalg.norm(lean)):.3f} degrees")
        here = fitted.weigh(rows(lean), None, 1.0)
        around = [rows(lean + far * np.array(point)) for point in POINTS]
        costs = [residual_squares(groups, here.sigma, here.base.columns) for groups in around]
        step, covariance = _newton(costs, far)
        covariance = covariance / fitted.independent
        if np.sqrt(np.diag(covariance)).max() > SEEN:
            raise BadLog(
                f"'gravity: fit': the logs do not show where gravity points, not even within {np.rad2deg(SEEN):.0f} degrees; take it out, "
                "or move axes that carry weight through wider poses"
            )
        lean = lean + step
        if step @ np.linalg.solve(covariance, step) < SETTLED**2:
            angle = float(np.linalg.norm(lean))
            found = Lean(tuple(leant(start, lean).tolist()), angle, float(np.sqrt(np.linalg.eigvalsh(covariance)[-1])))
            return found, partial(_widened, around[1:5], far, covariance)
        far = float(np.clip(10 * np.sqrt(np.diag(covariance)).max(), NEAR, FAR))
    raise SolverFailed(
        f"the direction of gravity does not settle in {ROUNDS} rounds; say it in the robot file", "rounds"
    )


def _widened(ends: Sequence[list[Factor]], far: float, covariance: np.ndarray, estimate: BaseEstimate) -> BaseEstimate:
    """An estimate at the fitted lean, its covariance that of both together: what the lean's own (2, 2) moves it comes on top.

    Args:
        ends: rows at a lean right, left, up and down of the fitted one by `far` [rad].
    """
    right, left, up, down = (known_noise(rows, estimate.sigma, estimate.base, 1.0).values for rows in ends)
    slopes = np.column_stack([right - left, up - down]) / (2 * far)
    return replace(estimate, covariance=estimate.covariance + slopes @ covariance @ slopes.T)


def _newton(costs: Sequence[float], far: float) -> tuple[np.ndarray, np.ndarray]:
    """Step (2,) to the least of a quadratic through POINTS, `far` [rad] apart, and the covariance (2, 2) of its curvature."""
    here, right, left, up, low, both = costs
    slope = np.array([right - left, up - low]) / (2 * far)
    cross = both - right - up + here
    curve = np.array([[right + left - 2 * here, cross], [cross, up + low - 2 * here]]) / far**2
    if np.linalg.eigvalsh(curve)[0] <= 0:
        return np.zeros(2), np.diag([np.inf, np.inf])
    step = -np.linalg.solve(curve, slope)
    return step * min(1.0, LONGEST / max(float(np.linalg.norm(step)), 1e-300)), 2 * np.linalg.inv(curve)
