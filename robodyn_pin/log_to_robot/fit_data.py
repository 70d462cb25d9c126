"""The fit data, folded with the settings of a run file: which rows are fitted, which are scored, in segments for cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.identification.fold import Factor
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.validation import pooled
from robodyn_pin.log_to_robot.delay import Delay
from robodyn_pin.log_to_robot.evidence import Evidence, evidence_and_leaves
from robodyn_pin.log_to_robot.friction_choice import (
    FrictionChoice,
)
from robodyn_pin.log_to_robot.friction_shapes import FittedShape, Widen
from robodyn_pin.log_to_robot.gain import DriveGain
from robodyn_pin.log_to_robot.lean import Lean
from robodyn_pin.log_to_robot.prior_knowledge import Weigh, noise_passed, weighting
from robodyn_pin.log_to_robot.rows import Folded, add, fold_log
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.log_to_robot.segments import fitted_rows
from robodyn_pin.log_to_robot.shapes_by_rates import (
    with_widths,
)
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.friction_models import WIDTH
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each


@dataclass(frozen=True)
class Choice:
    """A setting that was chosen by cross-validation inside the fit data."""

    key: str
    candidates: tuple[float, ...]
    percent: tuple[float, ...]  # mean cross-validated error over motors
    chosen: float

    @property
    def at_end(self) -> bool:
        """Whether a better value may lie beyond the candidates."""
        return len(self.candidates) > 1 and self.chosen in (min(self.candidates), max(self.candidates))

    @property
    def remark(self) -> str:
        """A caution about a choice at the end of its candidates; else empty."""
        if not self.at_end:
            return ""
        which = "smallest" if self.chosen == min(self.candidates) else "largest"
        return f"{self.key} {self.chosen:g} is the {which} of its candidates; a better value may lie beyond: add candidates to 'choose'"


@dataclass(frozen=True)
class Settings:
    """What is settled before the estimates: robot and run file with chosen values."""

    robot: Robot  # with chosen Coulomb widths and identified shapes of friction
    run: RunFile  # with chosen values
    layout: Layout
    initial: np.ndarray  # (p,) values of the robot's files
    choices: tuple[Choice, ...] = ()
    friction: tuple[FrictionChoice, ...] = ()
    shapes: tuple[FittedShape, ...] = ()  # of friction, as identified; the robot has them
    noticed: tuple[str, ...] = ()  # cautions
    compared: str = ""  # rates, by the torques that they predict
    lean: Lean | None = None  # of gravity, where it was fitted
    gravity: str = ""  # why it leans, or does not; empty where nobody asks
    gains: tuple[DriveGain, ...] = ()  # of the drives, where they were fitted
    delays: tuple[Delay, ...] = ()  # of the fit logs' torques, where they were fitted

    @property
    def found_first(self) -> tuple[Delay | DriveGain, ...]:
        """What the logs were put right with before anything was fitted: sentences, by `str`."""
        return *self.delays, *self.gains


@dataclass(frozen=True)
class Fitted:
    """The fit data, folded with the chosen settings."""

    settings: Settings
    rows: Folded  # [segment][coordinate], as fitted
    scored: Folded  # [segment][coordinate], as scored
    whole: Folded  # [segment][coordinate], torques at full bandwidth
    scored_by_log: tuple[list[Factor], ...]  # [log][coordinate], as scored
    independent: float  # share of the fitted rows that carry noise of their own
    weigh: Weigh  # how the coordinates are weighed
    widen: Widen = lambda estimate: estimate


def fold_logs(robot: Robot, run: RunFile, logs: Sequence[AnyLog], rates: np.ndarray, by_phase: bool = False) -> Fitted:
    """The fit logs in segments; `by_phase`: of the period, where a log repeats, so that no motion is in two of them."""
    alike = np.full(len(rates), WIDTH)
    robot = with_widths(robot, alike if run.coulomb_width is None else run.coulomb_width * rates)
    said, leaves = evidence_and_leaves(robot, run, logs, by_phase)
    return of_evidence(robot, run, said, tuple(pooled(leaf.scored) for leaf in leaves))


def of_evidence(robot: Robot, run: RunFile, said: Evidence, by_log: tuple[list[Factor], ...] = ()) -> Fitted:
    """The fit data of evidence that was made with these settings."""
    named, rate = columns(robot), said.leaves[0].rate
    weigh, settings = weighting(run, robot, rate), Settings(robot, run, named.layout, named.values)
    return Fitted(settings, said.rows, said.scored, said.whole, by_log, independent_share(run, rate), weigh)


def judged_rows(fitted: Fitted) -> Folded:
    """The rows whose error decides a choice. A simulation needs the torques at full bandwidth; a controller needs those that are scored."""
    return fitted.whole if fitted.settings.run.choose.use == "simulation" else fitted.scored


def all_rows(robot: Robot, run: RunFile, logs: Sequence[AnyLog]) -> list[Factor]:
    """The rows that are fitted, all segments together, one factor per coordinate."""
    parts = each(partial(_fitted, robot, run), logs)
    total: Folded = reduce(add, parts)
    return pooled(total)


def _fitted(robot: Robot, run: RunFile, log: AnyLog) -> Folded:
    return fold_log(robot, log, run.preparation, [fitted_rows(robot, run, log)])[0]


def independent_share(run: RunFile, rate: float) -> float:
    """The share of the fitted rows that carry noise of their own.

    A low-pass makes neighbouring rows share noise. The share of the noise's power that it passes is the share of the samples
    that stay independent; an ideal filter leaves 2 x cut-off independent values a second. Of rows that `every` thins out,
    more are independent, at most all.
    """
    return min(1.0, run.rows.every * noise_passed(run, rate) ** 2)
