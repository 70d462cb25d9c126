"""Gravity's direction from the logs: bases are never level.

Torques are linear in gravity and linear in the bodies, so that least squares leaves a smooth function of two lean angles. Six
points around the present direction give its gradient and curvature, and a Newton step; the curvature is the inverse covariance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from robodyn_pin.errors import BadLog, SolverFailed
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor, weighted
from robodyn_pin.identification.least_squares import BaseEstimate, known_noise, span, unexplained_squares
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.fit_data import Fitted
from robodyn_pin.log_to_robot.friction_choice import bound_of, of_an_average_part
from robodyn_pin.log_to_robot.friction_shapes import Widen
from robodyn_pin.log_to_robot.lean import Lean, LeanChoice, leant
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.turned_rows import TurnedRows, turned_rows
from robodyn_pin.logs.stored_log import AnyLog

START = 1e-3  # [rad] where the steps begin: without any lean, moments about an axis along gravity have no column
POINTS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1))  # where the quadratic is taken
FAR, NEAR = 0.03, 1e-4  # [rad] from the middle to the points: at first, at least
SETTLED = 0.1  # standard deviations: a step after which another is useless
ROUNDS = 8
LONGEST = 0.3  # [rad] of one step
SEEN = 0.2  # [rad] standard deviation from which the log says nothing of the lean


@dataclass(frozen=True)
class Leant:
    """A lean that leaves least of some rows."""

    lean: np.ndarray  # (2,) [rad] from the robot file's gravity
    covariance: np.ndarray  # (2, 2)
    far: float  # [rad] over which the curvature was taken

    @property
    def shown(self) -> bool:
        """Whether the 95 % region leaves out that the base is level."""
        return bool(
            self.lean @ np.linalg.solve(self.covariance, self.lean) > -2 * np.log(0.05)
        )  # chi-square, two degrees


class LeaningGravity:
    """The direction of gravity by the settings of a fit, from its rows, read once."""

    def __init__(
        self, fitted: Fitted, drawn: Sequence[float], logs: Sequence[AnyLog], progress: Callable[[str], None]
    ) -> None:
        """`drawn`: gravity (3,) as the robot file says.

        Raises:
            BadLog: there is no gravity, or the logs do not show where it points. SolverFailed: the steps do not settle.
        """
        self.fitted, self.drawn = fitted, np.array(drawn)
        if not self.drawn.any():
            raise BadLog(
                "'gravity' turns the robot file's gravity, and that is zero; name its usual size and direction there"
            )
        progress("gravity: rows for every direction")
        self.rows: TurnedRows = turned_rows(fitted.settings.robot, fitted.settings.run, logs)
        self.found = self._least(pooled(self.rows.fitted), np.full(2, START))
        progress(f"gravity: leans by {np.rad2deg(np.linalg.norm(self.found.lean)):.3f} degrees")

    @property
    def lean(self) -> Lean:
        lean, covariance = self.found.lean, self.found.covariance
        deviation = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
        return Lean(tuple(leant(self.drawn, lean).tolist()), float(np.linalg.norm(lean)), deviation)

    @property
    def widen(self) -> Widen:
        """What the lean adds to the covariance of an estimate."""
        ends = [self._at(pooled(self.rows.fitted), self.found.lean + self.found.far * np.array(p)) for p in POINTS[1:5]]
        return partial(_widened, ends, self.found.far, self.found.covariance)

    def chosen(self) -> LeanChoice:
        """Whether the lean is worth it, as `choose: friction` judges: the feasible fit's error on parts of the fit data that neither
        bodies nor lean have seen must fall by more than the standard error of the gain, and by more than next to nothing."""
        settings, weigh, every = self.fitted.settings, self.fitted.weigh, range(len(self.rows.fitted))
        bounds, prior = bounds_of(settings.run, settings.robot), prior_of(settings.run, settings.robot)
        squares: tuple[list[list[float]], list[list[float]]] = ([], [])
        for held, part in enumerate(self.rows.scored):
            seen = pooled([self.rows.fitted[k] for k in every if k != held])
            for lean, found in zip((np.zeros(2), self._least(seen, self.found.lean).lean), squares, strict=True):
                groups = self._at(seen, lean)
                x = fit_feasible(groups, weigh(groups, None, 1.0).sigma, settings.layout, bounds, prior).values
                found.append([factor.residual(x) for factor in self._at(part, lean)])
        energy = np.sum([[factor.energy for factor in part] for part in self.rows.scored], axis=0)
        level, leaning = (of_an_average_part(np.array(s), energy, settings.run.score.measure) for s in squares)
        return LeanChoice(
            self.lean, float(level.mean()), float(leaning.mean()), bound_of(level, leaning), self.found.shown
        )

    def _at(self, groups: Sequence[Factor], lean: np.ndarray) -> list[Factor]:
        return self.rows.at(groups, leant(self.drawn, lean))

    def _least(self, groups: Sequence[Factor], lean: np.ndarray) -> Leant:
        """The lean of least squares of rows that can be turned, by steps from another one; raises as the class."""
        far = FAR
        for _ in range(ROUNDS):
            here = self.fitted.weigh(self._at(groups, lean), None, 1.0)
            rows, kept = weighted(groups, here.sigma), here.base.columns
            costs = [
                unexplained_squares(self.rows.turned(rows, leant(self.drawn, lean + far * np.array(point))), kept)
                for point in POINTS
            ]
            step, covariance = _newton(costs, far) or self._linearized(rows, here, lean)
            covariance = covariance / self.fitted.independent
            if np.sqrt(np.diag(covariance)).max() > SEEN:
                raise BadLog(
                    f"'gravity: fit': the logs do not show where gravity points, not even within {np.rad2deg(SEEN):.0f} degrees; take it out, "
                    "or move axes that carry weight through wider poses"
                )
            lean = lean + step
            if step @ np.linalg.solve(covariance, step) < SETTLED**2:
                return Leant(lean, covariance, far)
            far = float(np.clip(10 * np.sqrt(np.diag(covariance)).max(), NEAR, FAR))
        raise SolverFailed(
            f"the direction of gravity does not settle in {ROUNDS} rounds; say it in the robot file", "rounds"
        )

    def _linearized(self, rows: np.ndarray, here: BaseEstimate, lean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Step (2,) and covariance (2, 2) of bodies and lean in one linear problem: where it is too far for a quadratic to have a least.

        Args:
            rows: [W, U, y], divided by the noise. here: the bodies at this lean.
        """

        def torques(lean: np.ndarray) -> np.ndarray:
            return self.rows.turned(rows, leant(self.drawn, lean))[:, here.base.columns] @ here.values

        found = self.rows.turned(rows, leant(self.drawn, lean))
        slopes = [(torques(lean + NEAR * e) - torques(lean - NEAR * e)) / (2 * NEAR) for e in np.eye(2)]
        Q = span(found[:, here.base.columns])
        left = np.column_stack([*slopes, found[:, -1]])
        left -= Q @ (Q.T @ left)  # what other bodies cannot make up for
        information = left[:, :2].T @ left[:, :2]
        if np.linalg.eigvalsh(information)[0] <= 0:
            return np.zeros(2), np.diag([np.inf, np.inf])
        return _short(np.linalg.solve(information, left[:, :2].T @ left[:, 2])), np.linalg.inv(information)


def _widened(ends: Sequence[list[Factor]], far: float, covariance: np.ndarray, estimate: BaseEstimate) -> BaseEstimate:
    """An estimate at the fitted lean, its covariance that of both together: what the lean's own (2, 2) moves it comes on top.

    Args:
        ends: rows at a lean right, left, up and down of the fitted one by `far` [rad].
    """
    right, left, up, down = (known_noise(rows, estimate.sigma, estimate.base, 1.0).values for rows in ends)
    slopes = np.column_stack([right - left, up - down]) / (2 * far)
    return replace(estimate, covariance=estimate.covariance + slopes @ covariance @ slopes.T)


def _newton(costs: Sequence[float], far: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Step (2,) to the least of a quadratic through POINTS, `far` [rad] apart, and the covariance (2, 2) of its curvature; None: it has no least."""
    here, right, left, up, low, both = costs
    slope = np.array([right - left, up - low]) / (2 * far)
    cross = both - right - up + here
    curve = np.array([[right + left - 2 * here, cross], [cross, up + low - 2 * here]]) / far**2
    if np.linalg.eigvalsh(curve)[0] <= 0:
        return None
    return _short(-np.linalg.solve(curve, slope)), 2 * np.linalg.inv(curve)


def _short(step: np.ndarray) -> np.ndarray:
    """A step (2,) [rad] of LONGEST at most."""
    return step * min(1.0, LONGEST / max(float(np.linalg.norm(step)), 1e-300))
