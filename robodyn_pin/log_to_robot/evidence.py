"""What logs say of the parameters: triangular factors that merge, and what they were made of.

    log ─► leaf ┐
    log ─► leaf ┴─► Evidence ─► estimates

The leaves are added in the order of their logs' contents, whatever the order in which they came: the same logs give the
same bits.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path

from robodyn_pin.errors import BadLog, RobodynError
from robodyn_pin.files import json_text
from robodyn_pin.log_to_robot.leaf import Leaf, keep, kept, kept_in, leaf_path
from robodyn_pin.log_to_robot.noise import motor_noise
from robodyn_pin.log_to_robot.rows import Folded, add, fold_log
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows, segmented
from robodyn_pin.logs.each_once import check_each_once
from robodyn_pin.logs.fourier_series import period_of
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.logs.uniform import check_rates
from robodyn_pin.own_code import code_hash
from robodyn_pin.robot.numbers_hash import numbers_hash
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each

# Whose code decides what a log says.
ROOMS = ("closures", "identification", "dynamics", "robot", "logs", "log_to_robot")


@dataclass(frozen=True, repr=False)
class Evidence:
    """What logs of one robot say of its parameters, with what it was made of; it can be pickled, stored and sent."""

    robot: str  # its name
    made_with: str  # SHA-256 of the robot's numbers, the settings and the package's code; empty where nobody asks
    leaves: tuple[Leaf, ...]  # in the order of their contents

    def __repr__(self) -> str:
        simulated = "SIMULATED, " if self.simulated else ""
        return f"Evidence({self.robot}: {simulated}{len(self.leaves)} logs, {sum(leaf.size for leaf in self.leaves)} samples)"

    @property
    def simulated(self) -> bool:
        """Whether one of the logs says so."""
        return any(leaf.simulated for leaf in self.leaves)

    @property
    def contents(self) -> tuple[str, ...]:
        """SHA-256 of the logs' samples."""
        return tuple(leaf.content for leaf in self.leaves)

    def with_logs(self, numbers: Sequence[int]) -> "Evidence":
        """Evidence of the logs of these numbers alone."""
        return replace(self, leaves=tuple(self.leaves[k] for k in numbers))

    @property
    def rows(self) -> Folded:
        """Rows as fitted, [segment][coordinate]."""
        return reduce(add, (leaf.rows for leaf in self.leaves))

    @property
    def scored(self) -> Folded:
        """Rows as scored, [segment][coordinate]."""
        return reduce(add, (leaf.scored for leaf in self.leaves))

    @property
    def whole(self) -> Folded:
        """Rows with torques at full bandwidth, [segment][coordinate]."""
        wholes = [leaf.whole for leaf in self.leaves if leaf.whole is not None]
        return reduce(add, wholes) if wholes else self.scored


def merge(first: Evidence, *others: Evidence) -> Evidence:
    """All logs together, in whatever order and grouping they come: the same bits.

    Raises:
        RobodynError: made with different robots, settings or versions.
        BadLog: a log is in two of them; logs of different sampling rates.
    """
    for part in others:
        if part.made_with != first.made_with:
            raise RobodynError(
                f"evidence on {first.robot!r} and on {part.robot!r} was made with different robots, settings or versions of the "
                "package and does not add up; fold all logs with the same ones"
            )
    leaves = sorted((leaf for part in (first, *others) for leaf in part.leaves), key=lambda leaf: leaf.content)
    check_rates((leaf.log, leaf.rate) for leaf in leaves)
    check_each_once((leaf.log, leaf.content) for leaf in leaves)
    return Evidence(first.robot, first.made_with, tuple(leaves))


def evidence_of(robot: Robot, run: RunFile, logs: Sequence[AnyLog]) -> Evidence:
    """What logs on uniform clocks say; leaves that are kept in a folder are taken from there.

    Raises:
        BadLog: too few samples, no torques. ClosureFailed: a log that the loops cannot follow.
    """
    return evidence_and_leaves(robot, run, logs)[0]


def evidence_and_leaves(
    robot: Robot, run: RunFile, logs: Sequence[AnyLog], by_phase: bool = False
) -> tuple[Evidence, list[Leaf]]:
    """The same, and its leaves in the order of the logs.

    Args:
        by_phase: segments are those of the motion's period, where a log repeats.
    """
    folder = kept_in()
    made = made_with(robot, run, by_phase) if folder else ""
    places = [leaf_path(folder, made, log.content) if folder else None for log in logs]
    found = [kept(path) if path else None for path in places]
    missing = [(log, path) for log, path, leaf in zip(logs, places, found, strict=True) if leaf is None]
    new = iter(each(partial(_leaf, robot, run, by_phase), missing))
    leaves = [leaf or next(new) for leaf in found]
    return Evidence(robot.name, made, tuple(sorted(leaves, key=lambda leaf: leaf.content))), leaves


def _leaf(robot: Robot, run: RunFile, by_phase: bool, asked: tuple[AnyLog, Path | None]) -> Leaf:
    """Fold a log, and keep what comes out."""
    log, path = asked
    if log.size - 2 * run.rows.cut < run.choose.folds:
        raise BadLog(f"{log.name}: {log.size} rows are used, nothing is left after {run.rows.cut} are cut at both ends")
    period = period_of(log) if by_phase else None
    jobs = [fitted_rows(robot, run, log, period)]
    alike = run.rows.every == 1 and run.rows.filter == run.score.filter and jobs[0].noise is None
    jobs += [] if alike else [segmented(robot, run, log, run.score.filter, 1, period)]
    jobs += [segmented(robot, run, log, None, 1, period)] if run.score.filter else []
    rows, *others = fold_log(robot, log, run.preparation, jobs)
    scored, *whole = [rows, *others] if alike else others
    about = (log.name, log.content, log.rate, log.size, log.loaded, log.simulated)
    leaf = Leaf(*about, rows, scored, whole[0] if whole else None)
    if path:
        keep(path, leaf)
    return leaf


def made_with(robot: Robot, run: RunFile, by_phase: bool = False) -> str:
    """SHA-256 of all that decides what a log says of the parameters, the log aside."""
    noise = motor_noise(run, robot)
    said = {
        "preparation": run.preparation.model_dump(mode="json"), "rows": run.rows.model_dump(mode="json"),
        "score": run.score.model_dump(mode="json"), "folds": run.choose.folds, "by_phase": by_phase,
        "noise": None if noise is None else noise.tolist(), "robot": numbers_hash(robot), "code": code_hash(*ROOMS),
        "bodies": robot.body_groups,
    }  # fmt: skip
    return hashlib.sha256(json_text(said, None).encode()).hexdigest()
