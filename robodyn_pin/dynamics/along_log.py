"""A log block by block: the motion of all joints, with margins, and what friction remembers of the motion before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from robodyn_pin.dynamics.from_motors import close_motors
from robodyn_pin.dynamics.memory import with_memory
from robodyn_pin.dynamics.rigid_loads import with_loads
from robodyn_pin.logs.differentiation import Preparation, blocks, rates_of
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.log import Log
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot, State


@dataclass(frozen=True)
class Stretch:
    """Consecutive samples of a log, and the margins on both sides that rates and filters need."""

    begin: int  # first and last sample in the log, margins left out
    end: int
    keep: slice  # the samples between the margins
    log: Log  # with margins, like the state
    state: State


def along_log(
    robot: Robot, log: AnyLog, preparation: Preparation, size: int, filters: Sequence[Lowpass | None] = (),
    begin: int = 0, end: int | None = None,
) -> Iterator[Stretch]:  # fmt: skip
    """The motion of all joints over samples begin..end of a log on a uniform clock, `size` samples at once.

    Args:
        filters: that the samples are to pass.

    Raises:
        ClosureFailed, WrongMobility: as `close_motors`; names the row. BadFile: friction with memory without 'stops'. BadLog: too short for a filter.
    """
    rates = rates_of(log, preparation)
    for low, first, stop, high in blocks(log, rates, filters, begin, log.size if end is None else end, size):
        part = log.section(low, high)
        state = with_memory(robot, log, low, close_motors(robot, *rates.motion(part), part.row))
        state = with_loads(robot, state, log.loaded)
        yield Stretch(first, stop, slice(first - low, stop - low), part, state)
