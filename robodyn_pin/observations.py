"""From a log to rows of W pi = B'tau: rates, closing, regressor and the same filter over columns and torques.

Parallel filtering: W and B'tau pass the same zero-phase filter, so that noise goes and the equation stays. Blocks
overlap by as much as the filters remember; the result does not depend on the block size, memory not on the log.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_pin.closures.nearest import nearest
from robodyn_pin.closures.projection import project, tangents
from robodyn_pin.differentiation import Preparation, Rates, rates_of
from robodyn_pin.dynamics import motor_map
from robodyn_pin.errors import BadLog, ClosureFailed, WrongMobility
from robodyn_pin.filters import Lowpass
from robodyn_pin.identification.fold import Factor, empty, fold, merge
from robodyn_pin.log_files import AnyLog
from robodyn_pin.motion import Log
from robodyn_pin.regression import known_efforts, state_regressor
from robodyn_pin.robot import Robot, State
from robodyn_pin.whitening import whitened

BLOCK_BYTES = 16e6  # of one block's W


@dataclass(frozen=True)
class Block:
    """Rows of consecutive samples, and the margin that filters need on both sides."""

    begin: int  # index of the first sample in the log, margin left out
    keep: slice  # the samples between the margins
    q: np.ndarray  # (n, nv) joint positions, with margins like all that follows
    B: np.ndarray  # (n, n_motors, d) motor rates per coordinate rate
    rates: np.ndarray  # (n, d) of the coordinates
    W: np.ndarray  # (n, d, p) not filtered
    known: np.ndarray  # (n, d) efforts that the robot file declares as known
    measured: np.ndarray | None  # (n, d) B'tau; None where the log has no torques


@dataclass(frozen=True)
class Job:
    """One way to fold a log's rows: through a filter, sorted by label."""

    filter: Lowpass | None
    label: Callable[
        [np.ndarray, np.ndarray], np.ndarray
    ]  # index (n,), coordinate rates (n, d) -> group (n, d), -1: none
    groups: int
    noise: np.ndarray | None = None  # (n_motors,) that rows are whitened by


def close_motors(
    robot: Robot, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, label: Callable[[int], str] = str
) -> State:
    """All joints' motion from that of the motors (N, n), projected onto the robot's coordinates.

    With more motors than degrees of freedom no motion of the loops agrees with all encoders: positions are the nearest
    ones, rates c' = B^+ q_m', accelerations c'' = B^+ (q_m'' - S g), all by least squares.

    Raises:
        ClosureFailed: positions out of reach; the coordinates do not determine a sample.
        WrongMobility: fewer motors than degrees of freedom.
    """
    motors, chosen = robot.motors, robot.coordinates
    if len(motors.names) < len(chosen.names):
        raise _too_few(robot)
    if len(motors.names) == len(chosen.names):
        driven = robot if chosen.names == motors.names else robot.with_coordinates(motors.names)
        state = driven.close(q, dq, ddq, label=label)
    else:
        driven = robot.with_coordinates(
            robot.file.coordinates or chosen.names
        )  # chosen ones may be singular on the way
        state = _least_squares(driven, q, dq, ddq, label)
    return state if driven.coordinates.names == chosen.names else _along_chosen(robot, driven, state, label)


def _too_few(robot: Robot) -> WrongMobility:
    """What a log of an under-actuated robot lacks: positions of the joints that no motor drives."""
    motors, d = robot.motors.names, len(robot.coordinates.names)
    passive = [name for name in robot.coordinates.names if name not in motors]
    return WrongMobility(
        f"robot {robot.name!r} has {d} degrees of freedom and {len(motors)} motor{'s' if len(motors) != 1 else ''} "
        f"({', '.join(motors) or 'none'}): a log of the motors does not say where the robot is; name what else is measured "
        f"({', '.join(passive)}) under 'motors' too, with torques of zero in the log"
    )


def _least_squares(robot: Robot, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, label: Callable[[int], str]) -> State:
    loops, motors, axes = robot.loops, robot.motors, robot.coordinates
    c = nearest(loops, axes.S, axes.offset, (motors.S, motors.offset), q, robot.home, label)
    still = robot.close(c, 0 * c, 0 * c, label=label)
    inverse = np.linalg.pinv(motor_map(robot, still))
    cd = (inverse @ dq[..., None])[..., 0]
    projection, v = project(loops, axes.S, still.q, cd)
    cdd = (inverse @ (ddq - projection.g @ motors.S.T)[..., None])[..., 0]
    a = (projection.T @ cdd[..., None])[..., 0] + projection.g
    return State(still.q, v, a, projection.T, projection.g)


def _along_chosen(robot: Robot, driven: Robot, state: State, label: Callable[[int], str]) -> State:
    """The state on the robot's own coordinates, which must not meet a singularity on the way from home."""
    S, names = robot.coordinates.S, robot.coordinates.names
    sense = np.linalg.slogdet(S @ tangents(robot.loops, driven.coordinates.S, robot.home[None]))[0]
    bad = np.flatnonzero(np.linalg.slogdet(S @ state.T)[0] != sense)
    if len(bad):
        raise ClosureFailed(
            f"the projection onto the coordinates {', '.join(names)} is singular on the way to {label(int(bad[0]))}: there they "
            "do not determine the mechanism; choose other coordinates in the run file, or a motion that stays clear of it",
            int(bad[0]),
            "",
            0.0,
        )
    return state.along(S)


def close_log(robot: Robot, log: Log, rates: Rates, begin: int = 0, end: int | None = None) -> State:
    """All joints' motion of samples begin..end of a section of the log that `rates` are made for."""
    q, dq, ddq = (x[begin:end] for x in rates.motion(log))
    return close_motors(robot, q, dq, ddq, label=lambda i: log.row(begin + i))


def observe(
    robot: Robot,
    log: AnyLog,
    preparation: Preparation,
    filters: Sequence[Lowpass | None],
    begin: int = 0,
    end: int | None = None,
) -> Iterator[Block]:
    """Blocks of W over samples begin..end of a log on a uniform clock, with margins as long as the filters remember."""
    width = 10 * len(robot.body_groups) + sum(len(e.labels) for e in robot.efforts)
    size = int(BLOCK_BYTES / (8 * width * len(robot.coordinates.names)))
    last = log.size if end is None else end
    rates = rates_of(log, preparation)
    for low, first, stop, high in blocks(log, rates, filters, begin, last, size):
        part = log.section(low, high)
        state = close_log(robot, part, rates)
        B = motor_map(robot, state)
        measured = None if part.tau is None else np.einsum("nij,ni->nj", B, part.tau)
        keep = slice(first - low, stop - low)
        speeds = state.v @ robot.coordinates.S.T
        W = state_regressor(robot, state)
        if not log.loaded:
            W[:, :, robot.payload_columns] = 0.0
        yield Block(first, keep, state.q, B, speeds, W, known_efforts(robot, state), measured)


def blocks(
    log: AnyLog, rates: Rates, filters: Sequence[Lowpass | None], begin: int, end: int, size: int
) -> Iterator[tuple[int, int, int, int]]:
    """Cut samples begin..end into blocks: (first with margin, first, end, end with margin)."""
    reach = rates.reach + max((f.reach(log.rate, log.name) for f in filters if f), default=0)
    size = max(size, 2 * reach)
    for first in range(begin, end, size):
        stop = min(first + size, end)
        yield max(0, first - reach), first, stop, min(log.size, stop + reach)


Folded = list[list[Factor]]  # [label][coordinate]


def fold_log(
    robot: Robot, log: AnyLog, preparation: Preparation, jobs: Sequence[Job], begin: int = 0, end: int | None = None
) -> list[Folded]:
    """Fold samples begin..end of a log as each job says, in one pass.

    Raises:
        BadLog: no torques in the log; too short for a filter.
    """
    d = len(robot.coordinates.names)
    folded: list[Folded] = []
    for block in observe(robot, log, preparation, [job.filter for job in jobs], begin, end):
        if block.measured is None:
            raise BadLog(f"{log.name} has no columns tau_<motor>")
        folded = folded or [[[empty(block.W.shape[2])] * d for _ in range(job.groups)] for job in jobs]
        for job, factors in zip(jobs, folded, strict=True):
            W, known, measured = filtered(block, job.filter, log, job.noise)
            y = measured - known
            label = job.label(block.begin + np.arange(len(W)), block.rates[block.keep])
            for group in range(job.groups):
                for j in range(d):
                    chosen = label[:, j] == group
                    if chosen.any():
                        factors[group][j] = fold(factors[group][j], W[chosen, j], y[chosen, j], measured[chosen, j])
    return folded


def filtered(
    block: Block, lowpass: Lowpass | None, log: AnyLog, noise: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, known and measured efforts of a block, whitened by the motors' noise if given, through one filter, margins cut."""
    parts = [block.W, block.known, np.zeros_like(block.known) if block.measured is None else block.measured]
    if noise is not None:
        rows = whitened(np.concatenate([block.W, *(x[:, :, None] for x in parts[1:])], axis=2), block.B, noise)
        parts = [rows[:, :, :-2], rows[:, :, -2], rows[:, :, -1]]
    if lowpass:
        parts = [lowpass.apply(x, log.rate, log.name) for x in parts]
    W, known, measured = (x[block.keep] for x in parts)
    return W, known, measured


def add(first: Folded, second: Folded) -> Folded:
    """Merge two logs' factors label by label, coordinate by coordinate."""
    return [[merge([a, b]) for a, b in zip(x, y, strict=True)] for x, y in zip(first, second, strict=True)]
