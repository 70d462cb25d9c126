"""How well parameters predict, and whether settings were chosen without peeking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.identification.fold import Factor, merge_factors


@dataclass(frozen=True)
class Errors:
    """Prediction errors of folded rows, exact: no series is kept."""

    rmse: np.ndarray  # (d,) [N m or N]
    percent: np.ndarray  # (d,) 100 ||measured - predicted|| / ||measured||
    rmse_all: float  # over all motors together
    percent_all: float

    @property
    def mean_percent(self) -> float:
        """Mean over the motors, each against its own torque."""
        return float(self.percent.mean())

    def by(self, measure: str) -> float:
        """The percentage that the run file goes by, "mean" or "pooled"."""
        return self.percent_all if measure == "pooled" else self.mean_percent


def errors(groups: Sequence[Factor], x: np.ndarray) -> Errors:
    """Errors of parameters x (p,) on one factor per motor."""
    squares = np.array([g.residual(x) for g in groups])
    norms = np.array([g.energy for g in groups])
    rows = np.array([max(g.rows, 1) for g in groups])
    relative = 100 * np.sqrt(squares / np.where(norms > 0, norms, 1.0))
    return Errors(
        rmse=np.sqrt(squares / rows),
        percent=relative,
        rmse_all=float(np.sqrt(squares.sum() / rows.sum())),
        percent_all=float(100 * np.sqrt(squares.sum() / norms.sum())) if norms.sum() > 0 else 0.0,
    )


def apart(groups: Sequence[Factor], sigma: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square of the difference between two predictions W x and W y, in units of the noise sigma (groups,)."""
    squares = [np.sum((g.R[:, :-1] @ (x - y)) ** 2) / s**2 for g, s in zip(groups, sigma, strict=True)]
    return float(np.sqrt(np.sum(squares) / max(sum(g.rows for g in groups), 1)))


def pooled(labelled: Sequence[Sequence[Factor]]) -> list[Factor]:
    """All labels together, one factor per motor."""
    return [merge_factors(factors) for factors in zip(*labelled, strict=True)]


def cross_validated(
    fit: Sequence[Sequence[Factor]],
    score: Sequence[Sequence[Factor]],
    estimate: Callable[[list[Factor]], np.ndarray],
    measure: str = "mean",
) -> float:
    """Percentage error on segments that the estimate has not seen: mean over motors, or of all motors in one norm.

    Args:
        fit, score: factors[segment][motor], rows as fitted and rows as scored.
        estimate: folded rows per motor -> parameters (p,).
        measure: "mean" or "pooled".
    """
    squares, norms = np.zeros(len(fit[0])), np.zeros(len(fit[0]))
    for held in range(len(fit)):
        x = estimate(pooled([factors for k, factors in enumerate(fit) if k != held]))
        squares += [g.residual(x) for g in score[held]]
        norms += [g.energy for g in score[held]]
    if measure == "pooled":
        return float(100 * np.sqrt(squares.sum() / norms.sum()))
    return float(np.mean(100 * np.sqrt(squares / np.where(norms > 0, norms, 1.0))))
