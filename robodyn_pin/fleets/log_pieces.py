"""What the logs of a robot say, log by log, coordinate by coordinate, piece by piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from robodyn_pin.fleets.causes import PossibleCause
from robodyn_pin.fleets.members import MemberLogs
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.hierarchy import ShownByLogs, solved_as_shown
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.identification.majority import by_majority
from robodyn_pin.identification.shared_colour import Colour, RowPieces
from robodyn_pin.identification.validation import errors, pooled
from robodyn_pin.log_to_robot.fit_data import independent_share
from robodyn_pin.log_to_robot.prior_knowledge import weighting
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import in_turn

SOME = 200  # logs that say what robots have in common: enough to tell which logs are unlike


@dataclass(frozen=True)
class LogPieces(RowPieces):
    """RowPieces of logs, and what a robot's fleet needs of each log and coordinate."""

    each_H: np.ndarray  # (logs, d, r, r)
    each_b: np.ndarray  # (logs, d, r)
    scored: list[Factor]  # rows as scored, of base parameters, one factor for each coordinate
    errors: np.ndarray  # (logs, 2) by what all robots have in common: [N m or N], and [%] of the torques

    def shown_by_each(self, colour: Colour) -> list[ShownByLogs]:
        """What each log shows."""
        H, b = self.each_H.sum(axis=1), self.each_b.sum(axis=1)
        return [ShownByLogs(solved_as_shown(h, y), colour.information(h)) for h, y in zip(H, b, strict=True)]

    def direction(self, cause: PossibleCause, mean: np.ndarray) -> np.ndarray:
        """How the estimate of the robot moves along a cause of size one (r,)."""
        if cause.motor < 0:
            return cause.direction
        return solved_as_shown(self.whole, self.each_H[:, cause.motor].sum(axis=0) @ mean)

    def directions(self, cause: PossibleCause, mean: np.ndarray) -> np.ndarray:
        """How the estimate of each log moves along a cause of size one, (logs, r) or (r,)."""
        if cause.motor < 0:
            return cause.direction
        own = self.each_H[:, cause.motor] @ mean
        return np.array([solved_as_shown(h, x) for h, x in zip(self.each_H.sum(axis=1), own, strict=True)])


def common_of(base: BaseSet, start: np.ndarray, logs: Sequence[MemberLogs]) -> np.ndarray:
    """Parameters (r,) on which most logs of a fleet agree, of `SOME` at most: those of as many robots as there are.

    Args:
        start: (r,) to begin with.
    """
    some = logs[:: -(-len(logs) // SOME)]
    rows = [rows for own in in_turn(partial(_some_rows, base, -(-SOME // len(some))), some) for rows in own]
    return by_majority(rows, start)


def _some_rows(base: BaseSet, most: int, logs: MemberLogs) -> list[list[Factor]]:
    """Rows as scored of the first logs of a robot, of each a factor for each coordinate."""
    return [[factor.of(base.columns) for factor in pooled(leaf.scored)] for leaf in logs.evidence.leaves[:most]]


def pieces_of(robot: Robot, run: RunFile, base: BaseSet, common: np.ndarray, logs: MemberLogs) -> LogPieces:
    """The rows of a robot's logs, in pieces, in units of the noise that its own residuals show; `common`: parameters (r,) of all robots."""
    evidence = logs.evidence
    rate = evidence.leaves[0].rate
    groups = pooled(evidence.rows)
    own = ordinary(groups, base).base
    sigma = weighting(run, robot, rate)(groups, own, independent_share(run, rate)).sigma
    R = np.array([[[f.R / s for f, s in zip(x, sigma, strict=True)] for x in leaf.rows] for leaf in evidence.leaves])
    A, y = R[..., base.columns], R[..., -1:]
    left = A.swapaxes(-1, -2)
    H, b = left @ A, (left @ y)[..., 0]  # (logs, segments, d, r, r), (logs, segments, d, r)
    r = len(base.columns)
    scored = [[factor.of(base.columns) for factor in pooled(leaf.scored)] for leaf in evidence.leaves]
    by_log = [errors(groups, common) for groups in scored]
    return LogPieces(
        H.sum(axis=2).reshape(-1, r, r), b.sum(axis=2).reshape(-1, r), H.sum(axis=1), b.sum(axis=1), pooled(scored),
        np.array([(e.rmse_all, e.percent_all) for e in by_log]),
    )  # fmt: skip
