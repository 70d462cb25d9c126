"""Strut forces along a log, by the full multipliers or the reduced model: extremes, margins, and a load cell beside them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from robodyn_pin.dynamics.along_log import along_log
from robodyn_pin.dynamics.loads import check_positions
from robodyn_pin.dynamics.multipliers import Loads
from robodyn_pin.errors import RobodynError
from robodyn_pin.families.reduced_arms import strut_model
from robodyn_pin.families.reduced_delta import Lump
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.edges import edge_rows, inside
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.made_by_hand import known_log
from robodyn_pin.logs.uniform import at_positions, at_rows, uniform
from robodyn_pin.robot.robot import Robot, State
from robodyn_pin.workers import one_thread

if TYPE_CHECKING:
    import polars as pl

BLOCK = 5_000  # samples closed at once


@dataclass(frozen=True)
class Reach:
    """How far the 95 % intervals of strut forces reach to both sides, at the rows of a log [N]."""

    lower: np.ndarray  # (N, k) at the closed ends
    upper: np.ndarray  # (N, k) at the ends that the tree carries

    def inside(self, kept: slice) -> "Reach":
        """At some of the rows."""
        return Reach(self.lower[kept], self.upper[kept])


@dataclass(frozen=True)
class StrutHistory:
    """Forces of k struts at the rows of a log [N], tension positive."""

    model: str  # "full" or "reduced"
    t: np.ndarray  # (N,) [s]
    names: tuple[str, ...]
    lower: np.ndarray  # (N, k) along the strut at its closed end
    upper: np.ndarray  # (N, k) along the strut at the end that the tree carries
    edge: int = 0  # rows at both ends whose rates miss what lies beyond
    reach: Reach | None = None  # of the forces' 95 % intervals; None: nothing is known

    def to_frame(self) -> "pl.DataFrame":
        """Return the forces as a data frame [N]: `t, upper_<strut>, lower_<strut>`, tension positive."""
        import polars as pl

        ends = {"upper": self.upper, "lower": self.lower}
        return pl.DataFrame(
            {"t": self.t} | {f"{end}_{s}": x[:, k] for end, x in ends.items() for k, s in enumerate(self.names)}
        )

    @property
    def inside(self) -> "StrutHistory":
        """The history without its edges; of a short log all of it."""
        kept = inside(len(self.t), self.edge)
        reach = self.reach and self.reach.inside(kept)
        return replace(self, t=self.t[kept], lower=self.lower[kept], upper=self.upper[kept], edge=0, reach=reach)


@dataclass(frozen=True)
class Extreme:
    """The worst of one strut."""

    strut: str
    least: float  # [N]
    greatest: float  # [N]
    worst_at: float  # [s] where the size is largest
    end: str  # "upper" or "lower", where that is
    margin: float | None  # [N] limit less the largest size; None: no limit known
    interval: tuple[float, float] | None = None  # [N] 95 %, of the worst; None: nothing is known of it


def strut_history(robot: Robot, log: Log, preparation: Preparation, reduced: Lump | None = None) -> StrutHistory:
    """Forces in the struts of a robot along a log with positions; parameters of the robot's files.

    Args:
        reduced: where the reduced model lumps the bar; None: the full multipliers.

    Raises:
        RobodynError: the robot has no struts; with `reduced`, these do not hold a platform two by two below arms.
        ClosureFailed, BadLog: the log leaves the workspace; names the time and what fails to close, or the joint.
        ShapeMismatch: arrays of a log made by hand.
    """
    return history_of(robot, log, preparation, reduced, lambda state: None)


@one_thread()
def history_of(
    robot: Robot, log: Log, preparation: Preparation, reduced: Lump | None, seen: Callable[[State], None]
) -> StrutHistory:
    """As `strut_history`; `seen` is given the states of all samples on a uniform clock, one stretch after the other."""
    if not robot.file.struts:
        raise RobodynError(
            f"robot {robot.name!r} has no struts; name them in its file, 'struts: {{NAME: [link at one end, link at the "
            "closed end]}', or ask for the forces in joints and closures, `robodyn joints`"
        )
    log = at_positions(known_log(log, robot))
    even, names = uniform(log), tuple(robot.file.struts)
    lower, upper = np.empty((even.size, len(names))), np.empty((even.size, len(names)))
    model = None if reduced is None else strut_model(robot, reduced)
    for part in along_log(robot, even, preparation, BLOCK):
        state, place = part.state, slice(part.begin, part.end)
        check_positions(robot, state.q, part.log.row)
        found = model(state.q, state.v, state.a) if model else Loads(robot, state).struts
        lower[place], upper[place] = found.lower[part.keep], found.upper[part.keep]
        seen(state[part.keep])
    if even is not log:
        lower, upper = (at_rows(log, x) for x in (lower, upper))
    return StrutHistory(
        "full" if reduced is None else "reduced", log.t, names, lower, upper, edge_rows(log, preparation)
    )


def extremes(history: StrutHistory, limit: float | None = None) -> list[Extreme]:
    """The worst of each strut, at either of its ends; limit [N] of its size. The edges of the log do not count.

    Raises:
        RobodynError: a limit that is no size of a force.
    """
    if limit is not None and not 0 <= limit < np.inf:
        raise RobodynError(f"the limit of strut forces is {limit:g} N, expected a finite size, 0 N or more")
    history, found = history.inside, []
    for k, name in enumerate(history.names):
        both = np.stack([history.lower[:, k], history.upper[:, k]])
        end, i = np.unravel_index(int(np.abs(both).argmax()), both.shape)
        margin = None if limit is None else limit - float(np.abs(both[end, i]))
        where, interval = ("lower", "upper")[end], None
        if history.reach is not None:
            worst, far = float(both[end, i]), float(getattr(history.reach, where)[i, k])
            interval = (worst - far, worst + far)
        found.append(Extreme(name, float(both.min()), float(both.max()), float(history.t[i]), where, margin, interval))
    return found
