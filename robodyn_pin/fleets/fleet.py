"""A fleet judged: the type, each robot within it with bodies that can exist, who differs in what, and what wears."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from robodyn_pin.dynamics.base_parameters import shown_base
from robodyn_pin.dynamics.regressor import columns
from robodyn_pin.fleets.causes import PossibleCause, causes_of
from robodyn_pin.fleets.log_pieces import LogPieces, common_of, pieces_of
from robodyn_pin.fleets.members import Fold, MemberLogs
from robodyn_pin.fleets.strangers import alone_with_strangers, without_strangers
from robodyn_pin.identification.base_parameters import BaseSet
from robodyn_pin.identification.departures import FALSE, Departure, alike_causes, departures, false_discoveries
from robodyn_pin.identification.feasible import fit_feasible
from robodyn_pin.identification.fold import Factor, triangle
from robodyn_pin.identification.hierarchy import TypeOfRobots, type_of, within, without
from robodyn_pin.identification.least_squares import ordinary
from robodyn_pin.identification.parameters import Layout
from robodyn_pin.identification.shared_colour import Colour, colour_of, shown_by
from robodyn_pin.identification.validation import Errors, errors, pooled
from robodyn_pin.identification.wear import log_by_log, scatter_of_logs, wear_of
from robodyn_pin.log_to_robot.from_evidence import by_evidence
from robodyn_pin.log_to_robot.prior_knowledge import bounds_of, prior_of
from robodyn_pin.log_to_robot.run_file import RunFile
from robodyn_pin.robot.robot import Robot
from robodyn_pin.workers import each, in_turn


@dataclass(frozen=True)
class Grown:
    """What changes steadily from log to log in one robot."""

    cause: PossibleCause
    slope: float  # a unit of time
    deviation: float
    probability: float  # by chance, all causes looked at
    sizes: np.ndarray  # (logs,) of the cause in each log, off the mean
    as_well: tuple[PossibleCause, ...]  # that explain it hardly worse


@dataclass(frozen=True)
class Member:
    """One robot of a fleet."""

    logs: MemberLogs
    base: np.ndarray  # (r,) base parameters by its own logs and the type together
    deviations: np.ndarray  # (r,)
    alone: np.ndarray  # (r,) by its own logs; zero along what they do not show
    values: np.ndarray  # (p,) bodies that can exist
    eigenvalue: float  # smallest of their pseudo-inertias, in units of 1 kg and 0.1 m
    errors: Errors  # on its own rows as scored
    departure: Departure | None  # from the others; None: a fleet of one
    cause: PossibleCause | None
    wear: Grown | None  # None: nothing is shown to grow

    @property
    def named(self) -> bool:
        """Whether it differs from the others by more than chance."""
        return self.departure is not None and self.departure.named

    @property
    def odd(self) -> bool:
        """Whether someone should look at it: it differs from the others, from itself before, or in a single log."""
        return self.named or self.wear is not None or bool(self.logs.strange)

    @property
    def suspicion(self) -> float:
        """The least chance that speaks for this robot being like the others, and like itself before."""
        return min(
            self.departure.probability if self.departure else 1.0,
            self.wear.probability if self.wear else 1.0,
        )


@dataclass(frozen=True)
class Fleet:
    """Robots of one type."""

    robot: Robot
    run: RunFile
    layout: Layout
    base: BaseSet
    of_type: TypeOfRobots  # base parameters
    values: np.ndarray  # (p,) of the type, bodies that can exist
    causes: tuple[PossibleCause, ...]
    members: tuple[Member, ...]  # worst first
    unit: str  # of time: "day" or "log"
    left_out: tuple[str, ...]

    @property
    def unused(self) -> tuple[str, ...]:
        """Sentences about robots and logs that could not be used at all."""
        return (*self.left_out, *(f"{m.logs.name}: {text}" for m in self.members for text in m.logs.left_out))

    @property
    def simulated(self) -> bool:
        """Whether a log of a robot says so."""
        return any(m.logs.simulated for m in self.members)


def judge_fleet(robot: Robot, run: RunFile, fold: Fold, strict: bool = False) -> Fleet:
    """Judge a fleet by its folded logs alone.

    Args:
        robot, run: as the logs were folded with.
        strict: stop at a log that is unlike the others of its robot, instead of leaving it out.

    Raises:
        BadLog: with `strict`, such a log.
        SolverFailed: no trustworthy parameters. RobodynError: too few rows.
    """
    layout, logs = columns(robot).layout, fold.members
    every = reduce(_together, in_turn(_rows, logs))
    base = shown_base(robot, every, layout.order)
    if len(logs) == 1:
        return _alone(robot, run, fold, layout, strict)
    common = common_of(base, ordinary(every, base).values, logs)
    pieces = each(partial(pieces_of, robot, run, base, common), logs)
    kept = without_strangers(logs, [p.errors for p in pieces], strict)
    if any(one is not other for one, other in zip(kept, logs, strict=True)):
        return judge_fleet(robot, run, replace(fold, members=tuple(kept)), strict)
    colour = colour_of(pieces)
    shown = [shown_by(p, colour) for p in pieces]
    rows = sum(f.rows for f in every) // len(logs)
    exist = partial(_existing, robot, run, layout, base)
    first = type_of(shown)
    values, _ = exist((first.mean, first.covariance, rows))
    causes = causes_of(robot, layout, base, values, columns(robot).values, np.sqrt(np.diag(first.covariance)))
    directions = [np.array([p.direction(c, first.mean) for c in causes]) for p in pieces]
    of_type, found = departures(shown, directions)
    named = {i for i, d in enumerate(found) if d.named}
    combined = [
        within(s, of_type if i in named else without(of_type, s), found[i].size * directions[i][found[i].cause] if i in named else None)
        for i, s in enumerate(shown)
    ]  # fmt: skip
    values, _ = exist((of_type.mean, of_type.covariance, rows))
    bodies = each(exist, [(x, P, rows) for x, P in combined])
    wear = _wear(logs, pieces, colour, causes)
    members = [
        Member(
            m, x, np.sqrt(np.diag(P)), p.values, pi, eigenvalue, errors(p.scored, base.of(pi)), d, causes[d.cause], w
        )
        for m, p, (x, P), (pi, eigenvalue), d, w in zip(logs, pieces, combined, bodies, found, wear, strict=True)
    ]  # fmt: skip
    members.sort(key=lambda m: (not m.odd, m.suspicion))
    return Fleet(robot, run, layout, base, of_type, values, tuple(causes), tuple(members), fold.unit, fold.left_out)


def _alone(robot: Robot, run: RunFile, fold: Fold, layout: Layout, strict: bool) -> Fleet:
    """A fleet of one: what its logs say, as `identify` finds it."""
    (logs,) = fold.members
    evidence = logs.evidence
    found = by_evidence(robot, run, evidence)
    logs = alone_with_strangers(logs, found.unlike, strict)
    base = found.wls
    of_type = TypeOfRobots(base.values, base.covariance, np.zeros(len(base.values)), 1)
    member = Member(
        logs, base.values, base.deviations, base.values, found.feasible.values,
        float(found.feasible.eigenvalues.min(initial=np.inf)), found.fit, None, None, None,
    )  # fmt: skip
    return Fleet(robot, run, layout, base.base, of_type, found.feasible.values, (), (member,), fold.unit, fold.left_out)


def _rows(logs: MemberLogs) -> list[Factor]:
    """All rows of a robot, a factor for each coordinate."""
    return pooled(logs.evidence.rows)


def _together(first: list[Factor], second: list[Factor]) -> list[Factor]:
    return pooled([first, second])


def _existing(
    robot: Robot, run: RunFile, layout: Layout, base: BaseSet, of: tuple[np.ndarray, np.ndarray, int]
) -> tuple[np.ndarray, float]:
    """Bodies that can exist (p,) nearest to base parameters of given mean and covariance, and their smallest eigenvalue."""
    x, covariance, rows = of
    unit = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
    white = (vectors / np.sqrt(np.maximum(values, 1e-12 * values[-1]))).T / unit
    R = np.column_stack([white @ base.matrix, white @ x])
    factor = Factor(triangle(R), rows, float(np.sum(R[:, -1] ** 2)))
    found = fit_feasible([factor], np.ones(1), layout, bounds_of(run, robot), prior_of(run, robot))
    return found.values, float(found.eigenvalues.min(initial=np.inf))


def _wear(
    logs: Sequence[MemberLogs], pieces: Sequence[LogPieces], colour: Colour, causes: Sequence[PossibleCause]
) -> list[Grown | None]:
    """What grows in each robot, of all that may: the least probable by chance, where it is more than that."""
    worn = [c for c in causes if c.wears]
    if not worn:
        return [None] * len(logs)
    shown = [p.shown_by_each(colour) for p in pieces]
    scatter = scatter_of_logs(shown)
    logwise = [log_by_log(m.when, x, scatter) for m, x in zip(logs, shown, strict=True)]
    along = [[x.along(p.directions(c, x.mean)) for p, x in zip(pieces, logwise, strict=True)] for c in worn]
    found = [wear_of(x) for x in along]
    p = np.array([w.probability for w in found])  # (causes, robots)
    squares = np.array([(w.slope / w.deviation) ** 2 for w in found])
    best = p.argmin(axis=0)
    chance = np.minimum(1.0, len(worn) * p.min(axis=0))
    real = false_discoveries(chance, FALSE)
    return [
        Grown(
            worn[k], float(found[k].slope[i]), float(found[k].deviation[i]), float(chance[i]), along[k][i].sizes,
            tuple(worn[j] for j in alike_causes(squares[:, i], k)),
        )
        if real[i]
        else None
        for i, k in enumerate(best)
    ]  # fmt: skip
