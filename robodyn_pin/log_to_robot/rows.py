"""From a log to rows of W pi = B'tau: rates, closing, regressor and the same filter over columns and torques.

Parallel filtering: W and B'tau pass the same zero-phase filter, so that noise goes and the equation stays. Blocks
overlap by as much as the filters remember; the result does not depend on the block size, memory not on the log.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.dynamics.along_log import Stretch, along_log
from robodyn_pin.dynamics.equations import along, motor_map
from robodyn_pin.dynamics.regressor import columns, known_efforts, state_regressor
from robodyn_pin.dynamics.unknown_start import UnknownStart, unknown_start, without_start
from robodyn_pin.identification.fold import Factor, empty, fold_rows, merge_factors
from robodyn_pin.identification.whitening import whitened
from robodyn_pin.logs.differentiation import Preparation
from robodyn_pin.logs.filters import Lowpass
from robodyn_pin.logs.stored_log import AnyLog
from robodyn_pin.robot.robot import Robot, State

STILL = 1  # label of samples that stand still; the others have 0


BLOCK_BYTES = 16e6  # of one block's W


@dataclass(frozen=True)
class Block:
    """Rows of consecutive samples, and the margin that filters need on both sides."""

    begin: int  # index of the first sample in the log, margin left out
    keep: slice  # the samples between the margins
    state: State  # of all joints, with margins like all that follows
    B: np.ndarray  # (n, n_motors, d) motor rates per coordinate rate
    rates: np.ndarray  # (n, d) of the coordinates
    W: np.ndarray  # (n, d, p) not filtered
    known: np.ndarray  # (n, d) efforts that the robot file declares as known
    measured: np.ndarray  # (n, d) B'tau
    in_front: int = 0  # how many columns in front of W's own stand for where the log's stops began


@dataclass(frozen=True)
class Job:
    """One way to fold a log's rows: through a filter, sorted by label."""

    filter: Lowpass | None
    label: Callable[
        [np.ndarray, np.ndarray], np.ndarray
    ]  # (index (n,), coordinate rates (n, d)) -> group (n, d); -1: the sample is left out
    groups: int
    noise: np.ndarray | None = None  # (n_motors,) that rows are whitened by


def observe(
    robot: Robot, log: AnyLog, preparation: Preparation, filters: Sequence[Lowpass | None], begin: int = 0,
    end: int | None = None, start: UnknownStart | None = None,
) -> Iterator[Block]:  # fmt: skip
    """Blocks of W over samples begin..end of a log on a uniform clock, with margins as long as the filters remember.

    Args:
        start: of the log's stops, which has columns of its own in blocks in which it counts.

    Raises:
        BadLog: no torques in the log; too short for a filter.
    """
    width = 10 * len(robot.body_groups) + sum(len(e.labels) for e in robot.efforts)
    size = int(BLOCK_BYTES / (8 * width * len(robot.coordinates.names)))
    for part in along_log(robot, log, preparation, size, filters, begin, end):
        yield _block(robot, log, part, start)


def _block(robot: Robot, log: AnyLog, part: Stretch, start: UnknownStart | None) -> Block:
    state = part.state
    B, speeds = motor_map(robot, state), state.v @ robot.coordinates.S.T
    W = state_regressor(robot, state, log.loaded)
    known, measured = known_efforts(robot, state), along(B, part.log.efforts)
    low, count = part.begin - part.keep.start, 0
    if start and low < start.forgotten:
        W, count = np.concatenate([start.columns(low, state), W], axis=2), start.size
    return Block(part.begin, part.keep, state, B, speeds, W, known, measured, count)


Folded = list[list[Factor]]  # [label][coordinate]
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # W (n, d, p), known and measured efforts (n, d)


def fold_log(robot: Robot, log: AnyLog, preparation: Preparation, jobs: Sequence[Job]) -> list[Folded]:
    """Fold a log as each job says, in one pass; raises as `observe`."""
    start = unknown_start(robot, log)
    seen = observe(robot, log, preparation, [job.filter for job in jobs], start=start)
    return fold_blocks(seen, jobs, log, [nothing(robot, job) for job in jobs], start)


def fold_blocks(
    blocks: Iterable[Block], jobs: Sequence[Job], log: AnyLog, folded: list[Folded], start: UnknownStart | None
) -> list[Folded]:
    """Fold a log's blocks as each job says, and take out the columns of where its stops began; `folded`: no rows yet, for each job."""
    size = start.size if start else 0
    begun = [[[empty(len(f.R) - 1 + size) for f in each] for each in of_job] for of_job in folded]
    for block in blocks:
        _fold_block(block, jobs, log, begun if block.in_front else folded)
        del block  # before the next one is made: together they are the most that memory holds
    if not start:
        return folded
    first = [[without_start(each, size) for each in of_job] for of_job in begun]
    return [add(rest, known) for rest, known in zip(folded, first, strict=True)]


def _fold_block(block: Block, jobs: Sequence[Job], log: AnyLog, folded: list[Folded]) -> None:
    rows: dict[tuple[Lowpass | None, bytes], Rows] = {}  # jobs that differ in what they keep alone have the same
    for job, factors in zip(jobs, folded, strict=True):
        way = job.filter, b"" if job.noise is None else job.noise.tobytes()
        if way not in rows:
            rows[way] = filtered(block, job.filter, log, job.noise)
        add_rows(factors, job, block, rows[way])


def nothing(robot: Robot, job: Job) -> Folded:
    """No rows yet."""
    p, d = columns(robot).layout.size, len(robot.coordinates.names)
    return [[empty(p)] * d for _ in range(job.groups)]


def add_rows(factors: Folded, job: Job, block: Block, rows: Rows) -> None:
    """Fold the filtered rows of a block into the factors of their labels."""
    W, known, measured = rows
    y = measured - known
    label = job.label(block.begin + np.arange(len(W)), block.rates[block.keep])
    for group, along_each in enumerate(factors):
        for j, factor in enumerate(along_each):
            chosen = label[:, j] == group
            if chosen.any():
                along_each[j] = fold_rows(factor, W[chosen, j], y[chosen, j], measured[chosen, j])


def filtered(block: Block, lowpass: Lowpass | None, log: AnyLog, noise: np.ndarray | None = None) -> Rows:
    """The rows of a block, whitened by the motors' noise if given, through one filter, margins cut."""
    parts = [block.W, block.known, block.measured]
    if noise is not None:
        rows = whitened(np.concatenate([block.W, *(x[:, :, None] for x in parts[1:])], axis=2), block.B, noise)
        parts = [rows[:, :, :-2], rows[:, :, -2], rows[:, :, -1]]
    W, known, measured = (smoothed(x, lowpass, log)[block.keep] for x in parts)
    return W, known, measured


def smoothed(x: np.ndarray, lowpass: Lowpass | None, log: AnyLog) -> np.ndarray:
    """Samples x (n, ...) of a log through a filter, if there is one."""
    return lowpass.apply(x, log.rate, log.name) if lowpass else x


def add(first: Folded, second: Folded) -> Folded:
    """Merge two logs' factors label by label, coordinate by coordinate."""
    return [[merge_factors([a, b]) for a, b in zip(x, y, strict=True)] for x, y in zip(first, second, strict=True)]
